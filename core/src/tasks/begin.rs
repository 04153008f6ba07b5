//! Begin: note that the work on a suspect begins.

use std::sync::Arc;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Notes that the work begins on a task that was claimed as a [suspect](super::Claim::suspects): from now on its claim
/// counts as one that did not end.
#[derive(Clone, Debug)]
pub struct Begin {
    name: Name,
    claimant: Arc<str>,
    id: Arc<str>,
    unended: u32,
}

impl Begin {
    /// Begins this task, which this claimant has. `unended` says how often it has been claimed without an end, this
    /// claim included, as [`Claimed::unended`](super::Claimed::unended) does.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits.
    pub fn new(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        id: impl AsRef<str>,
        unended: u32,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, claimant.as_ref().into(), id.as_ref().into(), unended)
    }

    pub(super) fn of(name: Name, claimant: Arc<str>, id: Arc<str>, unended: u32) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::id(&id)?;
        Ok(Self { name, claimant, id, unended })
    }
}

impl Operation for Begin {
    head!("tasks.begin", embedded::State, name, ["../step/commands.lua", "store.lua", "begin.lua"]);
    /// Whether the claimant has the task.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.claimant.as_bytes());
        args.push(self.id.as_bytes());
        args.push_number(self.unended.into());
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        Ok(state.begin(&self.id, &self.claimant, self.unended, context))
    }
}
