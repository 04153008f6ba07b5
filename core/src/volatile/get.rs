//! Get: the values of fields.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Reads the values of fields that are live.
#[derive(Clone, Debug)]
pub struct Get {
    name: Name,
    fields: ByteList,
}

impl Get {
    /// Reads these fields.
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

impl Operation for Get {
    head!(
        "volatile.get",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "hash.lua", "get.lua"]
    );
    /// For each field its value, or `None` if it is not live.
    type Output = Vec<Option<Vec<u8>>>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let (keys, args) = (self.name.field_keys(), self.fields.clone());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Self::Output> {
        let values = reply.list()?.all(self.fields.len(), |replies| match replies.next()? {
            Reply::Nil => Ok(None),
            value => value.bytes().map(Some),
        })?;
        if values.len() == self.fields.len() { Ok(values) } else { Err(malformed()) }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Self::Output> {
        state.step(self.name.base(), context, |hash, now, _| {
            Ok(self.fields.iter().map(|field| hash.get(field, now)).collect())
        })
    }
}
