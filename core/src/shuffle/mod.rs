#![doc = include_str!("README.md")]

mod ack;
mod backlog;
mod consumer;
mod dead_letters;
pub(crate) mod embedded;
mod extend;
mod len;
mod message;
mod messages;
mod name;
mod read;
mod reclaim;
mod shard;
mod start_values;
mod stats;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests drive")]
mod tests;
pub(crate) mod tracking;
mod write;

pub use ack::{ACK_MESSAGES_MAX, Ack};
pub use backlog::Backlog;
pub use consumer::ShuffleConsumer;
pub use dead_letters::{DeadLetter, ReadDeadLetters};
pub use extend::Extend;
pub use len::Len;
pub use message::{Message, MessageId, Receipt, Stream};
pub use messages::Messages;
pub use read::{Batch, READ_MESSAGES_MAX, Read};
pub use reclaim::{Reclaim, Reclaimed};
pub use shard::shard;
pub use stats::{ReadStats, Stats, StreamStats};
pub use tracking::{
    Cordon, DEADLINE_MAX, Deadline, DeleteTracked, Expired, Expiry, ForgetExpired, Garbage,
    ScanExpired, TrackKeys,
};
pub use write::{
    BATCH_BYTES_MAX, BATCH_MESSAGES_MAX, BATCH_STRINGS_MAX, FIELDS_MAX, VALUE_BYTES_MAX, Write,
};

use std::sync::Arc;
use std::time::Duration;

use name::Name;
use tracking::{Keys, Track};

use crate::client::{Blocking, Client, Mode};
use crate::error::{Error, ErrorKind, Result, invalid};
use crate::limits::CallSize;

/// The number of a stream of a queue, from 0.
pub type StreamNumber = u32;

/// The most streams of a queue.
pub const STREAMS_MAX: u32 = 65_536;

/// How many streams a queue has if its writers do not say.
pub const STREAMS_DEFAULT: u32 = 16;

/// How many streams a tenant's shard has if its writers do not say, or all if there are fewer.
pub const STREAMS_PER_SHARD_DEFAULT: u32 = 2;

/// How long what is written lives if nobody says: a day.
pub const TTL_DEFAULT: Duration = Duration::from_secs(86_400);

/// The longest that anything lives without being written to: 100 years.
pub const TTL_MAX: Duration = Duration::from_secs(3_155_760_000);

/// A multi-tenant queue by its name; made by [`Client::shuffle_queue`]. Cheap to clone and to
/// make again.
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
#[derive(Clone, Debug)]
pub struct ShuffleQueue<M: Mode = Blocking> {
    client: Client<M>,
    name: Result<Name, Arc<str>>,
    streams: u32,
    streams_per_shard: Option<u32>,
    ttl: Duration,
    track_keys: TrackKeys,
}

impl<M: Mode> ShuffleQueue<M> {
    pub(crate) fn new(client: Client<M>, name: &[u8]) -> Self {
        Self {
            client,
            name: Name::new(name).map_err(|error| error.message().into()),
            streams: STREAMS_DEFAULT,
            streams_per_shard: None,
            ttl: TTL_DEFAULT,
            track_keys: TrackKeys::default(),
        }
    }

    /// How many streams writers spread tenants over; [`STREAMS_DEFAULT`] if not said. More take
    /// effect with the next write; fewer as soon as the streams beyond have nothing left to do.
    /// Readers need not know.
    #[must_use]
    pub fn streams(mut self, streams: u32) -> Self {
        self.streams = streams;
        self
    }

    /// How many of the streams a tenant may write to; [`STREAMS_PER_SHARD_DEFAULT`] if not said.
    #[must_use]
    pub fn streams_per_shard(mut self, streams: u32) -> Self {
        self.streams_per_shard = Some(streams);
        self
    }

    /// How long a stream lives after it was last written to, with all that is in it;
    /// [`TTL_DEFAULT`] if not said. At least a second, at most [`TTL_MAX`].
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Where the records of tracked messages are; [`TrackKeys::Global`] if not said. Whoever writes,
    /// deletes or collects tracked messages of a queue has to say the same.
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
        let per_shard =
            self.streams_per_shard.unwrap_or(STREAMS_PER_SHARD_DEFAULT.min(self.streams));
        Write::of(self.name()?, self.streams, per_shard, self.ttl)
    }

    /// Writes one message of a tenant, to the stream of its shard that has the least to do.
    /// Answers where it is.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty shard key, a message without fields or beyond the limits
    /// ([`FIELDS_MAX`], [`VALUE_BYTES_MAX`]), or settings that no queue can have, before anything
    /// is sent; `WRONG_TYPE` if a key holds something else, and then nothing has changed.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` the message may or may not be written; written again it
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

    /// Writes many messages, each for its tenant, as [`write`](Self::write) would one after the
    /// other. Answers where they are, in their order.
    ///
    /// # Errors
    /// As [`write`](Self::write); a message that is refused refuses all. `INVALID_ARGUMENT` for more than
    /// [`CALL_ITEMS_MAX`](crate::CALL_ITEMS_MAX) messages or [`CALL_BYTES_MAX`](crate::CALL_BYTES_MAX)
    /// bytes.
    ///
    /// # Delivery
    /// One atomic step for up to [`BATCH_MESSAGES_MAX`] messages, [`BATCH_BYTES_MAX`] bytes and
    /// [`BATCH_STRINGS_MAX`] strings,
    /// several for more: after an error the first of these may be done.
    pub fn write_many<K: AsRef<[u8]>, F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        messages: impl IntoIterator<Item = (K, impl IntoIterator<Item = (F, V)>)>,
    ) -> M::Reply<Vec<Receipt>> {
        let steps = self.empty_write().and_then(|mut open| {
            let mut steps = Vec::new();
            let mut size = CallSize::default();
            for (shard_key, fields) in messages {
                if open.is_full() {
                    steps.push(std::mem::replace(&mut open, self.empty_write()?));
                }
                let before = open.total_bytes();
                open.push(shard_key, fields)?;
                size.add("messages", open.total_bytes() - before)?;
            }
            if !open.is_empty() {
                steps.push(open);
            }
            Ok(steps)
        });
        self.client.run_all(steps, |parts: Vec<Vec<Receipt>>| parts.concat())
    }

    /// Writes one message of a tenant, and remembers where it is by the value of its field
    /// `track_field`. The `deadline`, in seconds since the Unix epoch, says from when on that record
    /// may be [collected](Self::gc); `None` (or 0) is the server's time and the [`ttl`](Self::ttl). A
    /// message without that field, or with nothing in it,
    /// is written and not tracked; of two messages with the same value the later one is tracked.
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
    /// beyond [`DEADLINE_MAX`], and `CROSS_SLOT` on a cluster with the global keys.
    ///
    /// # Delivery
    /// As [`write`](Self::write).
    pub fn write_tracked<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        shard_key: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = (F, V)>,
        track_field: impl AsRef<[u8]>,
        deadline: impl Into<Option<Deadline>>,
    ) -> M::Reply<Receipt> {
        let step = self.empty_write().and_then(|mut step| {
            let keys = Keys::of(&self.name()?, self.track_keys);
            step.track(Track::new(track_field.as_ref(), deadline.into(), keys)?);
            step.push(shard_key, fields)?;
            Ok(step)
        });
        self.client.run_then(step, only)
    }

    /// Deletes the message that is tracked by this value, for all groups, taken or not. Answers
    /// where it was, or nothing if there is none (any more). With the global keys it is found
    /// whatever the name of its queue.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else, and `CROSS_SLOT` on a cluster with the global
    /// keys; then nothing has changed.
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` it may be done; done again it answers nothing then. A
    /// consumer that has taken the message is not stopped.
    pub fn delete_tracked(&self, value: impl AsRef<[u8]>) -> M::Reply<Option<Receipt>> {
        let step =
            self.name().map(|name| DeleteTracked::of(&name, self.track_keys, value.as_ref()));
        self.client.run(step)
    }

    /// Takes the values whose deadline passed not longer ago than `within` (in whole seconds) out of
    /// the deadlines, in one step, so that of several callers one gets each. Answers them by
    /// deadline. They are garbage from then on; their messages stay until they are deleted. The step
    /// has no limit, and nobody else is served meanwhile: a million values take seconds.
    ///
    /// # Errors
    /// As [`delete_tracked`](Self::delete_tracked).
    ///
    /// # Delivery
    /// After `CONNECTION_LOST` or `TIMEOUT` values may be cordoned that nobody saw; [`gc`](Self::gc)
    /// hands them out once more.
    pub fn cordon_deadline_exceeded(&self, within: Duration) -> M::Reply<Vec<Vec<u8>>> {
        self.client.run(self.name().and_then(|name| Cordon::of(&name, self.track_keys, within)))
    }

    /// Collects what is recorded of tracked messages whose deadline has passed, in batches of
    /// values, those that were [cordoned](Self::cordon_deadline_exceeded) first. See [`Garbage`].
    ///
    /// # Errors
    /// As [`delete_tracked`](Self::delete_tracked), and `INVALID_ARGUMENT` for a number of digits
    /// that is none, when the first batch is asked for.
    ///
    /// # Delivery
    /// At least once: what was handed out and not deleted yet is handed out by the next collection.
    pub fn gc(&self) -> Garbage<M> {
        Garbage::new(self.clone())
    }

    /// A consumer of a group. Each message goes to one consumer of each group; a group begins with
    /// what the queue holds when it first reads.
    pub fn consumer(
        &self,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
    ) -> ShuffleConsumer<M> {
        ShuffleConsumer::new(self.clone(), group.as_ref(), consumer.as_ref())
    }

    /// How many entries the streams hold, finished ones that nobody deleted included.
    ///
    /// # Errors
    /// `WRONG_TYPE` if a key holds something else.
    pub fn len(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Len::of))
    }

    /// How many messages some group still has to get or to acknowledge.
    ///
    /// # Errors
    /// As [`len`](Self::len).
    pub fn backlog(&self) -> M::Reply<u64> {
        self.client.run(self.name().map(Backlog::of))
    }

    /// How many messages a group was given and has not acknowledged.
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for an empty group.
    pub fn pending_count(&self, group: impl AsRef<[u8]>) -> M::Reply<u64> {
        let step = self.name().and_then(|name| ReadStats::of(name, group.as_ref()));
        self.client.run_then(step, |stats| stats.pending())
    }

    /// Up to `max` messages that were delivered too often, the oldest first; see
    /// [`ShuffleConsumer::reclaim`]. They lie in the stream `<queue>:dead`, and stay.
    ///
    /// # Errors
    /// As [`len`](Self::len); also `INVALID_ARGUMENT` for a `max` of 0 or above
    /// [`READ_MESSAGES_MAX`].
    pub fn dead_letters(&self, max: usize) -> M::Reply<Vec<DeadLetter>> {
        self.client.run(self.name().and_then(|name| ReadDeadLetters::of(name, max)))
    }

    /// What each stream holds for a group.
    ///
    /// # Errors
    /// As [`pending_count`](Self::pending_count).
    pub fn stats(&self, group: impl AsRef<[u8]>) -> M::Reply<Stats> {
        self.client.run(self.name().and_then(|name| ReadStats::of(name, group.as_ref())))
    }
}

crate::operation::steps! {
    [embedded::State, tracking::State]
    Ack, Backlog, Extend, Len, Read, ReadDeadLetters, ReadStats, Reclaim, Write,
    Cordon, DeleteTracked, ForgetExpired, ScanExpired,
}

/// What a cluster asks for, where nothing in the wire contract's keys ties them to one slot.
const ON_CLUSTER: &str = "give the queue a name with a {tag}, such as {jobs}, and keep the records of \
                          tracked messages with it: track_keys has to be the queue's";

fn check_group(group: &[u8]) -> Result<()> {
    match group.is_empty() {
        true => Err(invalid("the group's name is empty")),
        false => Ok(()),
    }
}

fn check_consumer(consumer: &[u8]) -> Result<()> {
    match consumer.is_empty() {
        true => Err(invalid("the consumer's name is empty")),
        false => Ok(()),
    }
}

/// The receipt of a step that writes one message.
fn only(receipts: Vec<Receipt>) -> Receipt {
    receipts.into_iter().next().expect("a message that is written has a receipt")
}

/// A time to live in milliseconds.
fn ttl_ms(ttl: Duration) -> Result<u64> {
    if !(Duration::from_secs(1)..=TTL_MAX).contains(&ttl) {
        return Err(invalid(format!(
            "the time to live is {ttl:?}; it has to be between a second and 100 years"
        )));
    }
    Ok(ttl.as_millis() as u64)
}
