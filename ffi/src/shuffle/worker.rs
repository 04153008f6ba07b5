//! A worker: how it works.

use std::time::Duration;

use millpond::Result;
use millpond::shuffle::{self, BACKOFF_DEFAULT, KEEP_CONSUMERS_DEFAULT, LEASE_DEFAULT};

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::options::{NOT_SET, c_bool, given, growing, time_or};
use crate::status::millpond_status;

/// How a worker works. `millpond_shuffle_worker_options_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_worker_options {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// How long other consumers do not reclaim a message; 1 minute by default. A native thread
    /// extends it three times per lease. `MILLPOND_NOT_SET`: the default.
    pub lease_ms: i64,
    /// How many milliseconds a message is delayed after its first failure; then twice as long with each delivery, each
    /// time minus a random part of up to a half, and never longer than the lease. `MILLPOND_NOT_SET`: the default,
    /// 30,000.
    pub backoff_ms: i64,
    /// The longest such delay, in milliseconds. `MILLPOND_NOT_SET`: the default, the lease.
    pub backoff_max_ms: i64,
    /// How long an idle consumer of the group that holds no message is kept; 1 hour by default.
    /// `MILLPOND_NOT_SET`: the default.
    pub keep_consumers_ms: i64,
    /// How long a handler may work; without limit by default. `millpond_shuffle_job_time_left_ms`
    /// returns the remaining time. `MILLPOND_NOT_SET`: the default.
    pub timeout_ms: i64,
    /// How many jobs a run hands out at the same time to the threads that request them: 1 or more,
    /// by default 1.
    pub concurrency: u32,
    /// How many more jobs `run` leases ahead, so that one step leases several; 0, the default, for
    /// none. A stop gives back those that have not begun.
    pub prefetch: u32,
    /// Whether messages that are done are deleted for all groups, which suits a queue with one
    /// group. By default they are only acknowledged.
    pub delete_done: c_bool,
    /// Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
    /// those that are running have ended. For a slice of a recruiter, give it the time that the
    /// slice has left. By default it goes on until nothing is available; for what the `rate` of a
    /// queue of events alone holds up, it waits. It does not matter to `run`. `MILLPOND_NOT_SET`:
    /// the default.
    pub budget_ms: i64,
}

growing! { millpond_shuffle_worker_options {
    lease_ms: NOT_SET, backoff_ms: NOT_SET, backoff_max_ms: NOT_SET, keep_consumers_ms: NOT_SET,
    timeout_ms: NOT_SET, budget_ms: NOT_SET, concurrency: 1,
} }

impl millpond_shuffle_worker_options {
    fn apply(&self, worker: shuffle::Worker) -> Result<shuffle::Worker> {
        let lease = time_or("lease_ms", self.lease_ms, LEASE_DEFAULT)?;
        let backoff = time_or("backoff_ms", self.backoff_ms, BACKOFF_DEFAULT)?;
        let kept = ("keep_consumers_ms", self.keep_consumers_ms);
        let mut worker = worker
            .lease(lease)
            .backoff(backoff, time_or("backoff_max_ms", self.backoff_max_ms, lease)?)
            .keep_consumers(time_or(kept.0, kept.1, KEEP_CONSUMERS_DEFAULT)?)
            .concurrency(self.concurrency as usize)
            .prefetch(self.prefetch as usize)
            .delete(self.delete_done.is_true());
        if let Some(ms) = given("timeout_ms", self.timeout_ms)? {
            worker = worker.timeout(Duration::from_millis(ms));
        }
        if let Some(ms) = given("budget_ms", self.budget_ms)? {
            worker = worker.budget(Duration::from_millis(ms));
        }
        Ok(worker)
    }
}

/// Fills options with their defaults. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_worker_options_init(
    options: *mut millpond_shuffle_worker_options,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}

/// Makes a worker of a consumer, which takes messages, extends them while they are worked on, acknowledges them,
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
        made.set(options.apply(consumer.worker())?.into());
        Ok(())
    })
}
