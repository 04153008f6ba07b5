//! Reap: remove expired fields and locks.

use std::time::Duration;

use super::embedded;
use super::name::Name;
use crate::error::{Result, ensure};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The most fields and locks that one step removes.
pub const REAP_MAX: usize = 1_000;

/// The number of fields and locks that a step removes by default.
pub const REAP_DEFAULT: usize = 5;

/// The number of fields and locks that a step removed, and whether there is more to remove.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Fields that had expired.
    pub fields: u64,
    /// Locks that had expired.
    pub locks: u64,
    /// Fields that no longer had an expiry, because the server had evicted the expiries; they were not live. Only on
    /// Redis.
    pub orphans: u64,
    /// Whether there is more to remove now.
    pub more: bool,
    /// How long until there is something to remove: zero if there is already, and `None` if there is nothing at all.
    /// For a family it may be too early.
    pub next_in: Option<Duration>,
}

/// Removes expired fields and locks, in the order of expiry.
#[derive(Clone, Debug)]
pub struct Reap {
    name: Name,
    limit: usize,
}

impl Reap {
    /// Removes up to `limit` fields and locks.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a limit of 0 or above [`REAP_MAX`].
    pub fn new(name: impl AsRef<[u8]>, limit: usize) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, limit)
    }

    pub(super) fn of(name: Name, limit: usize) -> Result<Self> {
        Self::check_limit(limit)?;
        Ok(Self { name, limit })
    }

    pub(super) fn check_limit(limit: usize) -> Result<()> {
        let is_allowed = (1..=REAP_MAX).contains(&limit);
        ensure!(is_allowed, "a step removes 1 to {REAP_MAX} fields and locks, not {limit}");
        Ok(())
    }
}

impl Operation for Reap {
    head!(
        "volatile.reap",
        embedded::State,
        name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "reap.lua"
        ]
    );
    type Output = Reaped;
    /// A second run would remove and count others.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.limit as u64);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Reaped> {
        let mut replies = reply.list()?;
        let fields = replies.next()?.count(self.limit)?;
        let locks = replies.next()?.count(self.limit - fields as usize)?;
        let orphans = replies.next()?.count(self.limit)?;
        let more = replies.next()?.flag()?;
        let next_in = match replies.next()? {
            Reply::Nil => None,
            next_in_us => Some(Duration::from_micros(next_in_us.number()?)),
        };
        replies.end()?;
        Ok(Reaped { fields, locks, orphans, more, next_in })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Reaped> {
        state.step(self.name.base(), context, |hash, now, effects| {
            Ok(hash.reap(self.limit, now, effects))
        })
    }
}
