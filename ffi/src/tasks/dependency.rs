//! Why a modification was refused.

use std::ptr;

use millpond::tasks::{Dependency, DocId, TaskId};

use crate::caller::Caller;
use crate::error::{Failure, millpond_error};
use crate::keys::own;
use crate::tasks::generated::{millpond_doc_id, millpond_task_id};

/// Why a modification was refused, all of it. Nothing was done. Lives as long as the error.
#[repr(C)]
pub struct millpond_tasks_dependency {
    /// Tasks to insert whose id is taken, with the current version.
    pub inserts: *const millpond_task_id,
    /// How many there are.
    pub insert_count: usize,
    /// Tasks to change that are missing at the given version.
    pub changes: *const millpond_task_id,
    /// How many there are.
    pub change_count: usize,
    /// Tasks to delete that are missing at the given version.
    pub deletes: *const millpond_task_id,
    /// How many there are.
    pub delete_count: usize,
    /// Tasks to depend on that are missing at the given version.
    pub depends: *const millpond_task_id,
    /// How many there are.
    pub depend_count: usize,
    /// Tasks to delete or to change that another claimant holds.
    pub claims: *const millpond_task_id,
    /// How many there are.
    pub claim_count: usize,
    /// Documents to insert whose id is taken, with the current version.
    pub doc_inserts: *const millpond_doc_id,
    /// How many there are.
    pub doc_insert_count: usize,
    /// Documents to change that are missing at the given version.
    pub doc_changes: *const millpond_doc_id,
    /// How many there are.
    pub doc_change_count: usize,
    /// Documents to delete that are missing at the given version.
    pub doc_deletes: *const millpond_doc_id,
    /// How many there are.
    pub doc_delete_count: usize,
    /// Documents to depend on that are missing at the given version.
    pub doc_depends: *const millpond_doc_id,
    /// How many there are.
    pub doc_depend_count: usize,
    /// Documents to delete, to change or to claim that another claimant holds.
    pub doc_claims: *const millpond_doc_id,
    /// How many there are.
    pub doc_claim_count: usize,
    /// Whether a task is missing at the given version.
    pub has_missing: bool,
    /// Whether a document is missing at the given version.
    pub has_missing_docs: bool,
    /// Whether another claimant holds a task.
    pub has_claims: bool,
    /// Whether another claimant holds a document.
    pub has_claimed_docs: bool,
    /// Whether an id is taken.
    pub has_collisions: bool,
    /// Whether the only problem is that others hold something: the same can succeed later.
    pub only_claims: bool,
}

/// What an error holds of it.
pub(crate) struct Refusal {
    lists: millpond_tasks_dependency,
    /// What the lists point to.
    _tasks: [Box<[millpond_task_id]>; 5],
    _docs: [Box<[millpond_doc_id]>; 5],
    _dependency: Dependency,
}

// SAFETY: the pointers point into its other parts, which nobody changes or moves.
unsafe impl Send for Refusal {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Refusal {}

impl Refusal {
    pub(crate) fn new(dependency: &Dependency) -> Box<Self> {
        // Its texts are shared, and so do not move.
        let dependency = dependency.clone();
        let tasks = |ids: &[TaskId]| -> Box<[_]> {
            ids.iter().map(|id| millpond_task_id::new(id, own)).collect()
        };
        let docs = |ids: &[DocId]| -> Box<[_]> {
            ids.iter().map(|id| millpond_doc_id::new(id, own)).collect()
        };
        let tasks = [
            &dependency.inserts,
            &dependency.changes,
            &dependency.deletes,
            &dependency.depends,
            &dependency.claims,
        ]
        .map(|ids| tasks(ids));
        let docs = [
            &dependency.doc_inserts,
            &dependency.doc_changes,
            &dependency.doc_deletes,
            &dependency.doc_depends,
            &dependency.doc_claims,
        ]
        .map(|ids| docs(ids));
        let [inserts, changes, deletes, depends, claims] = &tasks;
        let [doc_inserts, doc_changes, doc_deletes, doc_depends, doc_claims] = &docs;
        let lists = millpond_tasks_dependency {
            inserts: inserts.as_ptr(),
            insert_count: inserts.len(),
            changes: changes.as_ptr(),
            change_count: changes.len(),
            deletes: deletes.as_ptr(),
            delete_count: deletes.len(),
            depends: depends.as_ptr(),
            depend_count: depends.len(),
            claims: claims.as_ptr(),
            claim_count: claims.len(),
            doc_inserts: doc_inserts.as_ptr(),
            doc_insert_count: doc_inserts.len(),
            doc_changes: doc_changes.as_ptr(),
            doc_change_count: doc_changes.len(),
            doc_deletes: doc_deletes.as_ptr(),
            doc_delete_count: doc_deletes.len(),
            doc_depends: doc_depends.as_ptr(),
            doc_depend_count: doc_depends.len(),
            doc_claims: doc_claims.as_ptr(),
            doc_claim_count: doc_claims.len(),
            has_missing: dependency.has_missing(),
            has_missing_docs: dependency.has_missing_docs(),
            has_claims: dependency.has_claims(),
            has_claimed_docs: dependency.has_claimed_docs(),
            has_collisions: dependency.has_collisions(),
            only_claims: dependency.only_claims(),
        };
        Box::new(Self { lists, _tasks: tasks, _docs: docs, _dependency: dependency })
    }

    fn lists(&self) -> *const millpond_tasks_dependency {
        &raw const self.lists
    }
}

/// The list of all that is not as a modification says; NULL for an error that is not
/// `MILLPOND_DEPENDENCY`. Lives until the error is freed.
///
///     const millpond_tasks_dependency *refused = millpond_error_dependency(error);
///     if (refused != NULL && refused->only_claims)
///         puts("somebody else holds it: later, then");
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_dependency(
    error: *const millpond_error,
) -> *const millpond_tasks_dependency {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    let lists = || {
        let failure = caller.held::<Failure>("error", error).ok()?;
        failure.refusal().map(Refusal::lists)
    };
    caller.run_or(ptr::null(), || lists().unwrap_or(ptr::null()))
}
