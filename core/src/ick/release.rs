//! Release: give the consumer lease back.

use super::{Name, Token, embedded};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Releases the consumer lease; returns false if it was lost.
#[derive(Clone, Debug)]
pub struct Release {
    name: Name,
    token: Token,
}

impl Release {
    /// Releases the lease.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is too long.
    pub fn new(name: impl AsRef<[u8]>, token: Token) -> Result<Self> {
        Ok(Self { name: Name::new(name)?, token })
    }
}

impl Operation for Release {
    head!("ick.release", embedded::State, name, ["release.lua"]);
    type Output = bool;
    /// A second run would find the lease gone.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let args = [&*self.token].into_iter().collect();
        Invocation { script: Self::script(), keys: vec![self.name.lease_key()], args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |ick, effects| {
            let held = ick.holder(now) == Some(&self.token);
            if held {
                ick.release(effects);
            }
            Ok(held)
        })
    }
}
