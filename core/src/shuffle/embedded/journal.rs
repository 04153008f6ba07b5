//! A queue's records in the journal: what its steps did, and how it comes back from that.

use super::stream::{Pending, Stream};
use super::{DEAD, Queue};
use crate::error::{Error, ErrorKind, Result};
use crate::shuffle::message::MessageId;
use crate::shuffle::{STREAMS_MAX, StreamNumber};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{Effects, Snapshot};

/// Effects in the journal: a tag and what it needs. They say what changed, not what was asked, so
/// that a later version with other rules still makes the same state of them.
pub(super) mod tag {
    /// Streams, 0 for not known; until when.
    pub(in super::super) const META: u8 = 1;
    /// Group, its offset, everybody's offset.
    pub(in super::super) const OFFSET: u8 = 2;
    pub(in super::super) const META_EXPIRED: u8 = 3;
    /// Stream, last id, until when: the stream is there.
    pub(in super::super) const STREAM: u8 = 4;
    /// Stream.
    pub(in super::super) const STREAM_EXPIRED: u8 = 5;
    /// Stream, id, number of strings, strings: a message was written.
    pub(in super::super) const ADD: u8 = 6;
    /// Stream, group, last id: the group joined the stream.
    pub(in super::super) const JOIN: u8 = 7;
    /// Stream, group, consumer, time, count: the next `count` messages were delivered to the consumer.
    pub(in super::super) const TAKE: u8 = 8;
    /// Stream, group, id.
    pub(in super::super) const ACK: u8 = 9;
    /// Stream, id: the message was deleted.
    pub(in super::super) const REMOVE: u8 = 10;
    /// Stream, group, id, consumer, time, deliveries: the message is pending like this. The stream
    /// of dead letters has the number that comes after the highest.
    pub(in super::super) const PENDING: u8 = 11;
    /// Streams that writers spread over while there are more, 0 for all.
    pub(in super::super) const TARGET: u8 = 12;
}

/// Bytes in one snapshot record: large enough to be cheap, small enough to be read in pieces.
const SNAPSHOT_BYTES: usize = 256 * 1024;

impl Queue {
    pub(super) fn replay(&mut self, record: &[u8]) -> Result<()> {
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
                tag::TARGET => {
                    let target = stream_number(&mut record)?;
                    let meta = self.meta.get_or_insert_default();
                    meta.target = Some(target).filter(|target| *target > 0);
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

    /// Writes records that make this queue when they are replayed on an empty one.
    pub(super) fn snapshot(&self, out: &mut dyn Snapshot) {
        let mut record = Vec::new();
        if let Some(meta) = &self.meta {
            record.push(tag::META);
            put_integer(meta.streams.unwrap_or(0).into(), &mut record);
            put_integer(meta.expires, &mut record);
            if let Some(target) = meta.target {
                record.push(tag::TARGET);
                put_integer(target.into(), &mut record);
            }
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
        let dead = self.dead.iter().map(|dead| (DEAD, dead));
        let streams = (0..).zip(&self.streams);
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
}

pub(super) fn put_stream(number: StreamNumber, stream: &Stream, effects: &mut Effects) {
    effects.write(tag::STREAM, |record| {
        put_integer(number.into(), record);
        put_id(stream.last, record);
        put_integer(stream.expires, record);
    });
}

pub(super) fn put_pending(
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

pub(super) fn put_id(id: MessageId, record: &mut Vec<u8>) {
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
pub(in crate::shuffle) fn encode_fields<'a>(
    count: usize,
    strings: impl Iterator<Item = &'a [u8]>,
) -> Box<[u8]> {
    let mut entry = Vec::with_capacity(16 * count);
    put_integer(count as u64, &mut entry);
    strings.for_each(|string| put_bytes(string, &mut entry));
    entry.into()
}

pub(super) fn decode_fields(entry: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut entry = Reader::new(entry);
    let fields = entry.integer()? / 2;
    (0..fields).map(|_| Ok((entry.bytes()?.to_vec(), entry.bytes()?.to_vec()))).collect()
}

pub(super) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of a shuffle queue {what}"))
}
