#![doc = include_str!("README.md")]

mod acquire;
#[cfg(test)]
mod cases;
mod clear;
mod delete;
mod due;
mod embedded;
mod family;
mod fields;
mod get;
mod get_or_acquire;
mod holder;
mod limits;
mod lock;
mod name;
mod reap;
mod release;
mod renew;
mod set;
mod stats;
#[cfg(test)]
mod tests;
mod touch;
mod ttl;

pub use acquire::{Acquire, Acquired};
pub use clear::Clear;
pub use delete::Delete;
pub use due::{DUE_HASHES_MAX, Due, ReadDue};
pub use family::{SHARDS_DEFAULT, SHARDS_MAX, VolatileHashes};
pub use fields::{
    FieldPage, FieldPosition, FieldQuery, HashField, PAGE_DEFAULT, PAGE_MAX, ReadFields,
};
pub use get::Get;
pub use get_or_acquire::{GetOrAcquire, ValueOrLock};
pub use holder::{LockHolder, ReadHolder};
pub use limits::{FIELD_BYTES_MAX, FIELDS_MAX, TOKEN_BYTES_MAX, TTL_MAX, VALUE_BYTES_MAX};
pub use lock::FieldLock;
pub use reap::{REAP_DEFAULT, REAP_MAX, Reap, Reaped};
pub use release::Release;
pub use renew::Renew;
pub use set::{Condition, Set};
pub(crate) use stats::KIND;
pub use stats::{HashStats, ReadStats};
pub use touch::Touch;
pub use ttl::ReadTtl;

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Blocking, Client, Mode};
use crate::error::{Result, invalid};
use name::Name;

/// A hash whose fields expire, each at its own time, with a lock for each field; made by [`Client::volatile_hash`].
///
/// It is for data that can be computed again: caches, sessions, results of slow calls. No read returns a field that has
/// expired, to the microsecond, on the clock of the server. Its memory is freed later, by a [`reap`](Self::reap), or in
/// small parts by each [`set`](Self::set).
///
/// A lock is named by a field and is independent of its value: with [`get_or_acquire`](Self::get_or_acquire) one caller
/// computes a value that many ask for. The holder of a lock is known by its token: two callers with the same token are
/// one holder, so use a new random token each time.
///
/// ```
/// use std::time::Duration;
///
/// let hash = millpond::connect("memory:")?.volatile_hash("pages");
/// let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
/// assert!(hash.get_or_acquire("/", "request-1", second)?.fence.is_some()); // request-1 computes it
/// assert!(hash.get_or_acquire("/", "request-2", second)?.remaining.is_some()); // request-2 has to wait
///
/// hash.set_and_release("/", "request-1", "<h1>…", minute)?;
/// assert_eq!(hash.get_or_acquire("/", "request-2", second)?.value, Some("<h1>…".into()));
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// Cheap to clone and to make.
#[derive(Clone, Debug)]
pub struct VolatileHash<M: Mode = Blocking> {
    client: Client<M>,
    name: Result<Name, Arc<str>>,
}

impl<M: Mode> Client<M> {
    /// The volatile hash with this name. Makes no call.
    pub fn volatile_hash(&self, name: impl AsRef<[u8]>) -> VolatileHash<M> {
        VolatileHash::new(self.clone(), name.as_ref())
    }
}

impl<M: Mode> VolatileHash<M> {
    fn new(client: Client<M>, name: &[u8]) -> Self {
        Self { client, name: Name::new(name).map_err(|error| error.message().into()) }
    }

    /// The name. A name that is empty or too long is reported by the first step.
    fn name(&self) -> Result<Name> {
        self.name.clone().map_err(|message| invalid(&*message))
    }

    /// Sets a field to a value, which expires after `ttl`. Also removes up to two fields that have expired.
    ///
    /// # Errors
    /// As [`set_many`](Self::set_many).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been set. A set that is sent again could overwrite what others
    /// have set since.
    pub fn set(
        &self,
        field: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<()> {
        self.client.run_then(self.set_step([(field, value)], ttl), drop)
    }

    /// Sets fields to values, which expire after `ttl`, all in one step. Also removes up to two fields that have
    /// expired.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no field or more than [`FIELDS_MAX`], a field above [`FIELD_BYTES_MAX`] bytes, a value
    /// above [`VALUE_BYTES_MAX`] bytes, more than [`CALL_BYTES_MAX`](crate::CALL_BYTES_MAX) bytes and a `ttl` below one
    /// millisecond or above [`TTL_MAX`]; `WRONG_TYPE` if the keys hold something else; `OUT_OF_MEMORY` if the memory of
    /// the server is full. In all cases nothing was set.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` all may have been set, or none. A set that is sent again could overwrite
    /// what others have set since.
    pub fn set_many<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = (F, V)>,
        ttl: Duration,
    ) -> M::Reply<()> {
        self.client.run_then(self.set_step(fields, ttl), drop)
    }

    /// Sets a field if it is not live, because it is absent or has expired; returns whether it was set. Also removes up
    /// to two fields that have expired.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let hash = millpond::connect("memory:")?.volatile_hash("sessions");
    /// let ttl = Duration::from_secs(1_800);
    /// assert!(hash.set_if_absent("ann", "1", ttl)?);
    /// assert!(!hash.set_if_absent("ann", "2", ttl)?);
    /// assert!(hash.set_if_present("ann", "3", ttl)?);
    /// assert!(!hash.set_if_present("bob", "3", ttl)?);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`set_many`](Self::set_many).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been set. A set that is sent again could overwrite what others
    /// have set since.
    pub fn set_if_absent(
        &self,
        field: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<bool> {
        self.set_if(Condition::Absent, field.as_ref(), value.as_ref(), ttl)
    }

    /// Sets a field if it is live; returns whether it was set. Also removes up to two fields that have expired.
    ///
    /// # Errors
    /// As [`set_many`](Self::set_many).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been set. A set that is sent again could overwrite what others
    /// have set since.
    pub fn set_if_present(
        &self,
        field: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<bool> {
        self.set_if(Condition::Present, field.as_ref(), value.as_ref(), ttl)
    }

    /// Sets a field if the token holds the lock of the field, which is checked in the same step.
    ///
    /// # Errors
    /// As [`set_many`](Self::set_many); also `INVALID_ARGUMENT` for a token that is empty or above [`TOKEN_BYTES_MAX`]
    /// bytes, `LEASE_LOST` if the lock has expired or another token holds it; `INCOMPATIBLE_VERSION` or `CORRUPT` if
    /// the locks cannot be read. In all cases nothing was set.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been set. A set that is sent again could overwrite what others
    /// have set since.
    pub fn set_locked(
        &self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<()> {
        self.set_under_lock(field.as_ref(), token.as_ref(), value.as_ref(), ttl, false)
    }

    /// Sets a field and releases its lock, all in one step, if the token holds the lock: the end of what
    /// [`get_or_acquire`](Self::get_or_acquire) began. If the set is refused for another reason than a lost lock, the
    /// token still holds the lock.
    ///
    /// # Errors
    /// As [`set_locked`](Self::set_locked).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` both may have been done, or nothing. If it was done, repeating it fails
    /// with `LEASE_LOST`.
    pub fn set_and_release(
        &self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<()> {
        self.set_under_lock(field.as_ref(), token.as_ref(), value.as_ref(), ttl, true)
    }

    fn set_if(
        &self,
        condition: Condition,
        field: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> M::Reply<bool> {
        let step = self.set_step([(field, value)], ttl).map(|step| step.condition(condition));
        self.client.run_then(step, |are_set| are_set == [true])
    }

    fn set_under_lock(
        &self,
        field: &[u8],
        token: &[u8],
        value: &[u8],
        ttl: Duration,
        is_released: bool,
    ) -> M::Reply<()> {
        let step = self.set_step([(field, value)], ttl);
        let step = step.and_then(|step| step.under_lock(field, token, is_released));
        self.client.run_then(step, drop)
    }

    fn set_step<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = (F, V)>,
        ttl: Duration,
    ) -> Result<Set> {
        Set::of(self.name()?, fields, ttl)
    }

    /// The value of a field, or `None` if it is not live.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a field above [`FIELD_BYTES_MAX`] bytes; `WRONG_TYPE` if the keys hold something else.
    pub fn get(&self, field: impl AsRef<[u8]>) -> M::Reply<Option<Vec<u8>>> {
        let step = self.name().and_then(|name| Get::of(name, [field]));
        self.client.run_then(step, |values| values.into_iter().next().flatten())
    }

    /// The values of fields, in the same order, at one point in time; `None` for each that is not live.
    ///
    /// # Errors
    /// As [`get`](Self::get); also `INVALID_ARGUMENT` for no field or more than [`FIELDS_MAX`].
    pub fn get_many<F: AsRef<[u8]>>(
        &self,
        fields: impl IntoIterator<Item = F>,
    ) -> M::Reply<Vec<Option<Vec<u8>>>> {
        self.client.run(self.name().and_then(|name| Get::of(name, fields)))
    }

    /// A page of the fields that are live, in the order of expiry, and by their bytes if they expire at the same time.
    /// Pages are not one snapshot: a field that is set or touched between two pages may be on both, or on neither if it
    /// now expires sooner. Every other field is on one page. A page may have fewer fields than its limit and still be
    /// followed by another one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`PAGE_MAX`] and a position whose field is above
    /// [`FIELD_BYTES_MAX`] bytes; `WRONG_TYPE` if the keys hold something else.
    pub fn fields(&self, query: FieldQuery) -> M::Reply<FieldPage> {
        self.client.run(self.name().and_then(|name| ReadFields::of(name, query)))
    }

    /// How long a field remains live, or `None` if it is not live.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[must_use = "it changes nothing"]
    pub fn ttl(&self, field: impl AsRef<[u8]>) -> M::Reply<Option<Duration>> {
        self.client.run(self.name().and_then(|name| ReadTtl::of(name, field.as_ref())))
    }

    /// How many fields are live. If the server has evicted the values of a hash, it may still count them until they
    /// would have expired.
    ///
    /// # Errors
    /// As [`stats`](Self::stats).
    #[must_use = "it changes nothing"]
    pub fn len(&self) -> M::Reply<u64> {
        self.client.run_then(self.name().map(ReadStats::of), |stats| stats.fields)
    }

    /// How many fields are live, how many have expired and are still in memory, and how many locks are held. If the
    /// server has evicted a part of a hash, it may still count that until it would have expired.
    ///
    /// # Errors
    /// `WRONG_TYPE` if the keys hold something else; `INCOMPATIBLE_VERSION` if the locks are of another version.
    #[must_use = "it changes nothing"]
    pub fn stats(&self) -> M::Reply<HashStats> {
        self.client.run(self.name().map(ReadStats::of))
    }

    /// Makes a field expire after `ttl` from now, if it is live; returns whether it was. A field that has expired is
    /// never revived.
    ///
    /// # Errors
    /// As [`get`](Self::get); also `INVALID_ARGUMENT` for a `ttl` below one millisecond or above [`TTL_MAX`].
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done.
    pub fn touch(&self, field: impl AsRef<[u8]>, ttl: Duration) -> M::Reply<bool> {
        self.client.run(self.name().and_then(|name| Touch::of(name, field.as_ref(), ttl)))
    }

    /// Removes fields; returns how many of them were live. Their locks stay.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done.
    pub fn delete<F: AsRef<[u8]>>(&self, fields: impl IntoIterator<Item = F>) -> M::Reply<u64> {
        self.client.run(self.name().and_then(|name| Delete::of(name, fields)))
    }

    /// Removes all fields; returns how many of them were live. Locks stay with their holders.
    ///
    /// # Errors
    /// `WRONG_TYPE` if the keys hold something else.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done.
    pub fn clear(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Clear::of))
    }

    /// Frees the memory of up to `limit` fields and locks that have expired, in the order of expiry, in one short step.
    /// Repeat it while it reports that there is [more](Reaped::more). No read returns an expired field, whether it has
    /// been removed or not.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    /// use millpond::{ManualClock, Options, volatile::REAP_DEFAULT};
    ///
    /// let clock = Arc::new(ManualClock::new());
    /// let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
    /// let hash = client.volatile_hash("pages");
    /// hash.set("/", "1", Duration::from_secs(60))?;
    /// clock.advance(Duration::from_secs(45));
    /// assert_eq!(hash.reap(REAP_DEFAULT)?.next_in, Some(Duration::from_secs(15)));
    /// clock.advance(Duration::from_secs(15));
    /// assert_eq!(hash.reap(REAP_DEFAULT)?.fields, 1);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a limit of 0 or above [`REAP_MAX`]; otherwise as [`stats`](Self::stats).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done. It can be repeated: it continues with the rest.
    pub fn reap(&self, limit: usize) -> M::Reply<Reaped> {
        self.client.run(self.name().and_then(|name| Reap::of(name, limit)))
    }

    /// Takes the lock of a field for `ttl` if it is free or has expired; it does not wait. If the token already holds
    /// it, the lock keeps its fence and runs for `ttl` from now. Two callers with the same token are one holder, so use
    /// a new random token each time. Also removes up to two locks that have expired.
    ///
    /// Each holder gets a higher fence than all before it in this hash. Only [`set_locked`](Self::set_locked) and
    /// [`set_and_release`](Self::set_and_release) check the lock where they write. For anything else that the lock
    /// protects, pass the fence along and refuse a fence lower than the last one: a holder that was paused for longer
    /// than its `ttl` does not notice by itself. On servers with replicas a failover can lose a lock that was just
    /// taken. The fence still grows, unless the clock of the new server is behind by more than what was lost.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a field above [`FIELD_BYTES_MAX`] bytes, a token that is empty or above
    /// [`TOKEN_BYTES_MAX`] bytes, and a `ttl` below one millisecond or above [`TTL_MAX`]; `WRONG_TYPE` if the keys hold
    /// something else; `INCOMPATIBLE_VERSION` or `CORRUPT` if the locks cannot be read; `OUT_OF_MEMORY` if the memory
    /// of the server is full and the lock is a new one.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the token may hold the lock. Acquiring it again with the same token is
    /// safe and returns the same fence.
    pub fn acquire(
        &self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<Acquired> {
        let (field, token) = (field.as_ref(), token.as_ref());
        self.client.run(self.name().and_then(|name| Acquire::of(name, field, token, ttl)))
    }

    /// The value of a field if it is live; otherwise takes the lock of the field for `ttl`, as
    /// [`acquire`](Self::acquire) does, so that one caller computes the value. All in one step.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the token may hold the lock. Repeating the call with the same token is
    /// safe.
    pub fn get_or_acquire(
        &self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<ValueOrLock> {
        let (field, token) = (field.as_ref(), token.as_ref());
        self.client.run(self.name().and_then(|name| GetOrAcquire::of(name, field, token, ttl)))
    }

    /// Takes the lock of a field if it is free, without waiting, and renews it until it is released; `None` if another
    /// holder has it. `ttl` is how long other callers wait if this process dies.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the lock may have been taken without a holder; then it expires after `ttl`.
    pub fn lock(&self, field: impl AsRef<[u8]>, ttl: Duration) -> M::Reply<Option<FieldLock<M>>> {
        FieldLock::acquire(self.clone(), field.as_ref(), ttl)
    }

    /// Renews the lock of a field for `ttl` from now; returns false and changes nothing if the token does not hold it.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; renewing again is safe.
    pub fn renew(
        &self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> M::Reply<bool> {
        let (field, token) = (field.as_ref(), token.as_ref());
        self.client.run(self.name().and_then(|name| Renew::of(name, field, token, ttl)))
    }

    /// Releases the lock of a field; returns false and changes nothing if the token does not hold it.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; releasing again then returns false.
    pub fn release(&self, field: impl AsRef<[u8]>, token: impl AsRef<[u8]>) -> M::Reply<bool> {
        let (field, token) = (field.as_ref(), token.as_ref());
        self.client.run(self.name().and_then(|name| Release::of(name, field, token)))
    }

    /// Who holds the lock of a field, or `None` if it is free.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    #[must_use = "it changes nothing"]
    pub fn holder(&self, field: impl AsRef<[u8]>) -> M::Reply<Option<LockHolder>> {
        self.client.run(self.name().and_then(|name| ReadHolder::of(name, field.as_ref())))
    }
}

crate::step::steps! {
    [embedded::State]
    Acquire, Clear, Delete, Get, GetOrAcquire, Reap, ReadDue, ReadFields, ReadHolder, ReadStats,
    ReadTtl, Release, Renew, Set, Touch,
}
