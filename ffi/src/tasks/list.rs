//! Tasks by their ids, and the tasks of a queue, page by page.

use std::ffi::c_char;

use millpond::Result;
use millpond::tasks::{Position, TaskQuery};

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, c_bool, given, growing};
use crate::status::millpond_status;

/// Where a task stands in the total order of its queue: by time, and by id where that is the same.
/// Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_position {
    /// The task's id.
    pub id: millpond_bytes,
    /// The task's `at_ms`.
    pub at_ms: u64,
}

/// Which tasks of a queue to list. `millpond_task_query_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_query {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The page after this position, as the `next` of the page before. NULL: the first.
    pub after: *const millpond_task_position,
    /// How many tasks to read: at most 10,000. `MILLPOND_NOT_SET`: the default, 1,000.
    pub limit: i64,
    /// Only tasks that are this claimant's or available. A page may hold fewer tasks then, or none,
    /// and still have a next one. NULL: not set.
    pub claimant: millpond_bytes,
    /// Whether to leave the values out.
    pub omit_values: c_bool,
}

growing! {
    millpond_task_query = Self {
        size: size_of::<Self>(),
        after: std::ptr::null(),
        limit: NOT_SET,
        claimant: millpond_bytes::NONE,
        omit_values: c_bool::FALSE,
    };
}

impl millpond_task_query {
    fn read(&self, caller: &Caller) -> Result<TaskQuery> {
        let mut query = TaskQuery::new();
        let count = usize::from(!self.after.is_null());
        if let [after] = caller.array(|| "after".to_owned(), self.after, count)? {
            let id = caller.text(|| "after.id".to_owned(), after.id)?.into();
            query = query.after(Position { at_ms: after.at_ms, id });
        }
        if let Some(limit) = given("limit", self.limit)? {
            query = query.limit(limit);
        }
        if let Some(claimant) = caller.optional_text(|| "claimant".to_owned(), self.claimant)? {
            query = query.claimant(claimant);
        }
        Ok(match self.omit_values.is_true() {
            true => query.omit_values(),
            false => query,
        })
    }
}

/// Fills a query with its defaults. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_task_query_init(query: *mut millpond_task_query, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(query, size);
}

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
        let query = caller.options("query", query)?.read(&caller)?;
        result.set(Parts::task_page(store.list(queue, query)?));
        Ok(())
    })
}
