//! Time: the server's, or the embedded engine's.

use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, Script, StepContext, script};

/// Reads the clock that decides when tasks are available and leases are over.
#[derive(Clone, Debug)]
pub struct ReadTime(Name);

impl ReadTime {
    /// Reads the clock of this store.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        Name::new(name.as_ref()).map(Self)
    }

    pub(super) fn of(name: Name) -> Self {
        Self(name)
    }
}

impl Operation for ReadTime {
    type Output = u64;
    type State = embedded::State;
    const NAME: &'static str = "tasks.time";
    const IDEMPOTENT: bool = true;

    fn script() -> &'static Script {
        script!("time.lua")
    }

    fn queue(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn invocation(&self) -> Invocation {
        let keys = vec![self.0.as_bytes().into()];
        Invocation { script: Self::script(), keys, args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, _: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        Ok(context.now() / 1_000)
    }
}
