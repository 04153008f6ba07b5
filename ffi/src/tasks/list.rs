//! Tasks by their ids, and the tasks of a queue, page by page.

use std::ffi::c_char;

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;
use crate::tasks::generated::millpond_task_query;

/// The tasks of these ids, from any queue, in the same order; missing ones are left out.
///
/// `result` is set to them, which the caller frees with `millpond_tasks_result_free`, or on failure
/// to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for no id, more than 10,000 and ids beyond their limits;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those
/// of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_fetch(
    store: *mut millpond_tasks_store,
    ids: *const millpond_bytes,
    id_count: usize,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        result.set(Parts::tasks(&store.fetch(caller.texts("ids", ids, id_count)?)?));
        Ok(())
    })
}

/// A page of a queue's tasks, by time and id; `query` may be NULL. Pages are not one snapshot: a
/// task that is claimed between two pages may be on both or on none.
///
/// `result` is set to it, with what the `next` page comes after; the caller frees it with
/// `millpond_tasks_result_free`. On failure it is NULL.
///
///     const millpond_tasks_data *data = millpond_tasks_result_data(result);
///     query.after = data->next; // the result has to be there until the next page is
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
/// 10,000; else as `millpond_tasks_fetch`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_list(
    store: *mut millpond_tasks_store,
    queue: *const c_char,
    queue_length: usize,
    query: *const millpond_task_query,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let queue = millpond_bytes { data: queue, length: queue_length };
        let queue = caller.text(|| "queue".to_owned(), queue)?;
        let query = caller.options("query", query)?.read(&caller, str::to_owned)?;
        result.set(Parts::task_page(store.list(queue, query)?));
        Ok(())
    })
}
