//! A consumer of a group.

use std::time::Duration;

use super::message::{Message, Receipt};
use super::{
    ACK_MESSAGES_MAX, Ack, Batch, Extend, Messages, Read, Reclaim, Reclaimed, ShuffleQueue,
    StreamNumber,
};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::runtime::waiters::Listener;
use crate::step::limits::CallSize;

/// One consumer of a group of a queue's consumers; made by [`ShuffleQueue::consumer`]. Any number of threads
/// may use it at a time.
///
/// A delivered message belongs to its consumer until it is acknowledged, and asking for the next one does not
/// acknowledge it. When a consumer is gone, any other takes over its messages with [`reclaim`](Self::reclaim),
/// also those that no caller received: after `CONNECTION_LOST`, `TIMEOUT` and an interrupted call.
#[derive(Clone, Debug)]
pub struct ShuffleConsumer<M: Mode = Blocking> {
    queue: ShuffleQueue<M>,
    group: Vec<u8>,
    consumer: Vec<u8>,
    prefer: Option<StreamNumber>,
    default_stream: bool,
    max_deliveries: u64,
}

impl<M: Mode> ShuffleConsumer<M> {
    pub(super) fn new(queue: ShuffleQueue<M>, group: &[u8], consumer: &[u8]) -> Self {
        let (group, consumer) = (group.to_vec(), consumer.to_vec());
        Self { queue, group, consumer, prefer: None, default_stream: false, max_deliveries: 0 }
    }

    /// Takes from this stream first, as much as it has; for a consumer to which one tenant's
    /// messages are cheaper together.
    #[must_use]
    pub fn prefer_stream(mut self, stream: impl Into<Option<StreamNumber>>) -> Self {
        self.prefer = stream.into();
        self
    }

    /// Takes also from the stream at the queue's own name, in turn with the others: a plain stream
    /// becomes a sharded queue while its writers move. The group there has the queue's name.
    #[must_use]
    pub fn default_stream(mut self, default_stream: bool) -> Self {
        self.default_stream = default_stream;
        self
    }

    /// The number of deliveries after which a [reclaimed](Self::reclaim) message becomes a dead
    /// letter instead: a message that kills its consumers must not kill all of them. 0, the
    /// default, for never.
    #[must_use]
    pub fn max_deliveries(mut self, max_deliveries: u64) -> Self {
        self.max_deliveries = max_deliveries;
        self
    }

    fn read_step(&self, max: usize) -> Result<Read> {
        let step = Read::of(self.queue.name()?, &self.group, &self.consumer, max)?;
        Ok(step.ttl(self.queue.ttl)?.prefer(self.prefer).default_stream(self.default_stream))
    }

    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty group or consumer; `WRONG_TYPE` if a key holds something
    /// else.
    ///
    /// # Delivery
    /// At least once: a message that was taken is the consumer's until it is acknowledged. After
    /// `CONNECTION_LOST` or `TIMEOUT` a message may be the consumer's that it never saw.
    pub fn read(&self) -> M::Reply<Option<Message>> {
        self.queue.client.run_then(self.read_step(1), |mut batch| batch.messages.pop())
    }

    /// Takes up to `max` messages in one step: those that as many calls of [`read`](Self::read)
    /// would have taken.
    ///
    /// # Errors
    /// As [`read`](Self::read); also `INVALID_ARGUMENT` for a `max` of 0 or above
    /// [`READ_MESSAGES_MAX`](super::READ_MESSAGES_MAX).
    ///
    /// # Delivery
    /// After an error it is as with [`read`](Self::read).
    pub fn read_many(&self, max: usize) -> M::Reply<Vec<Message>> {
        self.queue.client.run_then(self.read_step(max), |batch: Batch| batch.messages)
    }

    /// The consumer's loop: batches of up to `max` messages. See [`Messages`].
    pub fn messages(&self, max: usize) -> Messages<M> {
        Messages::new(self.clone(), max)
    }

    /// Asks for the next batch.
    pub(super) fn take(&self, max: usize) -> M::Reply<Batch> {
        self.queue.client.run(self.read_step(max))
    }

    /// Listens for messages that come after an empty batch.
    pub(super) fn listen(&self, empty: &Batch) -> Result<Listener> {
        let topic = self.queue.name()?.notifications_key();
        Ok(self.queue.client.listen_after(
            self.group.as_slice().into(),
            topic,
            empty.notified.unwrap_or_default(),
        ))
    }

    /// Acknowledges messages, so that the group does not get them again. Returns how many were
    /// waiting for that. The entries stay in the queue, for other groups.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) messages; `WRONG_TYPE`
    /// if a key holds something else.
    ///
    /// # Delivery
    /// Acknowledging twice is safe. Above [`ACK_MESSAGES_MAX`] messages it takes several steps.
    pub fn ack<R: Into<Receipt>>(&self, messages: impl IntoIterator<Item = R>) -> M::Reply<u64> {
        self.ack_with(messages, false)
    }

    /// Acknowledges messages and deletes them, for all groups: what a queue with one group wants.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    ///
    /// # Delivery
    /// It can be repeated, as [`ack`](Self::ack).
    pub fn ack_and_delete<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
    ) -> M::Reply<u64> {
        self.ack_with(messages, true)
    }

    /// Says that messages are still being worked on, so that nobody [reclaims](Self::reclaim) them.
    /// Returns how many are this consumer's; those that are not have been taken over.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    pub fn extend<R: Into<Receipt>>(&self, messages: impl IntoIterator<Item = R>) -> M::Reply<u64> {
        let steps = steps_of(messages, |part| {
            Extend::of(self.queue.name()?, &self.group, &self.consumer, part)
        });
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Takes over up to `max` messages that were delivered at least `min_idle` ago and neither
    /// acknowledged nor [extended](Self::extend) since: those of consumers that are gone. After
    /// [`max_deliveries`](Self::max_deliveries) a message becomes a dead letter instead.
    ///
    /// # Errors
    /// As [`read_many`](Self::read_many).
    ///
    /// # Delivery
    /// A consumer that is only slow may be working on a message that is taken over: `min_idle` has
    /// to be longer than its work, or it has to extend what it works on.
    pub fn reclaim(&self, min_idle: Duration, max: usize) -> M::Reply<Reclaimed> {
        let step = self.queue.name().and_then(|name| {
            let step = Reclaim::of(name, &self.group, &self.consumer, min_idle, max)?;
            let step = step.dead_ttl(self.queue.dead_ttl)?.max_deliveries(self.max_deliveries)?;
            Ok(step.default_stream(self.default_stream))
        });
        self.queue.client.run(step)
    }

    fn ack_with<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
        delete: bool,
    ) -> M::Reply<u64> {
        let steps = steps_of(messages, |part| {
            Ok(Ack::of(self.queue.name()?, &self.group, part)?.delete(delete))
        });
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }
}

/// The steps that all of these messages need.
fn steps_of<R: Into<Receipt>, S>(
    messages: impl IntoIterator<Item = R>,
    step: impl Fn(Vec<Receipt>) -> Result<S>,
) -> Result<Vec<S>> {
    let mut size = CallSize::default();
    let mut receipts = Vec::new();
    for message in messages {
        size.add("messages", 0)?;
        receipts.push(message.into());
    }
    receipts.chunks(ACK_MESSAGES_MAX).map(|part| step(part.to_vec())).collect()
}
