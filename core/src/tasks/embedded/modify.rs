//! Modifications: lock everything that a modification names, check all of it, then apply it.

use std::sync::Arc;

use super::State;
use super::announcements::Announcements;
use super::index::{Index, Location, LockedShards};
use super::journal::{Changes, tag};
use super::lease::{Leased, fault, holder};
use super::namespace::Namespace;
use super::queue::{Notes, Queue, Record, Slot};
use super::registry::{Content, Guard, Registered, Registry};
use super::taken::Taken;
use crate::error::Result;
use crate::step::headers::Given;
use crate::step::{Effects, State as _, StepContext};
use crate::tasks::dependency::{Dependency, Fault, Problem};
use crate::tasks::doc::Collision;
use crate::tasks::name::Name;
use crate::tasks::{Doc, Modification, Modified, Modify, TaskId};

/// The queues and namespaces of a step, each once.
pub(super) struct LockSet {
    queues: Vec<Arc<Registered<Queue>>>,
    namespaces: Vec<Arc<Registered<Namespace>>>,
}

/// The queues, namespaces and index shards of a step, locked, and what the step does to them.
pub(super) struct Locked<'a> {
    name: &'a Name,
    pub(super) now_ms: u64,
    pub(super) queues: Vec<Guard<'a, Queue>>,
    namespaces: Vec<Guard<'a, Namespace>>,
    pub(super) index: LockedShards<'a>,
    taken: &'a Taken,
    changes: Changes,
    announcements: Announcements,
}

impl State {
    pub(in crate::tasks) fn modify(
        &self,
        step: &Modify,
        context: &mut StepContext<'_>,
    ) -> Result<Modified> {
        let Modify { name, claimant, holder, modification: of } = step;
        let ids = || {
            let inserted = of.inserts.iter().filter_map(|task| task.id.as_ref());
            let handles = of.deletes.iter().chain(&of.depends).map(|task| &task.id);
            inserted.chain(of.changes.iter().map(|change| &change.task.id)).chain(handles)
        };
        let doc_handles = || of.doc_deletes.iter().chain(&of.doc_depends);
        loop {
            let mut lock_set = LockSet::of(&self.index, ids());
            let inserted = of.inserts.iter().map(|task| &task.queue);
            for queue in inserted.chain(of.changes.iter().map(|change| &change.queue)) {
                lock_set.queue(&self.queues, queue);
            }
            let inserted = of.doc_inserts.iter().map(|doc| &doc.namespace);
            let changed = of.doc_changes.iter().map(|change| &change.doc);
            let named = changed.chain(doc_handles()).map(|doc| &doc.namespace);
            for namespace in inserted.chain(named) {
                lock_set.namespace(&self.namespaces, namespace);
            }
            lock_set.sort();

            let Some(mut locked) = self.lock(name, &lock_set, ids(), context) else { continue };
            let skipped = locked.check(of, claimant);
            let done = skipped.map(|skipped| locked.apply(of, &skipped, holder));
            self.unlock(locked, context);
            return done;
        }
    }

    /// Locks everything that a step names. Returns nothing if some of it has moved in the meantime, or if more has
    /// expired than is removed in one go; the caller then tries again.
    // Lock order: queues by name, then namespaces by name, then parts of the index by number; the ids of ended tasks last.
    pub(super) fn lock<'a, 'i>(
        &'a self,
        name: &'a Name,
        lock_set: &'a LockSet,
        ids: impl Iterator<Item = &'i Arc<str>> + Clone,
        context: &mut StepContext<'_>,
    ) -> Option<Locked<'a>> {
        let queues = lock_set.queues.iter().map(Registered::lock);
        let mut queues = queues.collect::<Option<Vec<_>>>()?;
        let namespaces = lock_set.namespaces.iter().map(Registered::lock);
        let namespaces = namespaces.collect::<Option<Vec<_>>>()?;
        let mut is_ready = true;
        for queue in &mut queues {
            is_ready &= self.remove_expired(queue, context);
        }
        let mut index = self.index.lock(ids.clone());
        let is_locked = |Location { queue, .. }: &Location| {
            position(&queues, &queue.name).is_some_and(|at| Arc::ptr_eq(queues[at].entry(), queue))
        };
        for id in ids {
            is_ready &= index.shard_of(id).get(id).is_none_or(is_locked);
        }
        let now_ms = context.now() / 1_000;
        let changes = Changes::new(Effects::of(context));
        let announcements = Announcements::new(queues.len());
        let taken = &self.taken;
        let locked =
            Locked { name, now_ms, queues, namespaces, index, taken, changes, announcements };
        if is_ready {
            return Some(locked);
        }
        self.unlock(locked, context);
        None
    }

    /// Records and announces what was done, then unlocks.
    pub(super) fn unlock(&self, mut locked: Locked<'_>, context: &mut StepContext<'_>) {
        locked.announcements.tell(locked.name, &locked.queues, locked.now_ms, context);
        locked.changes.into_effects().record(context);
        locked.queues.iter_mut().for_each(|queue| self.queues.used(queue));
        locked.namespaces.iter_mut().for_each(|namespace| self.namespaces.used(namespace));
        self.taken.forget(locked.now_ms);
        // The engine then checks whether the store can be evicted.
        if self.is_unused() {
            context.mark_evictable();
        }
    }
}

impl LockSet {
    /// The queues that these tasks are in.
    pub(super) fn of<'i>(index: &Index, ids: impl Iterator<Item = &'i Arc<str>>) -> Self {
        let queues = ids.filter_map(|id| Some(index.find(id)?.queue)).collect();
        Self { queues, namespaces: Vec::new() }
    }

    pub(super) fn queue(&mut self, queues: &Registry<Queue>, name: &Arc<str>) {
        // Most steps name the same queue many times.
        if self.queues.last().is_none_or(|last| last.name != *name) {
            self.queues.push(queues.find_or_make(name));
        }
    }

    pub(super) fn namespace(&mut self, namespaces: &Registry<Namespace>, name: &Arc<str>) {
        if self.namespaces.last().is_none_or(|last| last.name != *name) {
            self.namespaces.push(namespaces.find_or_make(name));
        }
    }

    pub(super) fn sort(&mut self) {
        self.queues.sort_by(|one, other| one.name.cmp(&other.name));
        self.queues.dedup_by(|one, other| Arc::ptr_eq(one, other));
        self.namespaces.sort_by(|one, other| one.name.cmp(&other.name));
        self.namespaces.dedup_by(|one, other| Arc::ptr_eq(one, other));
    }
}

impl Locked<'_> {
    /// Where a task is: the number of its queue, and its slot.
    pub(super) fn find(&mut self, id: &str) -> Option<(usize, Slot)> {
        let location = self.index.shard_of(id).get(id)?;
        Some((position(&self.queues, &location.queue.name)?, location.slot))
    }

    /// The number of a queue.
    pub(super) fn queue(&self, name: &str) -> Option<usize> {
        position(&self.queues, name)
    }

    pub(super) fn task(&mut self, id: &str) -> Option<&Record> {
        let (queue, slot) = self.find(id)?;
        Some(self.queues[queue].record(slot))
    }

    /// The version of the task that an id is taken by; 0 for one that has ended.
    fn taken_at(&mut self, id: &str) -> Option<u64> {
        let version = self.task(id).map(|task| task.version);
        version.or_else(|| self.taken.holds(id, self.now_ms).then_some(0))
    }

    pub(super) fn doc(&self, namespace: &str, id: &str) -> Option<&Doc> {
        self.namespaces[position(&self.namespaces, namespace)?].get(id)
    }

    /// Changes a task that stays in its queue, and records an effect of this tag.
    pub(super) fn update(
        &mut self,
        tag: u8,
        queue: usize,
        slot: Slot,
        change: impl FnOnce(&mut Record),
    ) {
        let name = self.queues[queue].name();
        let unended = self.queues[queue].record(slot).unended;
        let record = self.queues[queue].update(slot, change);
        self.changes.task(tag, name, record);
        if tag == tag::LEASE && record.unended != unended {
            self.changes.task(tag::UNENDED, name, record);
        }
        self.announcements.note(queue, record.at_ms, self.now_ms);
    }

    /// Removes a task from its queue, but not from the index.
    pub(super) fn remove(&mut self, queue: usize, slot: Slot) -> Record {
        let record = self.queues[queue].remove(slot);
        self.changes.task(tag::TASK_REMOVED, self.queues[queue].name(), &record);
        record
    }

    /// Removes a task, which has ended.
    pub(super) fn end(&mut self, queue: usize, slot: Slot) {
        let record = self.remove(queue, slot);
        self.taken.end(&record, self.now_ms, &mut self.changes);
        self.index.shard_of(&record.id).remove(&record.id);
    }

    /// Puts a task that is in no queue into this one.
    pub(super) fn insert(&mut self, to: usize, record: Record) -> Slot {
        let queue = self.queues[to].entry().clone();
        self.changes.task(tag::TASK, &queue.name, &record);
        self.announcements.note(to, record.at_ms, self.now_ms);
        let id = record.id.clone();
        let slot = self.queues[to].insert(record);
        self.index.shard_of(&id).insert(id, Location { queue, slot });
        slot
    }

    /// Inserts a document, or replaces the one with the same id, and records an effect of this tag.
    pub(super) fn put_doc(&mut self, tag: u8, doc: Doc) {
        self.changes.doc(tag, &doc);
        self.namespace(&doc.namespace).put(doc);
    }

    fn namespace(&mut self, name: &str) -> &mut Namespace {
        let at = position(&self.namespaces, name);
        &mut self.namespaces[at.expect("the namespaces of a step are locked")]
    }

    /// Refuses a modification that cannot be applied; returns which tasks and documents to leave out.
    fn check(&mut self, of: &Modification, claimant: &str) -> Result<Skipped> {
        use Fault::{
            Change, ClaimedChange, ClaimedDelete, ClaimedDocChange, ClaimedDocDelete,
            ClaimedDocPut, Delete, Depend, DocChange, DocDelete, DocDepend, DocInsert, Insert,
        };
        let now_ms = self.now_ms;
        let mut dependency = Dependency::default();
        let mut note = |fault: Option<Fault>, index: usize, version: u64| {
            if let Some(fault) = fault {
                dependency.note(of, Problem { fault, index, version });
            }
        };
        let mut skipped = Skipped::default();
        for (index, task) in of.inserts.iter().enumerate() {
            match task.id.as_ref().and_then(|id| self.taken_at(id)) {
                Some(_) if task.skip_colliding => skipped.tasks.push(index),
                Some(version) => note(Some(Insert), index, version),
                None => {}
            }
        }
        let by = Some(claimant);
        for (index, TaskId { id, version }) in of.deletes.iter().enumerate() {
            note(fault(self.task(id), *version, by, now_ms, Delete, ClaimedDelete), index, 0);
        }
        for (index, change) in of.changes.iter().enumerate() {
            let found = self.task(&change.task.id);
            note(fault(found, change.task.version, by, now_ms, Change, ClaimedChange), index, 0);
        }
        for (index, TaskId { id, version }) in of.depends.iter().enumerate() {
            note(fault(self.task(id), *version, None, now_ms, Depend, Depend), index, 0);
        }
        for (index, new) in of.doc_inserts.iter().enumerate() {
            let id = new.id.as_deref().unwrap_or_default();
            let Some(found) = self.doc(&new.namespace, id) else { continue };
            let is_same = found.key == new.key && found.secondary_key == new.secondary_key;
            match new.collision {
                Collision::Skip => skipped.docs.push(index),
                Collision::Replace if is_same => {
                    let is_held = found.is_held_against(claimant, now_ms);
                    note(is_held.then_some(ClaimedDocPut), index, found.version);
                }
                Collision::Refuse | Collision::Replace => {
                    note(Some(DocInsert), index, found.version);
                }
            }
        }
        for (index, doc) in of.doc_deletes.iter().enumerate() {
            let found = self.doc(&doc.namespace, &doc.id);
            note(fault(found, doc.version, by, now_ms, DocDelete, ClaimedDocDelete), index, 0);
        }
        for (index, change) in of.doc_changes.iter().enumerate() {
            let found = self.doc(&change.doc.namespace, &change.doc.id);
            let version = change.doc.version;
            note(fault(found, version, by, now_ms, DocChange, ClaimedDocChange), index, 0);
        }
        for (index, doc) in of.doc_depends.iter().enumerate() {
            let found = self.doc(&doc.namespace, &doc.id);
            note(fault(found, doc.version, None, now_ms, DocDepend, DocDepend), index, 0);
        }
        dependency.into_result()?;
        Ok(skipped)
    }

    /// Applies what was [checked](Self::check).
    fn apply(&mut self, of: &Modification, skipped: &Skipped, claimant: &Arc<str>) -> Modified {
        const CHECKED: &str = "what was checked under the same locks is there";
        let now_ms = self.now_ms;
        let mut done = Modified::default();
        for task in &of.deletes {
            let (queue, slot) = self.find(&task.id).expect(CHECKED);
            self.end(queue, slot);
        }
        for change in &of.changes {
            let (from, slot) = self.find(&change.task.id).expect(CHECKED);
            let to = self.queue(&change.queue).expect(CHECKED);
            let at_ms = change.at.resolve(now_ms);
            let before = self.queues[from].record(slot);
            let kept = before.notes.headers();
            let headers = change.headers.as_ref().map_or(kept, Given::headers).clone();
            let only_time = before.value == change.value
                && *before.notes.err() == change.err
                && *before.notes.headers() == headers
                && before.attempt == change.attempt;
            let changed = |record: &mut Record| {
                record.lease(at_ms, holder(claimant, at_ms, now_ms), now_ms);
                record.end_claims();
                record.attempt = change.attempt;
                record.notes = Notes::new(&change.err, &headers);
                record.value.clone_from(&change.value);
            };
            let slot = if from == to {
                self.update(if only_time { tag::LEASE } else { tag::TASK }, to, slot, changed);
                slot
            } else {
                let mut record = self.remove(from, slot);
                changed(&mut record);
                self.insert(to, record)
            };
            let queue = &self.queues[to];
            done.changed.push(queue.record(slot).to_task(queue.name(), false));
        }
        for (index, new) in of.inserts.iter().enumerate() {
            if skipped.tasks.binary_search(&index).is_ok() {
                continue;
            }
            let to = self.queue(&new.queue).expect(CHECKED);
            let task = new.inserted(claimant, now_ms);
            self.insert(to, Record::of(&task, new.dedup_window_ms()));
            done.inserted.push(task);
        }
        for doc in &of.doc_deletes {
            let removed = self.namespace(&doc.namespace).remove(&doc.id).expect(CHECKED);
            self.changes.doc(tag::DOC_REMOVED, &removed);
        }
        let changed = |before: &Doc, at_ms: u64, content: &Option<Arc<str>>| {
            let mut doc = before.clone();
            doc.lease(at_ms, holder(claimant, at_ms, now_ms), now_ms);
            doc.content = content.clone().or(doc.content);
            doc
        };
        for change in &of.doc_changes {
            let before = self.doc(&change.doc.namespace, &change.doc.id).expect(CHECKED);
            let at_ms = change.at.map_or(before.at_ms, |at| at.resolve(now_ms));
            let doc = changed(before, at_ms, &change.content);
            let tag = if change.content.is_some() { tag::DOC } else { tag::DOC_LEASE };
            self.put_doc(tag, doc.clone());
            done.changed_docs.push(doc);
        }
        for (index, new) in of.doc_inserts.iter().enumerate() {
            if skipped.docs.binary_search(&index).is_ok() {
                continue;
            }
            let doc = match self.doc(&new.namespace, new.id.as_deref().unwrap_or_default()) {
                Some(before) => changed(before, before.at_ms, &new.content),
                None => new.inserted(now_ms),
            };
            self.put_doc(tag::DOC, doc.clone());
            done.inserted_docs.push(doc);
        }
        done
    }
}

/// What a modification leaves out, by its numbers, in ascending order.
#[derive(Default)]
struct Skipped {
    tasks: Vec<usize>,
    docs: Vec<usize>,
}

/// The index of this name in a list that is sorted by name.
fn position<T: Content>(things: &[Guard<'_, T>], name: &str) -> Option<usize> {
    things.binary_search_by(|thing| (**thing.name()).cmp(name)).ok()
}
