//! Acquire: take the consumer lease.

use std::time::Duration;

use super::{Name, Token, embedded};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Takes the consumer lease if it is free, or again if the token holds it; returns whether the
/// token holds it now.
#[derive(Clone, Debug)]
pub struct Acquire {
    name: Name,
    token: Token,
    ttl_ms: u64,
}

impl Acquire {
    /// Takes the lease for `ttl`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is too long or a `ttl` below one millisecond or above one
    /// day.
    pub fn new(name: impl AsRef<[u8]>, token: Token, ttl: Duration) -> Result<Self> {
        Ok(Self { name: Name::new(name)?, token, ttl_ms: super::lease::ttl_ms(ttl)? })
    }
}

impl Operation for Acquire {
    head!("ick.acquire", embedded::State, name, ["acquire.lua"]);
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
            if ick.holder(now).is_some_and(|holder| *holder != self.token) {
                return Ok(false);
            }
            ick.grant(self.token, now + self.ttl_ms * 1_000, effects);
            Ok(true)
        })
    }
}
