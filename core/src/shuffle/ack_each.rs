//! Ack each: say that messages are done, and find out which of them others had done before.

use super::message::{Receipt, check_streams};
use super::name::Name;
use super::{Ack, check_filled, embedded, head};
use crate::error::Result;
use crate::step::reply::malformed;
use crate::step::{Invocation, Operation, Reply, StepContext};

/// Acknowledges messages of a group; returns for each whether it was pending.
#[derive(Clone, Debug)]
pub struct AckEach {
    /// The messages are in the order of the caller.
    ack: Ack,
}

impl AckEach {
    /// Acknowledges these messages.
    ///
    /// # Errors
    /// As [`Ack::new`](super::Ack::new).
    pub fn new<R: Into<Receipt>>(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        messages: impl IntoIterator<Item = R>,
    ) -> Result<Self> {
        let receipts = messages.into_iter().map(Into::into).collect();
        Self::of(Name::new(name.as_ref())?, group.as_ref(), receipts)
    }

    pub(super) fn of(name: Name, group: &[u8], receipts: Vec<Receipt>) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_streams(&receipts)?;
        Ok(Self { ack: Ack { name, group: group.to_vec(), receipts, delete: false } })
    }

    /// Whether to delete the messages as well, for every group.
    #[must_use]
    pub fn delete(self, delete: bool) -> Self {
        Self { ack: self.ack.delete(delete) }
    }
}

impl Operation for AckEach {
    head!("shuffle.ack_each", embedded::State, ack.name, ["queue.lua", "ids.lua", "ack_each.lua"]);
    /// Whether each was pending, in order.
    type Output = Vec<bool>;
    /// The messages end up the same, but in a second run none is waiting.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), ..self.ack.invocation() }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<bool>> {
        let max = self.ack.receipts.len();
        let acknowledged = reply.list()?.all(max, |replies| replies.next()?.flag())?;
        match acknowledged.len() == max {
            true => Ok(acknowledged),
            false => Err(malformed()),
        }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<bool>> {
        let Ack { group, receipts, delete, .. } = self.ack;
        context.mark_evictable();
        state.step(context, |queue, effects| Ok(queue.ack_all(&group, &receipts, delete, effects)))
    }
}
