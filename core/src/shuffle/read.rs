//! Read: take messages to work on.

use std::time::Duration;

use super::message::{Message, MessageId, decode_id};
use super::name::Name;
use super::{JOINED_TTL, StreamNumber, check_filled, check_max, embedded, expires, head, ttl_ms};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// The most messages that one step takes.
pub const READ_MESSAGES_MAX: usize = 10_000;

/// Takes messages for a consumer of a group, from the streams in turn: a batch holds the messages that the same number
/// of single reads would have taken, in the same order.
#[derive(Clone, Debug)]
pub struct Read {
    name: Name,
    group: Vec<u8>,
    consumer: Vec<u8>,
    max: usize,
    ttl_ms: u64,
    prefer: Option<StreamNumber>,
    default_stream: bool,
}

/// What a [`Read`] took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The messages, in turn.
    pub messages: Vec<Message>,
    /// The last of the queue's notifications so far, if there was no message. A consumer that waits for the
    /// notifications after it misses nothing.
    pub notified: Option<MessageId>,
}

impl Read {
    /// Takes up to `max` messages.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group or consumer, and a
    /// `max` of 0 or above [`READ_MESSAGES_MAX`].
    pub fn new(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
        max: usize,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, group.as_ref(), consumer.as_ref(), max)
    }

    pub(super) fn of(name: Name, group: &[u8], consumer: &[u8], max: usize) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_filled("the consumer's name", consumer)?;
        check_max("a read", max, "messages")?;
        let ttl_ms = ttl_ms(Some(JOINED_TTL))?;
        let (group, consumer) = (group.to_vec(), consumer.to_vec());
        Ok(Self { name, group, consumer, max, ttl_ms, prefer: None, default_stream: false })
    }

    /// How long a stream that the group joins lives, and what is known about the queue; neither lifetime is ever
    /// shortened. `None` is a day: nothing is lost with a stream that was never written to.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `ttl` under a second or over [`TTL_MAX`](super::TTL_MAX).
    pub fn ttl(mut self, ttl: impl Into<Option<Duration>>) -> Result<Self> {
        self.ttl_ms = ttl_ms(Some(ttl.into().unwrap_or(JOINED_TTL)))?;
        Ok(self)
    }

    /// Takes from this stream first, as much as it has. If the group has not joined it yet, or the queue no longer has
    /// it, it is treated like the other streams.
    #[must_use]
    pub fn prefer(mut self, stream: impl Into<Option<StreamNumber>>) -> Self {
        self.prefer = stream.into();
        self
    }

    /// Whether to also take from the stream at the queue's own name, which held the messages before the queue was
    /// sharded. Its group has the queue's name.
    #[must_use]
    pub fn default_stream(mut self, default_stream: bool) -> Self {
        self.default_stream = default_stream;
        self
    }
}

impl Operation for Read {
    head!("shuffle.read", embedded::State, name, ["queue.lua", "read.lua"]);
    type Output = Batch;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(&self.consumer);
        args.push(self.max.to_string().as_bytes());
        args.push(self.ttl_ms.to_string().as_bytes());
        args.push(self.prefer.map(|number| number.to_string()).unwrap_or_default().as_bytes());
        args.push(if self.default_stream { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Batch> {
        let mut replies = reply.list()?;
        let notified = replies.next()?;
        let messages = Message::decode_all(replies, self.max)?;
        let notified = messages.is_empty().then(|| decode_id(notified)).transpose()?;
        Ok(Batch { messages, notified })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Batch> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let expires = expires(now, self.ttl_ms);
            let taking =
                embedded::Taking { group: &self.group, consumer: &self.consumer, now, expires };
            let messages = queue.read(&taking, self.max, self.prefer, effects)?;
            // Embedded, a consumer listens before it reads.
            let notified = messages.is_empty().then(MessageId::default);
            Ok(Batch { messages, notified })
        })
    }
}
