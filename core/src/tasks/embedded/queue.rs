//! One queue: its tasks in the order of their time, and their counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use slab::Slab;
use triomphe::Arc as Shared;

use super::counts::Counts;
use super::lease::Leased;
use super::order::{Later, Order, Run};
use super::registry::Content;
use crate::step::Chance;
use crate::tasks::claim::{PICK_WINDOW, pick};
use crate::tasks::{Headers, Position, Task};

/// The index of a task among a queue's records.
pub(super) type Slot = u32;

/// A task as a queue holds it. Texts are shared with the results of steps, and never change.
#[derive(Clone, Default)]
pub(super) struct Record {
    pub(super) id: Arc<str>,
    pub(super) value: Option<Arc<str>>,
    pub(super) claimant: Arc<str>,
    pub(super) notes: Notes,
    pub(super) at_ms: u64,
    pub(super) created_ms: u64,
    pub(super) modified_ms: u64,
    /// 0 for never.
    pub(super) expires_ms: u64,
    pub(super) version: u64,
    pub(super) claims: u32,
    pub(super) attempt: u32,
    /// How often it was claimed since it was inserted, changed or released.
    pub(super) unended: u32,
    /// How long its id stays taken after its end.
    pub(super) dedup_window_ms: u32,
    pub(super) priority: u8,
    /// Whether its claim was cancelled.
    pub(super) is_cancelled: bool,
}

/// A task's `err` and its headers.
// This way, tasks without headers take no more memory than if headers did not exist.
#[derive(Clone)]
pub(super) enum Notes {
    Err(Arc<str>),
    WithHeaders(Box<(Arc<str>, Headers)>),
}

const _: () = assert!(size_of::<Notes>() == size_of::<Arc<str>>());

impl Default for Notes {
    fn default() -> Self {
        Self::Err(NOBODY.clone())
    }
}

impl Notes {
    pub(super) fn new(err: &Arc<str>, headers: &Headers) -> Self {
        match headers.is_empty() {
            true => Self::Err(shared(err)),
            false => Self::WithHeaders(Box::new((shared(err), headers.clone()))),
        }
    }

    pub(super) fn err(&self) -> &Arc<str> {
        match self {
            Self::Err(err) => err,
            Self::WithHeaders(both) => &both.0,
        }
    }

    pub(super) fn headers(&self) -> &Headers {
        match self {
            Self::Err(_) => &Headers::NONE,
            Self::WithHeaders(both) => &both.1,
        }
    }
}

/// The empty text, which most tasks share.
pub(super) static NOBODY: LazyLock<Arc<str>> = LazyLock::new(|| "".into());

impl Record {
    pub(super) fn to_task(&self, queue: &Arc<str>, omit_value: bool) -> Task {
        self.to_task_with(queue, omit_value, Arc::clone)
    }

    /// The task, with copies of the texts that many tasks share (its claimant and the empty text): counting
    /// references to those would slow down the threads that work with them.
    pub(super) fn copy(&self, queue: &Arc<str>, omit_value: bool, texts: &mut Texts) -> Task {
        self.to_task_with(queue, omit_value, |text| texts.copy(text))
    }

    fn to_task_with(
        &self,
        queue: &Arc<str>,
        omit_value: bool,
        mut share: impl FnMut(&Arc<str>) -> Arc<str>,
    ) -> Task {
        let err = self.notes.err();
        Task {
            id: self.id.clone(),
            version: self.version,
            queue: queue.clone(),
            at_ms: self.at_ms,
            created_ms: self.created_ms,
            modified_ms: self.modified_ms,
            claimant: share(&self.claimant),
            claims: self.claims,
            attempt: self.attempt,
            err: if err.is_empty() { share(err) } else { err.clone() },
            value: if omit_value { None } else { self.value.clone() },
            priority: self.priority,
            expires_ms: (self.expires_ms > 0).then_some(self.expires_ms),
            headers: self.notes.headers().clone(),
        }
    }

    /// Its claims have ended, by a change or a release.
    pub(super) fn end_claims(&mut self) {
        self.unended = 0;
        self.is_cancelled = false;
    }

    pub(super) fn of(task: &Task, dedup_window_ms: u32) -> Self {
        Self {
            id: task.id.clone(),
            value: task.value.clone(),
            claimant: shared(&task.claimant),
            notes: Notes::new(&task.err, &task.headers),
            at_ms: task.at_ms,
            created_ms: task.created_ms,
            modified_ms: task.modified_ms,
            expires_ms: task.expires_ms.unwrap_or(0),
            version: task.version,
            claims: task.claims,
            attempt: task.attempt,
            unended: 0,
            dedup_window_ms,
            priority: task.priority,
            is_cancelled: false,
        }
    }
}

/// This text, or the shared empty text.
pub(super) fn shared(text: &Arc<str>) -> Arc<str> {
    if text.is_empty() { NOBODY.clone() } else { text.clone() }
}

/// Copies of texts, one of each.
#[derive(Default)]
pub(super) struct Texts(HashMap<Arc<str>, ()>);

impl Texts {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn copy(&mut self, text: &str) -> Arc<str> {
        self.0.entry_ref(text).insert(()).key().clone()
    }
}

/// A queue.
#[derive(Default)]
pub(super) struct Queue {
    records: Slab<Shared<Record>>,
    /// By priority, the highest first; only priorities that were used.
    orders: Vec<(u8, Order)>,
    /// The time up to which tasks are counted as available.
    counted_ms: u64,
    /// No task becomes available after `counted_ms` and before this.
    due_ms: u64,
    available: u64,
    claimed: u64,
    retrying: u64,
    future: u64,
    /// The number of tasks by number of claims, without those that were never claimed.
    claims: BTreeMap<u32, u64>,
    /// Tasks whose claims have not ended, by their time; some of these times have passed.
    leases: BTreeSet<(u64, Slot)>,
    expiring: BTreeSet<(u64, Slot)>,
    /// Whether claims find nothing in it.
    pub(super) is_paused: bool,
}

impl Content for Queue {
    fn is_empty(&self) -> bool {
        self.records.is_empty() && !self.is_paused
    }

    /// As of the moment up to which tasks are [counted](Self::count_available).
    fn counts(&self) -> Counts {
        let expires_ms = self.expiring.first().map_or(u64::MAX, |(expires_ms, _)| *expires_ms);
        Counts {
            size: self.records.len() as u64,
            available: self.available,
            claimed: self.claimed,
            retrying: self.retrying,
            future: self.future,
            max_claims: self.claims.last_key_value().map_or(0, |(claims, _)| (*claims).into()),
            is_paused: self.is_paused,
            oldest_available_ms: self.next_at_ms().filter(|at_ms| *at_ms <= self.counted_ms),
            first_lease_end_ms: self.leases.range((self.counted_ms + 1, 0)..).next().map(|at| at.0),
            until_ms: self.due_ms.min(expires_ms),
        }
    }
}

impl Queue {
    /// The task in this slot, if it is still the one with this id.
    pub(super) fn get(&self, slot: Slot, id: &str) -> Option<&Record> {
        self.records.get(slot as usize).map(|record| &**record).filter(|record| *record.id == *id)
    }

    /// The task in this slot, which is known to exist.
    pub(super) fn record(&self, slot: Slot) -> &Record {
        &self.records[slot as usize]
    }

    pub(super) fn insert(&mut self, record: Record) -> Slot {
        let expires = record.expires_ms;
        let slot = self.records.insert(Shared::new(record)) as Slot;
        if expires > 0 {
            self.expiring.insert((expires, slot));
        }
        self.attach(slot);
        slot
    }

    pub(super) fn remove(&mut self, slot: Slot) -> Record {
        self.detach(slot);
        let record = Shared::unwrap_or_clone(self.records.remove(slot as usize));
        if record.expires_ms > 0 {
            self.expiring.remove(&(record.expires_ms, slot));
        }
        record
    }

    /// Changes a task, including its time and claims, but not its id, priority and expiry.
    pub(super) fn update(&mut self, slot: Slot, change: impl FnOnce(&mut Record)) -> &Record {
        self.detach(slot);
        change(Shared::make_mut(&mut self.records[slot as usize]));
        self.attach(slot);
        self.record(slot)
    }

    /// Takes up to `max` available tasks out of the order, one pick after another, each from the first
    /// [`PICK_WINDOW`] that remain. They must be [put back](Self::lease). A suspect ends this, as it is taken alone: only
    /// if it is the first, of this queue and of those before it. Returns whether there was one.
    pub(super) fn take(
        &mut self,
        now_ms: u64,
        max: usize,
        chance: &mut Chance,
        is_suspect: impl Fn(&Record) -> bool,
        is_first: bool,
    ) -> (Vec<Slot>, bool) {
        let mut taken = Vec::new();
        for number in 0..self.orders.len() {
            while taken.len() < max {
                let order = &self.orders[number].1;
                let available = || order.entries().take_while(|entry| entry.at_ms() <= now_ms);
                let window = available().take(PICK_WINDOW).count();
                if window == 0 {
                    break;
                }
                let picked = available().nth(pick(chance, window));
                let slot = picked.expect("a pick is within the window").slot();
                let has_met = is_suspect(self.record(slot));
                if !has_met || is_first && taken.is_empty() {
                    self.detach(slot);
                    taken.push(slot);
                }
                if has_met {
                    return (taken, true);
                }
            }
        }
        (taken, false)
    }

    /// Puts a task that was [taken](Self::take) back, leased.
    pub(super) fn lease(
        &mut self,
        slot: Slot,
        claimant: &Arc<str>,
        until_ms: u64,
        now_ms: u64,
        is_counted: bool,
    ) -> &Record {
        let record = Shared::make_mut(&mut self.records[slot as usize]);
        record.lease(until_ms, claimant, now_ms);
        record.claims = record.claims.saturating_add(1);
        record.unended = record.unended.saturating_add(is_counted.into());
        record.is_cancelled = false;
        self.attach(slot);
        self.record(slot)
    }

    /// How many tasks are available, up to `max`.
    pub(super) fn available(&self, now_ms: u64, max: usize) -> usize {
        let entries = self
            .orders
            .iter()
            .flat_map(|(_, order)| order.entries().take_while(|entry| entry.at_ms() <= now_ms));
        entries.take(max).count()
    }

    /// When the first task becomes available.
    pub(super) fn next_at_ms(&self) -> Option<u64> {
        self.orders.iter().filter_map(|(_, order)| Some(order.entries().next()?.at_ms())).min()
    }

    /// The slot of an expired task.
    pub(super) fn expired(&self, now_ms: u64) -> Option<Slot> {
        self.expiring.first().filter(|(expires, _)| *expires <= now_ms).map(|(_, slot)| *slot)
    }

    /// At least the first `max` tasks after a position, or all.
    pub(super) fn page(&self, after: Option<&Position>, max: usize) -> Page {
        Page(self.orders.iter().map(|(_, order)| order.run(after, max)).collect())
    }

    /// Counts the tasks that have become available by now, at most `max` of them; returns whether those were all.
    /// Each task is counted once, however often this is called.
    pub(super) fn count_available(&mut self, now_ms: u64, max: usize) -> bool {
        let mut left = max;
        let mut until_ms = now_ms;
        if now_ms <= self.counted_ms {
            return true;
        }
        let from_ms = self.counted_ms + 1;
        for (_, order) in &self.orders {
            for entry in order.entries_from(from_ms).take_while(|entry| entry.at_ms() <= until_ms) {
                // Tasks with the same time are counted together.
                if left == 0 && entry.at_ms() < until_ms {
                    until_ms = entry.at_ms();
                    break;
                }
                left = left.saturating_sub(1);
            }
        }
        for (_, order) in &self.orders {
            for entry in order.entries_from(from_ms).take_while(|entry| entry.at_ms() <= until_ms) {
                self.available += 1;
                *match entry.later() {
                    Later::Claimed => &mut self.claimed,
                    Later::Retrying => &mut self.retrying,
                    Later::Future => &mut self.future,
                } -= 1;
            }
        }
        self.counted_ms = until_ms;
        let is_all = until_ms == now_ms;
        let later = |(_, order): &(u8, Order)| Some(order.entries_from(now_ms + 1).next()?.at_ms());
        self.due_ms = match is_all {
            true => self.orders.iter().filter_map(later).min().unwrap_or(u64::MAX),
            false => until_ms + 1,
        };
        is_all
    }

    #[cfg(all(test, shuttle))]
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().map(|(_, record)| &**record)
    }

    /// All tasks.
    pub(super) fn all(&self) -> Page {
        self.page(None, usize::MAX)
    }

    /// Puts a task into the order and counts it.
    fn attach(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        let (claims, priority, at_ms) = (record.claims, record.priority, record.at_ms);
        let later = Later::of(record);
        let number = match self.orders.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(number) => number,
            Err(number) => {
                self.orders.insert(number, (priority, Order::default()));
                number
            }
        };
        self.orders[number].1.insert(record, slot);
        *self.counter(at_ms, later) += 1;
        if at_ms > self.counted_ms {
            self.due_ms = self.due_ms.min(at_ms);
        }
        if later == Later::Claimed {
            self.leases.insert((at_ms, slot));
        }
        if claims > 0 {
            *self.claims.entry(claims).or_default() += 1;
        }
    }

    /// Removes a task from the order and from the counts.
    fn detach(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        let (claims, priority, at_ms) = (record.claims, record.priority, record.at_ms);
        let later = Later::of(record);
        if let Ok(number) = self.orders.binary_search_by(|(other, _)| priority.cmp(other)) {
            self.orders[number].1.remove(record);
        }
        *self.counter(at_ms, later) -= 1;
        if later == Later::Claimed {
            self.leases.remove(&(at_ms, slot));
        }
        if let Some(count) = self.claims.get_mut(&claims) {
            *count -= 1;
            if *count == 0 {
                self.claims.remove(&claims);
            }
        }
    }

    fn counter(&mut self, at_ms: u64, later: Later) -> &mut u64 {
        match later {
            _ if at_ms <= self.counted_ms => &mut self.available,
            Later::Claimed => &mut self.claimed,
            Later::Retrying => &mut self.retrying,
            Later::Future => &mut self.future,
        }
    }
}

/// Tasks of a queue, as of one moment. Reading them takes no lock.
pub(super) struct Page(Vec<Run>);

impl Page {
    /// The tasks, by time and id.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        let mut runs: Vec<_> = self.0.iter().map(|run| run.records().peekable()).collect();
        std::iter::from_fn(move || {
            let first = runs
                .iter_mut()
                .filter_map(|run| Some(((run.peek()?.at_ms, &*run.peek()?.id), run)));
            let first = first.min_by_key(|(key, _)| *key);
            first.and_then(|(_, run)| run.next())
        })
    }
}
