//! Renew: say that messages are still being worked on.

use super::message::{Receipt, check_receipts, put_receipts};
use super::name::Name;
use super::{check_filled, embedded, head};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Restarts the idle time of messages; returns how many are still this consumer's.
#[derive(Clone, Debug)]
pub struct Renew {
    name: Name,
    group: Vec<u8>,
    consumer: Vec<u8>,
    receipts: Vec<Receipt>,
    /// 0 unless the work on them begins.
    deliveries: u64,
}

impl Renew {
    /// Renews these messages.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group or consumer, an invalid stream number,
    /// or more than [`ACK_MESSAGES_MAX`](super::ACK_MESSAGES_MAX) messages.
    pub fn new<R: Into<Receipt>>(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
        messages: impl IntoIterator<Item = R>,
    ) -> Result<Self> {
        let receipts = messages.into_iter().map(Into::into).collect();
        Self::of(Name::new(name.as_ref())?, group.as_ref(), consumer.as_ref(), receipts)
    }

    pub(super) fn of(
        name: Name,
        group: &[u8],
        consumer: &[u8],
        receipts: Vec<Receipt>,
    ) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_filled("the consumer's name", consumer)?;
        let receipts = check_receipts(receipts)?;
        let (group, consumer, deliveries) = (group.to_vec(), consumer.to_vec(), 0);
        Ok(Self { name, group, consumer, receipts, deliveries })
    }

    /// The work on them begins, which were delivered so often: a reclaim has not counted the last time.
    pub(super) fn begins(self, deliveries: u64) -> Self {
        Self { deliveries, ..self }
    }
}

impl Operation for Renew {
    head!("shuffle.renew", embedded::State, name, ["queue.lua", "ids.lua", "renew.lua"]);
    type Output = u64;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(&self.consumer);
        args.push(self.deliveries.to_string().as_bytes());
        put_receipts(&self.receipts, &mut args);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.receipts.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let renewed = |receipt: &&Receipt| {
                let how = (now, self.deliveries);
                queue.renew(&self.group, &self.consumer, receipt, how, effects)
            };
            Ok(self.receipts.iter().filter(renewed).count() as u64)
        })
    }
}
