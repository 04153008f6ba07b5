//! Release: give messages back before they are done.

use std::time::Duration;

use super::message::{Receipt, check_receipts, put_receipts};
use super::name::Name;
use super::{check_filled, embedded, head, min_idle_ms};
use crate::error::{Result, invalid};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Gives messages that this consumer holds back: they are reclaimed as if they had been idle for long, and their last
/// delivery does not count. Returns how many of them it held.
#[derive(Clone, Debug)]
pub struct Release {
    name: Name,
    group: Vec<u8>,
    consumer: Vec<u8>,
    idle_ms: u64,
    is_counted: bool,
    receipts: Vec<Receipt>,
}

impl Release {
    /// Gives these messages back, so that a reclaim with this `min_idle` takes them over after the `delay`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group or consumer, a `min_idle` over
    /// [`TTL_MAX`](super::TTL_MAX), a `delay` over the `min_idle`, an invalid stream number, or more than
    /// [`ACK_MESSAGES_MAX`](super::ACK_MESSAGES_MAX) messages.
    pub fn new<R: Into<Receipt>>(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
        messages: impl IntoIterator<Item = R>,
        min_idle: Duration,
        delay: Duration,
    ) -> Result<Self> {
        let receipts = messages.into_iter().map(Into::into).collect();
        let name = Name::new(name.as_ref())?;
        Self::of(name, group.as_ref(), consumer.as_ref(), receipts, (min_idle, delay))
    }

    pub(super) fn of(
        name: Name,
        group: &[u8],
        consumer: &[u8],
        receipts: Vec<Receipt>,
        (min_idle, delay): (Duration, Duration),
    ) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_filled("the consumer's name", consumer)?;
        let min_idle_ms = min_idle_ms(min_idle)?;
        if delay > min_idle {
            return Err(invalid(format!(
                "the delay is {delay:?}; a reclaim takes the messages over after {min_idle:?} anyway"
            )));
        }
        let receipts = check_receipts(receipts)?;
        let (group, consumer) = (group.to_vec(), consumer.to_vec());
        Ok(Self {
            name,
            group,
            consumer,
            idle_ms: min_idle_ms - delay.as_millis() as u64,
            is_counted: false,
            receipts,
        })
    }

    /// Whether this delivery counts, as for work that was tried and failed; by default it does not.
    #[must_use]
    pub fn counted(self, is_counted: bool) -> Self {
        Self { is_counted, ..self }
    }
}

impl Operation for Release {
    head!("shuffle.release", embedded::State, name, ["queue.lua", "ids.lua", "release.lua"]);
    type Output = u64;
    /// A second run would take another delivery back.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(&self.consumer);
        args.push(self.idle_ms.to_string().as_bytes());
        args.push(if self.is_counted { b"1" } else { b"0" });
        put_receipts(&self.receipts, &mut args);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.receipts.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        let since = context.now().saturating_sub(self.idle_ms * 1_000);
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let released = |receipt: &&Receipt| {
                queue.release(
                    &self.group,
                    &self.consumer,
                    receipt,
                    (since, self.is_counted),
                    effects,
                )
            };
            Ok(self.receipts.iter().filter(released).count() as u64)
        })
    }
}
