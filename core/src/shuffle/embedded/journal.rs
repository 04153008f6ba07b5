//! A queue's records in the journal: what its steps did, and how it comes back from that.

use std::borrow::Cow;

use super::stream::{Pending, StreamState};
use super::{DEAD, Meta, Queue};
use crate::error::Result;
use crate::shuffle::message::MessageId;
use crate::shuffle::{STREAMS_MAX, StreamNumber};
use crate::step::codec::{Field, Reader, effects, fields, put_bytes, put_integer};
use crate::step::{Effects, SNAPSHOT_BYTES, Snapshot, Timestamp};

effects! {
    /// Effects say what changed, not what was asked, so that a later version with other rules still makes the same
    /// state of them.
    pub(super) enum Effect<'a> of "a shuffle queue" {
        /// How many streams there are, 0 for not known; until when.
        Meta { streams: Number, expires: Timestamp } = 1,
        /// Where the next read of a group starts, and that of a group that never read.
        Offset { group: &'a [u8], own: Number, everybodys: Number } = 2,
        MetaExpired = 3,
        /// The stream is there.
        Stream { stream: Number, last: MessageId, expires: Timestamp } = 4,
        StreamExpired { stream: Number } = 5,
        /// A message was written.
        Add { stream: Number, id: MessageId, entry: Entry<'a> } = 6,
        /// The group joined the stream.
        Join { stream: Number, group: &'a [u8], last: MessageId } = 7,
        /// The next `count` messages were delivered to the consumer.
        Take { stream: Number, group: &'a [u8], consumer: &'a [u8], now: Timestamp, count: u64 } = 8,
        Ack { stream: Number, group: &'a [u8], id: MessageId } = 9,
        /// The message was deleted.
        Remove { stream: Number, id: MessageId } = 10,
        /// The message is pending like this.
        Pending { stream: Number, group: &'a [u8], id: MessageId, pending: Cow<'a, Pending> } = 11,
        /// How many streams writers spread over while there are more, 0 for all.
        Target { streams: Number } = 12,
    }
}

fields!(Pending: consumer delivered deliveries);

/// The number of a stream, or of streams, as far as a queue can have them. The stream of dead letters has the number
/// that comes after the highest.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) StreamNumber);

impl Number {
    /// A number of streams, where 0 is for not known.
    fn known(self) -> Option<u32> {
        Some(self.0).filter(|streams| *streams > 0)
    }
}

impl Field<'_> for Number {
    fn put(&self, record: &mut Vec<u8>) {
        self.0.put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        match StreamNumber::try_from(record.integer()?) {
            Ok(number) if number <= STREAMS_MAX => Ok(Self(number)),
            _ => Err(Effect::unreadable("has a stream's number that no queue can have")),
        }
    }
}

/// A message's fields and values, as [`encode_fields`] makes them.
pub(super) struct Entry<'a>(pub(super) &'a [u8]);

impl<'a> Field<'a> for Entry<'a> {
    fn put(&self, record: &mut Vec<u8>) {
        record.extend_from_slice(self.0);
    }

    fn read(record: &mut Reader<'a>) -> Result<Self> {
        let strings = |record: &mut Reader<'a>| {
            (0..record.integer()?).try_for_each(|_| record.bytes().map(drop))
        };
        record.read_by(strings).map(Self)
    }
}

impl Queue {
    pub(super) fn replay(&mut self, record: &[u8]) -> Result<()> {
        for effect in Reader::new(record).all() {
            match effect? {
                Effect::Meta { streams, expires } => {
                    let meta = self.meta.get_or_insert_default();
                    (meta.streams, meta.expires) = (streams.known(), expires);
                }
                Effect::Target { streams } => {
                    self.meta.get_or_insert_default().target = streams.known();
                }
                Effect::Offset { group, own, everybodys } => {
                    let meta = self.meta.get_or_insert_default();
                    meta.offsets.insert(group.into(), own.0);
                    meta.offset = everybodys.0;
                }
                Effect::MetaExpired => self.meta = None,
                Effect::Stream { stream, last, expires } => {
                    let stream = self.stream_or_new(stream.0);
                    (stream.last, stream.expires) = (last, expires);
                }
                Effect::StreamExpired { stream: Number(DEAD) } => self.dead = None,
                Effect::StreamExpired { stream: Number(number) } => {
                    drop(self.streams.get_mut(number as usize).and_then(Option::take));
                }
                Effect::Add { stream, id, entry } => self.known(stream)?.add(id, entry.0.into()),
                Effect::Join { stream, group, last } => {
                    self.known(stream)?.join(group.into(), last);
                }
                Effect::Take { stream, group, consumer, now, count } => {
                    let taken = self.known(stream)?.deliver(group, consumer, now, count);
                    if taken.len() as u64 != count {
                        return Err(Effect::unreadable("takes more messages than there are"));
                    }
                }
                Effect::Ack { stream, group, id } => {
                    self.known(stream)?.group_mut(group)?.pending.remove(&id);
                }
                Effect::Remove { stream, id } => _ = self.known(stream)?.remove(id),
                Effect::Pending { stream, group, id, pending } => {
                    let group = self.known(stream)?.group_mut(group)?;
                    group.pending.insert(id, pending.into_owned());
                }
            }
        }
        Ok(())
    }

    /// The stream of this number, which is there.
    fn known(&mut self, stream: Number) -> Result<&mut StreamState> {
        let stream = self.stream_mut(stream.0);
        stream.ok_or_else(|| Effect::unreadable("is about a stream that is not there"))
    }

    /// Writes records that make this queue when they are replayed on an empty one.
    pub(super) fn snapshot(&self, out: &mut dyn Snapshot) {
        let mut effects = Effects::after(Vec::new());
        if let Some(meta) = &self.meta {
            effects.note(&meta.effect());
            if meta.target.is_some() {
                effects.note(&meta.target_effect());
            }
            let everybodys = Number(meta.offset);
            for (group, offset) in &meta.offsets {
                effects.note(&Effect::Offset { group, own: Number(*offset), everybodys });
            }
        }
        effects.flush(0, out);
        let dead = self.dead.iter().map(|dead| (DEAD, dead));
        let streams = (0..).zip(&self.streams);
        let streams = streams.filter_map(|(number, stream)| Some((number, stream.as_ref()?)));
        for (number, state) in streams.chain(dead) {
            let stream = Number(number);
            effects.note(&state.effect(number));
            for (id, entry) in &state.entries {
                effects.note(&Effect::Add { stream, id: *id, entry: Entry(entry) });
                effects.flush(SNAPSHOT_BYTES, out);
            }
            for (name, group) in &state.groups {
                effects.note(&Effect::Join { stream, group: name, last: group.last });
                for (id, pending) in &group.pending {
                    effects.note(&pending.effect(number, name, *id));
                    effects.flush(SNAPSHOT_BYTES, out);
                }
            }
        }
        effects.flush(1, out);
    }
}

impl Meta {
    pub(super) fn effect(&self) -> Effect<'static> {
        Effect::Meta { streams: Number(self.streams.unwrap_or(0)), expires: self.expires }
    }

    pub(super) fn target_effect(&self) -> Effect<'static> {
        Effect::Target { streams: Number(self.target.unwrap_or(0)) }
    }
}

impl StreamState {
    pub(super) fn effect(&self, number: StreamNumber) -> Effect<'static> {
        Effect::Stream { stream: Number(number), last: self.last, expires: self.expires }
    }
}

impl Pending {
    pub(super) fn effect<'a>(
        &'a self,
        number: StreamNumber,
        group: &'a [u8],
        id: MessageId,
    ) -> Effect<'a> {
        Effect::Pending { stream: Number(number), group, id, pending: Cow::Borrowed(self) }
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

#[cfg(test)]
mod tests {
    use super::super::{State, Taking};
    use super::*;
    use crate::error::ErrorKind;
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
            note("renew", &mut |queue, effects| {
                assert!(queue.renew(GROUP, b"c\0", &receipt, (LATER, 300), effects));
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
        let mut record = vec![4];
        put_integer(u64::from(STREAMS_MAX) + 1, &mut record);
        record.extend([0, 0, 0]);
        let error = stored::replayed::<State>(&[record]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
