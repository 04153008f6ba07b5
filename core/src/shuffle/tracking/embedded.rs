//! The records of tracked messages on the embedded engine.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Deadline, Expired, Expiry};
use crate::error::{Result, invalid};
use crate::runtime::sync;
use crate::shuffle::STREAMS_MAX;
use crate::shuffle::message::{Receipt, Stream};
use crate::step::codec::{Field, Reader, effects, fields, put_bytes};
use crate::step::{self, Constants, Effects, SNAPSHOT_BYTES, Snapshot, StepContext, constants};

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

type Entries = BTreeSet<Entry>;

type Entry = (Deadline, Box<[u8]>);

/// Where a tracked message is.
#[derive(Clone)]
pub(in crate::shuffle) struct Record {
    pub(in crate::shuffle) queue: Arc<[u8]>,
    pub(in crate::shuffle) receipt: Receipt,
    pub(in crate::shuffle) deadline: Deadline,
}

/// The kind of these records in the journal.
pub(crate) const KIND: u8 = 3;

effects! {
    enum Effect<'a> of "tracked messages" {
        Track { value: &'a [u8], record: Cow<'a, Record> } = 1,
        /// The record of the value was deleted, and all about its deadline.
        Delete { value: &'a [u8] } = 2,
        Cordon { entry: Cow<'a, Entry> } = 3,
        /// The entries of this deadline were deleted.
        Forget { entry: Cow<'a, Entry> } = 4,
        /// There is an entry of a deadline that is not the record's.
        Stale { entry: Cow<'a, Entry> } = 5,
    }
}

fields!(Record: queue receipt deadline);

impl Field<'_> for Receipt {
    fn put(&self, record: &mut Vec<u8>) {
        self.stream.to_wire().put(record);
        self.id.put(record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { stream: Stream::Number(Field::read(record)?), id: Field::read(record)? })
    }
}

impl Field<'_> for Entry {
    fn put(&self, record: &mut Vec<u8>) {
        let (deadline, value) = self;
        deadline.put(record);
        put_bytes(value, record);
    }

    fn read(record: &mut Reader<'_>) -> Result<Self> {
        Ok((Field::read(record)?, record.bytes()?.into()))
    }
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
        effects.note(&Effect::Track { value, record: Cow::Borrowed(&record) });
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
        effects.note(&Effect::Delete { value });
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
            effects.note(&Effect::Cordon { entry: Cow::Borrowed(&entry) });
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
        let after = after.map(|after| Entry::read(&mut Reader::new(after)));
        let after = after.transpose().map_err(|_| unknown())?;
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
            entry.put(&mut expired.cursor);
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
        effects.note(&Effect::Forget { entry: Cow::Borrowed(&entry) });
        self.forget_entry(&entry);
        false
    }

    fn forget_entry(&mut self, entry: &Entry) {
        self.expiries.remove(entry);
        self.garbage.remove(entry);
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        for effect in Reader::new(record).all() {
            match effect? {
                Effect::Track { value, record } => self.set(value.into(), record.into_owned()),
                Effect::Delete { value } => _ = self.delete(value, &mut Effects::none()),
                Effect::Cordon { entry } => {
                    self.due.remove(&*entry);
                    self.garbage.insert(entry.into_owned());
                }
                Effect::Forget { entry } => self.forget_entry(&entry),
                Effect::Stale { entry } => _ = self.expiries.insert(entry.into_owned()),
            }
        }
        Ok(())
    }
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![STREAMS_MAX]
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
            effects.note(&Effect::Cordon { entry: Cow::Borrowed(entry) });
        }
        effects.flush(0, out);
        for (value, record) in &tracked.records {
            effects.note(&Effect::Track { value, record: Cow::Borrowed(record) });
            effects.flush(SNAPSHOT_BYTES, out);
        }
        let is_current = |(deadline, value): &&Entry| {
            tracked.records.get(value).is_some_and(|record| record.deadline == *deadline)
        };
        let stale = tracked.expiries.iter().filter(|entry| !is_current(entry));
        let stale = stale.map(|entry| Effect::Stale { entry: Cow::Borrowed(entry) });
        let cordoned = tracked.garbage.difference(&tracked.due);
        let cordoned = cordoned.map(|entry| Effect::Cordon { entry: Cow::Borrowed(entry) });
        for effect in stale.chain(cordoned) {
            effects.note(&effect);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shuffle::message::MessageId;
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
