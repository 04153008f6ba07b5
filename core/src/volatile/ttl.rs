//! Ttl: how long a field remains live.

use std::time::Duration;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// Reads how long a field remains live.
#[derive(Clone, Debug)]
pub struct ReadTtl {
    name: Name,
    field: Vec<u8>,
}

impl ReadTtl {
    /// Reads the remaining time to live of this field.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a field above
    /// [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX).
    pub fn new(name: impl AsRef<[u8]>, field: impl AsRef<[u8]>) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, field.as_ref())
    }

    pub(super) fn of(name: Name, field: &[u8]) -> Result<Self> {
        limits::field(field)?;
        Ok(Self { name, field: field.to_vec() })
    }
}

impl Operation for ReadTtl {
    head!(
        "volatile.ttl",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "ttl.lua"]
    );
    /// The remaining time, in whole microseconds; `None` for a field that is not live.
    type Output = Option<Duration>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let args = [&self.field].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.field_keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Option<Duration>> {
        match reply {
            Reply::Nil => Ok(None),
            ttl_us => Ok(Some(Duration::from_micros(ttl_us.number()?))),
        }
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Duration>> {
        state.step(self.name.base(), context, |hash, now, _| Ok(hash.ttl(&self.field, now)))
    }
}
