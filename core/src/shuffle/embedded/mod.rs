//! A queue on the embedded engine: its streams under one lock, and the effects of its steps.

mod delivery;
mod journal;
mod stream;

pub(super) use journal::encode_fields;
pub(super) use stream::StreamState;

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use journal::{Effect, Entry, Number, decode_fields};
use stream::Pending;

use super::dead_letters::DeadLetter;
use super::message::{MessageId, Receipt, Stream};
use super::reclaim::RELEASED;
use super::redrive::target_of;
use super::stats::StreamStats;
use super::{DEADLINE_DEFAULT, DEADLINE_MAX, STREAMS_MAX, StreamNumber, TTL_MAX};
use crate::error::Result;
use crate::runtime::sync;
use crate::step::{self, Constants, Effects, Snapshot, StepContext, Timestamp, constants};

/// What the embedded engine keeps for one queue.
#[derive(Default)]
pub struct State(Mutex<Queue>);

/// A queue. What its streams hold for longer than their time is forgotten by the next step.
#[derive(Default)]
pub(in crate::shuffle) struct Queue {
    meta: Option<Meta>,
    streams: Vec<Option<StreamState>>,
    /// The dead letters, which are no stream that anybody reads or counts.
    dead: Option<StreamState>,
    /// No key's time ends before this.
    next_expiry: Timestamp,
}

/// What is known about the queue as a whole.
#[derive(Default)]
struct Meta {
    /// How many streams there are; 1 if no writer said otherwise.
    streams: Option<u32>,
    /// How many of them writers spread over while the queue gets smaller.
    target: Option<u32>,
    /// Where the next read of a group starts that never read.
    offset: u32,
    offsets: BTreeMap<Arc<[u8]>, u32>,
    expires: Timestamp,
}

/// Who takes messages and when.
pub(in crate::shuffle) struct Taking<'a> {
    pub(in crate::shuffle) group: &'a [u8],
    pub(in crate::shuffle) consumer: &'a [u8],
    pub(in crate::shuffle) now: Timestamp,
    /// Until when what is known about the queue is kept at least.
    pub(in crate::shuffle) expires: Timestamp,
}

/// The number of the stream of dead letters in the journal.
const DEAD: StreamNumber = STREAMS_MAX;

/// The kind of a shuffle queue in the journal.
pub(crate) const KIND: u8 = 2;

impl State {
    /// Runs one step under the lock, on what has not expired, and records its effects before the
    /// lock is released, so that the journal has a queue's steps in the order in which they
    /// happened.
    pub(in crate::shuffle) fn step<T>(
        &self,
        context: &mut StepContext<'_>,
        step: impl FnOnce(&mut Queue, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let (mut queue, mut effects) = self.open(context);
        let output = step(&mut queue, &mut effects);
        effects.record(context);
        output
    }

    /// The queue without what has expired, and the effects of a step on it. Who calls this records
    /// them before the queue is dropped.
    pub(in crate::shuffle) fn open(
        &self,
        context: &StepContext<'_>,
    ) -> (MutexGuard<'_, Queue>, Effects) {
        // A step that panicked left no half of a change that a later step could trip over.
        let mut queue = sync::lock(&self.0);
        let mut effects = Effects::of(context);
        queue.expire(context.now(), &mut effects);
        (queue, effects)
    }
}

impl Queue {
    /// Forgets what has lived for its time.
    fn expire(&mut self, now: Timestamp, effects: &mut Effects) {
        if now < self.next_expiry {
            return;
        }
        if self.meta.take_if(|meta| meta.expires <= now).is_some() {
            effects.note(&Effect::MetaExpired);
        }
        let places = (0..).zip(&mut self.streams).chain([(DEAD, &mut self.dead)]);
        for (number, place) in places {
            if place.take_if(|stream| stream.expires <= now).is_some() {
                effects.note(&Effect::StreamExpired { stream: Number(number) });
            }
        }
        while let Some(None) = self.streams.last() {
            self.streams.pop();
        }
        let streams = self.streams.iter().chain([&self.dead]).flatten();
        let streams = streams.map(|stream| stream.expires);
        let meta = self.meta.iter().map(|meta| meta.expires);
        self.next_expiry = streams.chain(meta).min().unwrap_or(Timestamp::MAX);
    }

    /// How many streams readers look at.
    fn stream_count(&self) -> u32 {
        self.meta.as_ref().and_then(|meta| meta.streams).unwrap_or(1)
    }

    fn stream(&self, number: StreamNumber) -> Option<&StreamState> {
        if number == DEAD {
            return self.dead.as_ref();
        }
        self.streams.get(number as usize)?.as_ref()
    }

    fn stream_mut(&mut self, number: StreamNumber) -> Option<&mut StreamState> {
        if number == DEAD {
            return self.dead.as_mut();
        }
        self.streams.get_mut(number as usize)?.as_mut()
    }

    fn stream_or_new(&mut self, number: StreamNumber) -> &mut StreamState {
        if number == DEAD {
            return self.dead.get_or_insert_default();
        }
        let index = number as usize;
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, || None);
        }
        self.streams[index].get_or_insert_default()
    }

    /// The streams that readers look at and that are there.
    pub(in crate::shuffle) fn counted(&self) -> impl Iterator<Item = &StreamState> {
        self.streams.iter().take(self.stream_count() as usize).flatten()
    }

    /// How many streams writers spread over; `None` if nobody has written yet.
    pub(in crate::shuffle) fn shape(&self) -> Option<u32> {
        self.meta.as_ref().and_then(|meta| meta.target.or(meta.streams))
    }

    /// Has the queue as many streams as its writers spread over, if that strands nothing.
    pub(in crate::shuffle) fn settle(
        &mut self,
        streams: u32,
        expires: Timestamp,
        effects: &mut Effects,
    ) {
        if self.shape().is_none() || self.is_drained(streams) {
            self.set_streams(streams, None, effects);
        }
        self.prolong_meta(expires, effects);
    }

    /// Gives the queue more streams at once, and fewer when those beyond have nothing left to deliver
    /// or to acknowledge; until then writers leave them alone. Returns how many there are.
    pub(in crate::shuffle) fn resize(
        &mut self,
        wanted: u32,
        expires: Timestamp,
        effects: &mut Effects,
    ) -> u32 {
        let is_done = self.shape().is_none() || self.is_drained(wanted);
        let streams = if is_done { wanted } else { self.stream_count() };
        self.set_streams(streams, Some(wanted).filter(|_| !is_done), effects);
        self.prolong_meta(expires, effects);
        streams
    }

    /// Whether the streams from this one on have nothing left to deliver or to acknowledge.
    fn is_drained(&self, first: u32) -> bool {
        let mut beyond = first..self.stream_count();
        beyond.all(|number| self.stream(number).is_none_or(StreamState::is_drained))
    }

    /// The number of streams is in the journal with the next [`prolong_meta`](Self::prolong_meta).
    fn set_streams(&mut self, streams: u32, target: Option<u32>, effects: &mut Effects) {
        let meta = self.meta.get_or_insert_default();
        meta.streams = Some(streams);
        if meta.target != target {
            meta.target = target;
            effects.note(&meta.target_effect());
        }
    }

    fn prolong_meta(&mut self, expires: Timestamp, effects: &mut Effects) {
        let meta = self.meta.get_or_insert_default();
        meta.expires = meta.expires.max(expires);
        effects.note(&meta.effect());
        self.next_expiry = self.next_expiry.min(meta.expires);
    }

    /// The stream of a shard with the least to do; the first of them if there are several.
    pub(in crate::shuffle) fn least_busy(&self, shard: &[StreamNumber]) -> StreamNumber {
        let mut least = (u64::MAX, shard[0]);
        for number in shard {
            let backlog = self.stream(*number).map_or(0, StreamState::backlog);
            if backlog < least.0 {
                least = (backlog, *number);
            }
            if backlog == 0 {
                break;
            }
        }
        least.1
    }

    /// Writes a message; the entry is made by [`encode_fields`].
    pub(in crate::shuffle) fn add(
        &mut self,
        number: StreamNumber,
        entry: Box<[u8]>,
        now: Timestamp,
        expires: Timestamp,
        effects: &mut Effects,
    ) -> Receipt {
        self.next_expiry = self.next_expiry.min(expires);
        let stream = self.stream_or_new(number);
        let time_ms = now / 1_000;
        let id = match time_ms > stream.last.time_ms {
            true => MessageId { time_ms, sequence: 0 },
            false => MessageId { sequence: stream.last.sequence + 1, ..stream.last },
        };
        stream.expires = expires;
        effects.note(&stream.effect(number));
        effects.note(&Effect::Add { stream: Number(number), id, entry: Entry(&entry) });
        stream.add(id, entry);
        Receipt { stream: Stream::Number(number), id }
    }

    /// Acknowledges a message; returns whether it was pending.
    pub(in crate::shuffle) fn ack(
        &mut self,
        group: &[u8],
        receipt: &Receipt,
        effects: &mut Effects,
    ) -> bool {
        let Stream::Number(number) = receipt.stream else { return false };
        let of_group = self.stream_mut(number).and_then(|stream| stream.groups.get_mut(group));
        let acknowledged = of_group.is_some_and(|g| g.pending.remove(&receipt.id).is_some());
        if acknowledged {
            effects.note(&Effect::Ack { stream: Number(number), group, id: receipt.id });
        }
        acknowledged
    }

    /// Acknowledges messages, and deletes them if asked to; returns whether each was pending.
    pub(in crate::shuffle) fn ack_all(
        &mut self,
        group: &[u8],
        receipts: &[Receipt],
        delete: bool,
        effects: &mut Effects,
    ) -> Vec<bool> {
        let ack = |receipt| {
            let acknowledged = self.ack(group, receipt, effects);
            if delete {
                self.remove(receipt, effects);
            }
            acknowledged
        };
        receipts.iter().map(ack).collect()
    }

    /// Deletes a message, for all groups.
    pub(in crate::shuffle) fn remove(&mut self, receipt: &Receipt, effects: &mut Effects) {
        if let Stream::Number(number) = receipt.stream {
            self.remove_from(number, receipt.id, effects);
        }
    }

    fn remove_from(&mut self, number: StreamNumber, id: MessageId, effects: &mut Effects) -> bool {
        let removed = self.stream_mut(number).is_some_and(|stream| stream.remove(id));
        if removed {
            effects.note(&Effect::Remove { stream: Number(number), id });
        }
        removed
    }

    /// Deletes a message and what is pending of it; returns whether it was there.
    pub(in crate::shuffle) fn delete(&mut self, receipt: &Receipt, effects: &mut Effects) -> bool {
        let Stream::Number(number) = receipt.stream else { return false };
        let Some(stream) = self.stream_mut(number) else { return false };
        let groups: Vec<_> = stream.groups.keys().cloned().collect();
        for group in groups {
            self.ack(&group, receipt, effects);
        }
        self.remove_from(number, receipt.id, effects)
    }

    /// Begins the idle time of a message anew, if it is this consumer's; returns whether it is. It was delivered so often;
    /// as often as is known for 0.
    pub(in crate::shuffle) fn renew(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        receipt: &Receipt,
        (now, deliveries): (Timestamp, u64),
        effects: &mut Effects,
    ) -> bool {
        let Some(held) = self.held(group, consumer, receipt, effects) else { return false };
        let deliveries = if deliveries > 0 { deliveries } else { held.deliveries };
        let pending = Pending { delivered: now, deliveries, ..held };
        self.set_pending(group, receipt, pending, effects);
        true
    }

    /// Has a message idle since then, and its last delivery count or not, if it is this consumer's; returns whether it
    /// is.
    pub(in crate::shuffle) fn release(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        receipt: &Receipt,
        (since, is_counted): (Timestamp, bool),
        effects: &mut Effects,
    ) -> bool {
        let Some(held) = self.held(group, consumer, receipt, effects) else { return false };
        let deliveries = held.deliveries.saturating_sub(u64::from(!is_counted));
        let pending = Pending { consumer: RELEASED.into(), delivered: since, deliveries };
        self.set_pending(group, receipt, pending, effects);
        true
    }

    /// What is pending of a message that is this consumer's.
    fn held(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        receipt: &Receipt,
        effects: &mut Effects,
    ) -> Option<Pending> {
        let Stream::Number(number) = receipt.stream else { return None };
        let stream = self.stream(number)?;
        let pending = stream.groups.get(group)?.pending.get(&receipt.id)?;
        let pending = Some(pending).filter(|pending| *pending.consumer == *consumer)?.clone();
        if !stream.entries.contains_key(&receipt.id) {
            // Another group deleted the message; nobody can work on it any more.
            self.ack(group, receipt, effects);
            return None;
        }
        Some(pending)
    }

    /// Changes what is pending of a message.
    fn set_pending(
        &mut self,
        group: &[u8],
        receipt: &Receipt,
        pending: Pending,
        effects: &mut Effects,
    ) {
        let Stream::Number(number) = receipt.stream else { return };
        let of_group = self.stream_mut(number).and_then(|stream| stream.groups.get_mut(group));
        if let Some(of_group) = of_group {
            effects.note(&pending.effect(number, group, receipt.id));
            of_group.pending.insert(receipt.id, pending);
        }
    }

    /// Deletes dead letters; returns how many of these there were.
    pub(in crate::shuffle) fn delete_dead_letters(
        &mut self,
        ids: &[MessageId],
        effects: &mut Effects,
    ) -> u64 {
        let remove = |id: &&MessageId| self.remove_from(DEAD, **id, effects);
        ids.iter().filter(remove).count() as u64
    }

    /// Deletes the dead letters that are older than this; none for 0.
    pub(in crate::shuffle) fn keep_dead(
        &mut self,
        now: Timestamp,
        dead_ttl_ms: u64,
        effects: &mut Effects,
    ) {
        if dead_ttl_ms == 0 {
            return;
        }
        let end = MessageId { time_ms: (now / 1_000).saturating_sub(dead_ttl_ms), sequence: 0 };
        let old = self.dead.iter().flat_map(|dead| dead.entries.range(..end)).map(|(id, _)| *id);
        for id in old.collect::<Vec<_>>() {
            self.remove_from(DEAD, id, effects);
        }
    }

    pub(in crate::shuffle) fn dead_letters(
        &self,
        after: Option<MessageId>,
        max: usize,
    ) -> Result<Vec<DeadLetter>> {
        let first = after.map_or(Unbounded, Excluded);
        let entries = self.dead.iter().flat_map(|dead| dead.entries.range((first, Unbounded)));
        entries.take(max).map(|(id, entry)| read_letter(*id, entry)).collect()
    }

    /// Puts dead letters back, each as a new message of the stream that it came from; returns where each is now.
    pub(in crate::shuffle) fn redrive(
        &mut self,
        ids: &[MessageId],
        streams: u32,
        now: Timestamp,
        expires: Timestamp,
        effects: &mut Effects,
    ) -> Result<Vec<Option<Receipt>>> {
        let shape = self.shape();
        let mut receipts = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(entry) = self.dead.as_ref().and_then(|dead| dead.entries.get(id)) else {
                receipts.push(None);
                continue;
            };
            let message = read_letter(*id, entry)?.message;
            let strings = message.fields.iter().flat_map(|(field, value)| [&**field, &**value]);
            let entry = encode_fields(2 * message.fields.len(), strings);
            let number = target_of(message.stream, shape.unwrap_or(streams));
            self.remove_from(DEAD, *id, effects);
            receipts.push(Some(self.add(number, entry, now, expires, effects)));
        }
        if receipts.iter().any(Option::is_some) {
            if shape.is_none() {
                self.set_streams(streams, None, effects);
            }
            self.prolong_meta(expires, effects);
        }
        Ok(receipts)
    }

    pub(in crate::shuffle) fn stats(&self, group: &[u8], now: Timestamp) -> Vec<StreamStats> {
        let stats = |number| {
            let Some(stream) = self.stream(number) else { return StreamStats::default() };
            let len = stream.len();
            let Some(group) = stream.groups.get(group) else {
                return StreamStats { len, lag: len, ..StreamStats::default() };
            };
            let oldest = group.pending.values().next();
            let idle = |oldest: &Pending| {
                Duration::from_millis(now.saturating_sub(oldest.delivered) / 1_000)
            };
            let pending = group.pending.len() as u64;
            StreamStats { len, pending, lag: group.lag, oldest_idle: oldest.map(idle) }
        };
        (0..self.stream_count()).map(stats).collect()
    }
}

fn read_letter(id: MessageId, entry: &[u8]) -> Result<DeadLetter> {
    DeadLetter::read(id, decode_fields(entry)?)
        .ok_or_else(|| Effect::unreadable("holds a dead letter without its history"))
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![
            DEADLINE_MAX,
            DEADLINE_S_DEFAULT = DEADLINE_DEFAULT.as_secs(),
            STREAMS_MAX,
            TTL_MS_MAX = TTL_MAX.as_millis(),
        ]
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        sync::lock(&self.0).replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let queue = sync::lock(&self.0);
        out.begin();
        queue.snapshot(out);
    }

    fn is_unused(&self) -> bool {
        let queue = sync::lock(&self.0);
        queue.meta.is_none() && queue.streams.iter().chain([&queue.dead]).flatten().next().is_none()
    }
}
