//! Write: messages for tenants.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::embedded::Queue;
use super::message::{Receipt, decode_receipts};
use super::name::Name;
use super::shard::{check_key, check_sizes, shard};
use super::tracking::{self, DEADLINE_DEFAULT, Deadline, Keys, Record, Track, TrackKeys};
use super::{
    STREAMS_DEFAULT, STREAMS_MAX, STREAMS_PER_SHARD_DEFAULT, StreamNumber, embedded, expires, head,
    ttl_ms,
};
use crate::error::{Result, invalid};
use crate::step::limits::{CallSize, first_of};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Effects, Invocation, Operation, StepContext, Timestamp};

/// The most messages in one step; for more, [`ShuffleQueue::write_many`](super::ShuffleQueue::write_many) takes several
/// steps. A step is atomic, and the server does nothing else while it runs.
pub const BATCH_MESSAGES_MAX: usize = 10_000;

/// The most bytes of fields and values in one step, since the server does nothing else while it runs; a single message
/// may have more.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most strings in one step, for the same reason: fields, values, and the streams of shards. A single message may
/// have more.
pub const BATCH_STRINGS_MAX: usize = 262_144;

/// The longest field or value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most fields of a message. The package that introduced this queue could write 3,998.
pub const FIELDS_MAX: usize = 32_768;

/// Writes messages, each to the stream of its tenant's shard with the smallest backlog.
#[derive(Clone, Debug)]
pub struct Write {
    name: Name,
    shape: Shape,
    ttl_ms: u64,
    /// The tenants of the messages.
    keys: ByteList,
    /// How many fields each message has.
    counts: Vec<usize>,
    /// Fields and values of all messages.
    strings: ByteList,
    track: Option<Track>,
}

/// Over how many streams a writer spreads tenants.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// How many the queue has to have; `None` for as many as it has.
    pub(super) streams: Option<u32>,
    pub(super) streams_per_shard: Option<u32>,
    /// How many the queue had when a writer last learned of it; 0 if none was. A guess that is wrong costs
    /// a second call.
    pub(super) known: Arc<AtomicU32>,
}

impl Shape {
    /// How many streams the queue is taken to have, and has if nobody wrote to it yet.
    pub(super) fn guess(&self) -> u32 {
        let known = self.known.load(Ordering::Relaxed);
        let least = self.streams_per_shard.unwrap_or(1);
        let guess = if known >= least.max(1) { known } else { STREAMS_DEFAULT.max(least) };
        self.streams.unwrap_or(guess)
    }

    /// About how many streams each message's arguments name.
    fn guess_width(&self) -> usize {
        self.streams_per_shard.unwrap_or(STREAMS_PER_SHARD_DEFAULT) as usize
    }

    /// How many streams a shard has in a queue of `streams` streams.
    fn width(&self, streams: u32) -> Result<u32> {
        let width = self.streams_per_shard.unwrap_or(STREAMS_PER_SHARD_DEFAULT.min(streams));
        check_sizes(streams, width)?;
        Ok(width)
    }

    /// How many streams a shard has in a queue of `found`, if that is what the queue has to have.
    fn width_of(&self, found: u32) -> Result<u32> {
        match self.streams {
            Some(wanted) if wanted != found => Err(invalid(format!(
                "the queue has {found} streams, and this writer was given {wanted}: give it none to \
                 take those that are there, or resize the queue"
            ))),
            _ => self.width(found),
        }
    }
}

impl Write {
    /// A step without messages; [`push`](Self::push) adds them. Without a number of streams the step uses the queue's,
    /// and without a `ttl` what is written never expires.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, for an invalid number of streams and for a `ttl` under
    /// a second or over [`TTL_MAX`](super::TTL_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        streams: impl Into<Option<u32>>,
        streams_per_shard: impl Into<Option<u32>>,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Self> {
        let (streams, streams_per_shard) = (streams.into(), streams_per_shard.into());
        let shape = Shape { streams, streams_per_shard, known: Arc::default() };
        Self::of(Name::new(name.as_ref())?, shape, ttl.into())
    }

    pub(super) fn of(name: Name, shape: Shape, ttl: Option<Duration>) -> Result<Self> {
        shape.width(shape.guess())?;
        Ok(Self {
            name,
            shape,
            ttl_ms: ttl_ms(ttl)?,
            keys: ByteList::default(),
            counts: Vec::new(),
            strings: ByteList::default(),
            track: None,
        })
    }

    /// Tracks each message by the value of a field, until a deadline; see
    /// [`write_tracked`](super::ShuffleQueue::write_tracked).
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty field and a deadline beyond
    /// [`DEADLINE_MAX`](super::DEADLINE_MAX).
    pub fn tracked(
        mut self,
        field: impl AsRef<[u8]>,
        deadline: impl Into<Option<Deadline>>,
        track_keys: TrackKeys,
    ) -> Result<Self> {
        let keys = Keys::of(&self.name, track_keys);
        self.track = Some(Track::new(field.as_ref(), deadline.into(), keys)?);
        Ok(self)
    }

    /// Adds a message for a tenant.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty key, no field or more than [`FIELDS_MAX`], a field or value above
    /// [`VALUE_BYTES_MAX`], or more than [`BATCH_MESSAGES_MAX`] messages. The step is then unchanged.
    pub fn push<F: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        shard_key: impl AsRef<[u8]>,
        fields: impl IntoIterator<Item = (F, V)>,
    ) -> Result<()> {
        let mut strings = ByteList::default();
        for (field, value) in first_of(fields, FIELDS_MAX) {
            for string in [field.as_ref(), value.as_ref()] {
                if string.len() > VALUE_BYTES_MAX {
                    return Err(invalid(format!(
                        "a field of message {} has {} bytes; {VALUE_BYTES_MAX} are allowed",
                        self.len(),
                        string.len()
                    )));
                }
                strings.push(string);
            }
        }
        let count = strings.len() / 2;
        if !(1..=FIELDS_MAX).contains(&count) {
            let found = if count == 0 { "0".to_owned() } else { format!("more than {FIELDS_MAX}") };
            return Err(invalid(format!(
                "message {} has {found} fields; 1 to {FIELDS_MAX} are allowed",
                self.len(),
            )));
        }
        if self.len() == BATCH_MESSAGES_MAX {
            return Err(invalid(format!("a step takes at most {BATCH_MESSAGES_MAX} messages")));
        }
        let key = shard_key.as_ref();
        check_key(key)?;
        self.keys.push(key);
        self.counts.push(count);
        self.strings.append(&strings);
        Ok(())
    }

    /// Steps like this one, which has no messages yet, that have all of these.
    pub(super) fn filled<K: AsRef<[u8]>, F: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        messages: impl IntoIterator<Item = (K, impl IntoIterator<Item = (F, V)>)>,
    ) -> Result<Vec<Self>> {
        let (mut open, mut steps) = (self.clone(), Vec::new());
        let mut size = CallSize::default();
        for (shard_key, fields) in messages {
            if open.is_full() {
                steps.push(std::mem::replace(&mut open, self.clone()));
            }
            let before = open.strings.total_bytes();
            open.push(shard_key, fields)?;
            size.add("messages", open.strings.total_bytes() - before)?;
        }
        if !open.is_empty() {
            steps.push(open);
        }
        Ok(steps)
    }

    /// How many messages the step has.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether the step has no messages; it then does nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether it is better to begin another step.
    pub(super) fn is_full(&self) -> bool {
        self.len() == BATCH_MESSAGES_MAX
            || self.strings.total_bytes() >= BATCH_BYTES_MAX
            || self.strings.len() + self.len() * self.shape.guess_width() >= BATCH_STRINGS_MAX
    }

    /// The shards of the messages in a queue of `streams` streams, one after the other.
    fn shards(&self, streams: u32, width: u32) -> Result<Vec<StreamNumber>> {
        let mut shards = Vec::with_capacity(self.len() * width as usize);
        let mut last = None;
        for key in self.keys.iter() {
            // A batch often has several messages of one tenant.
            if last == Some(key) {
                shards.extend_from_within(shards.len() - width as usize..);
            } else {
                shards.extend(shard(streams, width, key)?);
                last = Some(key);
            }
        }
        Ok(shards)
    }

    /// The call that writes to a queue of `streams` streams.
    fn invocation_for(&self, streams: u32) -> Result<Invocation> {
        let width = self.shape.width(streams)?;
        let shards = self.shards(streams, width)?;
        let strings = 5 + shards.len() + self.counts.len() + self.strings.len();
        let mut args = ByteList::with_capacity(strings, self.strings.total_bytes() + 4 * strings);
        for number in [self.ttl_ms, streams.into(), width.into()] {
            args.push(number.to_string().as_bytes());
        }
        let mut keys = self.name.keys();
        let track = self.track.as_ref();
        args.push(track.map_or(b"", |track| &track.field));
        let deadline = track.and_then(|track| track.deadline).map(|deadline| deadline.to_string());
        args.push(deadline.unwrap_or_default().as_bytes());
        keys.extend(track.iter().flat_map(|track| track.keys.written()).cloned());
        let mut strings = self.strings.iter();
        for (shard, count) in shards.chunks(width as usize).zip(&self.counts) {
            for number in shard {
                args.push(number.to_string().as_bytes());
            }
            args.push(count.to_string().as_bytes());
            strings.by_ref().take(2 * count).for_each(|string| args.push(string));
        }
        Ok(Invocation { script: Self::script(), keys, args })
    }
}

/// How many streams the queue has, where a reply says that nothing was written.
fn found(reply: &Reply) -> Option<u32> {
    match reply {
        Reply::Int(found) => u32::try_from(*found).ok().filter(|n| (1..=STREAMS_MAX).contains(n)),
        _ => None,
    }
}

impl Operation for Write {
    head!(
        "shuffle.write",
        embedded::State,
        name,
        ["queue.lua", "add.lua", "shape.lua", "write.lua"]
    );
    type Output = Vec<Receipt>;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        self.invocation_for(self.shape.guess()).expect("numbers and keys were checked")
    }

    fn revised(&self, reply: &Reply) -> Option<Invocation> {
        let found = found(reply)?;
        self.shape.width_of(found).ok()?;
        self.shape.known.store(found, Ordering::Relaxed);
        self.invocation_for(found).ok()
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Receipt>> {
        if let Some(found) = found(&reply) {
            self.shape.width_of(found)?;
        }
        let receipts = decode_receipts(reply)?;
        match receipts.len() == self.len() {
            true => Ok(receipts),
            false => Err(malformed()),
        }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Receipt>> {
        let receipts = match &self.track {
            None => {
                let now = context.now();
                state.step(context, |queue, effects| self.put(queue, now, effects))?
            }
            Some(track) => self.put_tracked(track, state, context)?,
        };
        for _ in &receipts {
            context.wake(|| self.name.notifications_key(), 1);
        }
        Ok(receipts)
    }
}

impl Write {
    /// Puts the messages into an embedded queue.
    fn put(
        &self,
        queue: &mut Queue,
        now: Timestamp,
        effects: &mut Effects,
    ) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::with_capacity(self.len());
        if self.is_empty() {
            return Ok(receipts);
        }
        let streams = queue.shape().unwrap_or_else(|| self.shape.guess());
        let width = self.shape.width_of(streams)?;
        let shards = self.shards(streams, width)?;
        let expires = expires(now, self.ttl_ms);
        queue.settle(streams, expires, effects);
        let mut strings = self.strings.iter();
        for (shard, count) in shards.chunks(width as usize).zip(&self.counts) {
            let fields = strings.by_ref().take(2 * count);
            let entry = embedded::encode_fields(2 * count, fields);
            let number = queue.least_busy(shard);
            receipts.push(queue.add(number, entry, now, expires, effects));
        }
        Ok(receipts)
    }

    fn put_tracked(
        &self,
        track: &Track,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Receipt>> {
        let now = context.now();
        let tracking = context.state::<tracking::State>(&track.keys.scope)?;
        // Lock order: the tracking state's lock comes first.
        let (mut tracked, mut on_tracked) = tracking.open(context);
        let (mut queue, mut effects) = state.open(context);
        let receipts = self.put(&mut queue, now, &mut effects)?;
        let lasts = if self.ttl_ms > 0 { self.ttl_ms / 1_000 } else { DEADLINE_DEFAULT.as_secs() };
        let deadline = (now / 1_000_000 + lasts) as Deadline;
        let deadline = track.deadline.unwrap_or(deadline);
        let mut strings = self.strings.iter();
        for (receipt, count) in receipts.iter().zip(&self.counts) {
            let mut value = None;
            for _ in 0..*count {
                let (field, found) = (strings.next(), strings.next());
                if value.is_none() && field == Some(&track.field) {
                    value = found;
                }
            }
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let record = Record { queue: self.name.queue_key(), receipt: *receipt, deadline };
                tracked.track(value, record, &mut on_tracked);
            }
        }
        context.record_other::<tracking::State>(&track.keys.scope, on_tracked.into_record());
        effects.record(context);
        Ok(receipts)
    }
}
