//! Set: write fields with a time to live.

use std::time::Duration;

use super::name::Name;
use super::{FIELDS_MAX, embedded, limits};
use crate::error::Result;
use crate::step::limits::{CallSize, first_of};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// How many expired fields a set removes, and how many expired locks an acquire, so that a hash in use stays small.
pub(super) const REAPED_MAX: usize = 2;

/// Which fields a set writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Condition {
    /// All of them.
    #[default]
    Always,
    /// Those that are absent or have expired.
    Absent,
    /// Those that are live.
    Present,
}

impl Condition {
    /// Whether a field is written, given whether it is live.
    fn holds(self, is_live: bool) -> bool {
        match self {
            Condition::Always => true,
            Condition::Absent => !is_live,
            Condition::Present => is_live,
        }
    }

    fn to_wire(self) -> &'static [u8] {
        match self {
            Condition::Always => b"always",
            Condition::Absent => b"absent",
            Condition::Present => b"present",
        }
    }
}

/// A lock, named by its field, and the token that is to hold it.
#[derive(Clone, Debug)]
struct LockToken {
    field: Vec<u8>,
    token: Vec<u8>,
    /// Whether the set releases it.
    is_released: bool,
}

/// Sets fields and the time at which they expire, and removes up to two fields that have expired.
///
/// ```
/// use std::time::Duration;
/// use millpond::volatile::{Condition, Set};
///
/// let client = millpond::connect("memory:")?;
/// let minute = Duration::from_secs(60);
/// let set = |field| Set::new("pages", [(field, "1"), ("/", "2")], minute);
/// let absent = |field| set(field).map(|set| set.condition(Condition::Absent));
/// assert_eq!(client.run(absent("/a"))?, [true, true]);
/// assert_eq!(client.run(absent("/b"))?, [true, false]);
///
/// client.volatile_hash("pages").acquire("/", "me", minute)?;
/// let release = true;
/// assert_eq!(client.run(set("/a")?.under_lock("/", "me", release))?, [true, true]);
/// assert!(client.run(set("/a")?.under_lock("/", "me", release)).is_err()); // nobody holds it
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Set {
    name: Name,
    /// A field and its value, by turns.
    pairs: ByteList,
    ttl_us: u64,
    condition: Condition,
    lock: Option<LockToken>,
}

impl Set {
    /// Sets each field to its value for `ttl`, under no condition and no lock.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, no pair or more than [`FIELDS_MAX`], fields and values
    /// beyond their limits, and a `ttl` below one millisecond or above [`TTL_MAX`](super::TTL_MAX).
    pub fn new<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        pairs: impl IntoIterator<Item = (F, V)>,
        ttl: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, pairs, ttl)
    }

    pub(super) fn of<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        name: Name,
        pairs: impl IntoIterator<Item = (F, V)>,
        ttl: Duration,
    ) -> Result<Self> {
        let ttl_us = limits::ttl_us(ttl)?;
        let (mut size, mut strings) = (CallSize::default(), ByteList::default());
        for (field, value) in first_of(pairs, FIELDS_MAX) {
            let (field, value) = (field.as_ref(), value.as_ref());
            limits::field(field)?;
            limits::value(value)?;
            size.add("fields and values", field.len() + value.len())?;
            strings.push(field);
            strings.push(value);
        }
        limits::count(strings.len() / 2)?;
        Ok(Self { name, pairs: strings, ttl_us, condition: Condition::Always, lock: None })
    }

    /// Which fields are written; the condition is checked for each field separately. [`Condition::Always`] by default.
    #[must_use]
    pub fn condition(self, condition: Condition) -> Self {
        Self { condition, ..self }
    }

    /// Writes only if this token holds the lock of this field, which need not be among the fields to write; then also
    /// releases the lock if `is_released`. Otherwise the set fails with `LEASE_LOST` and changes nothing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a field and a token beyond their limits.
    pub fn under_lock(
        self,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        is_released: bool,
    ) -> Result<Self> {
        let (field, token) = (field.as_ref(), token.as_ref());
        limits::field(field)?;
        limits::token(token)?;
        let lock = LockToken { field: field.to_vec(), token: token.to_vec(), is_released };
        Ok(Self { lock: Some(lock), ..self })
    }
}

impl Operation for Set {
    head!(
        "volatile.set",
        embedded::State,
        name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "set.lua"
        ]
    );
    /// For each field, whether it was set.
    type Output = Vec<bool>;
    /// A second run would overwrite fields that others have set since.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let lock = self.lock.as_ref();
        let keys = lock.map_or_else(|| self.name.field_keys(), |_| self.name.keys());
        let bytes = self.pairs.total_bytes() + 64;
        let mut args = ByteList::with_capacity(5 + self.pairs.len(), bytes);
        args.push_number(self.ttl_us);
        args.push(self.condition.to_wire());
        args.push(lock.map(|lock| &*lock.field).unwrap_or_default());
        args.push(lock.map(|lock| &*lock.token).unwrap_or_default());
        args.push(if lock.is_some_and(|lock| lock.is_released) { b"1" } else { b"0" });
        args.append(&self.pairs);
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<bool>> {
        let fields = self.pairs.len() / 2;
        let flags = reply.list()?.all(fields, |replies| replies.next()?.flag())?;
        if flags.len() == fields { Ok(flags) } else { Err(malformed()) }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<bool>> {
        state.step(self.name.base(), context, |hash, now, effects| {
            if let Some(lock) = &self.lock {
                hash.check_lock(&lock.field, &lock.token, now)?;
            }
            let mut are_set = Vec::with_capacity(self.pairs.len() / 2);
            let mut strings = self.pairs.iter();
            while let (Some(field), Some(value)) = (strings.next(), strings.next()) {
                let is_set = self.condition.holds(hash.is_live(field, now));
                if is_set {
                    hash.set(field, value, now + self.ttl_us, effects);
                }
                are_set.push(is_set);
            }
            hash.reap_fields(REAPED_MAX, now, effects);
            if let Some(lock) = self.lock.as_ref().filter(|lock| lock.is_released) {
                hash.release(&lock.field, &lock.token, now, effects);
            }
            Ok(are_set)
        })
    }
}
