//! A consumer of a group.

use std::time::Duration;

use super::job::Holder;
use super::message::{Message, Receipt};
use super::name::Name;
use super::run::Messages as Jobs;
use super::{
    ACK_MESSAGES_MAX, Ack, AckEach, Batch, Messages, Read, Reclaim, Reclaimed, Reject, Release,
    RemoveIdleConsumers, Renew, ShuffleQueue, StreamNumber, Worker, steps_of,
};
use crate::client::{Blocking, Client, Mode};
use crate::error::Result;
use crate::runtime::waiters::Listener;

/// The deliveries after which a message becomes a dead letter; see [`ShuffleConsumer::max_deliveries`].
pub const MAX_DELIVERIES_DEFAULT: u64 = 20;

/// The highest [`max_deliveries`](ShuffleConsumer::max_deliveries): 10^14.
pub const MAX_DELIVERIES_MAX: u64 = 100_000_000_000_000;

/// One consumer of a group of a queue; made by [`ShuffleQueue::consumer`]. Any number of threads may use it at a time.
///
/// A delivered message belongs to its consumer until it is acknowledged; asking for the next one does not acknowledge
/// it. When a consumer is gone, any other one can take over its messages with [`reclaim`](Self::reclaim). This includes
/// messages that no caller received, because of `CONNECTION_LOST`, `TIMEOUT` or an interrupted call.
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
        Self {
            queue,
            group,
            consumer,
            prefer: None,
            default_stream: false,
            max_deliveries: MAX_DELIVERIES_DEFAULT,
        }
    }

    /// Takes from this stream first, as much as it has; for a consumer that can process one tenant's messages more
    /// cheaply together.
    #[must_use]
    pub fn prefer_stream(mut self, stream: impl Into<Option<StreamNumber>>) -> Self {
        self.prefer = stream.into();
        self
    }

    /// Also takes from the stream at the queue's own name, in turn with the others, so that a plain stream can become a
    /// sharded queue while its writers move. The group there has the queue's name.
    #[must_use]
    pub fn default_stream(mut self, default_stream: bool) -> Self {
        self.default_stream = default_stream;
        self
    }

    /// The number of deliveries after which a [reclaimed](Self::reclaim) message becomes a dead letter instead, so that
    /// a message that always fails is not delivered for ever, and one that crashes its consumers does not crash all of
    /// them; [`MAX_DELIVERIES_DEFAULT`](super::MAX_DELIVERIES_DEFAULT) by default; 0 means never.
    #[must_use]
    pub fn max_deliveries(mut self, max_deliveries: u64) -> Self {
        self.max_deliveries = max_deliveries;
        self
    }

    pub(super) fn read_step(&self, max: usize) -> Result<Read> {
        let step = Read::of(self.queue.name()?, &self.group, &self.consumer, max)?;
        Ok(step.ttl(self.queue.ttl)?.prefer(self.prefer).default_stream(self.default_stream))
    }

    pub(super) fn client(&self) -> &Client<M> {
        &self.queue.client
    }

    pub(super) fn name(&self) -> Result<Name> {
        self.queue.name()
    }

    pub(super) fn holder(&self) -> Result<Holder> {
        let (group, consumer) = (self.group.clone(), self.consumer.clone());
        Ok(Holder { name: self.name()?, group, consumer })
    }

    pub(super) fn most_deliveries(&self) -> u64 {
        self.max_deliveries
    }

    /// A worker, which takes messages, keeps them while they are worked on, acknowledges them, retries those that
    /// failed, and takes over the messages of consumers that are gone. See [`Worker`].
    pub fn worker(&self) -> Worker<M> {
        Worker::new(Jobs { consumer: self.clone() }, Default::default())
    }

    /// Takes the next message, if there is one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty group or consumer; `WRONG_TYPE` if a key holds something
    /// else.
    ///
    /// # Delivery
    /// At least once: a message that was taken is the consumer's until it is acknowledged. After `CONNECTION_LOST` or
    /// `TIMEOUT` the consumer may hold a message that it never saw.
    pub fn read(&self) -> M::Reply<Option<Message>> {
        self.queue.client.run_then(self.read_step(1), |mut batch| batch.messages.pop())
    }

    /// Takes up to `max` messages in one step: those that the same number of calls of [`read`](Self::read) would have
    /// taken.
    ///
    /// # Errors
    /// As [`read`](Self::read); also `INVALID_ARGUMENT` for a `max` of 0 or above
    /// [`READ_MESSAGES_MAX`](super::READ_MESSAGES_MAX).
    ///
    /// # Delivery
    /// After an error, the same applies as for [`read`](Self::read).
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
        self.queue.client.listen_after(
            self.group.as_slice().into(),
            topic,
            empty.notified.unwrap_or_default(),
        )
    }

    /// Acknowledges messages, so that the group does not get them again. Returns how many of them were pending. The
    /// entries stay in the queue, for other groups.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) messages; `WRONG_TYPE`
    /// if a key holds something else.
    ///
    /// # Delivery
    /// Acknowledging twice is safe. Above [`ACK_MESSAGES_MAX`] messages the call takes several steps.
    pub fn ack<R: Into<Receipt>>(&self, messages: impl IntoIterator<Item = R>) -> M::Reply<u64> {
        self.ack_with(messages, false)
    }

    /// Acknowledges messages and deletes them for all groups, which suits a queue with one group.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    ///
    /// # Delivery
    /// The call can be repeated safely, as [`ack`](Self::ack) can; a repeated call returns false for what the first
    /// one acknowledged.
    pub fn ack_and_delete<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
    ) -> M::Reply<u64> {
        self.ack_with(messages, true)
    }

    /// [`ack`](Self::ack), but returns for each message, in order, whether it was pending. A message that was not
    /// pending is gone, or was acknowledged before, possibly by another consumer that reclaimed it.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// queue.write_many([("a", [("image", "1.png")]), ("b", [("image", "2.png")])])?;
    /// let consumer = queue.consumer("workers", "worker-1");
    /// let messages = consumer.read_many(2)?;
    /// consumer.ack([&messages[0]])?;
    /// assert_eq!(consumer.ack_each(&messages)?, [false, true]);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    ///
    /// # Delivery
    /// The call can be repeated safely, as [`ack`](Self::ack) can; a repeated call returns false for what the first
    /// one acknowledged.
    pub fn ack_each<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
    ) -> M::Reply<Vec<bool>> {
        self.ack_each_with(messages, false)
    }

    /// [`ack_and_delete`](Self::ack_and_delete), but returns for each message, in order, whether it was pending.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    ///
    /// # Delivery
    /// The call can be repeated safely, as [`ack`](Self::ack) can; a repeated call returns false for what the first
    /// one acknowledged.
    pub fn ack_and_delete_each<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
    ) -> M::Reply<Vec<bool>> {
        self.ack_each_with(messages, true)
    }

    /// Renews messages that are still being worked on: their idle time starts again, so that no other consumer
    /// [reclaims](Self::reclaim) them. Returns how many are still this consumer's; the others have been taken over.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    pub fn renew<R: Into<Receipt>>(&self, messages: impl IntoIterator<Item = R>) -> M::Reply<u64> {
        let steps = self.steps_of(messages, |part| {
            Renew::of(self.queue.name()?, &self.group, &self.consumer, part)
        });
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Gives messages back before they are done. A [reclaim](Self::reclaim) with this `min_idle` takes them over after
    /// the `delay`, without waiting until they have been idle for that long, and this delivery does not count. Returns
    /// how many were this consumer's; the others have been taken over.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// queue.write("tenant-7", [("image", "a.png")])?;
    /// let message = queue.consumer("workers", "worker-1").read()?.expect("there is one");
    /// let minute = Duration::from_secs(60);
    /// queue.consumer("workers", "worker-1").release([&message], minute, Duration::ZERO)?;
    /// let reclaimed = queue.consumer("workers", "worker-2").reclaim(minute, 100)?;
    /// assert_eq!(reclaimed.messages, [message]);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ack`](Self::ack); also `INVALID_ARGUMENT` for a `min_idle` over 100 years, and for a `delay` over the
    /// `min_idle`, after which they are taken over anyway.
    ///
    /// # Delivery
    /// A read never returns released messages, only a reclaim does. A reclaim with a shorter `min_idle` may take them
    /// before the `delay` is over. After `CONNECTION_LOST` or `TIMEOUT` the release may have been done; if it is
    /// repeated, one more delivery does not count.
    pub fn release<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
        min_idle: Duration,
        delay: Duration,
    ) -> M::Reply<u64> {
        let steps = self.steps_of(messages, |part| self.release_step(part, (min_idle, delay)));
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Rejects messages: makes dead letters of them immediately, with this reason. Returns how many were this
    /// consumer's; the others have been taken over and are left alone. Begin a reason with a word that tells the kinds
    /// apart, such as `rejected: no such image`. The reason of messages that were delivered too often is
    /// `exhausted: max_deliveries`.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// queue.write("tenant-7", [("image", "a.txt")])?;
    /// let consumer = queue.consumer("workers", "worker-1");
    /// let message = consumer.read()?.expect("there is one");
    /// assert_eq!(consumer.reject([&message], "rejected: not an image")?, 1);
    /// assert_eq!(consumer.reject([&message], "rejected: not an image")?, 0);
    /// assert_eq!(queue.dead_letters(100)?[0].reason, "rejected: not an image");
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ack`](Self::ack); also `INVALID_ARGUMENT` for a reason that is empty or above
    /// [`REASON_BYTES_MAX`](super::REASON_BYTES_MAX) bytes.
    ///
    /// # Delivery
    /// Rejecting twice is safe. A message is deleted from its stream if no other group has joined it.
    pub fn reject<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
        reason: impl AsRef<str>,
    ) -> M::Reply<u64> {
        let steps = self.steps_of(messages, |part| self.reject_step(part, reason.as_ref()));
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Takes over up to `max` messages of consumers that are gone: messages that were delivered at least `min_idle` ago
    /// and neither acknowledged nor [renewed](Self::renew) since. After [`max_deliveries`](Self::max_deliveries) a
    /// message becomes a dead letter instead.
    ///
    /// A program that crashes on one message leaves behind all that it had taken. So that the others do not become dead
    /// letters because of that one, a message that is taken over for at least the second time, or delivered for the
    /// last time, is returned alone: the call returns this one message, whatever `max` is, and the next call returns
    /// the next one. Finish the message before the next call. [Released](Self::release) messages do not count as left
    /// behind.
    ///
    /// # Errors
    /// As [`read_many`](Self::read_many).
    ///
    /// # Delivery
    /// A consumer that is only slow may still be working on a message that is taken over: `min_idle` must be longer
    /// than its work, or it must renew the messages that it works on.
    pub fn reclaim(&self, min_idle: Duration, max: usize) -> M::Reply<Reclaimed> {
        self.queue.client.run(self.reclaim_step(min_idle, max))
    }

    pub(super) fn reclaim_step(&self, min_idle: Duration, max: usize) -> Result<Reclaim> {
        let step = Reclaim::of(self.name()?, &self.group, &self.consumer, min_idle, max)?;
        let step = step.dead_ttl(self.queue.dead_ttl)?.max_deliveries(self.max_deliveries)?;
        Ok(step.default_stream(self.default_stream))
    }

    pub(super) fn leave_step(&self) -> Result<RemoveIdleConsumers> {
        Ok(RemoveIdleConsumers::only(self.name()?, &self.group, &self.consumer))
    }

    pub(super) fn release_step(
        &self,
        receipts: Vec<Receipt>,
        times: (Duration, Duration),
    ) -> Result<Release> {
        Release::of(self.name()?, &self.group, &self.consumer, receipts, times)
    }

    pub(super) fn reject_step(&self, receipts: Vec<Receipt>, reason: &str) -> Result<Reject> {
        let step = Reject::of(self.name()?, &self.group, &self.consumer, receipts, reason)?;
        step.dead_ttl(self.queue.dead_ttl)
    }

    pub(super) fn ack_each_step(&self, receipts: Vec<Receipt>, delete: bool) -> Result<AckEach> {
        Ok(AckEach::of(self.name()?, &self.group, receipts)?.delete(delete))
    }

    /// Wakes a consumer of this process that waits, after this time.
    pub(super) fn wake_after(&self, delay: Duration) {
        if let Ok(name) = self.name() {
            self.client().wake_after(&name.notifications_key(), delay);
        }
    }

    fn ack_with<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
        delete: bool,
    ) -> M::Reply<u64> {
        let steps = self.steps_of(messages, |part| {
            Ok(Ack::of(self.queue.name()?, &self.group, part)?.delete(delete))
        });
        self.queue.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    fn ack_each_with<R: Into<Receipt>>(
        &self,
        messages: impl IntoIterator<Item = R>,
        delete: bool,
    ) -> M::Reply<Vec<bool>> {
        let steps = self.steps_of(messages, |part| self.ack_each_step(part, delete));
        self.queue.client.run_all(steps, |parts: Vec<Vec<bool>>| parts.concat())
    }

    /// The steps that all of these messages need.
    fn steps_of<R: Into<Receipt>, S>(
        &self,
        messages: impl IntoIterator<Item = R>,
        step: impl Fn(Vec<Receipt>) -> Result<S>,
    ) -> Result<Vec<S>> {
        steps_of("messages", messages, ACK_MESSAGES_MAX, step)
    }
}
