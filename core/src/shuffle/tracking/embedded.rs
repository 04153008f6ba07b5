//! The records of tracked messages on the embedded engine.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Deadline, Expired, Expiry};
use crate::error::{Error, ErrorKind, Result, invalid};
use crate::runtime::sync;
use crate::shuffle::StreamNumber;
use crate::shuffle::message::{MessageId, Receipt, Stream};
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{self, Effects, SNAPSHOT_BYTES, Snapshot, StepContext};

/// What the embedded engine keeps for the tracked messages of one queue, or of all that share the
/// global keys.
#[derive(Default)]
pub struct State(Mutex<Tracked>);

/// The records, and three orders of their deadlines: what was ever written, what is due, and what
/// was cordoned.
#[derive(Default)]
pub(in crate::shuffle) struct Tracked {
    records: BTreeMap<Box<[u8]>, Record>,
    /// A value that is written again is in here with each of its deadlines.
    expiries: Entries,
    due: Entries,
    garbage: Entries,
}

type Entries = BTreeSet<(Deadline, Box<[u8]>)>;

/// Where a tracked message is.
#[derive(Clone)]
pub(in crate::shuffle) struct Record {
    pub(in crate::shuffle) queue: Arc<[u8]>,
    pub(in crate::shuffle) receipt: Receipt,
    pub(in crate::shuffle) deadline: Deadline,
}

/// The kind of these records in the journal.
pub(crate) const KIND: u8 = 3;

/// Effects in the journal: a tag and what it needs.
mod tag {
    /// Value, queue, stream, id, deadline: a message was tracked.
    pub(super) const TRACK: u8 = 1;
    /// Value: its record was deleted, and all about its deadline.
    pub(super) const DELETE: u8 = 2;
    /// Value, deadline.
    pub(super) const CORDON: u8 = 3;
    /// Value, deadline: the entries of this deadline were deleted.
    pub(super) const FORGET: u8 = 4;
    /// Value, deadline: there is an entry of a deadline that is not the record's.
    pub(super) const STALE: u8 = 5;
}

impl State {
    /// The records and the effects of a step on them, until both are dropped.
    pub(in crate::shuffle) fn open(
        &self,
        context: &StepContext<'_>,
    ) -> (MutexGuard<'_, Tracked>, Effects) {
        (sync::lock(&self.0), Effects::of(context))
    }
}

impl Tracked {
    /// Tracks a message, in place of another of the same value.
    pub(in crate::shuffle) fn track(
        &mut self,
        value: &[u8],
        record: Record,
        effects: &mut Effects,
    ) {
        put_track(value, &record, effects);
        self.set(value.into(), record);
    }

    fn set(&mut self, value: Box<[u8]>, record: Record) {
        let entry = (record.deadline, value.clone());
        if let Some(old) = self.records.insert(value.clone(), record) {
            self.due.remove(&(old.deadline, value));
        }
        self.expiries.insert(entry.clone());
        self.due.insert(entry);
    }

    /// Deletes a record and all about its deadline.
    pub(super) fn delete(&mut self, value: &[u8], effects: &mut Effects) -> Option<Record> {
        let record = self.records.remove(value)?;
        effects.write(tag::DELETE, |out| put_bytes(value, out));
        let entry = (record.deadline, value.into());
        for entries in [&mut self.expiries, &mut self.due, &mut self.garbage] {
            entries.remove(&entry);
        }
        Some(record)
    }

    /// Moves what is due in this time to the garbage.
    pub(super) fn cordon(
        &mut self,
        time: RangeInclusive<Deadline>,
        effects: &mut Effects,
    ) -> Vec<Vec<u8>> {
        let first = (*time.start(), Box::default());
        let found = self.due.range(first..).take_while(|(deadline, _)| deadline <= time.end());
        let found: Vec<_> = found.cloned().collect();
        let mut values = Vec::with_capacity(found.len());
        for entry in found {
            put_entry(tag::CORDON, &entry, effects);
            values.push(entry.1.to_vec());
            self.due.remove(&entry);
            self.garbage.insert(entry);
        }
        values
    }

    /// A page of what has expired. The cursor is what the script's begins with, and the last entry
    /// of the page before.
    pub(super) fn scan(
        &self,
        cursor: &[u8],
        prefix: &str,
        now: Deadline,
        page: usize,
    ) -> Result<Expired> {
        let unknown = || invalid("the cursor is none of this engine");
        let (is_garbage, after) = match cursor.split_first() {
            None => (true, None),
            Some((b'g', after)) => (true, Some(after)),
            Some((b'e', [])) => (false, None),
            Some((b'e', after)) => (false, Some(after)),
            Some(_) => return Err(unknown()),
        };
        let after =
            after.map(|after| Reader::new(after).entry()).transpose().map_err(|_| unknown())?;
        let entries = if is_garbage { &self.garbage } else { &self.expiries };
        let rest = entries.range((after.map_or(Unbounded, Excluded), Unbounded));
        let mut expired = Expired { cursor: Vec::new(), scanned: 0, expiries: Vec::new() };
        for (looked_at, entry) in rest.enumerate() {
            if looked_at == page {
                return Ok(expired);
            }
            let (deadline, value) = entry;
            let text = deadline.to_string();
            if is_garbage || text.starts_with(prefix) {
                expired.scanned += 1;
                if is_garbage || *deadline <= now {
                    let record = self.records.get(value);
                    expired.expiries.push(Expiry {
                        value: value.to_vec(),
                        deadline: text.into(),
                        is_current: record.is_some_and(|record| record.deadline == *deadline),
                    });
                }
            }
            expired.cursor = vec![if is_garbage { b'g' } else { b'e' }];
            put_integer(*deadline as u64, &mut expired.cursor);
            put_bytes(value, &mut expired.cursor);
        }
        expired.cursor = if is_garbage { b"e".to_vec() } else { Vec::new() };
        Ok(expired)
    }

    /// Deletes the entries of a deadline, and the record if that is its deadline; returns whether
    /// it was.
    pub(super) fn forget(&mut self, expiry: &Expiry, effects: &mut Effects) -> bool {
        let text = std::str::from_utf8(&expiry.deadline).ok();
        let Some(deadline) = text.and_then(|text| text.parse().ok()) else { return false };
        let current = self.records.get(&*expiry.value).map(|record| record.deadline);
        if current == Some(deadline) {
            return self.delete(&expiry.value, effects).is_some();
        }
        let entry = (deadline, expiry.value.as_slice().into());
        put_entry(tag::FORGET, &entry, effects);
        self.forget_entry(&entry);
        false
    }

    fn forget_entry(&mut self, entry: &(Deadline, Box<[u8]>)) {
        self.expiries.remove(entry);
        self.garbage.remove(entry);
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut record = Reader::new(record);
        while !record.is_empty() {
            match record.byte()? {
                tag::TRACK => {
                    let value = record.bytes()?.into();
                    let (queue, stream) = (record.bytes()?.into(), record.integer()?);
                    let stream = StreamNumber::try_from(stream).map_err(|_| unreadable())?;
                    let id = MessageId { time_ms: record.integer()?, sequence: record.integer()? };
                    let deadline = record.integer()? as Deadline;
                    let receipt = Receipt { stream: Stream::Number(stream), id };
                    self.set(value, Record { queue, receipt, deadline });
                }
                tag::DELETE => {
                    let value = record.bytes()?;
                    self.delete(value, &mut Effects::none());
                }
                tag::CORDON => {
                    let entry = record.entry()?;
                    self.due.remove(&entry);
                    self.garbage.insert(entry);
                }
                tag::FORGET => {
                    let entry = record.entry()?;
                    self.forget_entry(&entry);
                }
                tag::STALE => {
                    self.expiries.insert(record.entry()?);
                }
                _ => return Err(unreadable()),
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn entry(&mut self) -> Result<(Deadline, Box<[u8]>)> {
        Ok((self.integer()? as Deadline, self.bytes()?.into()))
    }
}

fn put_entry(tag: u8, (deadline, value): &(Deadline, Box<[u8]>), effects: &mut Effects) {
    effects.write(tag, |out| {
        put_integer(*deadline as u64, out);
        put_bytes(value, out);
    });
}

fn put_track(value: &[u8], record: &Record, effects: &mut Effects) {
    effects.write(tag::TRACK, |out| {
        put_bytes(value, out);
        put_bytes(&record.queue, out);
        put_integer(record.receipt.stream.to_wire() as u64, out);
        put_integer(record.receipt.id.time_ms, out);
        put_integer(record.receipt.id.sequence, out);
        put_integer(record.deadline as u64, out);
    });
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        sync::lock(&self.0).replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let tracked = sync::lock(&self.0);
        out.begin();
        let mut effects = Effects::after(Vec::new());
        // A value that was cordoned and then written again with the same deadline is due once more:
        // its TRACK has to come after its CORDON.
        for entry in tracked.garbage.intersection(&tracked.due) {
            put_entry(tag::CORDON, entry, &mut effects);
        }
        effects.flush(0, out);
        for (value, record) in &tracked.records {
            put_track(value, record, &mut effects);
            effects.flush(SNAPSHOT_BYTES, out);
        }
        let is_current = |(deadline, value): &&(Deadline, Box<[u8]>)| {
            tracked.records.get(value).is_some_and(|record| record.deadline == *deadline)
        };
        let stale = tracked.expiries.iter().filter(|entry| !is_current(entry));
        let stale = stale.map(|entry| (tag::STALE, entry));
        let cordoned = tracked.garbage.difference(&tracked.due).map(|entry| (tag::CORDON, entry));
        for (tag, entry) in stale.chain(cordoned) {
            put_entry(tag, entry, &mut effects);
            effects.flush(SNAPSHOT_BYTES, out);
        }
        effects.flush(0, out);
    }

    fn is_unused(&self) -> bool {
        let tracked = sync::lock(&self.0);
        // What has a record has an entry as well.
        tracked.expiries.is_empty() && tracked.garbage.is_empty()
    }
}

fn unreadable() -> Error {
    Error::new(ErrorKind::Corrupt, "a journal record of tracked messages cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::stored;

    #[test]
    fn records_are_stored_as_before() {
        let mut tracked = Tracked::default();
        let mut note = |name, change: &dyn Fn(&mut Tracked, &mut Effects)| {
            let mut effects = Effects::after(Vec::new());
            change(&mut tracked, &mut effects);
            (name, effects.into_record())
        };
        let record = |deadline| Record {
            queue: b"q\xff".as_slice().into(),
            receipt: Receipt {
                stream: Stream::Number(300),
                id: MessageId { time_ms: 1_763_691_473_123, sequence: 200 },
            },
            deadline,
        };
        let expiry = |value: &[u8], deadline: &str| Expiry {
            value: value.into(),
            deadline: deadline.as_bytes().into(),
            is_current: false,
        };
        let track = |value: &'static [u8], deadline| {
            move |tracked: &mut Tracked, effects: &mut Effects| {
                tracked.track(value, record(deadline), effects);
            }
        };
        let records = [
            note("track", &track(b"a\0", 1_763_691_473)),
            note("track before the epoch", &track(b"b", -5)),
            note("delete", &|tracked, effects| drop(tracked.delete(b"a\0", effects))),
            note("cordon", &|tracked, effects| drop(tracked.cordon(-9..=0, effects))),
            note("track again", &track(b"b", 300)),
            note("forget", &|tracked, effects| _ = tracked.forget(&expiry(b"b", "-5"), effects)),
            note("rest", &|tracked, effects| {
                // Cordoned and due; stale and cordoned; due.
                track(b"c", 7)(tracked, effects);
                track(b"d", 8)(tracked, effects);
                tracked.cordon(7..=8, effects);
                track(b"c", 7)(tracked, effects);
                track(b"d", 9)(tracked, effects);
            }),
        ];
        stored::check::<State>(include_str!("embedded.hex"), &records);
    }
}
