//! Modifications: lock everything that one names, check all of it, then do it.

use std::sync::Arc;

use super::index::{Index, Location, LockedShards};
use super::journal::{Changes, tag};
use super::namespace::Namespace;
use super::queue::{NOBODY, Queue, Record, Slot, shared};
use super::registry::{Content, Guard, Registered, Registry};
use super::{Announcements, State};
use crate::error::Result;
use crate::step::{Effects, StepContext};
use crate::tasks::dependency::{Dependency, Fault, Problem};
use crate::tasks::doc::Collision;
use crate::tasks::{Doc, DocId, Modification, Modified, Modify, TaskId};

/// The queues and namespaces of a step, each once.
pub(super) struct LockSet {
    queues: Vec<Arc<Registered<Queue>>>,
    namespaces: Vec<Arc<Registered<Namespace>>>,
}

/// The queues, the namespaces and the parts of the index of a step, locked.
pub(super) struct Locked<'a> {
    pub(super) queues: Vec<Guard<'a, Queue>>,
    pub(super) namespaces: Vec<Guard<'a, Namespace>>,
    pub(super) index: LockedShards<'a>,
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

            let Some(mut locked) = self.lock(&lock_set, ids(), context) else { continue };
            let mut changes = Changes::new(Effects::of(context));
            let now_ms = context.now() / 1_000;
            let skipped = locked.check(of, claimant, now_ms);
            let done = skipped.map(|skipped| {
                let mut announcements = Announcements::new(locked.queues.len());
                let step = Apply { holder, now_ms };
                let done = step.apply(
                    of,
                    &skipped,
                    &lock_set,
                    &mut locked,
                    &mut changes,
                    &mut announcements,
                );
                announcements.tell(name, lock_set.queues(), now_ms, context);
                done
            });
            changes.into_effects().record(context);
            self.unlock(locked, context);
            return done;
        }
    }

    /// Locks everything that a step names; nothing if some of it has moved in between, or more
    /// has expired than is removed at once; then the caller tries again.
    // Lock order: queues by name, then namespaces by name, then parts of the index by number.
    pub(super) fn lock<'a, 'i>(
        &'a self,
        lock_set: &'a LockSet,
        ids: impl Iterator<Item = &'i Arc<str>> + Clone,
        context: &mut StepContext<'_>,
    ) -> Option<Locked<'a>> {
        let mut queues =
            lock_set.queues.iter().map(|queue| queue.lock()).collect::<Option<Vec<_>>>()?;
        let namespaces = lock_set
            .namespaces
            .iter()
            .map(|namespace| namespace.lock())
            .collect::<Option<Vec<_>>>()?;
        let mut is_ready = true;
        for queue in &mut queues {
            is_ready &= self.remove_expired(queue, context);
        }
        let mut index = self.index.lock(ids.clone());
        let is_locked = |queue: &Arc<Registered<Queue>>| {
            lock_set
                .position(&queue.name)
                .is_some_and(|at| Arc::ptr_eq(&lock_set.queues[at], queue))
        };
        for id in ids {
            is_ready &=
                index.shard_of(id).get(id).is_none_or(|location| is_locked(&location.queue));
        }
        let locked = Locked { queues, namespaces, index };
        if is_ready {
            return Some(locked);
        }
        self.unlock(locked, context);
        None
    }

    pub(super) fn unlock(&self, mut locked: Locked<'_>, context: &mut StepContext<'_>) {
        locked.queues.iter_mut().for_each(|queue| self.queues.used(queue));
        locked.namespaces.iter_mut().for_each(|namespace| self.namespaces.used(namespace));
        self.check_for_eviction(context);
    }
}

impl LockSet {
    /// The queues that these tasks are in.
    pub(super) fn of<'i>(index: &Index, ids: impl Iterator<Item = &'i Arc<str>>) -> Self {
        let queues = ids.filter_map(|id| Some(index.find(id)?.queue)).collect();
        Self { queues, namespaces: Vec::new() }
    }

    fn queue(&mut self, queues: &Registry<Queue>, name: &Arc<str>) {
        // Most steps name one queue many times over.
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

    pub(super) fn queues(&self) -> &[Arc<Registered<Queue>>] {
        &self.queues
    }

    fn position(&self, queue: &str) -> Option<usize> {
        self.queues.binary_search_by(|known| (*known.name).cmp(queue)).ok()
    }
}

impl Locked<'_> {
    /// Where a task is: the number of its queue, and its slot.
    pub(super) fn find(&mut self, id: &str) -> Option<(usize, Slot)> {
        let location = self.index.shard_of(id).get(id)?;
        Some((position(&self.queues, &location.queue.name)?, location.slot))
    }

    pub(super) fn doc(&self, doc: &DocId) -> Option<&Doc> {
        self.namespaces[position(&self.namespaces, &doc.namespace)?].get(&doc.id)
    }

    /// Puts a document in the place of the one with its id.
    pub(super) fn put_doc(&mut self, doc: Doc) {
        if let Some(at) = position(&self.namespaces, &doc.namespace) {
            self.namespaces[at].put(doc);
        }
    }

    /// The fault of a task that is not there at its version, or that another claimant holds.
    fn fault(
        &mut self,
        id: &str,
        version: u64,
        claimant: Option<&str>,
        now_ms: u64,
        missing: Fault,
        held: Fault,
    ) -> Option<Fault> {
        let Some((queue, slot)) = self.find(id) else { return Some(missing) };
        let task = self.queues[queue].record(slot);
        match task.version == version {
            false => Some(missing),
            true => claimant.filter(|c| task.is_held_against(c, now_ms)).map(|_| held),
        }
    }

    fn doc_fault(
        &self,
        doc: &DocId,
        claimant: Option<&str>,
        now_ms: u64,
        missing: Fault,
        held: Fault,
    ) -> Option<Fault> {
        let Some(found) = self.doc(doc) else { return Some(missing) };
        match found.version == doc.version {
            false => Some(missing),
            true => claimant.filter(|c| found.is_held_against(c, now_ms)).map(|_| held),
        }
    }

    /// Refuses a modification that cannot be done; returns which tasks and which documents to leave
    /// out.
    fn check(&mut self, of: &Modification, claimant: &str, now_ms: u64) -> Result<Skipped> {
        use Fault::{
            Change, ClaimedChange, ClaimedDelete, ClaimedDocChange, ClaimedDocDelete,
            ClaimedDocPut, Delete, Depend, DocChange, DocDelete, DocDepend, DocInsert, Insert,
        };
        let mut dependency = Dependency::default();
        let mut note = |fault: Option<Fault>, index: usize, version: u64| {
            if let Some(fault) = fault {
                dependency.note(of, Problem { fault, index, version });
            }
        };
        let mut skipped = Skipped::default();
        for (index, task) in of.inserts.iter().enumerate() {
            let found = task.id.as_ref().and_then(|id| self.find(id));
            match found {
                Some(_) if task.skip_colliding => skipped.tasks.push(index),
                Some((queue, slot)) => {
                    note(Some(Insert), index, self.queues[queue].record(slot).version);
                }
                None => {}
            }
        }
        let by = Some(claimant);
        for (index, TaskId { id, version }) in of.deletes.iter().enumerate() {
            note(self.fault(id, *version, by, now_ms, Delete, ClaimedDelete), index, 0);
        }
        for (index, change) in of.changes.iter().enumerate() {
            let TaskId { id, version } = &change.task;
            let fault = self.fault(id, *version, by, now_ms, Change, ClaimedChange);
            note(fault, index, 0);
        }
        for (index, TaskId { id, version }) in of.depends.iter().enumerate() {
            note(self.fault(id, *version, None, now_ms, Depend, Depend), index, 0);
        }
        for (index, new) in of.doc_inserts.iter().enumerate() {
            let id = new.id.as_deref().unwrap_or_default();
            let Some(found) = self.doc(&DocId::new(&new.namespace, id, 0)) else { continue };
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
            note(self.doc_fault(doc, by, now_ms, DocDelete, ClaimedDocDelete), index, 0);
        }
        for (index, change) in of.doc_changes.iter().enumerate() {
            let fault = self.doc_fault(&change.doc, by, now_ms, DocChange, ClaimedDocChange);
            note(fault, index, 0);
        }
        for (index, doc) in of.doc_depends.iter().enumerate() {
            note(self.doc_fault(doc, None, now_ms, DocDepend, DocDepend), index, 0);
        }
        dependency.into_result()?;
        Ok(skipped)
    }
}

/// What a modification leaves out, by its numbers, in ascending order.
#[derive(Default)]
struct Skipped {
    tasks: Vec<usize>,
    docs: Vec<usize>,
}

/// Which of the things that are sorted by name has this one.
fn position<T: Content>(things: &[Guard<'_, T>], name: &str) -> Option<usize> {
    things.binary_search_by(|thing| (**thing.name()).cmp(name)).ok()
}

/// Does what was checked.
struct Apply<'a> {
    holder: &'a Arc<str>,
    now_ms: u64,
}

impl Apply<'_> {
    fn apply(
        &self,
        of: &Modification,
        skipped: &Skipped,
        lock_set: &LockSet,
        locked: &mut Locked<'_>,
        changes: &mut Changes,
        announcements: &mut Announcements,
    ) -> Modified {
        const CHECKED: &str = "what was checked under the same locks is there";
        let mut done = Modified::default();
        for task in &of.deletes {
            let (queue, slot) = locked.find(&task.id).expect(CHECKED);
            let record = locked.queues[queue].remove(slot);
            locked.index.shard_of(&task.id).remove(&task.id);
            changes.task(tag::TASK_REMOVED, locked.queues[queue].name(), &record);
        }
        for change in &of.changes {
            let (from, slot) = locked.find(&change.task.id).expect(CHECKED);
            let to = position(&locked.queues, &change.queue).expect(CHECKED);
            let at_ms = change.at.resolve(self.now_ms);
            let before = locked.queues[from].record(slot);
            let only_time = before.value == change.value
                && before.err == change.err
                && before.attempt == change.attempt;
            let changed = |record: &mut Record| {
                record.version += 1;
                record.at_ms = at_ms;
                record.modified_ms = self.now_ms;
                record.claimant = self.holder(at_ms);
                record.unended = 0;
                record.attempt = change.attempt;
                record.err = shared(&change.err);
                record.value.clone_from(&change.value);
            };
            let name = locked.queues[to].name().clone();
            let slot = if from == to {
                let was_unended = before.unended > 0;
                let record = locked.queues[to].update(slot, changed);
                let tag = if only_time { tag::LEASE } else { tag::TASK };
                changes.task(tag, &name, record);
                if only_time && was_unended {
                    changes.task(tag::UNENDED, &name, record);
                }
                slot
            } else {
                let mut record = locked.queues[from].remove(slot);
                changes.task(tag::TASK_REMOVED, locked.queues[from].name(), &record);
                changed(&mut record);
                changes.task(tag::TASK, &name, &record);
                let id = record.id.clone();
                let slot = locked.queues[to].insert(record);
                locked
                    .index
                    .shard_of(&id)
                    .insert(id, Location { queue: lock_set.queues[to].clone(), slot });
                slot
            };
            announcements.note(to, at_ms, self.now_ms);
            done.changed.push(locked.queues[to].record(slot).to_task(&name, false));
        }
        for (index, new) in of.inserts.iter().enumerate() {
            if skipped.tasks.binary_search(&index).is_ok() {
                continue;
            }
            let to = position(&locked.queues, &new.queue).expect(CHECKED);
            let task = new.inserted(self.holder, self.now_ms);
            let record = Record::of(&task);
            changes.task(tag::TASK, locked.queues[to].name(), &record);
            let slot = locked.queues[to].insert(record);
            let location = Location { queue: lock_set.queues[to].clone(), slot };
            locked.index.shard_of(&task.id).insert(task.id.clone(), location);
            announcements.note(to, task.at_ms, self.now_ms);
            done.inserted.push(task);
        }
        self.apply_docs(of, skipped, locked, changes, &mut done);
        done
    }

    fn apply_docs(
        &self,
        of: &Modification,
        skipped: &Skipped,
        locked: &mut Locked<'_>,
        changes: &mut Changes,
        done: &mut Modified,
    ) {
        const CHECKED: &str = "the namespaces of a step are locked";
        for doc in &of.doc_deletes {
            let at = position(&locked.namespaces, &doc.namespace).expect(CHECKED);
            let removed = locked.namespaces[at].remove(&doc.id).expect("it was checked");
            changes.doc(tag::DOC_REMOVED, &removed);
        }
        for change in &of.doc_changes {
            let at = position(&locked.namespaces, &change.doc.namespace).expect(CHECKED);
            let before = locked.namespaces[at].get(&change.doc.id).expect("it was checked").clone();
            let at_ms = change.at.map_or(before.at_ms, |at| at.resolve(self.now_ms));
            let doc = self.changed_doc(before, at_ms, &change.content);
            let tag = if change.content.is_some() { tag::DOC } else { tag::DOC_LEASE };
            changes.doc(tag, &doc);
            locked.namespaces[at].put(doc.clone());
            done.changed_docs.push(doc);
        }
        for (index, new) in of.doc_inserts.iter().enumerate() {
            if skipped.docs.binary_search(&index).is_ok() {
                continue;
            }
            let at = position(&locked.namespaces, &new.namespace).expect(CHECKED);
            let id = new.id.as_deref().unwrap_or_default();
            let doc = match locked.namespaces[at].get(id).cloned() {
                Some(before) => {
                    let at_ms = before.at_ms;
                    self.changed_doc(before, at_ms, &new.content)
                }
                None => new.inserted(self.now_ms),
            };
            changes.doc(tag::DOC, &doc);
            locked.namespaces[at].put(doc.clone());
            done.inserted_docs.push(doc);
        }
    }

    /// The next version of a document, held until this time.
    fn changed_doc(&self, before: Doc, at_ms: u64, content: &Option<Arc<str>>) -> Doc {
        Doc {
            version: before.version + 1,
            at_ms,
            modified_ms: self.now_ms,
            claimant: self.holder(at_ms),
            content: content.clone().or(before.content),
            ..before
        }
    }

    /// Who holds something until this time after a change.
    fn holder(&self, at_ms: u64) -> Arc<str> {
        if at_ms > self.now_ms { self.holder.clone() } else { NOBODY.clone() }
    }
}
