#![doc = include_str!("README.md")]

mod acquire;
mod add;
mod batches;
#[cfg(test)]
mod cases;
mod channel;
mod commit;
mod delete;
mod embedded;
mod exchange;
mod lease;
mod name;
mod peek;
mod release;
mod renew;
mod reserve;
mod scored_set;
mod stats;
#[cfg(test)]
mod tests;

pub use acquire::Acquire;
pub use add::{Add, Added, BATCH_MEMBERS_MAX, MEMBER_BYTES_MAX};
pub use batches::{Batch, Batches};
pub use channel::{IckChannel, SHARDS_MAX};
pub use commit::Commit;
pub use delete::Delete;
pub use exchange::Exchange;
pub use lease::{ConsumerLease, LEASE_MAX};
pub use name::{Name, Token};
pub use peek::{Peek, Set};
pub use release::Release;
pub use renew::Renew;
pub use reserve::{Entry, Reserve, SIZE_MAX};
pub(crate) use stats::KIND;
pub use stats::{ReadStats, Stats};

use std::time::Duration;

use crate::client::{Blocking, Client, Mode};
use crate::error::{Result, invalid};
use crate::step::ByteList;
use crate::step::limits::{CallSize, first_of};

/// The version flag of every Ick.
pub const VERSION: &str = "ick.v1";

/// A named dirty list with write-folding and two-phase commit; made by [`Client::ick`].
///
/// It is for synchronization pipelines, such as from a database to a search index: producers flag documents as dirty,
/// and one consumer takes batches, processes them and commits them. A document that is flagged again while it is
/// processed is processed again. A document that is flagged often does not move back in the order, since a member keeps
/// the lowest of its scores.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// let ick = client.ick("files");
/// ick.add([(2.0, "b.txt"), (1.0, "a.txt")])?;
///
/// let batch = ick.reserve(10)?;
/// assert_eq!(batch[0].member, b"a.txt");
/// ick.add([(3.0, "a.txt")])?; // dirty again while it is being worked on
/// ick.commit(["a.txt", "b.txt"])?;
///
/// assert_eq!(ick.reserve(10)?[0].member, b"a.txt"); // not forgotten
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// Cheap to clone and to make.
#[derive(Clone, Debug)]
pub struct Ick<M: Mode = Blocking> {
    client: Client<M>,
    name: Result<Name, std::sync::Arc<str>>,
}

impl<M: Mode> Client<M> {
    /// The Ick with this name. Makes no call.
    pub fn ick(&self, name: impl AsRef<[u8]>) -> Ick<M> {
        Ick::new(self.clone(), name.as_ref())
    }

    /// The channel of `shards` Icks with this name. Makes no call.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for zero Icks or more than 65,536.
    pub fn ick_channel(&self, name: impl AsRef<[u8]>, shards: u32) -> Result<IckChannel<M>> {
        IckChannel::new(self.clone(), name.as_ref(), shards)
    }
}

impl<M: Mode> Ick<M> {
    fn new(client: Client<M>, name: &[u8]) -> Self {
        Self { client, name: Name::new(name).map_err(|error| error.message().into()) }
    }

    /// The name. A name that is too long is reported by the first step.
    fn name(&self) -> Result<Name> {
        self.name.clone().map_err(|message| invalid(&*message))
    }

    /// Flags members as dirty: each keeps the lower of its old and its new score. A score of `None` is the server's
    /// time in seconds, with microseconds.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a NaN, a member above [`MEMBER_BYTES_MAX`] bytes or more than
    /// [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) members, before anything is sent; `WRONG_TYPE` and
    /// `INCOMPATIBLE_VERSION` if the keys hold something else.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` the members may or may not be flagged; adding them again is safe. Above
    /// [`BATCH_MEMBERS_MAX`] members the call takes several steps, each atomic.
    pub fn add<S: Into<Option<f64>>, B: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (S, B)>,
    ) -> M::Reply<Added> {
        let steps = self.name().and_then(|name| {
            let mut steps = vec![Add::empty(name.clone())];
            let mut size = CallSize::default();
            for (score, member) in pairs {
                size.add("members", member.as_ref().len())?;
                if steps[steps.len() - 1].len() == BATCH_MEMBERS_MAX {
                    steps.push(Add::empty(name.clone()));
                }
                let last = steps.len() - 1;
                steps[last].push(score.into(), member.as_ref())?;
            }
            Ok(steps)
        });
        self.client.run_all(steps, Added::sum)
    }

    /// Moves the lowest members to the consumer set until that holds `max`, and returns its first `max`, lowest first.
    /// Members that were reserved before and not committed are part of the batch.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a size of [`SIZE_MAX`] or more; `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys hold
    /// something else.
    ///
    /// # Delivery
    /// At least once: a batch stays reserved until it is committed, whatever happens to its
    /// consumer.
    pub fn reserve(&self, max: u64) -> M::Reply<Vec<Entry>> {
        self.client.run(self.name().and_then(|name| Reserve::of(name, max)))
    }

    /// [`reserve`](Self::reserve), but first folds the whole consumer set back into the producer
    /// set, so that the batch holds the lowest scores of both.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_backwash(&self, max: u64) -> M::Reply<Vec<Entry>> {
        self.client.run(self.name().and_then(|name| Ok(Reserve::of(name, max)?.backwash(true))))
    }

    /// Removes members that are done from the consumer set; returns how many were there. A member that was added again
    /// since it was reserved stays dirty.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) members; `WRONG_TYPE`
    /// and `INCOMPATIBLE_VERSION` if the keys hold something else.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT`, do not commit again: reserve instead, and process what it returns. A
    /// second commit could remove a member that was flagged and reserved again since. Above [`BATCH_MEMBERS_MAX`]
    /// members the call takes several steps, each atomic.
    pub fn commit<B: AsRef<[u8]>>(&self, members: impl IntoIterator<Item = B>) -> M::Reply<u64> {
        let steps = self.name().and_then(|name| {
            let mut parts = vec![ByteList::default()];
            let mut size = CallSize::default();
            for member in members {
                size.add("members", member.as_ref().len())?;
                if parts[parts.len() - 1].len() == BATCH_MEMBERS_MAX {
                    parts.push(ByteList::default());
                }
                let last = parts.len() - 1;
                parts[last].push(member.as_ref());
            }
            parts.into_iter().map(|part| Commit::of(name.clone(), part)).collect()
        });
        self.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Commits one batch and reserves the next in one step: one round trip per batch.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve); also `INVALID_ARGUMENT` for more than
    /// [`BATCH_MEMBERS_MAX`] members.
    ///
    /// # Delivery
    /// As [`reserve`](Self::reserve) and [`commit`](Self::commit): after `CONNECTION_LOST` or `TIMEOUT` continue with
    /// an exchange that commits nothing.
    pub fn exchange<B: AsRef<[u8]>>(
        &self,
        max: u64,
        members: impl IntoIterator<Item = B>,
    ) -> M::Reply<Vec<Entry>> {
        self.client.run(self.exchange_step(max, members))
    }

    /// [`exchange`](Self::exchange), but folds the consumer set back between the commit and the reserve, so that the
    /// batch holds the lowest scores of both.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub fn exchange_backwash<B: AsRef<[u8]>>(
        &self,
        max: u64,
        members: impl IntoIterator<Item = B>,
    ) -> M::Reply<Vec<Entry>> {
        self.client.run(self.exchange_step(max, members).map(|step| step.backwash(true)))
    }

    fn exchange_step<B: AsRef<[u8]>>(
        &self,
        max: u64,
        members: impl IntoIterator<Item = B>,
    ) -> Result<Exchange> {
        Exchange::of(self.name()?, max, first_of(members, BATCH_MEMBERS_MAX).collect())
    }

    /// The sizes and score ranges of both sets, or `None` if there is no such Ick.
    ///
    /// # Errors
    /// `WRONG_TYPE` and `INCOMPATIBLE_VERSION` if the keys hold something else.
    pub fn stats(&self) -> M::Reply<Option<Stats>> {
        self.client.run(self.name().map(ReadStats::of))
    }

    /// The lowest members of one set; moves nothing.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn peek(&self, set: Set, max: u64) -> M::Reply<Vec<Entry>> {
        self.client.run(self.name().and_then(|name| Peek::of(name, set, max)))
    }

    /// Removes the Ick's three keys, whatever they hold, so a broken Ick is removed as well. Returns how many keys
    /// there were.
    ///
    /// # Errors
    /// Only those of the connection.
    pub fn delete(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Delete::of))
    }

    /// [`delete`](Self::delete), but Redis frees the memory in the background.
    ///
    /// # Errors
    /// Only those of the connection.
    #[doc(alias = "delete")]
    pub fn unlink(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(|name| Delete::of(name).unlink(true)))
    }

    /// Takes the consumer lease, which keeps two consumers from working on one batch by mistake. Returns `None` if
    /// another consumer holds it. A native thread renews the lease until it is released or dropped. If it is lost
    /// nevertheless (a stopped process, a network partition), the steps that go through it are refused.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `ttl` below one millisecond or above one day.
    pub fn lease(&self, ttl: Duration) -> M::Reply<Option<ConsumerLease<M>>> {
        ConsumerLease::acquire(self.clone(), ttl)
    }

    /// The consumer's loop: batches of up to `max` members, each committed when the next is asked
    /// for. See [`Batches`].
    pub fn batches(&self, max: u64) -> Batches<M> {
        Batches::new(vec![self.clone()], max)
    }
}

impl Added {
    fn sum(parts: Vec<Added>) -> Added {
        parts.into_iter().fold(Added::default(), |sum, part| Added {
            new: sum.new + part.new,
            lowered: sum.lowered + part.lowered,
        })
    }
}

crate::step::steps! {
    [embedded::State]
    Acquire, Add, Commit, Delete, Exchange, Peek, ReadStats, Release, Renew, Reserve,
}
