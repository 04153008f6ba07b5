//! A worker.

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::status::millpond_status;

/// Makes a worker of a consumer, which takes messages, renews them while they are worked on, acknowledges them,
/// retries those that failed, and takes over the messages of consumers that are gone; `options` may be NULL. All
/// workers of a group should have the same lease.
///
/// `worker` is set to the worker, which the caller frees with `millpond_shuffle_worker_free`, or on failure to NULL.
/// Sends nothing yet.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0. Other limits are checked when it starts to work.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_worker_new(
    consumer: *mut millpond_shuffle_consumer,
    options: *const millpond_shuffle_worker_options,
    worker: *mut *mut millpond_shuffle_worker,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let made = caller.new_handle("worker", worker)?;
        let consumer = caller.held("consumer", consumer)?;
        let options = caller.options("options", options)?;
        made.set(options.read(&caller, consumer.worker())?.into());
        Ok(())
    })
}
