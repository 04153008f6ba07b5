//! One queue: its tasks in the order of their time, and what is counted of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

use slab::Slab;

use super::is_held_against;
use super::names::Content;
use crate::tasks::claim::{Chance, PICK_WINDOW};
use crate::tasks::{Position, QueueStats, Task};

/// Which of a queue's records a task is.
pub(super) type Slot = u32;

/// A task as a queue holds it. Texts are shared with whoever was given them, and never change.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) id: Arc<str>,
    pub(super) value: Option<Arc<str>>,
    pub(super) claimant: Arc<str>,
    pub(super) err: Arc<str>,
    pub(super) at_ms: u64,
    pub(super) created_ms: u64,
    pub(super) modified_ms: u64,
    /// 0 for never.
    pub(super) expires_ms: u64,
    pub(super) version: u64,
    pub(super) claims: u32,
    pub(super) attempt: u32,
    pub(super) priority: u8,
}

/// The empty text, which most tasks share.
pub(super) static NOBODY: LazyLock<Arc<str>> = LazyLock::new(|| "".into());

impl Record {
    pub(super) fn to_task(&self, queue: &Arc<str>, omit_value: bool) -> Task {
        Task {
            id: self.id.clone(),
            version: self.version,
            queue: queue.clone(),
            at_ms: self.at_ms,
            created_ms: self.created_ms,
            modified_ms: self.modified_ms,
            claimant: self.claimant.clone(),
            claims: self.claims,
            attempt: self.attempt,
            err: self.err.clone(),
            value: self.value.clone().filter(|_| !omit_value),
            priority: self.priority,
            expires_ms: (self.expires_ms > 0).then_some(self.expires_ms),
        }
    }

    pub(super) fn of(task: &Task) -> Self {
        Self {
            id: task.id.clone(),
            value: task.value.clone(),
            claimant: shared(&task.claimant),
            err: shared(&task.err),
            at_ms: task.at_ms,
            created_ms: task.created_ms,
            modified_ms: task.modified_ms,
            expires_ms: task.expires_ms.unwrap_or(0),
            version: task.version,
            claims: task.claims,
            attempt: task.attempt,
            priority: task.priority,
        }
    }

    /// Whether somebody else holds the task.
    pub(super) fn is_held_against(&self, claimant: &str, now_ms: u64) -> bool {
        is_held_against(&self.claimant, self.at_ms, claimant, now_ms)
    }
}

/// This text, or the one empty text.
pub(super) fn shared(text: &Arc<str>) -> Arc<str> {
    if text.is_empty() { NOBODY.clone() } else { text.clone() }
}

/// The tasks of one priority by time and id. What it says of a task is its slot, and whether it was
/// claimed, so that counting need not look at the task.
type Order = BTreeMap<(u64, Arc<str>), Mark>;

#[derive(Clone, Copy)]
struct Mark(u32);

impl Mark {
    fn new(slot: Slot, is_claimed: bool) -> Self {
        Self(slot << 1 | u32::from(is_claimed))
    }

    fn slot(self) -> Slot {
        self.0 >> 1
    }

    fn is_claimed(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A queue.
#[derive(Default)]
pub(super) struct Queue {
    records: Slab<Record>,
    /// By priority, the highest first; those that were used.
    orders: Vec<(u8, Order)>,
    /// Up to when tasks are counted as available.
    counted_ms: u64,
    available: u64,
    claimed: u64,
    future: u64,
    /// How many tasks were claimed so often; without those that never were.
    claims: BTreeMap<u32, u64>,
    expiring: BTreeSet<(u64, Slot)>,
}

impl Content for Queue {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Queue {
    /// The task of this slot, if it is still the one with this id.
    pub(super) fn get(&self, slot: Slot, id: &str) -> Option<&Record> {
        self.records.get(slot as usize).filter(|record| *record.id == *id)
    }

    /// The task of this slot, which is known to be there.
    pub(super) fn record(&self, slot: Slot) -> &Record {
        &self.records[slot as usize]
    }

    pub(super) fn insert(&mut self, record: Record) -> Slot {
        let expires = record.expires_ms;
        let slot = self.records.insert(record) as Slot;
        if expires > 0 {
            self.expiring.insert((expires, slot));
        }
        self.attach(slot);
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Record {
        self.detach(slot);
        let record = self.records.remove(slot as usize);
        if record.expires_ms > 0 {
            self.expiring.remove(&(record.expires_ms, slot));
        }
        record
    }

    /// Changes what a task is, its time and claims included; not its id, priority and expiry.
    pub(super) fn update(&mut self, slot: Slot, change: impl FnOnce(&mut Record)) -> &Record {
        self.detach(slot);
        change(&mut self.records[slot as usize]);
        self.attach(slot);
        self.record(slot)
    }

    /// Takes up to `max` tasks that are available out of the order, as so many picks: each of the
    /// first [`PICK_WINDOW`] that are left. They have to be [put back](Self::lease).
    pub(super) fn take(&mut self, now_ms: u64, max: usize, chance: &mut Chance) -> Vec<Slot> {
        let mut taken = Vec::new();
        for number in 0..self.orders.len() {
            while taken.len() < max {
                let order = &self.orders[number].1;
                let available = || order.iter().take_while(|((at_ms, _), _)| *at_ms <= now_ms);
                let window = available().take(PICK_WINDOW).count();
                if window == 0 {
                    break;
                }
                let picked = available().nth(chance.pick(window));
                let slot = picked.expect("a pick is within the window").1.slot();
                self.detach(slot);
                taken.push(slot);
            }
        }
        taken
    }

    /// Puts a task that was [taken](Self::take) back, leased.
    pub(super) fn lease(
        &mut self,
        slot: Slot,
        claimant: &Arc<str>,
        until_ms: u64,
        now_ms: u64,
    ) -> &Record {
        let record = &mut self.records[slot as usize];
        record.at_ms = until_ms;
        record.claimant = claimant.clone();
        record.version += 1;
        record.claims = record.claims.saturating_add(1);
        record.modified_ms = now_ms;
        self.attach(slot);
        self.record(slot)
    }

    /// When the first task is available.
    pub(super) fn next_at_ms(&self) -> Option<u64> {
        self.orders.iter().filter_map(|(_, order)| Some(order.first_key_value()?.0.0)).min()
    }

    /// The slot of a task that has expired.
    pub(super) fn expired(&self, now_ms: u64) -> Option<Slot> {
        self.expiring.first().filter(|(expires, _)| *expires <= now_ms).map(|(_, slot)| *slot)
    }

    /// The first `max` tasks behind a position, by time and id.
    pub(super) fn page(&self, after: Option<&Position>, max: usize) -> Vec<&Record> {
        let start = match after {
            Some(position) => Bound::Excluded((position.at_ms, position.id.clone())),
            None => Bound::Unbounded,
        };
        let range = |order| Order::range(order, (start.clone(), Bound::Unbounded));
        let mut ranges: Vec<_> =
            self.orders.iter().map(|(_, order)| range(order).peekable()).collect();
        let mut page = Vec::with_capacity(max.min(self.records.len()));
        while page.len() < max {
            let first = ranges
                .iter_mut()
                .filter_map(|range| Some((range.peek()?.0, range)))
                .min_by_key(|(key, _)| *key)
                .map(|(_, range)| range);
            match first.and_then(Iterator::next) {
                Some((_, mark)) => page.push(self.record(mark.slot())),
                None => break,
            }
        }
        page
    }

    /// Counts the tasks that have become available up to now, at most `max` of them; answers whether
    /// that were all. Each is counted once, however often somebody asks.
    pub(super) fn count_available(&mut self, now_ms: u64, max: usize) -> bool {
        let mut left = max;
        let mut until_ms = now_ms;
        if now_ms <= self.counted_ms {
            return true;
        }
        let first_of = |at_ms: u64| (at_ms, NOBODY.clone());
        for (_, order) in &self.orders {
            let range = order.range(first_of(self.counted_ms + 1)..first_of(until_ms + 1));
            for ((at_ms, _), _) in range {
                // Tasks of one time are counted together.
                if left == 0 && *at_ms < until_ms {
                    until_ms = *at_ms;
                    break;
                }
                left = left.saturating_sub(1);
            }
        }
        for (_, order) in &self.orders {
            for (_, mark) in order.range(first_of(self.counted_ms + 1)..first_of(until_ms + 1)) {
                self.available += 1;
                *(if mark.is_claimed() { &mut self.claimed } else { &mut self.future }) -= 1;
            }
        }
        self.counted_ms = until_ms;
        until_ms == now_ms
    }

    /// What is counted; of the moment up to which tasks are [counted](Self::count_available).
    pub(super) fn stats(&self, queue: &Arc<str>) -> QueueStats {
        QueueStats {
            queue: queue.clone(),
            size: self.records.len() as u64,
            available: self.available,
            claimed: self.claimed,
            future: self.future,
            max_claims: self.claims.last_key_value().map_or(0, |(claims, _)| *claims),
        }
    }

    /// All tasks, in no order.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(_, record)| record)
    }

    /// Puts a task into the order and counts it.
    fn attach(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        let (claims, priority, at_ms) = (record.claims, record.priority, record.at_ms);
        let key = (at_ms, record.id.clone());
        let number = match self.orders.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(number) => number,
            Err(number) => {
                self.orders.insert(number, (priority, Order::new()));
                number
            }
        };
        self.orders[number].1.insert(key, Mark::new(slot, claims > 0));
        *self.counter(at_ms, claims) += 1;
        if claims > 0 {
            *self.claims.entry(claims).or_default() += 1;
        }
    }

    /// Takes a task out of the order and counts it no longer.
    fn detach(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        let (claims, priority, at_ms) = (record.claims, record.priority, record.at_ms);
        let key = (at_ms, record.id.clone());
        if let Ok(number) = self.orders.binary_search_by(|(other, _)| priority.cmp(other)) {
            self.orders[number].1.remove(&key);
        }
        *self.counter(at_ms, claims) -= 1;
        if let Some(count) = self.claims.get_mut(&claims) {
            *count -= 1;
            if *count == 0 {
                self.claims.remove(&claims);
            }
        }
    }

    fn counter(&mut self, at_ms: u64, claims: u32) -> &mut u64 {
        match (at_ms <= self.counted_ms, claims > 0) {
            (true, _) => &mut self.available,
            (false, true) => &mut self.claimed,
            (false, false) => &mut self.future,
        }
    }
}
