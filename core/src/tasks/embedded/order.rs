//! The tasks of one priority, by time and id.
//!
//! They stand in chunks, each of which knows its tasks and is shared with whoever reads it. A chunk that
//! nobody reads is changed in place; one that somebody reads is copied first, and so is a task, so the
//! reader keeps what it took. Taking some chunks costs a moment under the queue's lock; what is read of
//! them costs those nothing who work on the queue meanwhile.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc as Text;

use triomphe::Arc;

use super::queue::{NOBODY, Record, Slot};
use crate::tasks::Position;

/// Tasks in a chunk: so many are moved for one that comes or goes, and copied if somebody reads them.
const CHUNK: usize = 64;

/// A task in the order. What has to be known to find it, and to count it, is here: looking at the task
/// itself would be a miss of the cache each time.
#[derive(Clone)]
pub(super) struct Entry {
    at_ms: u64,
    /// The id's first eight bytes.
    head: u64,
    slot_and_claimed: u32,
    record: Arc<Record>,
}

impl Entry {
    fn new(record: &Arc<Record>, slot: Slot) -> Self {
        let slot_and_claimed = slot << 1 | u32::from(record.claims > 0);
        let head = head(&record.id);
        Self { at_ms: record.at_ms, head, slot_and_claimed, record: record.clone() }
    }

    pub(super) fn at_ms(&self) -> u64 {
        self.at_ms
    }

    pub(super) fn slot(&self) -> Slot {
        self.slot_and_claimed >> 1
    }

    /// Whether the task was ever claimed.
    pub(super) fn is_claimed(&self) -> bool {
        self.slot_and_claimed & 1 == 1
    }

    fn cmp(&self, at_ms: u64, head: u64, id: &str) -> Ordering {
        let here = (self.at_ms, self.head).cmp(&(at_ms, head));
        here.then_with(|| (*self.record.id).cmp(id))
    }
}

/// Where a chunk begins.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    at_ms: u64,
    head: u64,
    id: Text<str>,
}

impl Start {
    fn of(at_ms: u64, id: &Text<str>) -> Self {
        Self { at_ms, head: head(id), id: id.clone() }
    }

    /// Before every task of this time.
    fn of_time(at_ms: u64) -> Self {
        Self { at_ms, head: 0, id: NOBODY.clone() }
    }
}

type Chunk = Vec<Entry>;

/// An order.
#[derive(Default)]
pub(super) struct Order {
    /// None is empty. A chunk's tasks are at or behind its start, and before the next one's.
    chunks: BTreeMap<Start, Arc<Chunk>>,
}

impl Order {
    pub(super) fn insert(&mut self, record: &Arc<Record>, slot: Slot) {
        let entry = Entry::new(record, slot);
        let start = Start::of(entry.at_ms, &record.id);
        let Some((_, chunk)) = self.up_to(&start) else { return self.insert_first(start, entry) };
        let chunk = Arc::make_mut(chunk);
        let at =
            chunk.partition_point(|other| other.cmp(start.at_ms, start.head, &start.id).is_lt());
        if chunk.len() < CHUNK {
            chunk.insert(at, entry);
        } else if at == CHUNK {
            // Most come behind all others, and leave full chunks behind them.
            self.chunks.insert(start, Arc::new(vec![entry]));
        } else {
            let mut upper = chunk.split_off(CHUNK / 2);
            match at.checked_sub(CHUNK / 2) {
                Some(at) if at > 0 => upper.insert(at, entry),
                _ => chunk.insert(at, entry),
            }
            let first = &upper[0];
            self.chunks.insert(Start::of(first.at_ms, &first.record.id), Arc::new(upper));
        }
    }

    /// Inserts what comes before all others: the first chunk begins before everything from then on.
    fn insert_first(&mut self, start: Start, entry: Entry) {
        match self.chunks.pop_first() {
            None => drop(self.chunks.insert(start, Arc::new(vec![entry]))),
            Some((_, first)) => {
                self.chunks.insert(Start::of_time(0), first);
                let record = entry.record.clone();
                self.insert(&record, entry.slot());
            }
        }
    }

    pub(super) fn remove(&mut self, record: &Record) {
        let start = Start::of(record.at_ms, &record.id);
        let Some((begin, chunk)) = self.up_to(&start) else { return };
        let found = chunk.binary_search_by(|other| other.cmp(start.at_ms, start.head, &start.id));
        let Ok(at) = found else { return };
        if chunk.len() == 1 {
            let begin = begin.clone();
            self.chunks.remove(&begin);
            return;
        }
        let chunk = Arc::make_mut(chunk);
        chunk.remove(at);
        if chunk.len() * 4 <= chunk.capacity() {
            chunk.shrink_to(chunk.len() * 2);
        }
    }

    /// All, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.values().flat_map(|chunk| chunk.iter())
    }

    /// Those of this time and later ones, in order.
    pub(super) fn entries_from(&self, at_ms: u64) -> impl Iterator<Item = &Entry> {
        let start = Start::of_time(at_ms);
        let begin = self.begin(&start).unwrap_or(&start);
        let chunks = self.chunks.range((Bound::Included(begin), Bound::Unbounded));
        let entries = chunks.flat_map(|(_, chunk)| chunk.iter());
        entries.skip_while(move |entry| entry.at_ms < at_ms)
    }

    /// At least the first `max` behind a position, if there are so many.
    pub(super) fn run(&self, after: Option<&Position>, max: usize) -> Run {
        let after = after.map(|after| Start::of(after.at_ms, &after.id));
        let begin = after
            .as_ref()
            .map_or(Bound::Unbounded, |after| Bound::Included(self.begin(after).unwrap_or(after)));
        let mut run = Run::default();
        let mut found = 0;
        for (_, chunk) in self.chunks.range((begin, Bound::Unbounded)) {
            if found >= max {
                break;
            }
            let skipped = after.as_ref().filter(|_| run.chunks.is_empty()).map_or(0, |after| {
                chunk.partition_point(|entry| entry.cmp(after.at_ms, after.head, &after.id).is_le())
            });
            found += chunk.len() - skipped;
            run.skipped += skipped;
            run.chunks.push(chunk.clone());
        }
        run
    }

    /// The chunk where this stands, or would; none if that is before all others.
    fn up_to(&mut self, start: &Start) -> Option<(&Start, &mut Arc<Chunk>)> {
        self.chunks.range_mut((Bound::Unbounded, Bound::Included(start))).next_back()
    }

    /// The start of the chunk where this stands, or would.
    fn begin(&self, start: &Start) -> Option<&Start> {
        let mut range = self.chunks.range((Bound::Unbounded, Bound::Included(start)));
        range.next_back().map(|(begin, _)| begin)
    }
}

/// A part of an order as it was at one moment.
#[derive(Default)]
pub(super) struct Run {
    chunks: Vec<Arc<Chunk>>,
    /// Tasks of the first chunk that are not meant.
    skipped: usize,
}

impl Run {
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let entries = self.chunks.iter().flat_map(|chunk| chunk.iter());
        entries.skip(self.skipped).map(|entry| &*entry.record)
    }
}

/// The first eight bytes of an id, as a number that is in order as they are.
fn head(id: &str) -> u64 {
    let mut head = [0; 8];
    let length = id.len().min(8);
    head[..length].copy_from_slice(&id.as_bytes()[..length]);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn record(at_ms: u64, id: &str) -> Arc<Record> {
        let new = crate::tasks::NewTask::new("q").id(id);
        let task = new.inserted(&"".into(), 0);
        Arc::new(Record { at_ms, ..Record::of(&task) })
    }

    fn names<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<(u64, String)> {
        records.map(|record| (record.at_ms, record.id.to_string())).collect()
    }

    /// Random inserts and removals, in clusters, so that chunks split, run empty and begin anew; readers
    /// keep what they took.
    #[test]
    fn holds_what_a_sorted_set_holds() {
        let mut order = Order::default();
        let mut known = BTreeSet::new();
        let mut kept: Vec<(Run, Vec<(u64, String)>)> = Vec::new();
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..60_000_u64 {
            // It grows and shrinks in turn; ids share their beginning, some are shorter than that.
            let grows = round / 10_000 % 2 == 0;
            let at_ms = random(5) * 100 + random(3);
            let id = match random(10) {
                0 => format!("{}", random(100)),
                _ => format!("invoice-{:05}", random(3_000)),
            };
            if (random(10) < 7) == grows {
                if known.insert((at_ms, id.clone())) {
                    order.insert(&record(at_ms, &id), round as Slot);
                }
            } else {
                // One that may not be there, and the first one.
                known.remove(&(at_ms, id.clone()));
                order.remove(&record(at_ms, &id));
                if let Some((at_ms, id)) = known.pop_first() {
                    order.remove(&record(at_ms, &id));
                }
            }
            if round % 500 == 0 {
                let all = order.run(None, usize::MAX);
                let expected: Vec<_> = known.iter().cloned().collect();
                assert_eq!(names(all.records()), expected);
                assert!(order.entries().map(Entry::at_ms).is_sorted());
                let position = Position { at_ms, id: id.as_str().into() };
                let behind = expected.iter().filter(|one| **one > (at_ms, id.clone())).cloned();
                let behind: Vec<_> = behind.take(100).collect();
                let run = order.run(Some(&position), 100);
                assert_eq!(names(run.records().take(100)), behind);
                let later = expected.iter().filter(|one| one.0 >= at_ms).count();
                assert_eq!(order.entries_from(at_ms).count(), later);
                kept.push((all, expected));
            }
        }
        for (run, expected) in kept {
            assert_eq!(names(run.records()), expected, "as it was when it was taken");
        }
    }

    #[test]
    fn a_chunk_that_few_are_left_of_keeps_no_room_for_many() {
        let mut order = Order::default();
        let records: Vec<_> = (0..6_400).map(|n| record(n, "id")).collect();
        records.iter().for_each(|record| order.insert(record, 0));
        assert_eq!(order.chunks.len(), 100, "full ones");
        for record in records.iter().filter(|record| record.at_ms % 64 != 63) {
            order.remove(record);
        }
        let room: usize = order.chunks.values().map(|chunk| chunk.capacity()).sum();
        assert!(room <= 400, "room for {room} where 100 are left");
    }
}
