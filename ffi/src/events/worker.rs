//! A worker.

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::status::millpond_status;

/// Makes a worker of a queue, which receives events, renews them while they are worked on, and ends them; `options`
/// may be NULL.
///
/// `worker` is set to the worker, which the caller frees with `millpond_events_worker_free`, or on failure to NULL.
/// Sends nothing yet.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0. Other limits are checked when it starts to work.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_events_worker_new(
    queue: *mut millpond_events_queue,
    options: *const millpond_events_worker_options,
    worker: *mut *mut millpond_events_worker,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let made = caller.new_handle("worker", worker)?;
        let queue = caller.held("queue", queue)?;
        let options = caller.options("options", options)?;
        made.set(options.read(&caller, queue.worker())?.into());
        Ok(())
    })
}
