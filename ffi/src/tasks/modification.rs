//! Modifications: what is to happen to tasks and documents, all or nothing.

use std::ffi::c_char;

use millpond::Result;
use millpond::tasks::{Modification, NewTask};

use super::{millpond_tasks_result, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;
use crate::tasks::generated::millpond_tasks_modification;

impl Caller {
    /// The modification of a call.
    pub(crate) fn modification(
        &self,
        modification: *const millpond_tasks_modification,
    ) -> Result<Modification> {
        self.structure("modification", modification)?.read(self, str::to_owned)
    }
}

/// Inserts one task that is available immediately. `value` is its JSON text, or NULL for none.
///
/// `result` is set to the task, which the caller frees with `millpond_tasks_result_free`, or on
/// failure to NULL. `result` may be NULL.
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
        let store = caller.held("store", store)?;
        let queue = millpond_bytes { data: queue, length: queue_length };
        let value = millpond_bytes { data: value, length: value_length };
        let mut task = NewTask::new(caller.text(|| "queue".to_owned(), queue)?);
        if let Some(value) = caller.optional_text(|| "value".to_owned(), value)? {
            task = task.value(value);
        }
        let modified = store.modify(Modification::new().insert(task))?;
        if let Some(result) = result {
            result.set(modified.into());
        }
        Ok(())
    })
}
