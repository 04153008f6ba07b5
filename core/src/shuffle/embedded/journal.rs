//! A queue's records in the journal: what its steps did, and how it comes back from that.

use super::stream::{Pending, StreamState};
use super::{DEAD, Meta, Queue};
use crate::error::{Error, ErrorKind, Result};
use crate::shuffle::message::MessageId;
use crate::shuffle::{STREAMS_MAX, StreamNumber};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{Effects, SNAPSHOT_BYTES, Snapshot};

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

impl Queue {
    pub(super) fn replay(&mut self, record: &[u8]) -> Result<()> {
        let record = &mut Reader::new(record);
        while !record.is_empty() {
            match record.byte()? {
                tag::META => {
                    let meta = self.meta.get_or_insert_default();
                    meta.streams = stream_count(record)?;
                    meta.expires = record.integer()?;
                }
                tag::TARGET => self.meta.get_or_insert_default().target = stream_count(record)?,
                tag::OFFSET => {
                    let meta = self.meta.get_or_insert_default();
                    let group = record.bytes()?;
                    if !group.is_empty() {
                        meta.offsets.insert(group.into(), stream_number(record)?);
                    }
                    meta.offset = stream_number(record)?;
                }
                tag::META_EXPIRED => self.meta = None,
                tag::STREAM => {
                    let stream = self.stream_or_new(stream_number(record)?);
                    (stream.last, stream.expires) = (id(record)?, record.integer()?);
                }
                tag::STREAM_EXPIRED => match stream_number(record)? {
                    DEAD => self.dead = None,
                    number => drop(self.streams.get_mut(number as usize).and_then(Option::take)),
                },
                tag::ADD => {
                    let (stream, id) = (self.stream_of(record)?, id(record)?);
                    let strings = (0..record.integer()?).map(|_| record.bytes());
                    let strings = strings.collect::<Result<Vec<_>>>()?;
                    stream.add(id, encode_fields(strings.len(), strings.into_iter()));
                }
                tag::JOIN => {
                    let (stream, group) = (self.stream_of(record)?, record.bytes()?.into());
                    stream.join(group, id(record)?);
                }
                tag::TAKE => {
                    let stream = self.stream_of(record)?;
                    let (group, consumer) = (record.bytes()?, record.bytes()?);
                    let (now, count) = (record.integer()?, record.integer()?);
                    if stream.deliver(group, consumer, now, count).len() as u64 != count {
                        return Err(unreadable("takes more messages than there are"));
                    }
                }
                tag::ACK => {
                    let group = self.stream_of(record)?.group_mut(record.bytes()?)?;
                    group.pending.remove(&id(record)?);
                }
                tag::REMOVE => {
                    self.stream_of(record)?.remove(id(record)?);
                }
                tag::PENDING => {
                    let group = self.stream_of(record)?.group_mut(record.bytes()?)?;
                    let id = id(record)?;
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

    /// The stream whose number comes next.
    fn stream_of(&mut self, record: &mut Reader<'_>) -> Result<&mut StreamState> {
        let stream = self.stream_mut(stream_number(record)?);
        stream.ok_or_else(|| unreadable("is about a stream that is not there"))
    }

    /// Writes records that make this queue when they are replayed on an empty one.
    pub(super) fn snapshot(&self, out: &mut dyn Snapshot) {
        let mut effects = Effects::after(Vec::new());
        if let Some(meta) = &self.meta {
            put_meta(meta, &mut effects);
            if meta.target.is_some() {
                put_target(meta.target, &mut effects);
            }
            for (group, offset) in &meta.offsets {
                put_offset(group, *offset, meta.offset, &mut effects);
            }
        }
        effects.flush(0, out);
        let dead = self.dead.iter().map(|dead| (DEAD, dead));
        let streams = (0..).zip(&self.streams);
        let streams = streams.filter_map(|(number, stream)| Some((number, stream.as_ref()?)));
        for (number, stream) in streams.chain(dead) {
            put_stream(number, stream, &mut effects);
            for (id, entry) in &stream.entries {
                put_add(number, *id, entry, &mut effects);
                effects.flush(SNAPSHOT_BYTES, out);
            }
            for (name, group) in &stream.groups {
                put_join(number, name, group.last, &mut effects);
                for (id, pending) in &group.pending {
                    put_pending(number, name, *id, pending, &mut effects);
                    effects.flush(SNAPSHOT_BYTES, out);
                }
            }
        }
        effects.flush(1, out);
    }
}

pub(super) fn put_meta(meta: &Meta, effects: &mut Effects) {
    effects.write(tag::META, |record| {
        put_integer(meta.streams.unwrap_or(0).into(), record);
        put_integer(meta.expires, record);
    });
}

pub(super) fn put_target(target: Option<u32>, effects: &mut Effects) {
    effects.write(tag::TARGET, |record| put_integer(target.unwrap_or(0).into(), record));
}

pub(super) fn put_offset(group: &[u8], own: u32, everybodys: u32, effects: &mut Effects) {
    effects.write(tag::OFFSET, |record| {
        put_bytes(group, record);
        put_integer(own.into(), record);
        put_integer(everybodys.into(), record);
    });
}

pub(super) fn put_stream(number: StreamNumber, stream: &StreamState, effects: &mut Effects) {
    effects.write(tag::STREAM, |record| {
        put_integer(number.into(), record);
        put_id(stream.last, record);
        put_integer(stream.expires, record);
    });
}

pub(super) fn put_add(number: StreamNumber, id: MessageId, entry: &[u8], effects: &mut Effects) {
    effects.write(tag::ADD, |record| {
        put_integer(number.into(), record);
        put_id(id, record);
        record.extend_from_slice(entry);
    });
}

pub(super) fn put_join(number: StreamNumber, group: &[u8], last: MessageId, effects: &mut Effects) {
    effects.write(tag::JOIN, |record| {
        put_integer(number.into(), record);
        put_bytes(group, record);
        put_id(last, record);
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

/// A number of streams, where 0 is for not known.
fn stream_count(record: &mut Reader<'_>) -> Result<Option<u32>> {
    Ok(Some(stream_number(record)?).filter(|streams| *streams > 0))
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

#[cfg(test)]
mod tests {
    use super::super::{State, Taking};
    use super::*;
    use crate::shuffle::message::{Receipt, Stream};
    use crate::step::stored;

    const NOW: u64 = 1_763_691_473_123_456;
    const LATER: u64 = NOW + 60_000_000;
    const GROUP: &[u8] = b"g\xff";

    fn taking(consumer: &[u8]) -> Taking<'_> {
        Taking { group: GROUP, consumer, now: NOW, expires: LATER }
    }

    fn add(queue: &mut Queue, number: StreamNumber, effects: &mut Effects) -> Receipt {
        let entry = encode_fields(2, [b"field\0".as_slice(), b"value"].into_iter());
        queue.add(number, entry, NOW, LATER, effects)
    }

    /// The one message that a read delivers.
    fn read(queue: &mut Queue, consumer: &[u8], effects: &mut Effects) -> Receipt {
        Receipt::from(&queue.read(&taking(consumer), 1, None, effects).unwrap()[0])
    }

    #[test]
    fn records_are_stored_as_before() {
        let mut queue = Queue::default();
        let mut note = |name, change: &mut dyn FnMut(&mut Queue, &mut Effects)| {
            let mut effects = Effects::after(Vec::new());
            change(&mut queue, &mut effects);
            (name, effects.into_record())
        };
        let mut receipt = Receipt { stream: Stream::Default, id: MessageId::default() };
        let records = [
            note("resize", &mut |queue, effects| _ = queue.resize(2, NOW, effects)),
            note("add", &mut |queue, effects| _ = add(queue, 1, effects)),
            note("target", &mut |queue, effects| _ = queue.resize(1, NOW, effects)),
            note("read", &mut |queue, effects| receipt = read(queue, b"c\0", effects)),
            note("extend", &mut |queue, effects| {
                assert!(queue.extend(GROUP, b"c\0", &receipt, (LATER, 300), effects));
            }),
            note("reject", &mut |queue, effects| {
                assert!(queue.reject(&taking(b"c\0"), &receipt, "why", effects).unwrap());
            }),
            note("expire", &mut |queue, effects| queue.expire(u64::MAX, effects)),
            note("rest", &mut |queue, effects| {
                queue.resize(3, LATER, effects);
                add(queue, 1, effects);
                add(queue, 1, effects);
                add(queue, 2, effects);
                queue.resize(1, LATER, effects);
                read(queue, b"c\0", effects);
                let receipt = read(queue, b"d", effects);
                assert!(queue.reject(&taking(b"d"), &receipt, "", effects).unwrap());
            }),
        ];
        stored::check::<State>(include_str!("journal.hex"), &records);
    }

    #[test]
    fn streams_that_no_queue_can_have_are_refused() {
        let mut record = vec![tag::STREAM];
        put_integer(u64::from(STREAMS_MAX) + 1, &mut record);
        record.extend([0, 0, 0]);
        let error = stored::replayed::<State>(&[record]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
