//! Reclaim: take over what a silent consumer left.

use std::time::Duration;

use super::consumer::MAX_DELIVERIES_MAX;
use super::dead_letters::EXHAUSTED;
use super::message::Message;
use super::name::Name;
use super::{check_filled, check_max, embedded, expires, head, min_idle_ms, ttl_ms};
use crate::error::{Result, invalid};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Takes over messages whose consumers went silent, from the streams in turn, the oldest of each first. A message that
/// reached the limit of deliveries becomes a dead letter instead; see
/// [`ShuffleConsumer::reclaim`](super::ShuffleConsumer::reclaim) for which messages are returned alone.
#[derive(Clone, Debug)]
pub struct Reclaim {
    name: Name,
    group: Vec<u8>,
    consumer: Vec<u8>,
    min_idle_ms: u64,
    max: usize,
    max_deliveries: u64,
    dead_ttl_ms: u64,
    default_stream: bool,
    begins: bool,
}

/// What a call of [`ShuffleConsumer::reclaim`](super::ShuffleConsumer::reclaim) did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// The messages that were taken over.
    pub messages: Vec<Message>,
    /// How many messages became dead letters.
    pub dead: u64,
    /// Whether the message, which is one, is a suspect.
    pub(super) is_suspect: bool,
}

impl Reclaim {
    /// Takes over up to `max` messages that were delivered at least `min_idle` ago and neither
    /// acknowledged nor renewed since.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, an empty group or consumer, a
    /// `max` of 0 or above [`READ_MESSAGES_MAX`](super::READ_MESSAGES_MAX) and a `min_idle` over [`TTL_MAX`](super::TTL_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        group: impl AsRef<[u8]>,
        consumer: impl AsRef<[u8]>,
        min_idle: Duration,
        max: usize,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, group.as_ref(), consumer.as_ref(), min_idle, max)
    }

    pub(super) fn of(
        name: Name,
        group: &[u8],
        consumer: &[u8],
        min_idle: Duration,
        max: usize,
    ) -> Result<Self> {
        check_filled("the group's name", group)?;
        check_filled("the consumer's name", consumer)?;
        check_max("a reclaim", max, "messages")?;
        let min_idle_ms = min_idle_ms(min_idle)?;
        Ok(Self {
            name,
            group: group.to_vec(),
            consumer: consumer.to_vec(),
            min_idle_ms,
            max,
            max_deliveries: 0,
            dead_ttl_ms: 0,
            default_stream: false,
            begins: false,
        })
    }

    /// After this many deliveries a message becomes a dead letter; never for 0, the default.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a number above [`MAX_DELIVERIES_MAX`].
    pub fn max_deliveries(mut self, max_deliveries: u64) -> Result<Self> {
        if max_deliveries > MAX_DELIVERIES_MAX {
            return Err(invalid("the most deliveries are above 10^14"));
        }
        self.max_deliveries = max_deliveries;
        Ok(self)
    }

    /// How long a dead letter is kept, including existing ones; `None` keeps them forever.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `dead_ttl` under a second or over [`TTL_MAX`](super::TTL_MAX).
    pub fn dead_ttl(mut self, dead_ttl: impl Into<Option<Duration>>) -> Result<Self> {
        self.dead_ttl_ms = ttl_ms(dead_ttl.into())?;
        Ok(self)
    }

    /// Whether to look at the stream at the queue's own name as well.
    #[must_use]
    pub fn default_stream(mut self, default_stream: bool) -> Self {
        self.default_stream = default_stream;
        self
    }

    /// Whether the consumer says when the work on a suspect begins, before which its delivery is not counted.
    #[must_use]
    pub(super) fn begins(self, begins: bool) -> Self {
        Self { begins, ..self }
    }
}

/// The consumer of messages that were given back and wait for somebody to take them over.
pub(super) const RELEASED: &[u8] = b"millpond:released";

/// What becomes of a message that its consumer holds for too long.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    TakenOver,
    /// It comes alone.
    Suspect,
    Dead,
}

impl Idle {
    /// Classifies a pending message by how often it was delivered and the limit of that; 0 is no limit.
    pub(super) fn of(consumer: &[u8], deliveries: u64, max_deliveries: u64) -> Self {
        let is_dead = |deliveries| max_deliveries > 0 && deliveries >= max_deliveries;
        match consumer == RELEASED {
            _ if is_dead(deliveries) => Self::Dead,
            false if deliveries > 1 || is_dead(deliveries + 1) => Self::Suspect,
            _ => Self::TakenOver,
        }
    }
}

impl Operation for Reclaim {
    head!(
        "shuffle.reclaim",
        embedded::State,
        name,
        ["queue.lua", "add.lua", "dead.lua", "reclaim.lua"]
    );
    type Output = Reclaimed;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(&self.group);
        args.push(&self.consumer);
        for number in [self.min_idle_ms, self.max as u64, self.max_deliveries, self.dead_ttl_ms] {
            args.push(number.to_string().as_bytes());
        }
        args.push(if self.default_stream { b"1" } else { b"0" });
        args.push(EXHAUSTED.as_bytes());
        args.push(if self.begins { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.keys_with_dead(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Reclaimed> {
        let mut replies = reply.list()?;
        let dead = replies.next()?.count(self.max)?;
        let is_suspect = replies.next()?.flag()?;
        let messages = replies.all(self.max - dead as usize, |replies| {
            let (stream, deliveries) = (replies.next()?, replies.next()?.number()?);
            Message::decode(stream, deliveries, replies.next()?)
        })?;
        Ok(Reclaimed { messages, dead, is_suspect })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Reclaimed> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |queue, effects| {
            let taking = embedded::Taking {
                group: &self.group,
                consumer: &self.consumer,
                now,
                expires: expires(now, self.dead_ttl_ms),
            };
            let limits = (self.max, self.max_deliveries, self.begins);
            let reclaimed = queue.reclaim(&taking, self.min_idle_ms, limits, effects)?;
            queue.keep_dead(now, self.dead_ttl_ms, effects);
            Ok(reclaimed)
        })
    }
}
