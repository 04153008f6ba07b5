//! Backlog: how much a queue holds.

use super::name::Name;
use super::{embedded, head};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Counts the messages that at least one group has not received or not acknowledged yet.
#[derive(Clone, Debug)]
pub struct Backlog {
    name: Name,
}

impl Backlog {
    /// Counts the messages of this queue.
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

impl Operation for Backlog {
    head!("shuffle.backlog", embedded::State, name, ["queue.lua", "backlog.lua"]);
    type Output = u64;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        state
            .step(context, |queue, _| Ok(queue.counted().map(embedded::StreamState::backlog).sum()))
    }
}
