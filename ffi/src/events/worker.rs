//! A worker: how it works.

use std::time::Duration;

use millpond::{Result, events};

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, given, growing};
use crate::status::millpond_status;

/// How a worker works. `millpond_events_worker_options_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_events_worker_options {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// How many jobs a run hands out at the same time to the threads that request them: 1 or more,
    /// by default 1.
    pub concurrency: u32,
    /// How many more jobs `run` leases ahead, so that one step leases several; 0, the default, for
    /// none. A stop gives back those that have not begun.
    pub prefetch: u32,
    /// How long an event is leased; by default as long as the queue's configuration says. A native
    /// thread extends it three times per lease. `MILLPOND_NOT_SET`: the default.
    pub lease_ms: i64,
    /// Takes only events of this part of the key space, such as `-80`, `40-80` or `80-`, as
    /// `millpond_events_deliveries_new` do. If it does not consist of whole partitions, the run
    /// ends with `MILLPOND_INVALID_ARGUMENT`. NULL: the default.
    pub key_range: millpond_bytes,
    /// How long a handler may work; without limit by default. `millpond_events_job_time_left_ms`
    /// returns the remaining time. `MILLPOND_NOT_SET`: the default.
    pub timeout_ms: i64,
    /// Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
    /// those that are running have ended. For a slice of a recruiter, give it the time that the
    /// slice has left. By default it goes on until nothing is available; for what the `rate` of a
    /// queue of events alone holds up, it waits. It does not matter to `run`. `MILLPOND_NOT_SET`:
    /// the default.
    pub budget_ms: i64,
}

growing! { millpond_events_worker_options { lease_ms: NOT_SET, timeout_ms: NOT_SET, budget_ms: NOT_SET, concurrency: 1 } }

impl millpond_events_worker_options {
    fn apply(&self, worker: events::Worker, caller: &Caller) -> Result<events::Worker> {
        let mut worker =
            worker.concurrency(self.concurrency as usize).prefetch(self.prefetch as usize);
        if let Some(ms) = given("lease_ms", self.lease_ms)? {
            worker = worker.lease(Duration::from_millis(ms));
        }
        if let Some(ms) = given("timeout_ms", self.timeout_ms)? {
            worker = worker.timeout(Duration::from_millis(ms));
        }
        if let Some(ms) = given("budget_ms", self.budget_ms)? {
            worker = worker.budget(Duration::from_millis(ms));
        }
        if let Some(range) = caller.optional_text(|| "key_range".to_owned(), self.key_range)? {
            worker = worker.key_range(range);
        }
        Ok(worker)
    }
}

/// Fills options with their defaults. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_events_worker_options_init(
    options: *mut millpond_events_worker_options,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}

/// Makes a worker of a queue, which receives events, extends them while they are worked on, and ends them; `options`
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
        made.set(options.apply(queue.worker(), &caller)?.into());
        Ok(())
    })
}
