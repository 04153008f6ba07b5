//! The tasks of one priority, by time and id.
//!
//! They are stored in chunks of 64 that are copied on write: a chunk that is being read is copied before it changes,
//! and so is a task, so a reader keeps a stable view. Taking references to some chunks is quick under the queue's
//! lock, and reading them blocks no other thread.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use triomphe::Arc as Shared;

use super::queue::{NOBODY, Record, Slot};
use crate::tasks::Position;

/// Tasks in a chunk: up to this many are moved when one is inserted or removed, and copied if the chunk is being
/// read.
const CHUNK_TASKS: usize = 64;

/// The state of a task whose time is in the future.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Later {
    /// It was never claimed.
    Future,
    /// It was claimed, and is waiting to be tried again.
    Retrying,
    /// It is leased.
    Claimed,
}

impl Later {
    pub(super) fn of(record: &Record) -> Self {
        match (record.unended > 0, record.claims > 0) {
            (true, _) => Self::Claimed,
            (false, true) => Self::Retrying,
            (false, false) => Self::Future,
        }
    }
}

/// A task in the order. Everything that is needed to find and count it is stored here: reading the task itself would
/// be a cache miss each time.
#[derive(Clone)]
pub(super) struct Entry {
    at_ms: u64,
    /// The id's first eight bytes.
    head: u64,
    slot_and_later: u32,
    record: Shared<Record>,
}

impl Entry {
    fn new(record: &Shared<Record>, slot: Slot) -> Self {
        let slot_and_later = slot << 2 | Later::of(record) as u32;
        let head = head(&record.id);
        Self { at_ms: record.at_ms, head, slot_and_later, record: record.clone() }
    }

    pub(super) fn at_ms(&self) -> u64 {
        self.at_ms
    }

    pub(super) fn slot(&self) -> Slot {
        self.slot_and_later >> 2
    }

    pub(super) fn later(&self) -> Later {
        [Later::Future, Later::Retrying, Later::Claimed][(self.slot_and_later & 3) as usize]
    }

    fn cmp(&self, start: &Start) -> Ordering {
        let here = (self.at_ms, self.head).cmp(&(start.at_ms, start.head));
        here.then_with(|| self.record.id.cmp(&start.id))
    }
}

/// The start of a chunk, or the position of a task.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    at_ms: u64,
    head: u64,
    id: Arc<str>,
}

impl Start {
    fn of(at_ms: u64, id: &Arc<str>) -> Self {
        Self { at_ms, head: head(id), id: id.clone() }
    }

    /// Before every task of this time.
    fn of_time(at_ms: u64) -> Self {
        Self { at_ms, head: 0, id: NOBODY.clone() }
    }

    /// After this task, and before every other task that comes after it.
    fn behind(entry: &Entry) -> Self {
        let id = [&*entry.record.id, "\0"].concat();
        Self { at_ms: entry.at_ms, head: head(&id), id: id.into() }
    }
}

type Chunk = Vec<Entry>;

/// An order.
pub(super) struct Order {
    /// A chunk's tasks are at or after its start, and before the start of the next chunk. There is always a first
    /// chunk; all others are not empty.
    chunks: BTreeMap<Start, Shared<Chunk>>,
}

impl Default for Order {
    fn default() -> Self {
        Self { chunks: BTreeMap::from([(Start::of_time(0), Shared::default())]) }
    }
}

impl Order {
    pub(super) fn insert(&mut self, record: &Shared<Record>, slot: Slot) {
        let entry = Entry::new(record, slot);
        let start = Start::of(entry.at_ms, &record.id);
        let (_, chunk) = self.chunk_of(&start);
        let at = chunk.partition_point(|other| other.cmp(&start).is_lt());
        if chunk.len() < CHUNK_TASKS {
            Shared::make_mut(chunk).insert(at, entry);
        } else if at == CHUNK_TASKS {
            // Most tasks are inserted at the end, and leave full chunks behind them.
            let start = Start::behind(&chunk[CHUNK_TASKS - 1]);
            self.chunks.insert(start, Shared::new(vec![entry]));
        } else {
            let lower = Shared::make_mut(chunk);
            let mut upper = lower.split_off(CHUNK_TASKS / 2);
            match at.checked_sub(CHUNK_TASKS / 2) {
                None | Some(0) => lower.insert(at, entry),
                Some(at) => upper.insert(at, entry),
            }
            let first = &upper[0];
            self.chunks.insert(Start::of(first.at_ms, &first.record.id), Shared::new(upper));
        }
    }

    pub(super) fn remove(&mut self, record: &Record) {
        let start = Start::of(record.at_ms, &record.id);
        let (begin, chunk) = self.chunk_of(&start);
        let found = chunk.binary_search_by(|other| other.cmp(&start));
        let Ok(at) = found else { return debug_assert!(false, "{} is not there", record.id) };
        if chunk.len() == 1 && *begin > Start::of_time(0) {
            let begin = begin.clone();
            self.chunks.remove(&begin);
            return;
        }
        let chunk = Shared::make_mut(chunk);
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
        let chunks = self.chunks_from(Start::of_time(at_ms));
        chunks.flat_map(|chunk| chunk.iter()).skip_while(move |entry| entry.at_ms < at_ms)
    }

    /// At least the first `max` tasks after a position, or all.
    pub(super) fn run(&self, after: Option<&Position>, max: usize) -> Run {
        let after = after.map(|after| Start::of(after.at_ms, &after.id));
        let mut run = Run::default();
        let mut left = max;
        for chunk in self.chunks_from(after.clone().unwrap_or(Start::of_time(0))) {
            if left == 0 {
                break;
            }
            // The position is in the first chunk, if in any.
            if let Some(after) = &after
                && run.chunks.is_empty()
            {
                run.skipped = chunk.partition_point(|entry| entry.cmp(after).is_le());
                left = left.saturating_add(run.skipped);
            }
            left = left.saturating_sub(chunk.len());
            run.chunks.push(chunk.clone());
        }
        run
    }

    /// The chunk that contains this position, or would contain it, and its start.
    fn chunk_of(&mut self, start: &Start) -> (&Start, &mut Shared<Chunk>) {
        let mut before = self.chunks.range_mut((Bound::Unbounded, Bound::Included(start)));
        before.next_back().expect("a chunk begins before everything")
    }

    /// The chunk that contains this position, or would contain it, and the chunks after it.
    fn chunks_from(&self, start: Start) -> impl Iterator<Item = &Shared<Chunk>> {
        let mut before = self.chunks.range((Bound::Unbounded, Bound::Included(&start)));
        let (begin, _) = before.next_back().expect("a chunk begins before everything");
        self.chunks.range((Bound::Included(begin), Bound::Unbounded)).map(|(_, chunk)| chunk)
    }
}

/// A part of an order, as of one moment.
#[derive(Default)]
pub(super) struct Run {
    chunks: Vec<Shared<Chunk>>,
    /// How many tasks of the first chunk to skip.
    skipped: usize,
}

impl Run {
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let entries = self.chunks.iter().flat_map(|chunk| chunk.iter());
        entries.skip(self.skipped).map(|entry| &*entry.record)
    }
}

/// The first eight bytes of an id, as a number that sorts in the same order.
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

    fn record(at_ms: u64, id: &str) -> Shared<Record> {
        let new = crate::tasks::NewTask::new("q").id(id);
        let task = new.inserted(&"".into(), 0);
        Shared::new(Record { at_ms, ..Record::of(&task, 0) })
    }

    fn names<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<(u64, String)> {
        records.map(|record| (record.at_ms, record.id.to_string())).collect()
    }

    /// Random inserts and removals, in clusters, so that chunks split, become empty and start again; readers keep a
    /// stable view.
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
            // The order grows and shrinks in turn; ids share a prefix, and some are shorter than it.
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
                // A random task, if it exists, and the first one.
                if known.remove(&(at_ms, id.clone())) {
                    order.remove(&record(at_ms, &id));
                }
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

    /// For example tasks that are postponed, each to a time before the previous one.
    #[test]
    fn those_that_come_before_the_last_one_fill_chunks_as_well() {
        for first in [0, 64] {
            let mut order = Order::default();
            let before = (0..first).map(|n| (n, "a".to_owned()));
            let descending = (0..6_400).rev().map(|n| (1_000_000 + n / 100, format!("{n:05}")));
            for (at_ms, id) in before.chain(descending) {
                order.insert(&record(at_ms, &id), 0);
            }
            assert!(order.entries().map(Entry::at_ms).is_sorted());
            assert_eq!(order.entries().count() as u64, 6_400 + first);
            assert!(order.chunks.len() <= 202, "{} chunks", order.chunks.len());
        }
    }
}
