//! Ack: say that messages are done.

use super::message::{Receipt, check_receipts, put_receipts};
use super::name::Name;
use super::{check_filled, embedded, head};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// The most messages in one step; for more, [`ShuffleConsumer::ack`](super::ShuffleConsumer::ack)
/// takes several steps.
pub const ACK_MESSAGES_MAX: usize = 100_000;

/// Acknowledges messages of a group; returns how many of them were pending.
#[derive(Clone, Debug)]
pub struct Ack {
    pub(super) name: Name,
    pub(super) group: Vec<u8>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) delete: bool,
}

impl Ack {
    /// Acknowledges these messages.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group, an invalid stream
    /// number, or more than [`ACK_MESSAGES_MAX`] messages.
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
        let receipts = check_receipts(receipts)?;
        Ok(Self { name, group: group.to_vec(), receipts, delete: false })
    }

    /// Whether to delete the messages as well, for every group.
    #[must_use]
    pub fn delete(mut self, delete: bool) -> Self {
        self.delete = delete;
        self
    }
}

impl Operation for Ack {
    head!("shuffle.ack", embedded::State, name, ["queue.lua", "ids.lua", "ack.lua"]);
    type Output = u64;
    /// The messages end up the same, but a second run would count none.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(if self.delete { b"1" } else { b"0" });
        put_receipts(&self.receipts, &mut args);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.receipts.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let acknowledged = queue.ack_all(&self.group, &self.receipts, self.delete, effects);
            Ok(acknowledged.into_iter().map(u64::from).sum())
        })
    }
}
