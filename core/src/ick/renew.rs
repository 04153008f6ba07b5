//! Renew: keep the consumer lease.

use std::time::Duration;

use super::{Name, Token, embedded};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Renews the consumer lease for its full length; returns false if it was lost.
#[derive(Clone, Debug)]
pub struct Renew {
    name: Name,
    token: Token,
    ttl_ms: u64,
}

impl Renew {
    /// Renews the lease for `ttl`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is too long or a `ttl` below one millisecond or above one
    /// day.
    pub fn new(name: impl AsRef<[u8]>, token: Token, ttl: Duration) -> Result<Self> {
        Ok(Self { name: Name::new(name)?, token, ttl_ms: super::lease::ttl_ms(ttl)? })
    }
}

impl Operation for Renew {
    head!("ick.renew", embedded::State, name, ["renew.lua"]);
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let args = [&*self.token, self.ttl_ms.to_string().as_bytes()].into_iter().collect();
        Invocation { script: Self::script(), keys: vec![self.name.lease_key()], args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        let now = context.now();
        state.step(context, |ick, effects| {
            if ick.holder(now) != Some(&self.token) {
                return Ok(false);
            }
            ick.grant(self.token, now + self.ttl_ms * 1_000, effects);
            Ok(true)
        })
    }
}
