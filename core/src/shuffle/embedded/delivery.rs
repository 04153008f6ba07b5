//! Which messages a consumer gets: reading in turn, and taking over from others.

use std::collections::VecDeque;
use std::iter;

use super::journal::{Effect, Number, decode_fields, encode_fields};
use super::stream::Pending;
use super::{DEAD, Queue, Taking};
use crate::error::Result;
use crate::shuffle::StreamNumber;
use crate::shuffle::dead_letters::{DeadLetter, EXHAUSTED};
use crate::shuffle::message::{Message, MessageId, Receipt, Stream};
use crate::shuffle::reclaim::{Idle, Reclaimed};
use crate::step::Effects;

impl Queue {
    /// Takes up to `max` messages, as as many single reads would.
    pub(in crate::shuffle) fn read(
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
                self.take(number, taking, max, effects, &mut messages)?;
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
                let count = self.take(order[place], taking, quota, effects, &mut taken[place])?;
                left -= count;
                if count == quota {
                    still.push(place);
                }
            }
            live = still;
        }
        let preferred = messages.len();
        messages.extend(in_turn(taken.into_iter().map(Vec::into_iter)));
        let last = messages[preferred..].last().map(|message| message.stream);
        if let Some(Stream::Number(last)) = last {
            let next = (last + 1) % streams;
            let meta = self.meta.get_or_insert_default();
            meta.offset = next;
            meta.offsets.insert(taking.group.into(), next);
            let (own, everybodys) = (Number(next), Number(next));
            effects.note(&Effect::Offset { group: taking.group, own, everybodys });
        }
        if !messages.is_empty() {
            self.prolong_meta(taking.expires, effects);
        }
        Ok(messages)
    }

    /// Delivers up to `count` messages of a stream to a consumer; returns how many. The group joins
    /// the stream if it has not yet.
    fn take(
        &mut self,
        number: StreamNumber,
        taking: &Taking<'_>,
        count: usize,
        effects: &mut Effects,
        messages: &mut Vec<Message>,
    ) -> Result<usize> {
        let joined = self.stream(number).is_some_and(|s| s.groups.contains_key(taking.group));
        if !joined {
            self.next_expiry = self.next_expiry.min(taking.expires);
            let stream = self.stream_or_new(number);
            stream.expires = stream.expires.max(taking.expires);
            effects.note(&stream.effect(number));
            stream.join(taking.group.into(), MessageId::default());
            let (stream, last) = (Number(number), MessageId::default());
            effects.note(&Effect::Join { stream, group: taking.group, last });
        }
        let Some(stream) = self.stream_mut(number) else { return Ok(0) };
        let ids = stream.deliver(taking.group, taking.consumer, taking.now, count as u64);
        if ids.is_empty() {
            return Ok(0);
        }
        let Taking { group, consumer, now, .. } = *taking;
        let count = ids.len() as u64;
        effects.note(&Effect::Take { stream: Number(number), group, consumer, now, count });
        for id in &ids {
            let fields = decode_fields(&stream.entries[id])?;
            messages.push(Message {
                stream: Stream::Number(number),
                id: *id,
                deliveries: 1,
                fields,
            });
        }
        Ok(ids.len())
    }

    /// Takes over messages that were idle for at least `min_idle`, from the streams in turn: a suspect alone, whose
    /// delivery does not count if the consumer says later that the work on it begins.
    pub(in crate::shuffle) fn reclaim(
        &mut self,
        taking: &Taking<'_>,
        min_idle_ms: u64,
        (max, max_deliveries, begins): (usize, u64, bool),
        effects: &mut Effects,
    ) -> Result<Reclaimed> {
        let kind =
            |pending: &Pending| Idle::of(&pending.consumer, pending.deliveries, max_deliveries);
        let is_idle =
            |pending: &Pending| taking.now.saturating_sub(pending.delivered) / 1_000 >= min_idle_ms;
        let idle = |number| {
            let group = self.stream(number).and_then(|stream| stream.groups.get(taking.group));
            let pending = group.into_iter().flat_map(|group| &group.pending);
            pending.filter(|(_, pending)| is_idle(pending)).map(move |(id, _)| (number, *id))
        };
        let order: Vec<_> = in_turn((0..self.stream_count()).map(idle)).take(max).collect();
        let is_suspect = |(number, id): &(StreamNumber, MessageId)| {
            let stream = self.stream(*number).filter(|stream| stream.entries.contains_key(id));
            let pending = stream.and_then(|s| s.groups.get(taking.group)?.pending.get(id));
            pending.is_some_and(|pending| kind(pending) == Idle::Suspect)
        };
        let suspect = order.iter().copied().find(is_suspect);
        let mut reclaimed = Reclaimed { is_suspect: suspect.is_some(), ..Reclaimed::default() };
        for (number, id) in order {
            let receipt = Receipt { stream: Stream::Number(number), id };
            let Some(stream) = self.stream_mut(number) else { continue };
            let Some(entry) = stream.entries.get(&id).cloned() else {
                self.ack(taking.group, &receipt, effects);
                continue;
            };
            let group = stream.group_mut(taking.group)?;
            let Some(pending) = group.pending.get_mut(&id) else { continue };
            if kind(pending) == Idle::Dead {
                let (consumer, deliveries) = (pending.consumer.clone(), pending.deliveries);
                let message = Message {
                    stream: receipt.stream,
                    id,
                    deliveries,
                    fields: decode_fields(&entry)?,
                };
                self.bury(message, taking, &consumer, EXHAUSTED, effects);
                reclaimed.dead += 1;
                continue;
            }
            if suspect.is_some_and(|suspect| suspect != (number, id)) {
                continue;
            }
            pending.consumer = taking.consumer.into();
            pending.delivered = taking.now;
            let (stream, deliveries) = (receipt.stream, pending.deliveries + 1);
            if suspect.is_none() || !begins {
                pending.deliveries = deliveries;
            }
            effects.note(&pending.effect(number, taking.group, id));
            let fields = decode_fields(&entry)?;
            reclaimed.messages.push(Message { stream, id, deliveries, fields });
        }
        Ok(reclaimed)
    }

    /// Makes a dead letter of a message, if it is this consumer's; returns whether it is.
    pub(in crate::shuffle) fn reject(
        &mut self,
        taking: &Taking<'_>,
        receipt: &Receipt,
        reason: &str,
        effects: &mut Effects,
    ) -> Result<bool> {
        let Some(held) = self.held(taking.group, taking.consumer, receipt, effects) else {
            return Ok(false);
        };
        let (id, deliveries) = (receipt.id, held.deliveries);
        let Stream::Number(number) = receipt.stream else { return Ok(false) };
        let entry = self.stream(number).and_then(|stream| stream.entries.get(&id));
        let Some(entry) = entry else { return Ok(false) };
        let message =
            Message { stream: receipt.stream, id, deliveries, fields: decode_fields(entry)? };
        self.bury(message, taking, taking.consumer, reason, effects);
        Ok(true)
    }

    /// Makes a dead letter of a pending message: it is copied with its history, acknowledged, and deleted if no
    /// other group has joined its stream.
    fn bury(
        &mut self,
        message: Message,
        taking: &Taking<'_>,
        consumer: &[u8],
        reason: &str,
        effects: &mut Effects,
    ) {
        let receipt = Receipt::from(&message);
        let deliveries = message.deliveries;
        let (group, consumer) = (taking.group.to_vec(), consumer.to_vec());
        let (id, reason) = (MessageId::default(), reason.to_owned());
        let letter = DeadLetter { id, message, group, consumer, deliveries, reason };
        let fields: Vec<_> = letter.fields().collect();
        let strings = fields.iter().flat_map(|(field, value)| [&**field, &**value]);
        let entry = encode_fields(2 * fields.len(), strings);
        self.ack(taking.group, &receipt, effects);
        let Stream::Number(number) = receipt.stream else { return };
        if self.stream(number).is_some_and(|stream| stream.groups.len() == 1) {
            self.remove(&receipt, effects);
        }
        self.add(DEAD, entry, taking.now, taking.expires, effects);
    }
}

/// One item of each, then the next of each that has more, until none has.
fn in_turn<T>(turns: impl IntoIterator<Item = impl Iterator<Item = T>>) -> impl Iterator<Item = T> {
    let mut turns: VecDeque<_> = turns.into_iter().collect();
    iter::from_fn(move || {
        while let Some(mut turn) = turns.pop_front() {
            if let Some(item) = turn.next() {
                turns.push_back(turn);
                return Some(item);
            }
        }
        None
    })
}
