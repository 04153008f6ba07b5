//! Write: messages for tenants.

use std::time::Duration;

use super::embedded::Queue;
use super::message::{Receipt, decode_receipts};
use super::name::Name;
use super::shard::{check_sizes, shard};
use super::tracking::{self, Deadline, Keys, Record, Track, TrackKeys};
use super::{ON_CLUSTER, StreamNumber, embedded, ttl_ms};
use crate::byte_list::ByteList;
use crate::effects::Effects;
use crate::error::{Result, invalid};
use crate::limits::first_of;
use crate::operation::{Invocation, Operation, Script, Timestamp, Turn};
use crate::reply::{Reply, malformed};

static SCRIPT: Script = Script::new(concat!(
    include_str!("queue.lua"),
    include_str!("add.lua"),
    include_str!("write.lua")
));

/// The most messages in one step; [`ShuffleQueue::write_many`](super::ShuffleQueue::write_many)
/// makes several steps of more. A step is atomic, and nobody else is served meanwhile.
pub const BATCH_MESSAGES_MAX: usize = 10_000;

/// The most bytes of fields and values in one step, for the same reason; one message may have more.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most strings in one step, for the same reason: fields, values, and the streams of shards. One
/// message may have more.
pub const BATCH_STRINGS_MAX: usize = 262_144;

/// The longest field or value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most fields of a message. The package that introduced this queue could write 3,998.
pub const FIELDS_MAX: usize = 32_768;

/// Writes messages, each to the stream of its tenant's shard with the least to do.
#[derive(Clone, Debug)]
pub struct Write {
    name: Name,
    streams: u32,
    streams_per_shard: u32,
    ttl_ms: u64,
    /// The shards of the messages, one after the other.
    shards: Vec<StreamNumber>,
    /// How many fields each message has.
    counts: Vec<usize>,
    /// Fields and values of all messages.
    strings: ByteList,
    /// The tenant of the last message: a batch often has several for one.
    last_key: Vec<u8>,
    track: Option<Track>,
}

impl Write {
    /// A step without messages yet; [`push`](Self::push) adds them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, for numbers of streams that no
    /// queue can have and for a `ttl` under a second or over [`TTL_MAX`](super::TTL_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        streams: u32,
        streams_per_shard: u32,
        ttl: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, streams, streams_per_shard, ttl)
    }

    pub(super) fn of(
        name: Name,
        streams: u32,
        streams_per_shard: u32,
        ttl: Duration,
    ) -> Result<Self> {
        check_sizes(streams, streams_per_shard)?;
        Ok(Self {
            name,
            streams,
            streams_per_shard,
            ttl_ms: ttl_ms(ttl)?,
            shards: Vec::new(),
            counts: Vec::new(),
            strings: ByteList::default(),
            last_key: Vec::new(),
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
        self.track(Track::new(field.as_ref(), deadline.into(), keys)?);
        Ok(self)
    }

    pub(super) fn track(&mut self, track: Track) {
        self.track = Some(track);
    }

    /// Adds a message for a tenant.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an empty key, no field or more than [`FIELDS_MAX`], a field or value
    /// above [`VALUE_BYTES_MAX`], or more than [`BATCH_MESSAGES_MAX`] messages. The step is then as
    /// before.
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
        if key == self.last_key && !self.is_empty() {
            let last = self.shards.len() - self.streams_per_shard as usize;
            self.shards.extend_from_within(last..);
        } else {
            self.shards.extend(shard(self.streams, self.streams_per_shard, key)?);
            self.last_key = key.to_vec();
        }
        self.counts.push(count);
        self.strings.append(&strings);
        Ok(())
    }

    /// How many messages the step has.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether the step has no message; it then does nothing.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many bytes the fields and values have.
    pub(super) fn total_bytes(&self) -> usize {
        self.strings.total_bytes()
    }

    /// Whether it is better to begin another step.
    pub(super) fn is_full(&self) -> bool {
        self.len() == BATCH_MESSAGES_MAX
            || self.strings.total_bytes() >= BATCH_BYTES_MAX
            || self.strings.len() + self.shards.len() >= BATCH_STRINGS_MAX
    }
}

impl Operation for Write {
    type Output = Vec<Receipt>;
    type State = embedded::State;
    const NAME: &'static str = "shuffle.write";
    const ON_CLUSTER: &'static str = ON_CLUSTER;
    const IDEMPOTENT: bool = false;

    fn queue(&self) -> &[u8] {
        self.name.as_bytes()
    }

    fn invocation(&self) -> Invocation {
        let strings = 5 + self.shards.len() + self.counts.len() + self.strings.len();
        let mut args = ByteList::with_capacity(strings, self.strings.total_bytes() + 4 * strings);
        for number in [self.ttl_ms, self.streams.into(), self.streams_per_shard.into()] {
            args.push(number.to_string().as_bytes());
        }
        let mut keys = self.name.keys();
        match &self.track {
            None => [b"", b""].into_iter().for_each(|none| args.push(none)),
            Some(track) => {
                args.push(&track.field);
                let deadline = track.deadline.map(|deadline| deadline.to_string());
                args.push(deadline.unwrap_or_default().as_bytes());
                keys.extend(track.keys.written());
            }
        }
        let shards = self.shards.chunks(self.streams_per_shard as usize);
        let mut strings = self.strings.iter();
        for (shard, count) in shards.zip(&self.counts) {
            for number in shard {
                args.push(number.to_string().as_bytes());
            }
            args.push(count.to_string().as_bytes());
            strings.by_ref().take(2 * count).for_each(|string| args.push(string));
        }
        Invocation { script: &SCRIPT, keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Receipt>> {
        let receipts = decode_receipts(reply)?;
        match receipts.len() == self.len() {
            true => Ok(receipts),
            false => Err(malformed()),
        }
    }

    fn apply(self, state: &embedded::State, turn: &mut Turn<'_>) -> Result<Vec<Receipt>> {
        let receipts = match &self.track {
            None => {
                let now = turn.now();
                state.step(turn, |queue, effects| Ok(self.put(queue, now, effects)))?
            }
            Some(track) => self.put_tracked(track, state, turn)?,
        };
        for _ in &receipts {
            turn.wake(|| self.name.notifications_key(), 1);
        }
        Ok(receipts)
    }
}

impl Write {
    /// Puts the messages into an embedded queue.
    fn put(&self, queue: &mut Queue, now: Timestamp, effects: &mut Effects) -> Vec<Receipt> {
        let mut receipts = Vec::with_capacity(self.len());
        if self.is_empty() {
            return receipts;
        }
        let expires = now + self.ttl_ms * 1_000;
        queue.resize(self.streams, expires, effects);
        let shards = self.shards.chunks(self.streams_per_shard as usize);
        let mut strings = self.strings.iter();
        for (shard, count) in shards.zip(&self.counts) {
            let fields = strings.by_ref().take(2 * count);
            let entry = embedded::encode_fields(2 * count, fields);
            let number = queue.least_busy(shard);
            receipts.push(queue.add(number, entry, now, expires, effects));
        }
        receipts
    }

    fn put_tracked(
        &self,
        track: &Track,
        state: &embedded::State,
        turn: &mut Turn<'_>,
    ) -> Result<Vec<Receipt>> {
        let now = turn.now();
        let tracking = turn.state::<tracking::State>(&track.keys.scope)?;
        // Lock order: the tracking state's lock comes first.
        let (mut tracked, mut on_tracked) = tracking.open(turn);
        let (mut queue, mut effects) = state.open(turn);
        let receipts = self.put(&mut queue, now, &mut effects);
        let deadline = ((now / 1_000_000) + self.ttl_ms / 1_000) as Deadline;
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
        turn.record_other::<tracking::State>(&track.keys.scope, on_tracked.into_record());
        effects.record(turn);
        Ok(receipts)
    }
}
