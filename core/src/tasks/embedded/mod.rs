//! A store on the embedded engine.
//!
//! Each queue and each namespace has its own lock. A claim locks its queue; a modification locks the queues and
//! namespaces that it names and no others. In addition, there is an index of all tasks by id, in shards with a lock
//! each, which claims do not need. Locks are taken in one order, so that there is no deadlock: queues, then
//! namespaces, then shards of the index, each in the order of their names or numbers, then the ids of
//! [ended tasks](taken). Since a task may move before its queue is locked, a step looks up its tasks, locks their queues,
//! and checks that the tasks are still there.
//!
//! A page or a snapshot holds a queue's lock only to take references to [chunks](order) of tasks.
//! Statistics take no lock: the holder of a lock publishes the [counts](counts). Documents are read under
//! the lock of their namespace.

mod announcements;
mod counts;
mod index;
mod journal;
mod lease;
mod locks;
#[cfg(all(test, shuttle))]
mod model;
mod modify;

mod namespace;
mod order;
mod queue;
mod registry;
mod sweep;
mod taken;

use std::sync::Arc;

use counts::Counts;
use index::Index;
use journal::{Changes, Replayed, tag};
use lease::{Leased, fault, holder};
use modify::LockSet;
use namespace::Namespace;
use queue::{Queue, Slot, Texts};
use registry::{Content, Guard, Registry};
use taken::Taken;

use super::claim::{Claimed, PICK_WINDOW};
use super::dependency::Dependency;
use super::name::Name;
use super::{
    CLAIM_KEYS_MAX, CLAIM_QUEUES_MAX, CLAIM_TASKS_MAX, DEDUP_IDS_MAX, DEDUP_WINDOW_MAX, DELAY_MAX,
    Doc, DocId, DocPage, DocPosition, DocQuery, Filter, MODIFICATION_ENTRIES_MAX, NamespaceStats,
    PAGE_MAX, PRIORITY_MAX, Position, QueueStats, STATS_MAX, SWEEP_TASKS_MAX, TIME_MS_MAX, Task,
    TaskId, TaskPage, TaskQuery,
};
use crate::error::Result;
use crate::runtime::sync::lock;
use crate::step::limits::INTEGER_MAX;
use crate::step::{self, Chance, Constants, Effects, Snapshot, StepContext, constants};

/// The number of a store in the journal.
pub(crate) const KIND: u8 = 4;

/// How many tasks are counted, or removed because they have expired, while a queue's lock is held once.
const TASKS_A_HOLD: usize = 256;

/// How many tasks are listed while a queue's lock is held once: a few dozen chunks, each of which is quick to
/// reference.
const LISTED_A_HOLD: usize = 1_024;

/// A store.
#[derive(Default)]
pub struct State {
    queues: Registry<Queue>,
    namespaces: Registry<Namespace>,
    index: Index,
    taken: Taken,
    /// Set while the journal is replayed.
    replayed: std::sync::Mutex<Replayed>,
}

/// What a claim asks for.
pub(super) struct Taking<'a> {
    pub(super) claimant: &'a Arc<str>,
    /// Whether each task gets its own claimant.
    pub(super) is_each: bool,
    pub(super) lease_ms: u64,
    pub(super) max: usize,
    /// From how many claims without an end on a task is a suspect; 0 for never.
    pub(super) suspects: u32,
}

impl Taking<'_> {
    fn is_suspect(&self, record: &queue::Record) -> bool {
        self.suspects > 0 && record.unended >= self.suspects
    }
}

/// What a renewal is about.
pub(super) struct Held<'a> {
    pub(super) tasks: &'a [TaskId],
    pub(super) docs: &'a [DocId],
}

impl State {
    /// Leases tasks of one queue; returns whether there was a suspect, which ends the claim.
    pub(super) fn claim(
        &self,
        name: &Name,
        queue: &Arc<str>,
        taking: &Taking<'_>,
        chance: &mut Chance,
        claimed: &mut Claimed,
        context: &mut StepContext<'_>,
    ) -> bool {
        let now_ms = context.now() / 1_000;
        let until_ms = now_ms + taking.lease_ms;
        let has_met = self.with_queue(queue, context, |guard, context| {
            if guard.is_paused {
                return false;
            }
            let mut changes = Changes::new(Effects::of(context));
            let is_first = claimed.tasks.is_empty();
            let (taken, has_met) = guard.take(
                now_ms,
                taking.max,
                chance,
                |record| taking.is_suspect(record),
                is_first,
            );
            for slot in &taken {
                let own = taking
                    .is_each
                    .then(|| format!("{}.{}", taking.claimant, claimed.tasks.len() + 1).into());
                let claimant = own.as_ref().unwrap_or(taking.claimant);
                let is_suspect = taking.is_suspect(guard.record(*slot));
                claimed.unended.push(guard.record(*slot).unended.saturating_add(1));
                let record = guard.lease(*slot, claimant, until_ms, now_ms, !is_suspect);
                changes.task(tag::LEASE, queue, record);
                if is_suspect {
                    changes.task(tag::UNENDED, queue, record);
                }
                claimed.tasks.push(record.to_task(queue, false));
            }
            if !taken.is_empty() {
                context.wake_in(|| name.topic(queue), taking.lease_ms);
            }
            changes.into_effects().record(context);
            has_met
        });
        has_met.unwrap_or(false)
    }

    /// Notes that the work on a suspect begins; returns whether the claimant has it.
    pub(super) fn begin(
        &self,
        id: &str,
        claimant: &str,
        unended: u32,
        context: &mut StepContext<'_>,
    ) -> bool {
        let begun = self.with_task(id, context, |guard, slot, context| {
            let record = guard.record(slot);
            let is_held = *record.claimant == *claimant && record.unended > 0;
            if is_held && record.unended < unended {
                let queue = guard.name();
                let record = guard.update(slot, |record| record.unended = unended);
                let mut changes = Changes::new(Effects::of(context));
                changes.task(tag::UNENDED, queue, record);
                changes.into_effects().record(context);
            }
            is_held
        });
        begun.unwrap_or(false)
    }

    /// In how many milliseconds the next task of a queue becomes available; 0 for now. Nothing if the queue is
    /// paused.
    pub(super) fn next_in_ms(&self, queue: &str, context: &StepContext<'_>) -> Option<u64> {
        let next_at_ms = self.queues.with(queue, |guard| match guard.is_paused {
            true => None,
            false => guard.next_at_ms(),
        })?;
        Some(next_at_ms?.saturating_sub(context.now() / 1_000))
    }

    pub(super) fn pause(&self, queue: &Arc<str>, context: &mut StepContext<'_>) {
        loop {
            let found = self.queues.find_or_make(queue);
            let Some(mut guard) = found.lock() else { continue };
            if !std::mem::replace(&mut guard.is_paused, true) {
                let mut changes = Changes::new(Effects::of(context));
                changes.queue(tag::PAUSED, queue);
                changes.into_effects().record(context);
            }
            return self.queues.used(&mut guard);
        }
    }

    pub(super) fn resume(&self, name: &Name, queue: &Arc<str>, context: &mut StepContext<'_>) {
        let now_ms = context.now() / 1_000;
        self.with_queue(queue, context, |guard, context| {
            if !std::mem::take(&mut guard.is_paused) {
                return;
            }
            let mut changes = Changes::new(Effects::of(context));
            changes.queue(tag::RESUMED, queue);
            changes.into_effects().record(context);
            // Claims that find that there is more pass the wake-up on.
            context.wake(|| name.topic(queue), guard.available(now_ms, TASKS_A_HOLD));
            if let Some(at_ms) = guard.next_at_ms().filter(|at_ms| *at_ms > now_ms) {
                context.wake_in(|| name.topic(queue), at_ms - now_ms);
            }
        });
        if step::State::is_unused(self) {
            context.mark_evictable();
        }
    }

    /// Renews tasks and documents; returns until when, and which tasks were cancelled. If some cannot be renewed,
    /// renews nothing and returns, for each of them, its number (tasks before documents) and whether another claimant
    /// holds it.
    pub(super) fn renew(
        &self,
        name: &Name,
        claimant: &Arc<str>,
        held: &Held<'_>,
        lease_ms: u64,
        context: &mut StepContext<'_>,
        mut refuse: impl FnMut(usize, bool),
    ) -> (u64, Vec<Arc<str>>) {
        let now_ms = context.now() / 1_000;
        let at_ms = now_ms + lease_ms;
        let holder = holder(claimant, at_ms, now_ms);
        let ids = || held.tasks.iter().map(|task| &task.id);
        loop {
            let mut lock_set = LockSet::of(&self.index, ids());
            held.docs.iter().for_each(|doc| lock_set.namespace(&self.namespaces, &doc.namespace));
            lock_set.sort();
            let Some(mut locked) = self.lock(name, &lock_set, ids(), context) else { continue };
            let mut is_refused = false;
            let mut note = |number: usize, refusal: Option<bool>| {
                is_refused |= refusal.is_some();
                refusal.into_iter().for_each(|is_held| refuse(number, is_held));
            };
            let by = Some(&**claimant);
            for (number, task) in held.tasks.iter().enumerate() {
                let found = locked.task(&task.id);
                note(number, fault(found, task.version, by, now_ms, false, true));
            }
            for (number, doc) in (held.tasks.len()..).zip(held.docs) {
                let found = locked.doc(&doc.namespace, &doc.id);
                note(number, fault(found, doc.version, by, now_ms, false, true));
            }
            let mut cancelled = Vec::new();
            if !is_refused {
                for task in held.tasks {
                    let (queue, slot) = locked.find(&task.id).expect("it was found");
                    locked.update(tag::LEASE, queue, slot, |record| {
                        cancelled.extend(record.is_cancelled.then(|| task.id.clone()));
                        record.lease(at_ms, holder, now_ms);
                        if at_ms <= now_ms {
                            record.end_claims();
                        }
                    });
                }
                for doc in held.docs {
                    let found = locked.doc(&doc.namespace, &doc.id);
                    let mut renewed = found.expect("it was found").clone();
                    renewed.lease(at_ms, holder, now_ms);
                    locked.put_doc(tag::DOC_LEASE, renewed);
                }
            }
            self.unlock(locked, context);
            return (at_ms, cancelled);
        }
    }

    /// Cancels a task, or removes it with `force`; returns whether a claimant still holds it under a lease.
    pub(super) fn cancel(&self, id: &str, force: bool, context: &mut StepContext<'_>) -> bool {
        let now_ms = context.now() / 1_000;
        let cancelled = self.with_task(id, context, |guard, slot, context| {
            let record = guard.record(slot);
            let is_claimed = record.at_ms > now_ms && record.unended > 0;
            if is_claimed && force {
                let record = guard.remove(slot);
                let mut changes = Changes::new(Effects::of(context));
                changes.task(tag::TASK_REMOVED, guard.name(), &record);
                self.taken.end(&record, now_ms, &mut changes);
                changes.into_effects().record(context);
                drop(self.index.shard_of(id).remove(id));
            } else if is_claimed && !record.is_cancelled {
                let queue = guard.name();
                let record = guard.update(slot, |record| record.is_cancelled = true);
                let mut changes = Changes::new(Effects::of(context));
                changes.task(tag::CANCELLED, queue, record);
                changes.into_effects().record(context);
            }
            is_claimed
        });
        cancelled.unwrap_or(false)
    }

    pub(super) fn claim_docs(
        &self,
        claimant: &Arc<str>,
        namespace: &Arc<str>,
        keys: &[Arc<str>],
        lease_ms: u64,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Doc>> {
        let now_ms = context.now() / 1_000;
        let claimed = self.namespaces.with(namespace, |guard| {
            let of_keys = keys.iter().flat_map(|key| guard.of_key(key));
            let mut docs: Vec<Doc> = of_keys.cloned().collect();
            let mut dependency = Dependency::default();
            let is_held = |doc: &&Doc| doc.is_held_against(claimant, now_ms);
            dependency.doc_claims.extend(docs.iter().filter(is_held).map(Doc::handle));
            dependency.into_result()?;
            let mut changes = Changes::new(Effects::of(context));
            for doc in &mut docs {
                doc.lease(now_ms + lease_ms, claimant, now_ms);
                changes.doc(tag::DOC_LEASE, doc);
                guard.put(doc.clone());
            }
            changes.into_effects().record(context);
            Ok(docs)
        });
        claimed.unwrap_or_else(|| Ok(Vec::new()))
    }

    pub(super) fn list(
        &self,
        queue: &Arc<str>,
        query: &TaskQuery,
        limit: usize,
        context: &mut StepContext<'_>,
    ) -> TaskPage {
        let now_ms = context.now() / 1_000;
        let mut page = TaskPage { tasks: Vec::new(), next: query.after.clone() };
        let mut texts = Texts::default();
        let mut left = limit;
        loop {
            let part = left.min(LISTED_A_HOLD);
            // One more than requested shows whether there are more.
            let found = self
                .with_queue(queue, context, |guard, _| guard.page(page.next.as_ref(), part + 1));
            let Some(found) = found else { return TaskPage { next: None, ..page } };
            let mut records = found.records();
            let mut last = None;
            for record in records.by_ref().take(part) {
                last = Some(record);
                if query.lets(record.at_ms, &record.claimant, now_ms) {
                    page.tasks.push(record.copy(queue, query.omit_values, &mut texts));
                }
            }
            let next = last.filter(|_| records.next().is_some());
            page.next = next.map(|last| Position { at_ms: last.at_ms, id: last.id.clone() });
            left -= part;
            if left == 0 || page.next.is_none() {
                return page;
            }
        }
    }

    pub(super) fn fetch(
        &self,
        ids: &[Arc<str>],
        queue: Option<&str>,
        omit_values: bool,
        context: &mut StepContext<'_>,
    ) -> Vec<Task> {
        let mut tasks = Vec::new();
        for id in ids {
            let task = self.with_task(id, context, |guard, slot, _| {
                let is_wanted = queue.is_none_or(|wanted| *wanted == **guard.name());
                is_wanted.then(|| guard.record(slot).to_task(guard.name(), omit_values))
            });
            tasks.extend(task.flatten());
        }
        tasks
    }

    pub(super) fn queue_stats(
        &self,
        filter: &Filter,
        with_paused: bool,
        context: &mut StepContext<'_>,
    ) -> Vec<QueueStats> {
        let now_ms = context.now() / 1_000;
        let queues = self.queues.in_order();
        let matching = queues.iter().filter(|(name, _)| filter.matches(name));
        let counted = matching.filter_map(|(name, queue)| {
            let counts = queue.counts(now_ms).or_else(|| self.count(name, context))?;
            (counts.size > 0 || with_paused && counts.is_paused).then(|| QueueStats {
                queue: name.clone(),
                size: counts.size,
                available: counts.available,
                claimed: counts.claimed,
                retrying: counts.retrying,
                future: counts.future,
                max_claims: counts.max_claims as u32,
                paused: counts.is_paused,
                oldest_available_ms: counts.oldest_available_ms,
                first_lease_end_ms: counts.first_lease_end_ms,
            })
        });
        counted.take(filter.limit_or_most()).collect()
    }

    /// Counts the tasks of a queue that have become available since the last count, some at a time.
    fn count(&self, queue: &str, context: &mut StepContext<'_>) -> Option<Counts> {
        let now_ms = context.now() / 1_000;
        loop {
            let counts = self.with_queue(queue, context, |guard, _| {
                let is_all = guard.count_available(now_ms, TASKS_A_HOLD);
                is_all.then(|| guard.counts())
            });
            match counts? {
                None => {}
                counts => return counts,
            }
        }
    }

    pub(super) fn list_docs(&self, namespace: &str, query: &DocQuery, limit: usize) -> DocPage {
        let page = self.namespaces.with(namespace, |guard| {
            let mut docs = guard.page(query, limit + 1);
            let has_more = docs.len() > limit;
            docs.truncate(limit);
            let next = docs.last().map(|doc| DocPosition::from(*doc)).filter(|_| has_more);
            let docs = docs.into_iter().map(|doc| copy(doc, query.omit_contents)).collect();
            DocPage { docs, next }
        });
        page.unwrap_or_default()
    }

    pub(super) fn fetch_docs(
        &self,
        namespace: &str,
        ids: &[Arc<str>],
        omit_contents: bool,
    ) -> Vec<Doc> {
        let docs = self.namespaces.with(namespace, |guard| {
            let docs = ids.iter().filter_map(|id| guard.get(id));
            docs.map(|doc| copy(doc, omit_contents)).collect()
        });
        docs.unwrap_or_default()
    }

    pub(super) fn namespace_stats(
        &self,
        filter: &Filter,
        context: &StepContext<'_>,
    ) -> Vec<NamespaceStats> {
        let now_ms = context.now() / 1_000;
        let namespaces = self.namespaces.in_order();
        let matching = namespaces.iter().filter(|(name, _)| filter.matches(name));
        let count = |guard: &mut Guard<'_, Namespace>| {
            guard.count_held(now_ms);
            guard.counts()
        };
        let counted = matching.filter_map(|(name, namespace)| {
            let known = namespace.counts(now_ms);
            let counts = known.or_else(|| self.namespaces.with(name, count))?;
            (counts.size > 0).then(|| NamespaceStats {
                namespace: name.clone(),
                size: counts.size,
                claimed: counts.claimed,
            })
        });
        counted.take(filter.limit_or_most()).collect()
    }

    /// Whether it has no tasks, no documents and no paused queue.
    pub(super) fn holds_nothing(&self) -> bool {
        self.queues.is_empty() && self.namespaces.is_empty()
    }

    /// Runs a function on a task in its locked queue; returns nothing if the task does not exist.
    fn with_task<R>(
        &self,
        id: &str,
        context: &mut StepContext<'_>,
        mut work: impl FnMut(&mut Guard<'_, Queue>, Slot, &mut StepContext<'_>) -> R,
    ) -> Option<R> {
        // It may move before its queue is locked.
        while let Some(found) = self.index.find(id) {
            let done = self.with_queue(&found.queue.name, context, |guard, context| {
                let is_there = guard.get(found.slot, id).is_some();
                is_there.then(|| work(guard, found.slot, context))
            });
            if let Some(Some(done)) = done {
                return Some(done);
            }
        }
        None
    }

    /// Runs a function on a queue from which all expired tasks have been removed; returns nothing if there is no such
    /// queue.
    fn with_queue<R>(
        &self,
        queue: &str,
        context: &mut StepContext<'_>,
        work: impl FnOnce(&mut Guard<'_, Queue>, &mut StepContext<'_>) -> R,
    ) -> Option<R> {
        let mut work = Some(work);
        loop {
            let done = self.queues.with(queue, |guard| {
                let is_ready = self.remove_expired(guard, context);
                let work = if is_ready { work.take() } else { None };
                work.map(|work| work(guard, context))
            });
            match done {
                Some(None) => {}
                Some(done) => return done,
                None => return None,
            }
        }
    }

    /// Removes expired tasks, some at a time; returns whether those were all. This is recorded before their ids
    /// become free, since a step that reuses such an id in another queue need not wait for this step.
    fn remove_expired(&self, queue: &mut Guard<'_, Queue>, context: &mut StepContext<'_>) -> bool {
        let now_ms = context.now() / 1_000;
        if queue.expired(now_ms).is_none() {
            return true;
        }
        let mut changes = Changes::new(Effects::of(context));
        let mut ids = Vec::new();
        while let Some(slot) = queue.expired(now_ms)
            && ids.len() < TASKS_A_HOLD
        {
            let record = queue.remove(slot);
            changes.task(tag::TASK_REMOVED, queue.name(), &record);
            self.taken.end(&record, now_ms, &mut changes);
            ids.push(record.id);
        }
        changes.into_effects().record(context);
        ids.iter().for_each(|id| drop(self.index.shard_of(id).remove(id)));
        queue.expired(now_ms).is_none()
    }
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![
            CHANCE_FACTOR = Chance::FACTOR,
            CHANCE_MODULUS = Chance::MODULUS,
            CLAIM_KEYS_MAX,
            CLAIM_QUEUES_MAX,
            CLAIM_TASKS_MAX,
            DEDUP_IDS_MAX,
            DEDUP_WINDOW_MS_MAX = DEDUP_WINDOW_MAX.as_millis(),
            DELAY_MS_MAX = DELAY_MAX.as_millis(),
            INTEGER_MAX,
            MODIFICATION_ENTRIES_MAX,
            PAGE_MAX,
            PICK_WINDOW,
            PRIORITY_MAX,
            STATS_MAX,
            SWEEP_TASKS_MAX,
            TIME_MS_MAX,
        ]
    }

    fn replay(&self, record: &[u8], sequence: Option<u64>) -> Result<()> {
        self.replay_record(&mut lock(&self.replayed), record, sequence)
    }

    fn replayed(&self) {
        *lock(&self.replayed) = Replayed::default();
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        self.write_snapshot(out);
    }

    fn is_unused(&self) -> bool {
        self.holds_nothing() && self.taken.is_empty()
    }
}

fn copy(doc: &Doc, omit_content: bool) -> Doc {
    Doc { content: doc.content.clone().filter(|_| !omit_content), ..doc.clone() }
}
