//! Delete dead letters: nobody needs them any more.

use super::message::MessageId;
use super::name::Name;
use super::{ACK_MESSAGES_MAX, embedded, head};
use crate::error::{Result, invalid};
use crate::step::{Invocation, Operation, Reply, StepContext};

/// Deletes dead letters by their ids.
#[derive(Clone, Debug)]
pub struct DeleteDeadLetters {
    name: Name,
    ids: Vec<MessageId>,
}

impl DeleteDeadLetters {
    /// Deletes these dead letters.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, and for more than
    /// [`ACK_MESSAGES_MAX`] letters.
    pub fn new<I: Into<MessageId>>(
        name: impl AsRef<[u8]>,
        letters: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        let ids = letters.into_iter().map(Into::into).collect();
        Self::of(Name::new(name.as_ref())?, ids)
    }

    pub(super) fn of(name: Name, ids: Vec<MessageId>) -> Result<Self> {
        if ids.len() > ACK_MESSAGES_MAX {
            return Err(invalid(format!("a step takes at most {ACK_MESSAGES_MAX} dead letters")));
        }
        Ok(Self { name, ids })
    }
}

impl Operation for DeleteDeadLetters {
    head!(
        "shuffle.delete_dead_letters",
        embedded::State,
        name,
        ["queue.lua", "ids.lua", "delete_dead_letters.lua"]
    );
    /// How many of them existed.
    type Output = u64;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let args = self.ids.iter().map(MessageId::to_string).collect();
        Invocation { script: Self::script(), keys: self.name.keys_with_dead(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.ids.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        state.step(context, |queue, effects| Ok(queue.delete_dead_letters(&self.ids, effects)))
    }
}
