//! Clear: forget all ids.

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Removes all ids, and moves the scan to the beginning; returns how many ids there were.
#[derive(Clone, Debug)]
pub struct Clear {
    name: Name,
}

impl Clear {
    /// Clears this tracker.
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

impl Operation for Clear {
    head!(
        "tracker.clear",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "clear.lua"]
    );
    type Output = u64;
    /// A second run could remove ids that were added since.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        state.step(context, |tracker, _, effects| Ok(tracker.clear(effects)))
    }
}
