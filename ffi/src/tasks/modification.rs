//! Modifications: what is to happen to tasks and documents, all or nothing.

use std::ffi::c_char;
use std::ptr;

use millpond::Result;
use millpond::tasks::{Modification, NewTask};

use super::doc::{millpond_doc_change, millpond_doc_id, millpond_new_doc};
use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use super::task::{millpond_new_task, millpond_task_change, millpond_task_id};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::growing;
use crate::status::millpond_status;

/// Inserts, changes, deletes and dependencies on tasks and documents: all happen or none does. A
/// task or document may be named only once; at most 100,000 entries.
/// `millpond_tasks_modification_init` makes it empty; then set what is to happen.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_tasks_modification {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// Tasks to insert. Refused if a task of that id is there, in any queue.
    pub inserts: *const millpond_new_task,
    /// How many there are.
    pub insert_count: usize,
    /// Tasks to change. Refused if one is not there at that version, or held by another claimant.
    pub changes: *const millpond_task_change,
    /// How many there are.
    pub change_count: usize,
    /// Tasks to delete. Refused if one is not there at that version, or held by another claimant.
    pub deletes: *const millpond_task_id,
    /// How many there are.
    pub delete_count: usize,
    /// Tasks that have to be there at that version, claimed or not.
    pub depends: *const millpond_task_id,
    /// How many there are.
    pub depend_count: usize,
    /// Documents to insert. Refused if one of that id is there in its namespace; without an id of its
    /// own, if one of its keys is.
    pub doc_inserts: *const millpond_new_doc,
    /// How many there are.
    pub doc_insert_count: usize,
    /// Documents to insert, or whose content replaces that of the document of their id. Each needs a
    /// content; `skip_colliding` is ignored. Refused if another claimant holds the document, and as
    /// an id that is taken if it has other keys.
    pub doc_puts: *const millpond_new_doc,
    /// How many there are.
    pub doc_put_count: usize,
    /// Documents to change. Refused if one is not there at that version, or held by another
    /// claimant.
    pub doc_changes: *const millpond_doc_change,
    /// How many there are.
    pub doc_change_count: usize,
    /// Documents to delete. Refused if one is not there at that version, or held by another
    /// claimant.
    pub doc_deletes: *const millpond_doc_id,
    /// How many there are.
    pub doc_delete_count: usize,
    /// Documents that have to be there at that version, claimed or not.
    pub doc_depends: *const millpond_doc_id,
    /// How many there are.
    pub doc_depend_count: usize,
}

growing! {
    millpond_tasks_modification = Self {
        size: size_of::<Self>(),
        inserts: ptr::null(),
        insert_count: 0,
        changes: ptr::null(),
        change_count: 0,
        deletes: ptr::null(),
        delete_count: 0,
        depends: ptr::null(),
        depend_count: 0,
        doc_inserts: ptr::null(),
        doc_insert_count: 0,
        doc_puts: ptr::null(),
        doc_put_count: 0,
        doc_changes: ptr::null(),
        doc_change_count: 0,
        doc_deletes: ptr::null(),
        doc_delete_count: 0,
        doc_depends: ptr::null(),
        doc_depend_count: 0,
    };
}

/// Makes a modification empty.
///
///     millpond_tasks_modification modification;
///     millpond_tasks_modification_init(&modification, sizeof modification);
///     modification.deletes = &done;
///     modification.delete_count = 1;
///
/// Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_modification_init(
    modification: *mut millpond_tasks_modification,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(modification, size);
}

impl Caller {
    /// The modification of a call.
    pub(super) fn modification(
        &self,
        modification: *const millpond_tasks_modification,
    ) -> Result<Modification> {
        let given = self.structure("modification", modification)?;
        let mut read = Modification::new();

        let inserts = self.structures("inserts", given.inserts, given.insert_count)?;
        for (index, task) in inserts.enumerate() {
            read = read.insert(task?.read(self, |field| format!("inserts[{index}].{field}"))?);
        }
        let changes = self.structures("changes", given.changes, given.change_count)?;
        for (index, change) in changes.enumerate() {
            read = read.change(change?.read(self, |field| format!("changes[{index}].{field}"))?);
        }
        let deletes = self.task_ids("deletes", given.deletes, given.delete_count)?;
        read = deletes.into_iter().fold(read, Modification::delete);
        let depends = self.task_ids("depends", given.depends, given.depend_count)?;
        read = depends.into_iter().fold(read, Modification::depend);

        let inserts = self.structures("doc_inserts", given.doc_inserts, given.doc_insert_count)?;
        for (index, doc) in inserts.enumerate() {
            let of = |field: &str| format!("doc_inserts[{index}].{field}");
            read = read.insert_doc(doc?.read(self, of)?);
        }
        let puts = self.structures("doc_puts", given.doc_puts, given.doc_put_count)?;
        for (index, doc) in puts.enumerate() {
            read = read.put_doc(doc?.read(self, |field| format!("doc_puts[{index}].{field}"))?);
        }
        let changes = self.structures("doc_changes", given.doc_changes, given.doc_change_count)?;
        for (index, change) in changes.enumerate() {
            let of = |field: &str| format!("doc_changes[{index}].{field}");
            read = read.change_doc(change?.read(self, of)?);
        }
        let deletes = self.doc_ids("doc_deletes", given.doc_deletes, given.doc_delete_count)?;
        read = deletes.into_iter().fold(read, Modification::delete_doc);
        let depends = self.doc_ids("doc_depends", given.doc_depends, given.doc_depend_count)?;
        Ok(depends.into_iter().fold(read, Modification::depend_doc))
    }
}

/// Does all of a modification, or nothing. One that is empty succeeds.
///
/// `result` is set to the tasks and documents that were inserted and changed, in the order of the
/// modification and without those that were skipped; see `millpond_tasks_data`. The caller frees it
/// with `millpond_tasks_result_free`; on failure it is NULL. `result` may be NULL.
///
///     millpond_task_id done = {task->id, task->version};
///     millpond_tasks_modification modification;
///     millpond_tasks_modification_init(&modification, sizeof modification);
///     modification.deletes = &done;
///     modification.delete_count = 1;
///     status = millpond_tasks_modify(store, &modification, NULL, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for names, values and times beyond their limits, values that
/// are no JSON texts, and what is named twice, before anything is sent; `MILLPOND_DEPENDENCY` if
/// something is not as it has to be, with a list of all that is not (`millpond_error_dependency`);
/// then nothing has changed; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys
/// hold something else; those of the connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it is done as a whole or not at
/// all; `millpond_tasks_fetch` shows which. Sent again, what it changed or deleted is not there at
/// that version any more, so nothing is done twice unless it only inserts tasks; give those an id
/// of your own then.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_modify(
    store: *mut millpond_tasks_store,
    modification: *const millpond_tasks_modification,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.optional_handle(result);
        let store = caller.held::<Store>("store", store)?;
        let modified = store.modify(caller.modification(modification)?)?;
        if let Some(result) = result {
            result.set(Parts::modified(&modified));
        }
        Ok(())
    })
}

/// Inserts one task that is available at once. `value` is its JSON text, or NULL for none.
///
/// `result` is set to the task, which the caller frees with `millpond_tasks_result_free`, or on
/// failure to NULL. It may be NULL.
///
/// Errors: as `millpond_tasks_modify`.
///
/// Delivery: as `millpond_tasks_modify`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_insert(
    store: *mut millpond_tasks_store,
    queue: *const c_char,
    queue_length: usize,
    value: *const c_char,
    value_length: usize,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.optional_handle(result);
        let store = caller.held::<Store>("store", store)?;
        let queue = millpond_bytes { data: queue, length: queue_length };
        let value = millpond_bytes { data: value, length: value_length };
        let mut task = NewTask::new(caller.text(|| "queue".to_owned(), queue)?);
        if let Some(value) = caller.optional_text(|| "value".to_owned(), value)? {
            task = task.value(value);
        }
        let modified = store.modify(Modification::new().insert(task))?;
        if let Some(result) = result {
            result.set(Parts::modified(&modified));
        }
        Ok(())
    })
}
