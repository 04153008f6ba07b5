//! A worker.

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

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
        made.set(options.read(&caller, store.worker(queues))?.into());
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
