//! A worker: how it works.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::{
    self, BACKOFF_DEFAULT, BACKOFF_MAX_DEFAULT, MAX_ATTEMPTS_DEFAULT, MAX_CRASHES_DEFAULT,
};

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, given, growing, lease, time_or, wait_time};
use crate::status::millpond_status;

/// How a worker works. `millpond_tasks_worker_options_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_tasks_worker_options {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// How long a task is leased; 30 seconds by default. A native thread renews it three times per
    /// lease. `MILLPOND_NOT_SET`: the default.
    pub lease_ms: i64,
    /// How long `jobs` waits for a task when none is available, instead of ending immediately. 0,
    /// the default, does not wait; -1 waits without limit.
    pub wait_ms: i64,
    /// How many milliseconds a task is delayed after its first failure; then twice as long each
    /// time, each time minus a random part of up to a half. `MILLPOND_NOT_SET`: the default,
    /// 30,000.
    pub backoff_ms: i64,
    /// How many milliseconds a failed task is delayed at most. `MILLPOND_NOT_SET`: the
    /// default, an hour.
    pub backoff_max_ms: i64,
    /// After this many attempts a task goes to the error queue; 20 by default; 0 means never.
    pub max_attempts: u32,
    /// After how many expired leases a task goes to the error queue and not to a handler, since it
    /// may be what crashes the workers; 3 by default; 0 means never. Every end of a job resets the
    /// count, including a retry and a release. So does every change of the task, such as a move
    /// back from the error queue. A process that ends takes all that it works on with it. So a task
    /// that was left twice in a row, or once if the next time would be the last, runs alone: the
    /// worker lets the jobs that it has end first, and works on nothing beside it. Until it begins,
    /// its lease does not count. So what was beside a task that crashes the workers is not put
    /// aside with it; with 1 it is. After one end, the task runs beside others again.
    pub max_crashes: u32,
    /// The queue for tasks that failed too often; by default, the name of the task's own queue
    /// followed by `/err`. NULL: the default.
    pub error_queue: millpond_bytes,
    /// How many jobs a run hands out at the same time to the threads that request them: 1 or more,
    /// by default 1.
    pub concurrency: u32,
    /// How many more jobs `run` leases ahead, so that one step leases several; 0, the default, for
    /// none. A stop gives back those that have not begun.
    pub prefetch: u32,
    /// How long a handler may work; without limit by default. `millpond_tasks_job_time_left_ms`
    /// returns the remaining time. `MILLPOND_NOT_SET`: the default.
    pub timeout_ms: i64,
    /// Sets how long a `drain` takes jobs: after this time it begins no other one, and returns when
    /// those that are running have ended. For a slice of a recruiter, give it the time that the
    /// slice has left. By default it goes on until nothing is available; for what the `rate` of a
    /// queue of events alone holds up, it waits. It does not matter to `run`. `MILLPOND_NOT_SET`:
    /// the default.
    pub budget_ms: i64,
}

growing! { millpond_tasks_worker_options { lease_ms: NOT_SET, backoff_ms: NOT_SET, backoff_max_ms: NOT_SET, max_attempts: MAX_ATTEMPTS_DEFAULT, max_crashes: MAX_CRASHES_DEFAULT, concurrency: 1, timeout_ms: NOT_SET, budget_ms: NOT_SET } }

impl millpond_tasks_worker_options {
    fn apply(&self, caller: &Caller, worker: tasks::Worker) -> Result<tasks::Worker> {
        let backoff = time_or("backoff_ms", self.backoff_ms, BACKOFF_DEFAULT)?;
        let backoff_max = time_or("backoff_max_ms", self.backoff_max_ms, BACKOFF_MAX_DEFAULT)?;
        let mut worker = worker
            .lease(lease(self.lease_ms)?)
            .backoff(backoff, backoff_max)
            .max_attempts(self.max_attempts)
            .max_crashes(self.max_crashes)
            .concurrency(self.concurrency as usize)
            .prefetch(self.prefetch as usize);
        if let Some(ms) = given("timeout_ms", self.timeout_ms)? {
            worker = worker.timeout(Duration::from_millis(ms));
        }
        if let Some(ms) = given("budget_ms", self.budget_ms)? {
            worker = worker.budget(Duration::from_millis(ms));
        }
        if let Some(wait) = wait_time(self.wait_ms)? {
            worker = worker.wait(wait);
        }
        if let Some(queue) = caller.optional_text(|| "error_queue".to_owned(), self.error_queue)? {
            worker = worker.error_queue(queue);
        }
        Ok(worker)
    }
}

/// Fills options with their defaults. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_worker_options_init(
    options: *mut millpond_tasks_worker_options,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}

/// Makes a worker for these queues, which renews the tasks that it works on, retries those that failed, and moves those
/// that failed too often to the error queue; `options` may be NULL.
///
/// `worker` is set to the worker, which the caller frees with `millpond_tasks_worker_free`, or on failure to NULL.
/// Sends nothing yet.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0, a `wait_ms` below -1, and a name that is not UTF-8. Other
/// limits are checked when it starts to work.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_worker_new(
    store: *mut millpond_tasks_store,
    queues: *const millpond_bytes,
    queue_count: usize,
    options: *const millpond_tasks_worker_options,
    worker: *mut *mut millpond_tasks_worker,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let made = caller.new_handle("worker", worker)?;
        let store = caller.held("store", store)?;
        let queues = caller.texts("queues", queues, queue_count)?;
        let options = caller.options("options", options)?;
        made.set(options.apply(&caller, store.worker(queues))?.into());
        Ok(())
    })
}

/// The jobs of a worker, one after another, for a loop that ends each one by a function of the job.
/// `millpond_close` on the client ends the wait for a job.
///
/// `jobs` is set to the loop, which the caller frees with `millpond_tasks_jobs_free`, or on failure
/// to NULL. Sends nothing yet.
///
///     millpond_tasks_job *job;
///     while (millpond_tasks_jobs_next(jobs, &job, &error) == MILLPOND_OK && job != NULL) {
///         const char *failure = work_on(millpond_tasks_job_data(job)->tasks);
///         status = failure == NULL
///             ? millpond_tasks_job_done(job, &error)
///             : millpond_tasks_job_fail(job, failure, strlen(failure), &error);
///         if (status == MILLPOND_LEASE_LOST)
///             millpond_error_free(error); // another claimant has the task
///         else if (status != MILLPOND_OK)
///             return failed(error);
///         millpond_tasks_job_free(job);
///     }
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_worker_jobs(
    worker: *mut millpond_tasks_worker,
    jobs: *mut *mut millpond_tasks_jobs,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let jobs = caller.new_handle("jobs", jobs)?;
        jobs.set(caller.held("worker", worker)?.worker.jobs().into());
        Ok(())
    })
}
