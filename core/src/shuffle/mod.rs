#![doc = include_str!("README.md")]

mod ack;
mod ack_each;
mod backlog;
#[cfg(test)]
mod cases;
mod consumer;
mod dead_letters;
mod delete_dead_letters;
mod embedded;
mod job;
mod len;
mod message;
mod messages;
mod name;
mod read;
mod reclaim;
mod redrive;
mod reject;
mod release;
mod remove_idle_consumers;
mod renew;
mod resize;
mod run;
mod shard;
mod stats;
#[cfg(test)]
mod tests;
mod tracking;
mod worker;
mod write;

pub use crate::worker::failure::{Failure, Outcome};
pub use crate::worker::report::JobCounts;
pub use ack::{ACK_MESSAGES_MAX, Ack};
pub use ack_each::AckEach;
pub use backlog::Backlog;
pub use consumer::{MAX_DELIVERIES_DEFAULT, MAX_DELIVERIES_MAX, ShuffleConsumer};
pub use dead_letters::{DeadLetter, ReadDeadLetters};
pub use delete_dead_letters::DeleteDeadLetters;
pub use job::Job;
pub use len::Len;
pub use message::{Message, MessageId, Receipt, Stream};
pub use messages::Messages;
pub use read::{Batch, READ_MESSAGES_MAX, Read};
pub use reclaim::{Reclaim, Reclaimed};
pub use redrive::Redrive;
pub use reject::{REASON_BYTES_MAX, Reject};
pub use release::Release;
pub use remove_idle_consumers::RemoveIdleConsumers;
pub use renew::Renew;
pub use resize::Resize;
pub use shard::shard;
pub(crate) use stats::{KIND, TRACKING};
pub use stats::{ReadStats, Stats, StreamStats};
pub use tracking::{
    CORDON_WITHIN_MAX, Cordon, DEADLINE_DEFAULT, DEADLINE_MAX, Deadline, DeleteTracked, Expired,
    Expiry, ForgetExpired, Garbage, ScanExpired, TIME_DIGITS_MAX, TrackKeys,
};
pub use worker::{BACKOFF_DEFAULT, KEEP_CONSUMERS_DEFAULT, LEASE_DEFAULT, Run, Worker};
pub use write::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, BATCH_STRINGS_MAX, FIELDS_MAX, VALUE_BYTES_MAX, Write,
};

use std::sync::Arc;
use std::time::Duration;

use name::Name;
use write::Shape;

use crate::client::{Blocking, Client, Mode};
use crate::error::{Error, ErrorKind, Result, invalid};
use crate::step::Timestamp;
use crate::step::limits::CallSize;

/// The number of a stream of a queue, from 0.
pub type StreamNumber = u32;

/// The most streams of a queue.
pub const STREAMS_MAX: u32 = 65_536;

/// How many streams a queue gets by default with its first write, or as many as a shard has if that is more.
pub const STREAMS_DEFAULT: u32 = 16;

/// How many streams a tenant's shard has by default, or all if there are fewer.
pub const STREAMS_PER_SHARD_DEFAULT: u32 = 2;

/// How long a stream lives that a group joined and nobody has written to, and the `<queue>:meta` of a
/// queue whose keys expire, where a reader has no `ttl`: a day. Nothing is lost with either.
const JOINED_TTL: Duration = Duration::from_secs(86_400);

/// The longest `ttl`: 100 years.
pub const TTL_MAX: Duration = Duration::from_secs(3_155_760_000);

/// A queue that many tenants share, in which one tenant's burst delays only itself; made by [`Client::shuffle_queue`].
///
/// A queue consists of a number of streams. Each tenant writes only to a few of them, its shard, and always to the
/// stream of the shard with the smallest backlog. Consumers read from all streams in turn. A tenant that writes a
/// thousand times more than the others fills only its own streams, and the other tenants have streams that it does not
/// fill.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// let queue = client.shuffle_queue("jobs").streams(64).streams_per_shard(4);
/// queue.write("tenant-7", [("task", "resize"), ("image", "a.png")])?;
///
/// let consumer = queue.consumer("workers", "worker-1");
/// let message = consumer.read()?.expect("there is one");
/// assert_eq!(message.field("image"), Some(b"a.png".as_slice()));
/// consumer.ack_and_delete([&message])?;
/// assert_eq!(queue.backlog()?, 0);
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Rust
/// Cheap to clone and to make.
#[derive(Clone, Debug)]
pub struct ShuffleQueue<M: Mode = Blocking> {
    client: Client<M>,
    name: Result<Name, Arc<str>>,
    shape: Shape,
    ttl: Option<Duration>,
    dead_ttl: Option<Duration>,
    track_keys: TrackKeys,
}

impl<M: Mode> Client<M> {
    /// The shuffle queue with this name. Makes no call.
    pub fn shuffle_queue(&self, name: impl AsRef<[u8]>) -> ShuffleQueue<M> {
        ShuffleQueue::new(self.clone(), name.as_ref())
    }
}

impl<M: Mode> ShuffleQueue<M> {
    fn new(client: Client<M>, name: &[u8]) -> Self {
        Self {
            client,
            name: Name::new(name).map_err(|error| error.message().into()),
            shape: Shape { streams: None, streams_per_shard: None, known: Arc::default() },
            ttl: None,
            dead_ttl: None,
            track_keys: TrackKeys::default(),
        }
    }

    /// How many streams the queue has. The first write to a queue sets it. A write with another number is refused, with
    /// both numbers in the error, and [`resize`](Self::resize) changes it. By default writers use the queue's number,
    /// and a new queue gets [`STREAMS_DEFAULT`]. Readers need not know the number.
    #[must_use]
    pub fn streams(mut self, streams: u32) -> Self {
        self.shape.streams = Some(streams);
        self
    }

    /// How many of the streams a tenant may write to; by default [`STREAMS_PER_SHARD_DEFAULT`].
    #[must_use]
    pub fn streams_per_shard(mut self, streams: u32) -> Self {
        self.shape.streams_per_shard = Some(streams);
        self
    }

    /// How long a stream lives after it was last written to. **When that time is over, the stream is deleted with
    /// everything in it, including unprocessed messages.** By default nothing that is written expires. At least a
    /// second, at most [`TTL_MAX`]. All writers of a queue should use the same time.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How long a dead letter is kept. By default dead letters stay until they are
    /// [deleted](Self::delete_dead_letters). Each [`reclaim`](ShuffleConsumer::reclaim) and
    /// [`reject`](ShuffleConsumer::reject) of this handle's consumers deletes those that are older. At least a second, at most [`TTL_MAX`].
    #[must_use]
    pub fn dead_ttl(mut self, dead_ttl: Duration) -> Self {
        self.dead_ttl = Some(dead_ttl);
        self
    }

    /// Where the records of tracked messages are; by default [`TrackKeys::Global`]. All programs that write, delete or
    /// collect tracked messages of a queue must use the same setting.
    #[must_use]
    pub fn track_keys(mut self, track_keys: TrackKeys) -> Self {
        self.track_keys = track_keys;
        self
    }

    fn name(&self) -> Result<Name> {
        match &self.name {
            Ok(name) => Ok(name.clone()),
            Err(message) => Err(Error::new(ErrorKind::InvalidArgument, &**message)),
        }
    }

    fn empty_write(&self) -> Result<Write> {
        Write::of(self.name()?, self.shape.clone(), self.ttl)
    }

    fn empty_tracked_write(&self, field: &[u8], deadline: Option<Deadline>) -> Result<Write> {
        self.empty_write()?.tracked(field, deadline, self.track_keys)
    }

    /// Writes one message of a tenant, to the stream of its shard with the smallest backlog. Returns where it is.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty shard key, a message without fields, with more than [`FIELDS_MAX`] fields or
    /// with field names or values above [`VALUE_BYTES_MAX`] bytes each, or invalid settings, before anything is sent,
    /// and for a queue with another number of [`streams`](Self::streams) than this handle was given; `WRONG_TYPE` if a
    /// key holds something else, and then nothing has changed.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the message may or may not have been written; if it is written again, it
    /// may be there twice.
    pub fn write<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        shard_key: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = (F, V)>,
    ) -> M::Reply<Receipt> {
        let step = self.empty_write().and_then(|mut step| {
            step.push(shard_key, fields)?;
            Ok(step)
        });
        self.client.run_then(step, only)
    }

    /// Writes many messages, each for its tenant, as successive calls of [`write`](Self::write) would. Returns where
    /// they are, in order.
    ///
    /// # Errors
    /// As [`write`](Self::write); if one message is refused, all are. `INVALID_ARGUMENT` for more than
    /// [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) messages or [`CALL_BYTES_MAX`](crate::CALL_BYTES_MAX) bytes.
    ///
    /// # Delivery
    /// One atomic step for up to [`BATCH_MESSAGES_MAX`] messages, [`BATCH_BYTES_MAX`] bytes and [`BATCH_STRINGS_MAX`]
    /// strings, several for more: after an error the first of these may have been done.
    pub fn write_many<K: AsRef<[u8]>, F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        messages: impl IntoIterator<Item = (K, impl IntoIterator<Item = (F, V)>)>,
    ) -> M::Reply<Vec<Receipt>> {
        let steps = self.empty_write().and_then(|empty| empty.filled(messages));
        self.client.run_all(steps, |parts: Vec<Vec<Receipt>>| parts.concat())
    }

    /// Writes one message of a tenant, and records where it is under the value of its field `track_field`. From the
    /// `deadline` on, in seconds since the Unix epoch, that record may be [collected](Self::gc); `None` (or 0) is the
    /// server's time plus the [`ttl`](Self::ttl), or plus [`DEADLINE_DEFAULT`] without one. A message in which that
    /// field is missing or empty is written but not tracked. Of two messages with the same value, the later one is
    /// tracked.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// let fields = [("job", "j-1"), ("task", "resize")];
    /// let receipt = queue.write_tracked("tenant-7", fields, "job", None)?;
    /// assert_eq!(queue.delete_tracked("j-1")?, Some(receipt));
    /// assert!(queue.consumer("workers", "worker-1").read()?.is_none());
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write`](Self::write); also `INVALID_ARGUMENT` for an empty `track_field` and a deadline
    /// beyond [`DEADLINE_MAX`]; `CROSS_SLOT` on a cluster with the global keys.
    ///
    /// # Delivery
    /// After an error, the same applies as for [`write`](Self::write).
    pub fn write_tracked<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        shard_key: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = (F, V)>,
        track_field: impl AsRef<[u8]>,
        deadline: impl Into<Option<Deadline>>,
    ) -> M::Reply<Receipt> {
        let step = self.empty_tracked_write(track_field.as_ref(), deadline.into());
        let step = step.and_then(|mut step| {
            step.push(shard_key, fields)?;
            Ok(step)
        });
        self.client.run_then(step, only)
    }

    /// Writes many messages, each for its tenant, and records where they are, as successive calls of
    /// [`write_tracked`](Self::write_tracked) with the same field and deadline would. Returns where they are, in order.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// let messages = [("tenant-7", [("job", "j-1")]), ("tenant-8", [("job", "j-2")])];
    /// let receipts = queue.write_tracked_many(messages, "job", None)?;
    /// assert_eq!(queue.delete_tracked("j-2")?, Some(receipts[1]));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`write_tracked`](Self::write_tracked); if one message is refused, all are.
    ///
    /// # Delivery
    /// In steps, as [`write_many`](Self::write_many).
    pub fn write_tracked_many<K: AsRef<[u8]>, F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        messages: impl IntoIterator<Item = (K, impl IntoIterator<Item = (F, V)>)>,
        track_field: impl AsRef<[u8]>,
        deadline: impl Into<Option<Deadline>>,
    ) -> M::Reply<Vec<Receipt>> {
        let empty = self.empty_tracked_write(track_field.as_ref(), deadline.into());
        let steps = empty.and_then(|empty| empty.filled(messages));
        self.client.run_all(steps, |parts: Vec<Vec<Receipt>>| parts.concat())
    }

    /// Changes the queue's number of streams. More streams are added immediately; surplus streams are removed as soon
    /// as they have nothing left to deliver or to acknowledge. Until then writers already use only the new number,
    /// readers still take from all streams, and a later write or resize removes the surplus streams. Returns how many
    /// streams the queue has now. A queue that was never written to is created with this number.
    ///
    /// Handles with another number of [`streams`](Self::streams) are refused from then on.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// queue.write("tenant-7", [("image", "a.png")])?;
    /// assert_eq!(queue.resize(64)?, 64);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for zero streams or more than [`STREAMS_MAX`]; `WRONG_TYPE` if a key holds something else,
    /// and then nothing has changed.
    pub fn resize(&self, streams: u32) -> M::Reply<u32> {
        self.client.run(self.name().and_then(|name| Resize::of(name, streams, self.ttl)))
    }

    /// Deletes the message that is tracked by this value, for all groups, whether it was taken or not. Returns where it
    /// was, or nothing if there is no such message. With the global keys it is found whatever the name of its queue.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else; `CORRUPT` if the record of this value names no
    /// message; `CROSS_SLOT` on a cluster with the global keys, and then nothing has changed.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may have been done; a repeated call then returns nothing. A consumer
    /// that has taken the message is not stopped.
    pub fn delete_tracked(&self, value: impl AsRef<[u8]>) -> M::Reply<Option<Receipt>> {
        let step =
            self.name().map(|name| DeleteTracked::of(&name, self.track_keys, value.as_ref()));
        self.client.run(step)
    }

    /// Takes the values whose deadline passed at most `within` ago (in whole seconds) out of the deadlines. This is one
    /// step, so only one of several callers gets each value. Returns the values by deadline. From then on they are
    /// garbage; their messages stay until they are deleted. The step has no limit, and the server does nothing else
    /// while it runs: a million values take seconds.
    ///
    /// # Errors
    /// As [`delete_tracked`](Self::delete_tracked).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` values may have been cordoned that no caller received; [`gc`](Self::gc)
    /// returns them again.
    pub fn cordon_deadline_exceeded(&self, within: Duration) -> M::Reply<Vec<Vec<u8>>> {
        self.client.run(self.name().and_then(|name| Cordon::of(&name, self.track_keys, within)))
    }

    /// Collects the records of tracked messages whose deadline has passed, in batches of values; those that were
    /// [cordoned](Self::cordon_deadline_exceeded) come first. See [`Garbage`].
    ///
    /// # Errors
    /// As [`delete_tracked`](Self::delete_tracked), and `INVALID_ARGUMENT` for an invalid number of digits, when the
    /// first batch is asked for.
    ///
    /// # Delivery
    /// At least once: values that were returned but not deleted yet are returned again by the next collection.
    pub fn gc(&self) -> Garbage<M> {
        Garbage::new(self.clone())
    }

    /// A consumer of a group. Each message goes to one consumer of each group; a group begins with the messages that
    /// the queue holds when the group first reads.
    ///
    /// A program that restarts should use the same name again, such as its host's. The server keeps the names of all
    /// consumers that ever read, until [they are removed](Self::remove_idle_consumers), which workers do.
    pub fn consumer(
        &self,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
    ) -> ShuffleConsumer<M> {
        ShuffleConsumer::new(self.clone(), group.as_ref(), consumer.as_ref())
    }

    /// How many entries the streams hold, including finished ones that were not deleted.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    #[must_use = "it changes nothing"]
    pub fn len(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Len::of))
    }

    /// How many messages at least one group has not received or not acknowledged yet.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    #[must_use = "it changes nothing"]
    pub fn backlog(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Backlog::of))
    }

    /// How many messages were delivered to a group and not acknowledged.
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for an empty group.
    #[must_use = "it changes nothing"]
    pub fn pending_count(&self, group: impl AsRef<[u8]>) -> M::Reply<u64> {
        let step = self.name().and_then(|name| ReadStats::of(name, group.as_ref()));
        self.client.run_then(step, |stats| stats.pending())
    }

    /// Up to `max` dead letters, the oldest first: messages that were delivered too often, see
    /// [`ShuffleConsumer::reclaim`], or [rejected](ShuffleConsumer::reject). They are in the stream `<queue>:dead`, and
    /// stay until they are [deleted](Self::delete_dead_letters) or [redriven](Self::redrive), or their
    /// [`dead_ttl`](Self::dead_ttl) is over.
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for a `max` of 0 or above
    /// [`READ_MESSAGES_MAX`].
    pub fn dead_letters(&self, max: usize) -> M::Reply<Vec<DeadLetter>> {
        self.read_dead_letters(max, None)
    }

    /// [`dead_letters`](Self::dead_letters), but those after another one: the next page. That letter need not exist any
    /// more.
    ///
    /// ```
    /// # let client = millpond::connect("memory:")?;
    /// # let queue = client.shuffle_queue("jobs");
    /// let mut page = queue.dead_letters(1_000)?;
    /// while let Some(last) = page.last() {
    ///     let images = page.iter().filter(|letter| letter.message.field("image").is_some());
    ///     queue.redrive(images)?;
    ///     page = queue.dead_letters_after(1_000, last)?;
    /// }
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dead_letters`](Self::dead_letters).
    pub fn dead_letters_after(
        &self,
        max: usize,
        after: impl Into<MessageId>,
    ) -> M::Reply<Vec<DeadLetter>> {
        self.read_dead_letters(max, Some(after.into()))
    }

    fn read_dead_letters(&self, max: usize, after: Option<MessageId>) -> M::Reply<Vec<DeadLetter>> {
        let step = self.name().and_then(|name| ReadDeadLetters::of(name, max));
        self.client.run(step.map(|step| step.after(after)))
    }

    /// Deletes dead letters. Returns how many of them existed.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// let letters = queue.dead_letters(100)?;
    /// assert_eq!(queue.delete_dead_letters(&letters)?, 0);
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`len`](Self::len).
    ///
    /// # Delivery
    /// Deleting twice is safe. Above [`ACK_MESSAGES_MAX`] letters the call takes several steps.
    pub fn delete_dead_letters<I: Into<MessageId>>(
        &self,
        letters: impl IntoIterator<Item = I>,
    ) -> M::Reply<u64> {
        let steps = steps_of("letters", letters, ACK_MESSAGES_MAX, |part| {
            DeleteDeadLetters::of(self.name()?, part)
        });
        self.client.run_all(steps, |counts: Vec<u64>| counts.into_iter().sum())
    }

    /// Puts dead letters back into the queue, each as a new message of the stream that it came from, and removes them
    /// from the dead letters. Returns where each is now, in order, or nothing for a letter that does not exist. Every
    /// group gets the message, including groups that had finished it.
    ///
    /// ```
    /// let client = millpond::connect("memory:")?;
    /// let queue = client.shuffle_queue("jobs");
    /// queue.write("tenant-7", [("image", "a.png")])?;
    /// let consumer = queue.consumer("workers", "worker-1");
    /// let message = consumer.read()?.expect("there is one");
    /// consumer.reject([&message], "rejected: no such image")?;
    ///
    /// let letters = queue.dead_letters(100)?;
    /// assert_eq!(letters[0].reason, "rejected: no such image");
    /// assert!(queue.redrive(&letters)?[0].is_some());
    /// assert_eq!(queue.redrive(&letters)?, [None]);
    /// let again = consumer.read()?.expect("it is there again");
    /// assert_eq!((again.field("image"), again.deliveries), (Some(b"a.png".as_slice()), 1));
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for invalid settings, and for more than
    /// [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) letters.
    ///
    /// # Delivery
    /// A letter is put back only once, even if it is redriven twice. Above [`BATCH_MESSAGES_MAX`] letters the call
    /// takes several steps: after an error the first of these may have been done. The new message is not tracked.
    pub fn redrive<I: Into<MessageId>>(
        &self,
        letters: impl IntoIterator<Item = I>,
    ) -> M::Reply<Vec<Option<Receipt>>> {
        let steps = steps_of("letters", letters, BATCH_MESSAGES_MAX, |part| {
            Redrive::of(self.name()?, part, self.shape.guess(), self.ttl)
        });
        self.client.run_all(steps, |parts: Vec<Vec<Option<Receipt>>>| parts.concat())
    }

    /// Removes the consumers of all groups that hold no message and have been idle for at least `min_idle` in all
    /// streams: the names of programs that are gone, which the server would otherwise keep. Returns how many. A removed
    /// consumer that reads again is added again, so nothing is lost. The embedded engine keeps no such names, and
    /// removes none.
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for a `min_idle` over 100 years.
    ///
    /// # Delivery
    /// Removing twice is safe. The call is one step, and the server does nothing else while it runs. A consumer that
    /// has waited that long for a message may be removed as well, until it reads again.
    pub fn remove_idle_consumers(&self, min_idle: Duration) -> M::Reply<u64> {
        self.client.run(self.name().and_then(|name| RemoveIdleConsumers::of(name, min_idle)))
    }

    /// What each stream holds for a group.
    ///
    /// # Errors
    /// As [`pending_count`](Self::pending_count).
    pub fn stats(&self, group: impl AsRef<[u8]>) -> M::Reply<Stats> {
        self.client.run(self.name().and_then(|name| ReadStats::of(name, group.as_ref())))
    }
}

crate::step::steps! {
    [embedded::State, tracking::State]
    Ack, AckEach, Backlog, DeleteDeadLetters, Len, Read, ReadDeadLetters, ReadStats, Reclaim,
    Redrive, Reject, Release, RemoveIdleConsumers, Renew, Resize, Write,
    Cordon, DeleteTracked, ForgetExpired, ScanExpired,
}

/// What a cluster asks for, where nothing in the wire contract's keys ties them to one slot.
const ON_CLUSTER: &str = "give the queue a name with a {tag}, such as {jobs}, and keep the records of \
                          tracked messages with it: track_keys has to be the queue's";

/// The head of a step, with what a cluster asks of names.
macro_rules! head {
    ($($head:tt)+) => {
        $crate::step::head!($($head)+);
        const ON_CLUSTER: &'static str = $crate::shuffle::ON_CLUSTER;
    };
}
use head;

/// The steps that all of these items need, each with up to `max`.
fn steps_of<T: Clone, I: Into<T>, S>(
    what: &str,
    items: impl IntoIterator<Item = I>,
    max: usize,
    step: impl Fn(Vec<T>) -> Result<S>,
) -> Result<Vec<S>> {
    let (mut size, mut all) = (CallSize::default(), Vec::new());
    for item in items {
        size.add(what, 0)?;
        all.push(item.into());
    }
    all.chunks(max).map(|part| step(part.to_vec())).collect()
}

/// Refuses what is empty.
fn check_filled(what: &str, bytes: &[u8]) -> Result<()> {
    match bytes.is_empty() {
        true => Err(invalid(format!("{what} is empty"))),
        false => Ok(()),
    }
}

/// Refuses to take nothing, and more than [`READ_MESSAGES_MAX`].
fn check_max(step: &str, max: usize, of: &str) -> Result<()> {
    match (1..=READ_MESSAGES_MAX).contains(&max) {
        true => Ok(()),
        false => Err(invalid(format!("{step} takes 1 to {READ_MESSAGES_MAX} {of}, not {max}"))),
    }
}

/// The receipt of a step that writes one message.
fn only(receipts: Vec<Receipt>) -> Receipt {
    receipts.into_iter().next().expect("a message that is written has a receipt")
}

/// A time to live in milliseconds as steps have it: 0 is for ever.
fn ttl_ms(ttl: Option<Duration>) -> Result<u64> {
    let Some(ttl) = ttl else { return Ok(0) };
    if !(Duration::from_secs(1)..=TTL_MAX).contains(&ttl) {
        return Err(invalid(format!(
            "the time to live is {ttl:?}; it has to be between a second and 100 years"
        )));
    }
    Ok(ttl.as_millis() as u64)
}

/// The least time that something is idle, in milliseconds. Rounded up: a short time must not become none, which is
/// everything.
fn min_idle_ms(min_idle: Duration) -> Result<u64> {
    match min_idle > TTL_MAX {
        true => Err(invalid("the least idle time is over 100 years")),
        false => Ok(min_idle.as_nanos().div_ceil(1_000_000) as u64),
    }
}

/// When something expires that lives for `ttl` from now on.
fn expires(now: Timestamp, ttl_ms: u64) -> Timestamp {
    if ttl_ms == 0 { Timestamp::MAX } else { now + ttl_ms * 1_000 }
}
