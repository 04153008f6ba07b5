//! Stats: how many ids are tracked, and the position of the scan.

use std::sync::Arc;

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::reply::malformed;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "tracker",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let stats = client.queue_tracker(name).stats()?;
        Ok(vec![Statistic::of("ids", stats.ids), Statistic::of("rounds", stats.rounds)])
    },
};

/// How many ids are tracked, and the position of the scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackerStats {
    /// How many ids are tracked.
    pub ids: u64,
    /// How often a scan has reached the end of the table and started again.
    pub rounds: u64,
    /// The oldest stamp, that of the id that is checked next, in microseconds since the Unix epoch. `None` if nothing
    /// is tracked.
    pub oldest: Option<Timestamp>,
    /// The row that the next scan comes after; `None` if it begins at the beginning.
    pub row: Option<String>,
}

/// Reads how many ids are tracked, and the position of the scan.
#[derive(Clone, Debug)]
pub struct ReadStats {
    name: Name,
}

impl ReadStats {
    /// Reads the stats of this tracker.
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
        "tracker.stats",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "stats.lua"]
    );
    type Output = TrackerStats;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<TrackerStats> {
        let mut replies = reply.list()?;
        let (ids, rounds) = (replies.next()?.number()?, replies.next()?.number()?);
        let oldest = match replies.next()? {
            Reply::Nil => None,
            stamp => Some(stamp.number()?),
        };
        let row = match replies.next()? {
            Reply::Nil => None,
            row => Some(String::from_utf8(row.bytes()?).map_err(|_| malformed())?),
        };
        replies.end()?;
        Ok(TrackerStats { ids, rounds, oldest, row })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<TrackerStats> {
        state.step(context, |tracker, _, _| Ok(tracker.stats()))
    }
}
