//! Delete: remove fields.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Removes fields; returns how many of them were live.
#[derive(Clone, Debug)]
pub struct Delete {
    name: Name,
    fields: ByteList,
}

impl Delete {
    /// Removes these fields.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, no field or more than
    /// [`FIELDS_MAX`](super::FIELDS_MAX), and a field above [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX).
    pub fn new<F: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = F>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, fields)
    }

    pub(super) fn of<F: AsRef<[u8]>>(
        name: Name,
        fields: impl IntoIterator<Item = F>,
    ) -> Result<Self> {
        Ok(Self { name, fields: limits::fields(fields)? })
    }
}

impl Operation for Delete {
    head!(
        "volatile.delete",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "delete.lua"]
    );
    type Output = u64;
    /// A second run could remove fields that others have set since.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let (keys, args) = (self.name.field_keys(), self.fields.clone());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.fields.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        state.step(self.name.base(), context, |hash, now, effects| {
            let mut live = 0;
            for field in self.fields.iter() {
                live += u64::from(hash.is_live(field, now));
                hash.remove(field, effects);
            }
            Ok(live)
        })
    }
}
