//! Statistics of queues and of namespaces.

use millpond::Result;
use millpond::tasks::Filter;

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::status::millpond_status;
use crate::tasks::generated::millpond_tasks_filter;

impl Caller {
    fn filter(&self, filter: *const millpond_tasks_filter) -> Result<Filter> {
        self.options("filter", filter)?.read(self, str::to_owned)
    }
}

/// What is in the queues that hold tasks, by name: exact at one point in time for each queue, and
/// counted without reading the tasks. `filter` may be NULL.
///
/// `result` is set to the `queues`, which the caller frees with `millpond_tasks_result_free`, or on
/// failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
/// 100,000; else as `millpond_tasks_fetch`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_queue_stats(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        result.set(Parts::queues(&store.queue_stats(caller.filter(filter)?)?));
        Ok(())
    })
}

/// Whether none of these queues holds a task.
///
/// Errors: as `millpond_tasks_queue_stats`; also `MILLPOND_INVALID_ARGUMENT` for a filter that
/// names nothing.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_are_empty(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    empty: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let empty = caller.out("empty", empty, false)?;
        let store = caller.held::<Store>("store", store)?;
        empty.set(store.are_empty(caller.filter(filter)?)?);
        Ok(())
    })
}

/// What is in the namespaces that hold documents, by name. `filter` may be NULL.
///
/// `result` is set to the `namespaces`, which the caller frees with `millpond_tasks_result_free`,
/// or on failure to NULL.
///
/// Errors: as `millpond_tasks_queue_stats`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_namespace_stats(
    store: *mut millpond_tasks_store,
    filter: *const millpond_tasks_filter,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        result.set(Parts::namespaces(&store.namespace_stats(caller.filter(filter)?)?));
        Ok(())
    })
}
