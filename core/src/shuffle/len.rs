//! Len: how much a queue holds.

use super::name::Name;
use super::{ON_CLUSTER, embedded};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, Script, StepContext, script};

/// Counts the entries of a queue's streams, finished ones included.
#[derive(Clone, Debug)]
pub struct Len {
    name: Name,
}

impl Len {
    /// Counts those of this queue.
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

impl Operation for Len {
    type Output = u64;
    type State = embedded::State;
    const NAME: &'static str = "shuffle.len";
    const ON_CLUSTER: &'static str = ON_CLUSTER;
    const IDEMPOTENT: bool = true;

    fn script() -> &'static Script {
        script!("queue.lua", "len.lua")
    }

    fn queue(&self) -> &[u8] {
        self.name.as_bytes()
    }

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        state.step(context, |queue, _| Ok(queue.counted().map(embedded::Stream::len).sum()))
    }
}
