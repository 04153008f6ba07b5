//! A queue on the embedded engine: its streams under one lock, and the effects of its steps.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::dead_letters::{DeadLetter, HISTORY};
use super::message::{Message, MessageId, Receipt, Stream as StreamName};
use super::reclaim::Reclaimed;
use super::stats::StreamStats;
use super::{STREAMS_MAX, StreamNumber};
use crate::codec::{Reader, put_bytes, put_integer};
use crate::effects::Effects;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::{self, Snapshot, Timestamp, Turn};
use crate::sync;

/// What the embedded engine keeps for one queue.
#[derive(Default)]
pub struct State(Mutex<Queue>);

/// A queue. What its streams hold for longer than their time is forgotten by the next step.
#[derive(Default)]
pub(super) struct Queue {
    meta: Option<Meta>,
    streams: Vec<Option<Stream>>,
    /// The dead letters, which are no stream that anybody reads or counts.
    dead: Option<Stream>,
    /// No key's time ends before this.
    next_expiry: Timestamp,
}

/// What is known about the queue as a whole.
#[derive(Default)]
struct Meta {
    /// How many streams there are; 1 if no writer said otherwise.
    streams: Option<u32>,
    /// Where the next read of a group starts that never read.
    offset: u32,
    offsets: BTreeMap<Arc<[u8]>, u32>,
    expires: Timestamp,
}

#[derive(Default)]
pub(super) struct Stream {
    /// Fields and values as in the journal: one piece of memory a message.
    entries: BTreeMap<MessageId, Box<[u8]>>,
    /// The last id that was given to a message.
    last: MessageId,
    groups: BTreeMap<Arc<[u8]>, Group>,
    expires: Timestamp,
}

#[derive(Default)]
struct Group {
    /// Messages up to this one were given to the group.
    last: MessageId,
    /// How many messages are after it.
    lag: u64,
    pending: BTreeMap<MessageId, Pending>,
}

struct Pending {
    consumer: Arc<[u8]>,
    delivered: Timestamp,
    deliveries: u64,
}

/// Who takes messages and when.
pub(super) struct Taking<'a> {
    pub(super) group: &'a [u8],
    pub(super) consumer: &'a [u8],
    pub(super) now: Timestamp,
    /// Until when what is known about the queue is kept at least.
    pub(super) expires: Timestamp,
}

/// The number of the stream of dead letters in the journal.
const DEAD: StreamNumber = STREAMS_MAX;

/// The kind of a shuffle queue in the journal.
pub(crate) const KIND: u8 = 2;

/// Effects in the journal: a tag and what it needs. They say what changed, not what was asked, so
/// that a later version with other rules still makes the same state of them.
mod tag {
    /// Streams, 0 for not known; until when.
    pub(super) const META: u8 = 1;
    /// Group, its offset, everybody's offset.
    pub(super) const OFFSET: u8 = 2;
    pub(super) const META_EXPIRED: u8 = 3;
    /// Stream, last id, until when: the stream is there.
    pub(super) const STREAM: u8 = 4;
    /// Stream.
    pub(super) const STREAM_EXPIRED: u8 = 5;
    /// Stream, id, number of strings, strings: a message was written.
    pub(super) const ADD: u8 = 6;
    /// Stream, group, last id: the group joined the stream.
    pub(super) const JOIN: u8 = 7;
    /// Stream, group, consumer, time, count: so many of the next messages went to the consumer.
    pub(super) const TAKE: u8 = 8;
    /// Stream, group, id.
    pub(super) const ACK: u8 = 9;
    /// Stream, id: the message was deleted.
    pub(super) const REMOVE: u8 = 10;
    /// Stream, group, id, consumer, time, deliveries: the message is pending like this. The stream
    /// of dead letters has the number that comes after the highest.
    pub(super) const PENDING: u8 = 11;
}

impl State {
    /// Runs one step under the lock, on what has not expired, and records its effects before the
    /// lock is given back, so that the journal has a queue's steps in the order in which they
    /// happened.
    pub(super) fn step<T>(
        &self,
        turn: &mut Turn<'_>,
        step: impl FnOnce(&mut Queue, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let (mut queue, mut effects) = self.open(turn);
        let output = step(&mut queue, &mut effects);
        effects.record(turn);
        output
    }

    /// The queue without what has expired, and the effects of a step on it. Who calls this records
    /// them before the queue is dropped.
    pub(super) fn open(&self, turn: &Turn<'_>) -> (MutexGuard<'_, Queue>, Effects) {
        // A step that panicked left no half of a change that a later step could trip over.
        let mut queue = sync::lock(&self.0);
        let mut effects = Effects::of(turn);
        queue.expire(turn.now(), &mut effects);
        (queue, effects)
    }
}

impl Queue {
    /// Forgets what has lived for its time.
    fn expire(&mut self, now: Timestamp, effects: &mut Effects) {
        if now < self.next_expiry {
            return;
        }
        if self.meta.as_ref().is_some_and(|meta| meta.expires <= now) {
            self.meta = None;
            effects.write(tag::META_EXPIRED, |_| {});
        }
        for (number, place) in (0..).zip(&mut self.streams) {
            if place.as_ref().is_some_and(|stream| stream.expires <= now) {
                *place = None;
                effects.write(tag::STREAM_EXPIRED, |record| put_integer(number, record));
            }
        }
        if self.dead.as_ref().is_some_and(|dead| dead.expires <= now) {
            self.dead = None;
            effects.write(tag::STREAM_EXPIRED, |record| put_integer(DEAD.into(), record));
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

    fn stream(&self, number: StreamNumber) -> Option<&Stream> {
        if number == DEAD {
            return self.dead.as_ref();
        }
        self.streams.get(number as usize)?.as_ref()
    }

    fn stream_mut(&mut self, number: StreamNumber) -> Option<&mut Stream> {
        if number == DEAD {
            return self.dead.as_mut();
        }
        self.streams.get_mut(number as usize)?.as_mut()
    }

    fn stream_or_new(&mut self, number: StreamNumber) -> &mut Stream {
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
    pub(super) fn counted(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().take(self.stream_count() as usize).flatten()
    }

    /// Takes in how many streams a writer wants: more at once, fewer when those beyond have
    /// nothing left to deliver or to acknowledge.
    pub(super) fn resize(&mut self, wanted: u32, expires: Timestamp, effects: &mut Effects) {
        let streams = self.stream_count();
        let mut beyond = wanted..streams;
        let is_resized = wanted > streams
            || wanted < streams
                && beyond.all(|number| self.stream(number).is_none_or(Stream::is_drained));
        if is_resized {
            self.meta.get_or_insert_default().streams = Some(wanted);
        }
        if self.meta.is_some() {
            self.prolong_meta(expires, effects);
        }
    }

    fn prolong_meta(&mut self, expires: Timestamp, effects: &mut Effects) {
        let meta = self.meta.get_or_insert_default();
        meta.expires = meta.expires.max(expires);
        effects.write(tag::META, |record| {
            put_integer(meta.streams.unwrap_or(0).into(), record);
            put_integer(meta.expires, record);
        });
        self.next_expiry = self.next_expiry.min(meta.expires);
    }

    /// The stream of a shard with the least to do; the first of them if there are several.
    pub(super) fn least_busy(&self, shard: &[StreamNumber]) -> StreamNumber {
        let mut least = (u64::MAX, shard[0]);
        for number in shard {
            let backlog = self.stream(*number).map_or(0, Stream::backlog);
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
    pub(super) fn add(
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
        put_stream(number, stream, effects);
        effects.write(tag::ADD, |record| {
            put_integer(number.into(), record);
            put_id(id, record);
            record.extend_from_slice(&entry);
        });
        stream.add(id, entry);
        Receipt { stream: StreamName::Number(number), id }
    }

    /// Takes up to `max` messages, as as many single reads would.
    pub(super) fn read(
        &mut self,
        taking: &Taking<'_>,
        max: usize,
        prefer: Option<StreamNumber>,
        effects: &mut Effects,
    ) -> Result<Vec<Message>> {
        let streams = self.stream_count();
        let mut messages = Vec::new();
        if let Some(number) = prefer.filter(|number| *number < streams) {
            let joined = self.stream(number).is_some_and(|s| s.groups.contains_key(taking.group));
            if joined {
                self.take(number, taking, max, effects, &mut |message| messages.push(message))?;
            }
        }
        let offset = self
            .meta
            .as_ref()
            .map_or(0, |meta| meta.offsets.get(taking.group).copied().unwrap_or(meta.offset));
        let order: Vec<_> = (0..streams).map(|i| (offset % streams + i) % streams).collect();
        let mut taken: Vec<Vec<Message>> = vec![Vec::new(); order.len()];
        let mut live: Vec<usize> = (0..order.len()).collect();
        let mut left = max - messages.len();
        while left > 0 && !live.is_empty() {
            let quota = (left / live.len()).max(1);
            let mut still = Vec::new();
            for place in live {
                if left == 0 {
                    break;
                }
                let count = self.take(order[place], taking, quota, effects, &mut |message| {
                    taken[place].push(message);
                })?;
                left -= count;
                if count == quota {
                    still.push(place);
                }
            }
            live = still;
        }
        let mut next = None;
        let mut turns: Vec<_> = taken.into_iter().map(Vec::into_iter).collect();
        let before = messages.len();
        loop {
            let taken = messages.len();
            for (turn, number) in turns.iter_mut().zip(&order) {
                if let Some(message) = turn.next() {
                    messages.push(message);
                    next = Some((number + 1) % streams);
                }
            }
            if messages.len() == taken {
                break;
            }
        }
        debug_assert!(next.is_some() == (messages.len() > before));
        if let Some(next) = next {
            let meta = self.meta.get_or_insert_default();
            meta.offset = next;
            meta.offsets.insert(taking.group.into(), next);
            effects.write(tag::OFFSET, |record| {
                put_bytes(taking.group, record);
                put_integer(next.into(), record);
                put_integer(next.into(), record);
            });
        }
        if !messages.is_empty() {
            self.prolong_meta(taking.expires, effects);
        }
        Ok(messages)
    }

    /// Gives up to `count` messages of a stream to a consumer; answers how many. The group joins
    /// the stream if it has not yet.
    fn take(
        &mut self,
        number: StreamNumber,
        taking: &Taking<'_>,
        count: usize,
        effects: &mut Effects,
        push: &mut dyn FnMut(Message),
    ) -> Result<usize> {
        let joined = self.stream(number).is_some_and(|s| s.groups.contains_key(taking.group));
        if !joined {
            self.next_expiry = self.next_expiry.min(taking.expires);
            let stream = self.stream_or_new(number);
            stream.expires = stream.expires.max(taking.expires);
            put_stream(number, stream, effects);
            stream.join(taking.group.into(), MessageId::default());
            effects.write(tag::JOIN, |record| {
                put_integer(number.into(), record);
                put_bytes(taking.group, record);
                put_id(MessageId::default(), record);
            });
        }
        let Some(stream) = self.stream_mut(number) else { return Ok(0) };
        let ids = stream.deliver(taking.group, taking.consumer, taking.now, count as u64);
        if ids.is_empty() {
            return Ok(0);
        }
        effects.write(tag::TAKE, |record| {
            put_integer(number.into(), record);
            put_bytes(taking.group, record);
            put_bytes(taking.consumer, record);
            put_integer(taking.now, record);
            put_integer(ids.len() as u64, record);
        });
        for id in &ids {
            let fields = decode_fields(&stream.entries[id])?;
            push(Message { stream: StreamName::Number(number), id: *id, fields });
        }
        Ok(ids.len())
    }

    /// Acknowledges a message; answers whether it was pending.
    pub(super) fn ack(&mut self, group: &[u8], receipt: &Receipt, effects: &mut Effects) -> bool {
        let StreamName::Number(number) = receipt.stream else { return false };
        let group_of = |stream: &mut Stream| {
            Some(stream.groups.get_mut(group)?.pending.remove(&receipt.id).is_some())
        };
        let acknowledged = self.stream_mut(number).and_then(group_of).unwrap_or(false);
        if acknowledged {
            effects.write(tag::ACK, |record| {
                put_integer(number.into(), record);
                put_bytes(group, record);
                put_id(receipt.id, record);
            });
        }
        acknowledged
    }

    /// Deletes a message, for all groups.
    pub(super) fn remove(&mut self, receipt: &Receipt, effects: &mut Effects) {
        let StreamName::Number(number) = receipt.stream else { return };
        if self.stream_mut(number).is_some_and(|stream| stream.remove(receipt.id)) {
            effects.write(tag::REMOVE, |record| {
                put_integer(number.into(), record);
                put_id(receipt.id, record);
            });
        }
    }

    /// Deletes a message together with what is pending of it; answers whether it was there.
    pub(super) fn delete(&mut self, receipt: &Receipt, effects: &mut Effects) -> bool {
        let StreamName::Number(number) = receipt.stream else { return false };
        let Some(stream) = self.stream_mut(number) else { return false };
        if !stream.entries.contains_key(&receipt.id) {
            return false;
        }
        let groups: Vec<_> = stream.groups.keys().cloned().collect();
        for group in groups {
            self.ack(&group, receipt, effects);
        }
        self.remove(receipt, effects);
        true
    }

    /// Begins the idle time of a message anew, if it is this consumer's; answers whether it is.
    pub(super) fn extend(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        receipt: &Receipt,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let StreamName::Number(number) = receipt.stream else { return false };
        let Some(stream) = self.stream_mut(number) else { return false };
        let pending = stream.groups.get_mut(group).and_then(|g| g.pending.get_mut(&receipt.id));
        let Some(pending) = pending.filter(|pending| *pending.consumer == *consumer) else {
            return false;
        };
        pending.delivered = now;
        put_pending(number, group, receipt.id, pending, effects);
        true
    }

    /// Takes over messages that were idle for so long, from the streams in turn.
    pub(super) fn reclaim(
        &mut self,
        taking: &Taking<'_>,
        min_idle_ms: u64,
        max: usize,
        max_deliveries: u64,
        effects: &mut Effects,
    ) -> Result<Reclaimed> {
        let is_idle =
            |pending: &Pending| taking.now.saturating_sub(pending.delivered) / 1_000 >= min_idle_ms;
        let mut turns = Vec::new();
        for number in 0..self.stream_count() {
            let group = self.stream(number).and_then(|stream| stream.groups.get(taking.group));
            let idle = group.into_iter().flat_map(|group| &group.pending);
            let idle = idle.filter(|(_, pending)| is_idle(pending)).map(|(id, _)| (number, *id));
            turns.push(idle.take(max).collect::<Vec<_>>().into_iter());
        }
        let mut order = Vec::new();
        while order.len() < max {
            let before = order.len();
            let left = max - before;
            order.extend(turns.iter_mut().filter_map(Iterator::next).take(left));
            if order.len() == before {
                break;
            }
        }
        let mut reclaimed = Reclaimed::default();
        for (number, id) in order {
            let receipt = Receipt { stream: StreamName::Number(number), id };
            let Some(stream) = self.stream_mut(number) else { continue };
            let groups = stream.groups.len();
            let Some(entry) = stream.entries.get(&id).cloned() else {
                self.ack(taking.group, &receipt, effects);
                continue;
            };
            let group = stream.group_mut(taking.group)?;
            let Some(pending) = group.pending.get_mut(&id) else { continue };
            if max_deliveries > 0 && pending.deliveries >= max_deliveries {
                let (consumer, deliveries) = (pending.consumer.clone(), pending.deliveries);
                let history = [
                    receipt.stream.to_wire().to_string().into_bytes(),
                    id.to_string().into_bytes(),
                    taking.group.to_vec(),
                    consumer.to_vec(),
                    deliveries.to_string().into_bytes(),
                ];
                let fields = decode_fields(&entry)?;
                let names = HISTORY.iter().map(|name| name.as_bytes());
                let history = names.zip(&history).map(|(name, value)| (name, &**value));
                let rest = fields.iter().map(|(field, value)| (&**field, &**value));
                let strings = history.chain(rest).flat_map(|(field, value)| [field, value]);
                let letter = encode_fields(2 * (HISTORY.len() + fields.len()), strings);
                self.ack(taking.group, &receipt, effects);
                if groups == 1 {
                    self.remove(&receipt, effects);
                }
                let before = self.dead.as_ref().map_or(0, |dead| dead.expires);
                self.add(DEAD, letter, taking.now, taking.expires.max(before), effects);
                reclaimed.dead += 1;
                continue;
            }
            pending.consumer = taking.consumer.into();
            pending.delivered = taking.now;
            pending.deliveries += 1;
            put_pending(number, taking.group, id, pending, effects);
            let fields = decode_fields(&entry)?;
            let message = Message { stream: receipt.stream, id, fields };
            reclaimed.messages.push((message, pending.deliveries));
        }
        Ok(reclaimed)
    }

    pub(super) fn dead_letters(&self, max: usize) -> Result<Vec<DeadLetter>> {
        let entries = self.dead.iter().flat_map(|dead| &dead.entries).take(max);
        let letters = entries.map(|(id, entry)| {
            DeadLetter::read(*id, decode_fields(entry)?)
                .ok_or_else(|| unreadable("holds a dead letter without its history"))
        });
        letters.collect()
    }

    pub(super) fn stats(&self, group: &[u8], now: Timestamp) -> Vec<StreamStats> {
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

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut record = Reader::new(record);
        while !record.is_empty() {
            let tag = record.byte()?;
            match tag {
                tag::META => {
                    let meta = self.meta.get_or_insert_default();
                    let streams = stream_number(&mut record)?;
                    meta.streams = Some(streams).filter(|streams| *streams > 0);
                    meta.expires = record.integer()?;
                    continue;
                }
                tag::OFFSET => {
                    let meta = self.meta.get_or_insert_default();
                    let group = record.bytes()?;
                    if !group.is_empty() {
                        meta.offsets.insert(group.into(), stream_number(&mut record)?);
                    }
                    meta.offset = stream_number(&mut record)?;
                    continue;
                }
                tag::META_EXPIRED => {
                    self.meta = None;
                    continue;
                }
                _ => {}
            }
            let number = stream_number(&mut record)?;
            match tag {
                tag::STREAM => {
                    let (last, expires) = (id(&mut record)?, record.integer()?);
                    let stream = self.stream_or_new(number);
                    (stream.last, stream.expires) = (last, expires);
                    continue;
                }
                tag::STREAM_EXPIRED if number == DEAD => {
                    self.dead = None;
                    continue;
                }
                tag::STREAM_EXPIRED => {
                    if let Some(place) = self.streams.get_mut(number as usize) {
                        *place = None;
                    }
                    continue;
                }
                _ => {}
            }
            let absent = || unreadable("is about a stream that is not there");
            let stream = self.stream_mut(number).ok_or_else(absent)?;
            match tag {
                tag::ADD => {
                    let id = id(&mut record)?;
                    let mut entry = Vec::new();
                    let strings = record.integer()?;
                    put_integer(strings, &mut entry);
                    for _ in 0..strings {
                        put_bytes(record.bytes()?, &mut entry);
                    }
                    stream.add(id, entry.into());
                }
                tag::JOIN => {
                    let group = record.bytes()?.into();
                    stream.join(group, id(&mut record)?);
                }
                tag::TAKE => {
                    let (group, consumer) = (record.bytes()?, record.bytes()?);
                    let (now, count) = (record.integer()?, record.integer()?);
                    if stream.deliver(group, consumer, now, count).len() as u64 != count {
                        return Err(unreadable("takes more messages than there are"));
                    }
                }
                tag::ACK => {
                    let group = stream.group_mut(record.bytes()?)?;
                    group.pending.remove(&id(&mut record)?);
                }
                tag::REMOVE => {
                    stream.remove(id(&mut record)?);
                }
                tag::PENDING => {
                    let group = stream.group_mut(record.bytes()?)?;
                    let id = id(&mut record)?;
                    let pending = Pending {
                        consumer: record.bytes()?.into(),
                        delivered: record.integer()?,
                        deliveries: record.integer()?,
                    };
                    group.pending.insert(id, pending);
                }
                unknown => return Err(unreadable(&format!("has the unknown tag {unknown}"))),
            }
        }
        Ok(())
    }
}

impl Stream {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Messages that some group still has to get or to acknowledge.
    pub(super) fn backlog(&self) -> u64 {
        let of_group = |group: &Group| group.pending.len() as u64 + group.lag;
        let most = self.groups.values().map(of_group).max();
        most.unwrap_or(u64::MAX).min(self.len())
    }

    /// Whether every group has been given and has acknowledged all there is.
    fn is_drained(&self) -> bool {
        let is_done = |group: &Group| group.lag == 0 && group.pending.is_empty();
        self.entries.is_empty() || !self.groups.is_empty() && self.groups.values().all(is_done)
    }

    fn add(&mut self, id: MessageId, entry: Box<[u8]>) {
        self.last = self.last.max(id);
        self.entries.insert(id, entry);
        self.groups.values_mut().for_each(|group| group.lag += 1);
    }

    fn join(&mut self, group: Arc<[u8]>, last: MessageId) {
        let lag = self.entries.range((Excluded(last), Unbounded)).count() as u64;
        self.groups.insert(group, Group { last, lag, pending: BTreeMap::new() });
    }

    /// Gives the next messages to a consumer of a group that has joined.
    fn deliver(
        &mut self,
        group: &[u8],
        consumer: &[u8],
        now: Timestamp,
        count: u64,
    ) -> Vec<MessageId> {
        let Some(group) = self.groups.get_mut(group).filter(|group| group.lag > 0) else {
            return Vec::new();
        };
        let next = self.entries.range((Excluded(group.last), Unbounded));
        let ids: Vec<_> = next.map(|(id, _)| *id).take(count as usize).collect();
        let consumer: Arc<[u8]> = consumer.into();
        for id in &ids {
            let pending = Pending { consumer: consumer.clone(), delivered: now, deliveries: 1 };
            group.pending.insert(*id, pending);
            group.last = *id;
        }
        group.lag -= ids.len() as u64;
        ids
    }

    /// Deletes a message; answers whether it was there.
    fn remove(&mut self, id: MessageId) -> bool {
        let removed = self.entries.remove(&id).is_some();
        if removed {
            self.groups.values_mut().filter(|group| group.last < id).for_each(|g| g.lag -= 1);
        }
        removed
    }

    fn group_mut(&mut self, name: &[u8]) -> Result<&mut Group> {
        self.groups.get_mut(name).ok_or_else(|| unreadable("is about a group that is not there"))
    }
}

/// Bytes in one snapshot record: large enough to be cheap, small enough to be read in pieces.
const SNAPSHOT_BYTES: usize = 256 * 1024;

impl operation::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn replay(&self, record: &[u8]) -> Result<()> {
        sync::lock(&self.0).replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let queue = sync::lock(&self.0);
        out.begin();
        let mut record = Vec::new();
        if let Some(meta) = &queue.meta {
            record.push(tag::META);
            put_integer(meta.streams.unwrap_or(0).into(), &mut record);
            put_integer(meta.expires, &mut record);
            for (group, offset) in &meta.offsets {
                record.push(tag::OFFSET);
                put_bytes(group, &mut record);
                put_integer((*offset).into(), &mut record);
                put_integer(meta.offset.into(), &mut record);
            }
        }
        let mut flush = |record: &mut Vec<u8>, least: usize| {
            if record.len() >= least {
                out.record(record);
                record.clear();
            }
        };
        flush(&mut record, 0);
        let dead = queue.dead.iter().map(|dead| (DEAD, dead));
        let streams = (0..).zip(&queue.streams);
        let streams = streams.filter_map(|(number, stream)| Some((number, stream.as_ref()?)));
        for (number, stream) in streams.chain(dead) {
            record.push(tag::STREAM);
            put_integer(number.into(), &mut record);
            put_id(stream.last, &mut record);
            put_integer(stream.expires, &mut record);
            for (id, entry) in &stream.entries {
                record.push(tag::ADD);
                put_integer(number.into(), &mut record);
                put_id(*id, &mut record);
                record.extend_from_slice(entry);
                flush(&mut record, SNAPSHOT_BYTES);
            }
            for (name, group) in &stream.groups {
                record.push(tag::JOIN);
                put_integer(number.into(), &mut record);
                put_bytes(name, &mut record);
                put_id(group.last, &mut record);
                for (id, pending) in &group.pending {
                    let mut effects = Effects::after(std::mem::take(&mut record));
                    put_pending(number, name, *id, pending, &mut effects);
                    record = effects.into_record();
                    flush(&mut record, SNAPSHOT_BYTES);
                }
            }
        }
        flush(&mut record, 1);
    }

    fn is_unused(&self) -> bool {
        let queue = sync::lock(&self.0);
        queue.meta.is_none() && queue.streams.iter().chain([&queue.dead]).flatten().next().is_none()
    }
}

fn put_stream(number: StreamNumber, stream: &Stream, effects: &mut Effects) {
    effects.write(tag::STREAM, |record| {
        put_integer(number.into(), record);
        put_id(stream.last, record);
        put_integer(stream.expires, record);
    });
}

fn put_pending(
    number: StreamNumber,
    group: &[u8],
    id: MessageId,
    pending: &Pending,
    effects: &mut Effects,
) {
    effects.write(tag::PENDING, |record| {
        put_integer(number.into(), record);
        put_bytes(group, record);
        put_id(id, record);
        put_bytes(&pending.consumer, record);
        put_integer(pending.delivered, record);
        put_integer(pending.deliveries, record);
    });
}

fn put_id(id: MessageId, record: &mut Vec<u8>) {
    put_integer(id.time_ms, record);
    put_integer(id.sequence, record);
}

fn id(record: &mut Reader<'_>) -> Result<MessageId> {
    Ok(MessageId { time_ms: record.integer()?, sequence: record.integer()? })
}

fn stream_number(record: &mut Reader<'_>) -> Result<StreamNumber> {
    let number = record.integer()?;
    match StreamNumber::try_from(number) {
        Ok(number) if number <= STREAMS_MAX => Ok(number),
        _ => Err(unreadable("has a stream's number that no queue can have")),
    }
}

/// A message's fields and values as they are kept.
pub(super) fn encode_fields<'a>(
    count: usize,
    strings: impl Iterator<Item = &'a [u8]>,
) -> Box<[u8]> {
    let mut entry = Vec::with_capacity(16 * count);
    put_integer(count as u64, &mut entry);
    strings.for_each(|string| put_bytes(string, &mut entry));
    entry.into()
}

fn decode_fields(entry: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut entry = Reader::new(entry);
    let fields = entry.integer()? / 2;
    (0..fields).map(|_| Ok((entry.bytes()?.to_vec(), entry.bytes()?.to_vec()))).collect()
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of a shuffle queue {what}"))
}
