//! Cancel: tell the holders of tasks to stop, or take the tasks away from them.

use std::sync::Arc;

use super::list::checked_ids;
use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Marks claimed tasks as cancelled, so that the next renewal reports it.
#[derive(Clone, Debug)]
pub struct Cancel {
    name: Name,
    ids: Vec<Arc<str>>,
    force: bool,
}

impl Cancel {
    /// Cancels the tasks with these ids.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, no id and more than [`PAGE_MAX`](super::PAGE_MAX).
    pub fn new<I: AsRef<str>>(
        name: impl AsRef<[u8]>,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, ids)
    }

    pub(super) fn of<I: AsRef<str>>(name: Name, ids: impl IntoIterator<Item = I>) -> Result<Self> {
        Ok(Self { name, ids: checked_ids(ids, limits::id)?, force: false })
    }

    /// Removes these tasks instead.
    #[must_use]
    pub fn force(self) -> Self {
        Self { force: true, ..self }
    }
}

impl Operation for Cancel {
    head!(
        "tasks.cancel",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "cancel.lua"]
    );
    /// For each id, whether the task is now cancelled or removed.
    type Output = Vec<bool>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.force.into());
        self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<bool>> {
        let flags = reply.list()?.all(self.ids.len(), |replies| replies.next()?.flag())?;
        if flags.len() == self.ids.len() { Ok(flags) } else { Err(malformed()) }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<bool>> {
        Ok(self.ids.iter().map(|id| state.cancel(id, self.force, context)).collect())
    }
}
