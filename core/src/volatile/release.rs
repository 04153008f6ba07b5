//! Release: give the lock of a field back.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Releases the lock of a field; returns false if the token does not hold it.
#[derive(Clone, Debug)]
pub struct Release {
    name: Name,
    field: Vec<u8>,
    token: Vec<u8>,
}

impl Release {
    /// Releases the lock of this field.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, a field above
    /// [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX), and a token that is empty or above
    /// [`TOKEN_BYTES_MAX`](super::TOKEN_BYTES_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, field.as_ref(), token.as_ref())
    }

    pub(super) fn of(name: Name, field: &[u8], token: &[u8]) -> Result<Self> {
        limits::field(field)?;
        limits::token(token)?;
        Ok(Self { name, field: field.to_vec(), token: token.to_vec() })
    }
}

impl Operation for Release {
    head!(
        "volatile.release",
        embedded::State,
        name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "release.lua"
        ]
    );
    type Output = bool;
    /// A second run would find the lock released.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let args = [&self.field, &self.token].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.step(self.name.base(), context, |hash, now, effects| {
            Ok(hash.release(&self.field, &self.token, now, effects))
        })
    }
}
