//! Contains: whether ids are tracked.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::malformed;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Reads whether ids are tracked, in the same order.
#[derive(Clone, Debug)]
pub struct Contains {
    name: Name,
    ids: ByteList,
}

impl Contains {
    /// Reads whether these ids are tracked.
    ///
    /// # Errors
    /// As [`Add`](super::Add).
    pub fn new<I: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, ids)
    }

    pub(super) fn of<I: AsRef<[u8]>>(name: Name, ids: impl IntoIterator<Item = I>) -> Result<Self> {
        Ok(Self { name, ids: limits::some_ids(ids)? })
    }
}

impl Operation for Contains {
    head!(
        "tracker.contains",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "contains.lua"]
    );
    type Output = Vec<bool>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: self.ids.clone() }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<bool>> {
        let ids = self.ids.len();
        let flags = reply.list()?.all(ids, |replies| replies.next()?.flag())?;
        if flags.len() == ids { Ok(flags) } else { Err(malformed()) }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<bool>> {
        state.step(context, |tracker, _, _| {
            Ok(self.ids.iter().map(|id| tracker.contains(id)).collect())
        })
    }
}
