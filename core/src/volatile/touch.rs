//! Touch: give a field a new time to live.

use std::time::Duration;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Changes the expiry of a field, if it is live; returns whether it was.
#[derive(Clone, Debug)]
pub struct Touch {
    name: Name,
    field: Vec<u8>,
    ttl_us: u64,
}

impl Touch {
    /// Makes this field expire after `ttl`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, a field above
    /// [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX) and a `ttl` below one millisecond or above
    /// [`TTL_MAX`](super::TTL_MAX).
    pub fn new(name: impl AsRef<[u8]>, field: impl AsRef<[u8]>, ttl: Duration) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, field.as_ref(), ttl)
    }

    pub(super) fn of(name: Name, field: &[u8], ttl: Duration) -> Result<Self> {
        limits::field(field)?;
        Ok(Self { name, field: field.to_vec(), ttl_us: limits::ttl_us(ttl)? })
    }
}

impl Operation for Touch {
    head!(
        "volatile.touch",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "touch.lua"]
    );
    type Output = bool;
    /// A second run would replace a time to live that others have set since.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.field);
        args.push_number(self.ttl_us);
        Invocation { script: Self::script(), keys: self.name.field_keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.step(self.name.base(), context, |hash, now, effects| {
            let is_live = hash.is_live(&self.field, now);
            if is_live {
                hash.touch(&self.field, now + self.ttl_us, effects);
            }
            Ok(is_live)
        })
    }
}
