//! Delete: remove an Ick, also a broken one.

use super::{Name, embedded};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Removes a broken Ick too. Only the drop-in for redis-ick, which sends the script itself, does not.
const UNCHECKED: &str = "0";

/// Removes the three keys of an Ick, whatever they hold.
#[derive(Clone, Debug)]
pub struct Delete {
    name: Name,
    unlink: bool,
}

impl Delete {
    /// Removes this Ick.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is too long.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        Ok(Self::of(Name::new(name)?))
    }

    pub(super) fn of(name: Name) -> Self {
        Self { name, unlink: false }
    }

    /// Whether Redis frees the memory in the background (UNLINK) instead of immediately (DEL).
    #[must_use]
    pub fn unlink(self, unlink: bool) -> Self {
        Self { unlink, ..self }
    }
}

impl Operation for Delete {
    head!("ick.delete", embedded::State, name, ["check.lua", "delete.lua"]);
    type Output = u64;
    /// A second run would count no keys.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let command = if self.unlink { "UNLINK" } else { "DEL" };
        let args = [command, UNCHECKED].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.invocation().keys.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |ick, effects| {
            ick.forget_old_lease(now, effects);
            Ok(ick.delete(effects))
        })
    }
}
