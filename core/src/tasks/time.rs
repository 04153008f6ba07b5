//! Time: the server's, or the embedded engine's.

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Reads the clock that decides when tasks become available and leases expire.
#[derive(Clone, Debug)]
pub struct ReadTime {
    name: Name,
}

impl ReadTime {
    /// Reads the clock of this store.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        Name::new(name.as_ref()).map(Self::of)
    }

    pub(super) fn of(name: Name) -> Self {
        Self { name }
    }
}

impl Operation for ReadTime {
    head!("tasks.time", embedded::State, name, ["time.lua"]);
    type Output = u64;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let keys = vec![self.name.as_bytes().into()];
        Invocation { script: Self::script(), keys, args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, _: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        Ok(context.now() / 1_000)
    }
}
