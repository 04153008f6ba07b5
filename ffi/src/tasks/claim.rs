//! Claims of one call.

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{lease, wait_time};
use crate::status::millpond_status;

/// Leases up to `max` available tasks of these queues for `lease_ms` milliseconds (`MILLPOND_NOT_SET` is 30,000). Of
/// each queue one of the oldest is picked at random, the oldest with a probability of one half, so that a task that
/// fails repeatedly does not block the others; the order of the queues is random too. With a `wait_ms` of 0 it returns
/// immediately. Otherwise, if no task is available, it waits up to `wait_ms` milliseconds, or without limit for -1; it
/// does not poll. `millpond_close` on the client ends the wait.
///
/// `result` is set to the tasks, which the caller frees with `millpond_tasks_result_free`. It is
/// set to NULL on failure, and also on success if there are no tasks.
///
///     millpond_bytes inbox = {"inbox", 5};
///     millpond_tasks_result *result;
///     status = millpond_tasks_claim(store, &inbox, 1, MILLPOND_NOT_SET, 1, 0, &result, &error);
///     if (status == MILLPOND_OK && result == NULL)
///         puts("nothing to do");
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for no queue or more than 1,000, names beyond their limits,
/// a lease below 0 or above 100 years, a `max` of 0 or above 1,000, and a `wait_ms` below -1;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
/// `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the client
/// was closed; those of the connection.
///
/// Delivery: at least once. A task is available again when its lease expires, unless it was deleted
/// or changed before. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT`, tasks may be leased
/// that no caller received.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claim(
    store: *mut millpond_tasks_store,
    queues: *const millpond_bytes,
    queue_count: usize,
    lease_ms: i64,
    max: usize,
    wait_ms: i64,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held("store", store)?;
        let queues = caller.texts("queues", queues, queue_count)?;
        let mut claims = store.claims(queues).lease(lease(lease_ms)?).max(max);
        if let Some(wait) = wait_time(wait_ms)? {
            claims = claims.wait(wait);
        }
        if let Some(tasks) = claims.next().transpose()? {
            result.set(tasks.into());
        }
        Ok(())
    })
}
