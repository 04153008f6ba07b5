//! Modifications: what is to happen to tasks and documents, all or nothing.

use std::ffi::c_char;

use millpond::Result;
use millpond::tasks::{Modification, NewTask};

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;
use crate::tasks::generated::millpond_tasks_modification;

impl Caller {
    /// The modification of a call.
    pub(super) fn modification(
        &self,
        modification: *const millpond_tasks_modification,
    ) -> Result<Modification> {
        self.structure("modification", modification)?.read(self, str::to_owned)
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
