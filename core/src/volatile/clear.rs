//! Clear: remove all fields.

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Removes all fields, not the locks; returns how many fields were live.
#[derive(Clone, Debug)]
pub struct Clear {
    name: Name,
}

impl Clear {
    /// Removes all fields of this hash.
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
        "volatile.clear",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "clear.lua"]
    );
    type Output = u64;
    /// A second run could remove fields that others have set since.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let keys = self.name.field_keys();
        Invocation { script: Self::script(), keys, args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        state.step(self.name.base(), context, |hash, now, effects| Ok(hash.clear(now, effects)))
    }
}
