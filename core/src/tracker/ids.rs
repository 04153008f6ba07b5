//! Ids: the tracked ids, page by page.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::limits::INTEGER_MAX;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// An id that is tracked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// The id.
    pub id: Vec<u8>,
    /// When it was last added, found by a scan, or checked, in microseconds since the Unix epoch. Only ids of one step
    /// have the same stamp.
    pub stamp: Timestamp,
}

/// Reads the ids whose stamps come after a given one, in the order of their stamps.
#[derive(Clone, Debug)]
pub struct ReadIds {
    name: Name,
    after: Timestamp,
    limit: usize,
}

impl ReadIds {
    /// Reads up to `limit` ids, or more if the last ones have the same stamp.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a limit of 0 or above
    /// [`IDS_MAX`](super::IDS_MAX).
    pub fn new(name: impl AsRef<[u8]>, after: Timestamp, limit: usize) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, after, limit)
    }

    pub(super) fn of(name: Name, after: Timestamp, limit: usize) -> Result<Self> {
        Ok(Self { name, after: after.min(INTEGER_MAX), limit: limits::limit(limit)? })
    }
}

impl Operation for ReadIds {
    head!(
        "tracker.ids",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "ids.lua"]
    );
    type Output = Vec<Tracked>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.after);
        args.push_number(self.limit as u64);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Tracked>> {
        reply.list()?.all(self.limit + limits::IDS_MAX, |replies| {
            Ok(Tracked { id: replies.next()?.bytes()?, stamp: replies.next()?.number()? })
        })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Tracked>> {
        state.step(context, |tracker, _, _| Ok(tracker.page(self.after, self.limit)))
    }
}
