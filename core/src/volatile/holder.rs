//! LockHolder: who has the lock of a field.

use std::time::Duration;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// The token.
    pub token: Vec<u8>,
    /// The fence.
    pub fence: u64,
    /// How long until the lock expires, unless it is renewed or released before.
    pub remaining: Duration,
}

/// Reads who holds the lock of a field.
#[derive(Clone, Debug)]
pub struct ReadHolder {
    name: Name,
    field: Vec<u8>,
}

impl ReadHolder {
    /// Reads who holds the lock of this field.
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

impl Operation for ReadHolder {
    head!(
        "volatile.holder",
        embedded::State,
        name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "holder.lua"
        ]
    );
    type Output = Option<LockHolder>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.field);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Option<LockHolder>> {
        let holders = reply.list()?.all(1, |replies| {
            Ok(LockHolder {
                token: replies.next()?.bytes()?,
                fence: replies.next()?.number()?,
                remaining: Duration::from_micros(replies.next()?.number()?),
            })
        })?;
        Ok(holders.into_iter().next())
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Option<LockHolder>> {
        state.step(self.name.base(), context, |hash, now, _| Ok(hash.holder(&self.field, now)))
    }
}
