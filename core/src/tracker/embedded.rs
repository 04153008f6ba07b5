//! A queue tracker on the embedded engine: its ids and its scan under one lock, and the effects of its steps.

use std::sync::{Mutex, MutexGuard};

use super::{ID_BYTES_MAX, IDS_MAX, ROUND_MAX, ROW_BYTES_MAX, Sample, Tracked, TrackerStats};
use crate::error::Result;
use crate::runtime::sync;
use crate::step::codec::{Reader, effects};
use crate::step::limits::INTEGER_MAX;
use crate::step::timed::Timed;
use crate::step::{
    self, ByteList, Constants, Effects, SNAPSHOT_BYTES, Snapshot, StepContext, Timestamp, constants,
};

/// The state of one queue tracker on the embedded engine.
#[derive(Default)]
pub struct State(Mutex<Tracker>);

#[derive(Default)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct Tracker {
    /// The ids with their stamps.
    ids: Timed<()>,
    /// The last stamp.
    stamp: Timestamp,
    /// The stamp of the last sample while no removal has followed it; otherwise 0.
    sampled: Timestamp,
    /// The row that the next scan comes after; empty for the beginning.
    row: Box<str>,
    rounds: u64,
    /// When a scan last reached the end.
    round_us: Timestamp,
}

/// The kind of a queue tracker in the journal.
pub(crate) const KIND: u8 = 8;

effects! {
    enum Effect<'a> of "a queue tracker" {
        /// The ids that follow get this stamp.
        Stamp { stamp: Timestamp } = 1,
        /// The id has the last stamp.
        Id { id: &'a [u8] } = 2,
        Remove { id: &'a [u8] } = 3,
        /// The stamp of the last sample while no removal has followed it; otherwise 0.
        Sampled { stamp: Timestamp } = 4,
        /// The row, and the end of the last round.
        Scan { row: &'a str, rounds: u64, round_us: Timestamp } = 5,
        /// The whole state is removed.
        Clear = 6,
    }
}

impl State {
    /// Runs one step under the lock; and records its effects before the lock is released.
    pub(super) fn step<T>(
        &self,
        context: &mut StepContext<'_>,
        step: impl FnOnce(&mut Tracker, Timestamp, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let mut tracker = self.lock();
        let mut effects = Effects::of(context);
        let output = step(&mut tracker, context.now(), &mut effects)?;
        effects.record(context);
        if tracker.is_unused() {
            context.mark_evictable();
        }
        Ok(output)
    }

    /// A step that panicked left no partial change: each change of an id is complete before the next begins.
    fn lock(&self) -> MutexGuard<'_, Tracker> {
        sync::lock(&self.0)
    }
}

impl Tracker {
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        self.ids.get(id).is_some()
    }

    pub(super) fn row(&self) -> &str {
        &self.row
    }

    /// Gives ids the next stamp; returns how many are new.
    pub(super) fn add(&mut self, ids: &ByteList, now: Timestamp, effects: &mut Effects) -> u64 {
        let before = self.ids.len();
        self.stamp_ids(ids.iter(), now, effects);
        (self.ids.len() - before) as u64
    }

    /// Moves the scan past a row, or to the beginning if that was the last row and the last round began long enough
    /// ago.
    pub(super) fn advance(
        &mut self,
        row: &str,
        last_of_round_us: Option<u64>,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        let is_due = |round_us| now >= self.round_us + round_us || now < self.round_us;
        let (row, rounds, round_us) = match last_of_round_us.is_some_and(is_due) {
            true => ("", self.rounds + 1, now),
            false => (row, self.rounds, self.round_us),
        };
        if (row, rounds) != (&*self.row, self.rounds) {
            self.scan(row, rounds, round_us, effects);
        }
    }

    /// The ids with the oldest stamps, which get a new one.
    pub(super) fn sample(&mut self, limit: usize, now: Timestamp, effects: &mut Effects) -> Sample {
        // One of the ids sampled last may have made their check fail, and should not hold up the others.
        let limit = if self.sampled > 0 { 1 } else { limit };
        let oldest = self.ids.order_from(0).take(limit);
        let ids: Vec<Vec<u8>> = oldest.map(|(_, id)| id.to_vec()).collect();
        if ids.is_empty() {
            return Sample::default();
        }
        let stamp = self.next_stamp(now);
        self.stamp_ids(ids.iter().map(Vec::as_slice), now, effects);
        self.set_sampled(stamp, effects);
        Sample { ids, stamp }
    }

    /// Removes ids that still have the stamp of their sample; returns how many.
    pub(super) fn remove_sampled(
        &mut self,
        ids: &ByteList,
        stamp: Timestamp,
        effects: &mut Effects,
    ) -> u64 {
        let before = self.ids.len();
        for id in ids.iter() {
            if self.ids.get(id).is_some_and(|entry| entry.time == stamp) {
                self.remove(id, effects);
            }
        }
        if self.sampled == stamp {
            self.set_sampled(0, effects);
        }
        (before - self.ids.len()) as u64
    }

    /// The ids whose stamps come after `after`; ids with the same stamp are not split.
    pub(super) fn page(&self, after: Timestamp, limit: usize) -> Vec<Tracked> {
        let mut page: Vec<Tracked> = Vec::new();
        for (stamp, id) in self.ids.order_from(after + 1) {
            if page.len() >= limit && page.last().is_some_and(|last| last.stamp != *stamp) {
                break;
            }
            page.push(Tracked { id: id.to_vec(), stamp: *stamp });
        }
        page
    }

    pub(super) fn stats(&self) -> TrackerStats {
        TrackerStats {
            ids: self.ids.len() as u64,
            rounds: self.rounds,
            oldest: self.ids.first().map(|(stamp, _)| stamp),
            row: (!self.row.is_empty()).then(|| self.row.to_string()),
        }
    }

    /// Removes the whole state; returns how many ids there were.
    pub(super) fn clear(&mut self, effects: &mut Effects) -> u64 {
        let ids = self.ids.len() as u64;
        if !self.is_unused() {
            effects.note(&Effect::Clear);
            *self = Self::default();
        }
        ids
    }

    /// Larger than every stamp before it, even if the clock is set back.
    fn next_stamp(&self, now: Timestamp) -> Timestamp {
        now.max(self.stamp + 1)
    }

    fn stamp_ids<'a>(
        &mut self,
        ids: impl Iterator<Item = &'a [u8]>,
        now: Timestamp,
        effects: &mut Effects,
    ) {
        self.stamp = self.next_stamp(now);
        effects.note(&Effect::Stamp { stamp: self.stamp });
        for id in ids {
            effects.note(&Effect::Id { id });
            self.ids.put(id, (), self.stamp);
        }
    }

    fn remove(&mut self, id: &[u8], effects: &mut Effects) {
        if self.ids.remove(id).is_some() {
            effects.note(&Effect::Remove { id });
        }
    }

    fn set_sampled(&mut self, stamp: Timestamp, effects: &mut Effects) {
        effects.note(&Effect::Sampled { stamp });
        self.sampled = stamp;
    }

    fn scan(&mut self, row: &str, rounds: u64, round_us: Timestamp, effects: &mut Effects) {
        effects.note(&Effect::Scan { row, rounds, round_us });
        (self.row, self.rounds, self.round_us) = (row.into(), rounds, round_us);
    }

    /// The last stamp alone does not count as use: without ids, nothing has an older one.
    fn is_unused(&self) -> bool {
        self.ids.is_empty() && self.sampled == 0 && self.row.is_empty() && self.rounds == 0
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let none = &mut Effects::none();
        for effect in Reader::new(record).all() {
            match effect? {
                Effect::Stamp { stamp } => self.stamp = stamp,
                Effect::Id { id } => self.ids.put(id, (), self.stamp),
                Effect::Remove { id } => self.remove(id, none),
                Effect::Sampled { stamp } => self.sampled = stamp,
                Effect::Scan { row, rounds, round_us } => self.scan(row, rounds, round_us, none),
                Effect::Clear => *self = Self::default(),
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
        constants![
            ID_BYTES_MAX,
            IDS_MAX,
            INTEGER_MAX,
            ROUND_US_MAX = ROUND_MAX.as_micros(),
            ROW_BYTES_MAX
        ]
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        self.lock().replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let tracker = self.lock();
        out.begin();
        let mut effects = Effects::after(Vec::new());
        let mut last = 0;
        for (stamp, id) in tracker.ids.order_from(0) {
            if *stamp != last {
                effects.note(&Effect::Stamp { stamp: *stamp });
                last = *stamp;
            }
            effects.note(&Effect::Id { id });
            effects.flush(SNAPSHOT_BYTES, out);
        }
        effects.note(&Effect::Stamp { stamp: tracker.stamp });
        effects.note(&Effect::Sampled { stamp: tracker.sampled });
        let Tracker { row, rounds, round_us, .. } = &*tracker;
        effects.note(&Effect::Scan { row, rounds: *rounds, round_us: *round_us });
        effects.flush(1, out);
    }

    fn is_unused(&self) -> bool {
        self.lock().is_unused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::stored;

    fn contents(tracker: &Tracker) -> String {
        let Tracker { stamp, sampled, rounds, round_us, .. } = tracker;
        format!("{:?} {stamp} {sampled} {rounds} {round_us} {}", tracker.page(0, 1), tracker.row)
            + &format!("{:?}", tracker.ids.order_from(0).collect::<Vec<_>>())
    }

    fn replayed(records: &[Vec<u8>]) -> String {
        let state: State = stored::replayed(records).unwrap();
        let tracker = state.lock();
        contents(&tracker)
    }

    #[test]
    fn records_are_stored_as_before() {
        let mut tracker = Tracker::default();
        let mut note = |name, change: &dyn Fn(&mut Tracker, &mut Effects)| {
            let mut effects = Effects::after(Vec::new());
            change(&mut tracker, &mut effects);
            (name, effects.into_record())
        };
        let ids = |all: &[&[u8]]| {
            let mut ids = ByteList::default();
            all.iter().for_each(|id| ids.push(id));
            ids
        };
        let records = [
            note("add", &|tracker, effects| {
                tracker.add(&ids(&[b"a\0", b"b\xff", b"c"]), 1_763_691_473_123_456, effects);
            }),
            note("advance", &|tracker, effects| tracker.advance("r\u{e9}w", None, 60, effects)),
            note("round", &|tracker, effects| tracker.advance("last", Some(5), 60, effects)),
            note("sample", &|tracker, effects| drop(tracker.sample(2, 70, effects))),
            note("remove", &|tracker, effects| {
                let sampled = tracker.sampled;
                tracker.remove_sampled(&ids(&[b"a\0"]), sampled, effects);
            }),
            note("clear", &|tracker, effects| _ = tracker.clear(effects)),
            note("rest", &|tracker, effects| {
                tracker.add(&ids(&[b"a\0", b"b\xff", b"c"]), 128, effects);
                tracker.advance("last", Some(5), 60, effects);
                tracker.advance("r\u{e9}w", None, 60, effects);
                tracker.sample(2, 70, effects);
            }),
        ];
        stored::check::<State>(include_str!("embedded.hex"), &records);
    }

    #[test]
    fn effects_and_snapshots_make_the_same_state() {
        let (mut tracker, mut effects) = (Tracker::default(), Effects::after(Vec::new()));
        for number in 0..2_000_u32 {
            let mut ids = ByteList::default();
            ids.push(&[7; 300]);
            ids.push(&[&number.to_be_bytes()[..], &[7; 200]].concat());
            tracker.add(&ids, 50, &mut effects);
        }
        tracker.advance("12", None, 60, &mut effects);
        tracker.advance("13", Some(5), 60, &mut effects);
        tracker.advance("14", Some(5), 62, &mut effects);
        let sample = tracker.sample(3, 70, &mut effects);
        let mut ids = ByteList::default();
        ids.push(&sample.ids[1]);
        assert_eq!(tracker.remove_sampled(&ids, sample.stamp, &mut effects), 1);
        tracker.sample(2, 70, &mut effects);

        let expected = contents(&tracker);
        assert_eq!(replayed(&[effects.into_record()]), expected);
        let state = State(Mutex::new(tracker));
        let records = stored::snapshot_of(&state);
        assert!(records.len() > 1);
        assert_eq!(replayed(&records), expected);
    }

    #[test]
    fn stamps_grow_whatever_the_clock_does() {
        let (mut tracker, none) = (Tracker::default(), &mut Effects::none());
        let mut ids = ByteList::default();
        ids.push(b"a");
        let stamps = [50, 50, 40, 60].map(|now| {
            tracker.add(&ids, now, none);
            tracker.stats().oldest
        });
        assert_eq!(stamps, [50, 51, 52, 60].map(Some));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_hold_up_the_next_round() {
        let (mut tracker, none) = (Tracker::default(), &mut Effects::none());
        let rounds = [100, 105, 50, 55, 60].map(|now| {
            tracker.advance("1", Some(10), now, none);
            tracker.stats().rounds
        });
        assert_eq!(rounds, [1, 1, 2, 2, 3]);
    }

    /// A row of a program's database, its tracker, and programs between two of their steps.
    #[derive(Clone, Default)]
    struct World {
        tracker: Tracker,
        is_in_table: bool,
        /// Whether the scan has read the row.
        scanned: Option<bool>,
        /// The sample of each of two prunes, and whether the prune found no row.
        pruned: [(Sample, bool); 2],
    }

    /// How many steps each program has left: the producer, the consumer, the scan, and two prunes.
    type Left = [u8; 5];

    impl World {
        /// The next step of a program that has this many left.
        fn go_on(&mut self, program: usize, left: u8, inserts_first: bool) {
            let (now, none) = (100, &mut Effects::none());
            let mut id = ByteList::default();
            id.push(b"a");
            match (program, left) {
                (0, _) if (left == 2) == inserts_first => self.is_in_table = true,
                (0, _) => drop(self.tracker.add(&id, now, none)),
                (1, _) => self.is_in_table = false,
                (2, 2) => self.scanned = Some(self.is_in_table),
                (2, _) if self.scanned == Some(true) => drop(self.tracker.add(&id, now, none)),
                (3 | 4, 3) => self.pruned[program - 3].0 = self.tracker.sample(1, now, none),
                (3 | 4, 2) => self.pruned[program - 3].1 = !self.is_in_table,
                (3 | 4, _) => {
                    let (sample, has_no_row) = &self.pruned[program - 3];
                    let mut ids = ByteList::default();
                    sample.ids.iter().filter(|_| *has_no_row).for_each(|id| ids.push(id));
                    self.tracker.remove_sampled(&ids, sample.stamp, none);
                }
                _ => {}
            }
        }

        /// In how many orders of the remaining steps an id with work is not tracked at the end.
        fn losses(&self, left: Left, inserts_first: bool) -> usize {
            if left == [0; 5] {
                return usize::from(self.is_in_table && !self.tracker.contains(b"a"));
            }
            let programs = (0..left.len()).filter(|program| left[*program] > 0);
            let after = programs.map(|program| {
                let (mut world, mut left) = (self.clone(), left);
                world.go_on(program, left[program], inserts_first);
                left[program] -= 1;
                world.losses(left, inserts_first)
            });
            after.sum()
        }
    }

    /// G1 and G2: in no order of the steps of a producer, a consumer of earlier work, a scan and two prunes is an id
    /// with work lost. A producer that adds its id before the row is there can lose it.
    #[test]
    fn an_id_with_work_is_tracked_in_every_order_of_steps() {
        let tracked = || {
            let (mut world, mut id) =
                (World { is_in_table: true, ..World::default() }, ByteList::default());
            id.push(b"a");
            world.tracker.add(&id, 100, &mut Effects::none());
            world
        };
        assert_eq!(World::default().losses([2, 1, 2, 3, 3], true), 0);
        assert_eq!(tracked().losses([2, 1, 2, 3, 3], true), 0);
        assert!(
            tracked().losses([2, 0, 0, 3, 0], false) == 0
                && tracked().losses([2, 1, 0, 3, 0], false) > 0
        );
    }
}
