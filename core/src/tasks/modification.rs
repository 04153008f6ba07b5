//! A modification: what happens to tasks and documents, completely or not at all.

use std::collections::HashSet;
use std::sync::Arc;

use super::doc::Collision;
use super::{DocChange, DocId, NewDoc, NewTask, TaskChange, TaskId, When};
use crate::error::{Result, ensure};
use crate::step::headers::Given;

/// The most entries of one modification.
pub const MODIFICATION_ENTRIES_MAX: usize = 100_000;

/// The most bytes of the values, contents, headers and `err` texts of one modification.
pub const MODIFICATION_BYTES_MAX: usize = 256 << 20;

/// Inserts, changes, deletes and dependencies on tasks and documents, for
/// [`TaskStore::modify`](super::TaskStore::modify): all of them apply or none does. At most
/// [`MODIFICATION_ENTRIES_MAX`](super::MODIFICATION_ENTRIES_MAX) entries; a task or document may be named only once.
///
/// ```
/// use millpond::tasks::{Modification, NewTask};
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// let task = store.insert("inbox", "1")?;
/// let done = store.modify(
///     Modification::new().delete(&task).insert(NewTask::new("outbox").value("2")),
/// )?;
/// assert_eq!(&*done.inserted[0].queue, "outbox");
/// assert!(store.modify(Modification::new().delete(&task)).is_err()); // it is gone
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Modification {
    pub(super) inserts: Vec<NewTask>,
    pub(super) changes: Vec<TaskChange>,
    pub(super) deletes: Vec<TaskId>,
    pub(super) depends: Vec<TaskId>,
    pub(super) doc_inserts: Vec<NewDoc>,
    pub(super) doc_changes: Vec<DocChange>,
    pub(super) doc_deletes: Vec<DocId>,
    pub(super) doc_depends: Vec<DocId>,
}

impl Modification {
    /// A modification that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Inserts a task. Refused if its id is taken: by a task in any queue, or by one that has ended and whose
    /// [deduplication window](NewTask::dedup_window) is not over.
    pub fn insert(mut self, task: NewTask) -> Self {
        self.inserts.push(task);
        self
    }

    /// Changes a task. Refused if it does not exist at that version, or if another claimant holds it.
    pub fn change(mut self, change: TaskChange) -> Self {
        self.changes.push(change);
        self
    }

    /// Deletes a task. Refused if it does not exist at that version, or if another claimant holds it.
    pub fn delete(mut self, task: impl Into<TaskId>) -> Self {
        self.deletes.push(task.into());
        self
    }

    /// Depends on a task. Refused if it does not exist at that version; who holds it does not matter.
    pub fn depend(mut self, task: impl Into<TaskId>) -> Self {
        self.depends.push(task.into());
        self
    }

    /// Inserts a document. Refused if one with that id exists in its namespace, or, without an explicit
    /// [id](NewDoc::id), if one with its keys does.
    pub fn insert_doc(mut self, doc: NewDoc) -> Self {
        self.doc_inserts.push(doc.with_id());
        self
    }

    /// Inserts a document, or replaces the content of the document with that id. The document must have a content.
    /// Refused if another claimant holds the existing document, and as a collision if that has other keys. The
    /// claimant that holds it stays the same. The result lists it among the inserted documents.
    ///
    /// In the modification that ends a [`Job`](super::Job), a put of a document that the job holds is a change: the
    /// document must be at the version that the job holds, is released, and is listed among the changed documents.
    pub fn put_doc(mut self, mut doc: NewDoc) -> Self {
        doc.collision = Collision::Replace;
        self.doc_inserts.push(doc.with_id());
        self
    }

    /// Changes a document. Refused if it does not exist at that version, or if another claimant holds it.
    pub fn change_doc(mut self, change: DocChange) -> Self {
        self.doc_changes.push(change);
        self
    }

    /// Deletes a document. Refused if it does not exist at that version, or if another claimant holds it.
    pub fn delete_doc(mut self, doc: impl Into<DocId>) -> Self {
        self.doc_deletes.push(doc.into());
        self
    }

    /// Depends on a document. Refused if it does not exist at that version; who holds it does not matter.
    pub fn depend_doc(mut self, doc: impl Into<DocId>) -> Self {
        self.doc_depends.push(doc.into());
        self
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.lengths().into_iter().sum()
    }

    /// The call that this is, as an error names it: each language makes an insert and a put by one of these.
    pub(super) fn operation(&self) -> &'static str {
        match (self.len(), &*self.inserts, &*self.doc_inserts) {
            (1, [_], _) => "tasks.insert",
            (1, _, [doc]) if doc.collision == Collision::Replace => "tasks.put_doc",
            _ => "tasks.modify",
        }
    }

    /// How many entries there are of each kind, in the order in which the script takes them.
    pub(super) fn lengths(&self) -> [usize; 8] {
        [
            self.inserts.len(),
            self.changes.len(),
            self.deletes.len(),
            self.depends.len(),
            self.doc_inserts.len(),
            self.doc_changes.len(),
            self.doc_deletes.len(),
            self.doc_depends.len(),
        ]
    }

    /// Deletes the task of a job, unless the modification already changes or deletes it.
    pub(super) fn end(&mut self, task: &TaskId) {
        let changed = self.changes.iter().map(|change| &change.task);
        if self.deletes.iter().chain(changed).any(|named| named.id == task.id) {
            return;
        }
        // Its version is part of the delete.
        self.depends.retain(|named| named.id != task.id);
        self.deletes.push(task.clone());
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives every task without an id one of these ids.
    pub(super) fn fill_ids(&mut self, mut new_id: impl FnMut() -> Arc<str>) {
        for task in &mut self.inserts {
            task.id.get_or_insert_with(&mut new_id);
        }
    }

    /// Sets the versions of what is held to the newest ones, since renewals may have raised them after the entries
    /// were made. A put of a held document becomes a change, so that the document must exist at the version that is
    /// held.
    pub(super) fn at_versions(&mut self, tasks: &[TaskId], docs: &[DocId]) {
        let of_changes = self.changes.iter_mut().map(|change| &mut change.task);
        for task in of_changes.chain(&mut self.deletes).chain(&mut self.depends) {
            if let Some(held) = tasks.iter().find(|held| held.id == task.id) {
                task.version = held.version;
            }
        }
        let held_of = |new: &NewDoc| {
            let is_it = |held: &&DocId| {
                held.namespace == new.namespace && Some(&held.id) == new.id.as_ref()
            };
            docs.iter().find(is_it).filter(|_| new.collision == Collision::Replace)
        };
        let puts = self.doc_inserts.extract_if(.., |new| held_of(new).is_some());
        self.doc_changes.extend(puts.filter_map(|put| {
            let doc = held_of(&put)?.clone();
            Some(DocChange { content: put.content, ..DocChange::new(doc) })
        }));
        let of_changes = self.doc_changes.iter_mut().map(|change| &mut change.doc);
        for doc in of_changes.chain(&mut self.doc_deletes).chain(&mut self.doc_depends) {
            if let Some(held) = docs.iter().find(|held| held.is_same(doc)) {
                doc.version = held.version;
            }
        }
    }

    /// Releases these documents, except those that are deleted or for which a change sets until when they are held.
    pub(super) fn release_docs(&mut self, held: &[DocId]) {
        let is_held = |doc: &DocId| held.iter().any(|held| held.is_same(doc));
        let depends = self.doc_depends.extract_if(.., |doc| is_held(doc)).map(DocChange::new);
        self.doc_changes.extend(depends);
        let unnamed = held.iter().filter(|doc| !self.names_doc(doc)).cloned().map(DocChange::new);
        self.doc_changes.extend(unnamed.collect::<Vec<_>>());
        for change in self.doc_changes.iter_mut().filter(|change| is_held(&change.doc)) {
            change.at.get_or_insert(When::Now);
        }
    }

    /// Whether it has an entry for this document.
    fn names_doc(&self, doc: &DocId) -> bool {
        let changed = self.doc_changes.iter().map(|change| &change.doc);
        let mut named = changed.chain(&self.doc_deletes).chain(&self.doc_depends);
        named.any(|known| known.is_same(doc))
    }

    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let headers = |given: &Given| given.headers().packed().len();
        let inserts = self.inserts.iter();
        let inserts =
            inserts.map(|task| length(&task.value) + task.err.len() + headers(&task.headers));
        let changes = self.changes.iter().map(|task| {
            length(&task.value) + task.err.len() + task.headers.as_ref().map_or(0, headers)
        });
        let doc_inserts = self.doc_inserts.iter().map(|doc| length(&doc.content));
        let doc_changes = self.doc_changes.iter().map(|doc| length(&doc.content));
        inserts.chain(changes).chain(doc_inserts).chain(doc_changes).sum()
    }

    /// Refuses an invalid modification.
    pub(super) fn check(&self) -> Result<()> {
        let (len, bytes) = (self.len(), self.bytes());
        ensure!(
            len <= MODIFICATION_ENTRIES_MAX,
            "the modification has {len} entries; {MODIFICATION_ENTRIES_MAX} are allowed"
        );
        ensure!(
            bytes <= MODIFICATION_BYTES_MAX,
            "the modification has {bytes} bytes; {MODIFICATION_BYTES_MAX} are allowed"
        );
        self.inserts.iter().try_for_each(NewTask::check)?;
        self.changes.iter().try_for_each(TaskChange::check)?;
        let handles = || self.deletes.iter().chain(&self.depends);
        handles().try_for_each(TaskId::check)?;
        self.doc_inserts.iter().try_for_each(NewDoc::check)?;
        self.doc_changes.iter().try_for_each(DocChange::check)?;
        let doc_handles = || self.doc_deletes.iter().chain(&self.doc_depends);
        doc_handles().try_for_each(DocId::check)?;

        if len < 2 {
            return Ok(());
        }
        let mut tasks = HashSet::new();
        let inserted = self.inserts.iter().filter_map(|task| task.id.as_ref());
        let named = self.changes.iter().map(|change| &change.task).chain(handles());
        for id in inserted.chain(named.map(|task| &task.id)) {
            ensure!(tasks.insert(id), "task {id} is named twice");
        }
        let mut docs = HashSet::new();
        let inserted =
            self.doc_inserts.iter().filter_map(|doc| Some((&doc.namespace, doc.id.as_ref()?)));
        let named = self.doc_changes.iter().map(|change| &change.doc).chain(doc_handles());
        for (namespace, id) in inserted.chain(named.map(|doc| (&doc.namespace, &doc.id))) {
            ensure!(docs.insert((namespace, id)), "document {namespace}/{id} is named twice");
        }
        Ok(())
    }
}
