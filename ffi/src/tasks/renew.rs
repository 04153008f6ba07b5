//! Renew: extend the leases of tasks and documents.

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::options::lease;
use crate::status::millpond_status;

/// Renews the leases of tasks and documents for `lease_ms` milliseconds (`MILLPOND_NOT_SET` is
/// 30,000) from now, all of them or none.
///
/// `task_versions` and `doc_versions` receive one new version for each task and document, in
/// the same order. `cancelled` receives for each task whether it was cancelled, and `at_ms` the
/// time until which all are held, in milliseconds since the Unix epoch. Each may be NULL. On
/// failure no versions are written, so a new version may be written where the old one was read
/// from.
///
///     millpond_task_id held = {task->id, task->version};
///     status = millpond_tasks_renew(store, &held, 1, NULL, 0, 60000, &held.version, NULL, NULL,
///                                   NULL, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for nothing to renew, more than 100,000 entries, and a
/// task or document that is named twice; `MILLPOND_DEPENDENCY` if one of them does not exist at
/// that version or another claimant holds it, in which case nothing has changed; those of the
/// connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` all may have been renewed,
/// at versions that no caller received.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_renew(
    store: *mut millpond_tasks_store,
    tasks: *const millpond_task_id,
    task_count: usize,
    docs: *const millpond_doc_id,
    doc_count: usize,
    lease_ms: i64,
    task_versions: *mut u64,
    doc_versions: *mut u64,
    cancelled: *mut bool,
    at_ms: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let store = caller.held("store", store)?;
        let tasks = caller.list("tasks", tasks, task_count)?;
        let docs = caller.list("docs", docs, doc_count)?;
        let renewed = store.renew(tasks, docs, lease(lease_ms)?)?;
        let versions = renewed.tasks.iter().map(|task| task.version);
        caller.optional_out_array(task_versions, task_count, 0).set(versions);
        let versions = renewed.docs.iter().map(|doc| doc.version);
        caller.optional_out_array(doc_versions, doc_count, 0).set(versions);
        caller.optional_out(at_ms, renewed.at_ms);
        let flags = renewed.tasks.iter().map(|task| renewed.cancelled.contains(&task.id));
        caller.optional_out_array(cancelled, task_count, false).set(flags);
        Ok(())
    })
}
