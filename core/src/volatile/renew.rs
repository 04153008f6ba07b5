//! Renew: keep the lock of a field.

use std::time::Duration;

use super::acquire::Term;
use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Renews the lock of a field for a full term; returns false if the token does not hold it.
#[derive(Clone, Debug)]
pub struct Renew {
    term: Term,
}

impl Renew {
    /// Renews the lock of this field for `ttl`.
    ///
    /// # Errors
    /// As [`Acquire::new`](super::Acquire::new).
    pub fn new(
        name: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, field.as_ref(), token.as_ref(), ttl)
    }

    pub(super) fn of(name: Name, field: &[u8], token: &[u8], ttl: Duration) -> Result<Self> {
        Ok(Self { term: Term::of(name, field, token, ttl)? })
    }
}

impl Operation for Renew {
    head!(
        "volatile.renew",
        embedded::State,
        term.name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "renew.lua"
        ]
    );
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let (keys, args) = (self.term.name.keys(), self.term.args());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        let Term { field, token, ttl_us, .. } = &self.term;
        state.step(self.term.name.base(), context, |hash, now, effects| {
            Ok(hash.renew(field, token, *ttl_us, now, effects))
        })
    }
}
