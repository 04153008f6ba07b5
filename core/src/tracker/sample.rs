//! Sample: the ids that were checked longest ago.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// Ids to check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The ids; none if nothing is tracked.
    pub ids: Vec<Vec<u8>>,
    /// Their stamp, which [`remove`](super::QueueTracker::remove) needs; 0 if there are none.
    pub stamp: Timestamp,
}

/// Reads the ids with the oldest stamps, and gives them a new one.
#[derive(Clone, Debug)]
pub struct ReadSample {
    name: Name,
    limit: usize,
}

impl ReadSample {
    /// Reads up to `limit` ids.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a limit of 0 or above
    /// [`IDS_MAX`](super::IDS_MAX).
    pub fn new(name: impl AsRef<[u8]>, limit: usize) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, limit)
    }

    pub(super) fn of(name: Name, limit: usize) -> Result<Self> {
        Ok(Self { name, limit: limits::limit(limit)? })
    }
}

impl Operation for ReadSample {
    head!(
        "tracker.sample",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "sample.lua"]
    );
    type Output = Sample;
    /// A second run would return other ids.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.limit as u64);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Sample> {
        let mut replies = reply.list()?;
        let stamp = replies.next()?.number()?;
        let ids = replies.next()?.list()?.all(self.limit, |replies| replies.next()?.bytes())?;
        replies.end()?;
        Ok(Sample { ids, stamp })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Sample> {
        state.step(context, |tracker, now, effects| Ok(tracker.sample(self.limit, now, effects)))
    }
}
