//! A family of volatile hashes: many small ones, which are reaped together.

use std::sync::Arc;
use std::time::Duration;

use super::due::ReadDue;
use super::name::Name;
use super::{Reap, Reaped, VolatileHash};
use crate::client::{Blocking, Client, Mode};
use crate::error::{Error, Result, ensure};
use crate::step::fnv::fnv1a64;

/// The most shards of a family.
pub const SHARDS_MAX: u32 = 1_024;

/// The number of shards of a family by default.
pub const SHARDS_DEFAULT: u32 = 16;

/// The least number of hashes that a reap may visit: some may have nothing to remove any more.
const HASHES_A_REAP: usize = 16;

/// Many volatile hashes with names of their own, such as one for each user, that are reaped together; made by
/// [`Client::volatile_hashes`].
///
/// A family tracks which of its hashes may have something to remove, so that a reap skips the others, however many
/// there are.
///
/// The hash with a base is in the shard FNV-1a-64(base) mod `shards`. The keys of a shard lie in one cluster slot. All
/// programs have to give a family the same number of shards: a program with another number does not see the hashes of
/// the others, and their locks do not exclude each other. After a change of the number, reap the old shards with a
/// family of the old number.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use millpond::{ManualClock, Options, volatile::{REAP_DEFAULT, SHARDS_DEFAULT}};
///
/// let clock = Arc::new(ManualClock::new());
/// let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
/// let carts = client.volatile_hashes("carts", SHARDS_DEFAULT);
/// carts.hash("ann").set("book", "1", Duration::from_secs(60))?;
/// carts.hash("bob").set("lamp", "2", Duration::from_secs(3_600))?;
/// assert_eq!(carts.hash("ann").len()?, 1);
///
/// clock.advance(Duration::from_secs(60));
/// let reaped = carts.reap(REAP_DEFAULT)?; // looks at the cart of ann alone
/// assert_eq!((reaped.fields, reaped.more), (1, false));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct VolatileHashes<M: Mode = Blocking> {
    client: Client<M>,
    name: Arc<[u8]>,
    shards: u32,
}

impl<M: Mode> Client<M> {
    /// The family of volatile hashes with this name. Makes no call.
    pub fn volatile_hashes(&self, name: impl AsRef<[u8]>, shards: u32) -> VolatileHashes<M> {
        VolatileHashes { client: self.clone(), name: name.as_ref().into(), shards }
    }
}

impl<M: Mode> VolatileHashes<M> {
    /// The hash with this base, of 1 to [`NAME_BYTES_MAX`](crate::NAME_BYTES_MAX) bytes. Makes no call: a name, a base
    /// or a number of shards beyond its limit is reported by the first step.
    pub fn hash(&self, base: impl AsRef<[u8]>) -> VolatileHash<M> {
        let base = base.as_ref();
        let number = (fnv1a64(base) % u64::from(self.shards.max(1))) as u32;
        let name = self.shard(number).and_then(|shard| shard.hash(base));
        VolatileHash {
            client: self.client.clone(),
            name: name.map_err(|error| error.message().into()),
        }
    }

    /// Frees the memory of up to `limit` fields and locks that have expired. It visits all shards, beginning with a
    /// random one, and in them only hashes that may have something to remove, up to `limit` of them, or 16 if that is
    /// more. Each shard and each of these hashes takes one step. Repeat it while it reports that there is
    /// [more](Reaped::more).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`REAP_MAX`](super::REAP_MAX), and for a name or a number of shards
    /// beyond its limit; otherwise the first error of a hash or a shard. The others are reaped all the same.
    ///
    /// # Delivery
    /// After an error a part of it may have been done. It can be repeated: it continues with the rest.
    pub fn reap(&self, limit: usize) -> M::Reply<Reaped> {
        M::call(self.clone().reap_shards(limit))
    }

    async fn reap_shards(self, limit: usize) -> Result<Reaped> {
        // Invalid arguments are refused as those of a reap.
        let checked = Reap::check_limit(limit).and_then(|()| self.shard(0));
        if let Err(error) = checked {
            return M::step::<Reap>(&self.client, Err(error)).await;
        }
        let first = self.client.draw() as u32 % self.shards;
        let mut round = Round { left: limit, looks: limit.max(HASHES_A_REAP), ..Round::default() };
        for index in 0..self.shards {
            let shard = self.shard((first + index) % self.shards)?;
            if round.left > 0 && round.looks > 0 {
                self.reap_shard(&shard, &mut round).await;
            } else {
                // Only to find whether there is more.
                if let Some(due) = round.keep(M::step(&self.client, ReadDue::of(shard, 1)).await) {
                    let is_due = !due.bases.is_empty();
                    round.is_due(if is_due { Some(Duration::ZERO) } else { due.next_in });
                }
            }
        }
        round.end()
    }

    /// Reaps the hashes of a shard that are due.
    async fn reap_shard(&self, shard: &Name, round: &mut Round) {
        // Hashes that fail stay at the front.
        let mut failed = 0;
        loop {
            let limit = failed + HASHES_A_REAP;
            let step = ReadDue::of(shard.clone(), limit);
            let Some(due) = round.keep(M::step(&self.client, step).await) else { return };
            let bases = due.bases.len();
            for base in due.bases.into_iter().skip(failed) {
                if round.left == 0 || round.looks == 0 {
                    return round.is_due(Some(Duration::ZERO));
                }
                let step = shard.hash(&base).and_then(|name| Reap::of(name, round.left));
                match round.keep(M::step(&self.client, step).await) {
                    Some(reaped) => {
                        round.looks -= 1;
                        round.add(&reaped);
                    }
                    None => failed += 1,
                }
            }
            if bases < limit {
                return round.is_due(due.next_in);
            }
        }
    }

    fn shard(&self, number: u32) -> Result<Name> {
        let shards = self.shards;
        ensure!(
            (1..=SHARDS_MAX).contains(&shards),
            "a family has 1 to {SHARDS_MAX} shards, not {shards}"
        );
        Name::shard(&self.name, number)
    }
}

/// The progress of a reap of a family.
#[derive(Default)]
struct Round {
    total: Reaped,
    /// How many fields and locks may still be removed, and how many hashes visited.
    left: usize,
    looks: usize,
    error: Option<Error>,
}

impl Round {
    /// The output of a step; the first error of a step is kept.
    fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.error.get_or_insert(error)).ok()
    }

    fn add(&mut self, reaped: &Reaped) {
        let removed = reaped.fields + reaped.locks + reaped.orphans;
        self.left = self.left.saturating_sub(removed as usize);
        self.total.fields += reaped.fields;
        self.total.locks += reaped.locks;
        self.total.orphans += reaped.orphans;
        self.is_due(reaped.next_in);
    }

    /// Notes that something is left to remove after this time.
    fn is_due(&mut self, next_in: Option<Duration>) {
        self.total.next_in = [self.total.next_in, next_in].into_iter().flatten().min();
    }

    fn end(mut self) -> Result<Reaped> {
        self.total.more = self.total.next_in == Some(Duration::ZERO);
        self.error.map_or(Ok(self.total), Err)
    }
}
