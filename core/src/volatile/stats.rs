//! Stats: how much a hash holds.

use std::sync::Arc;

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "volatile",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let stats = client.volatile_hash(name).stats()?;
        Ok(vec![
            Statistic::of("fields", stats.fields),
            Statistic::of("expired", stats.expired),
            Statistic::of("locks", stats.locks),
        ])
    },
};

/// How much a volatile hash holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashStats {
    /// Fields that are live.
    pub fields: u64,
    /// Fields that have expired and have not been removed yet.
    pub expired: u64,
    /// Locks that are held.
    pub locks: u64,
}

/// Reads how much a hash holds.
#[derive(Clone, Debug)]
pub struct ReadStats {
    name: Name,
}

impl ReadStats {
    /// Reads the stats of this hash.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        Ok(Self::of(Name::new(name.as_ref())?))
    }

    pub(super) fn of(name: Name) -> Self {
        Self { name }
    }
}

impl Operation for ReadStats {
    head!(
        "volatile.stats",
        embedded::State,
        name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "stats.lua"
        ]
    );
    type Output = HashStats;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<HashStats> {
        let mut replies = reply.list()?;
        let mut next = || replies.next()?.number();
        let stats = HashStats { fields: next()?, expired: next()?, locks: next()? };
        replies.end()?;
        Ok(stats)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<HashStats> {
        state.step(self.name.base(), context, |hash, now, _| Ok(hash.stats(now)))
    }
}
