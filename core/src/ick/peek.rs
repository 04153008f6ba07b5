//! Peek: look at a set without moving anything.

use super::reserve::{Entry, check_size, decode_entries, first_entries, size_argument};
use super::{Name, embedded};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// One of the two sets of an Ick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Members that are flagged and not reserved.
    Producer,
    /// Members that are reserved and not committed.
    Consumer,
}

/// Reads the lowest members of one set and moves nothing.
#[derive(Clone, Debug)]
pub struct Peek {
    name: Name,
    set: Set,
    max: u64,
}

impl Peek {
    /// Reads up to `max` members of `set`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a size from [`SIZE_MAX`](super::SIZE_MAX) on or a name that is too
    /// long.
    pub fn new(name: impl AsRef<[u8]>, set: Set, max: u64) -> Result<Self> {
        Self::of(Name::new(name)?, set, max)
    }

    pub(super) fn of(name: Name, set: Set, max: u64) -> Result<Self> {
        check_size(max)?;
        Ok(Self { name, set, max })
    }
}

impl Operation for Peek {
    head!("ick.peek", embedded::State, name, ["check.lua", "take.lua", "peek.lua"]);
    type Output = Vec<Entry>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let set = match self.set {
            Set::Producer => "producer",
            Set::Consumer => "consumer",
        };
        let args = [set, &size_argument(self.max)].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Entry>> {
        decode_entries(reply, self.max)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Entry>> {
        state.step(context, |ick, _| {
            let set = match self.set {
                Set::Producer => &ick.producer,
                Set::Consumer => &ick.consumer,
            };
            Ok(first_entries(set, self.max))
        })
    }
}
