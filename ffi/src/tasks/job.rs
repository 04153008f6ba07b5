//! A job: a task that is being worked on.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use millpond::Result;
use millpond::tasks::{self, Modified};

use super::result::{Parts, TasksResult, millpond_tasks_data, millpond_tasks_result};
use crate::caller::{self, Caller};
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::options::{given, wait_time};
use crate::status::millpond_status;

/// A task that is being worked on. A native thread renews it, and the documents that it claims,
/// three times a lease, so a busy program keeps them. A job ends by one of the calls that decide what
/// happens to the task (finish, done, fail, retry, move, release), which waits for a renewal that is
/// under way and happens to the newest versions. Freed with `millpond_tasks_job_free`; without one
/// of those calls the task stays leased until the lease is over.
///
/// It leases under a claimant of its own, the task's. So no two jobs hold the same task or document,
/// and only these calls can end its task: `millpond_tasks_modify` is refused for it.
///
/// Any number of threads may use one job at a time. In the child of a fork it returns
/// `MILLPOND_FORKED`.
pub struct millpond_tasks_job {
    _private: (),
}

/// What a handle of a job refers to.
pub(crate) struct Job {
    job: Box<tasks::Job>,
    task: TasksResult,
}

impl Job {
    pub(super) fn new(job: tasks::Job) -> Self {
        let task = Parts::tasks(std::slice::from_ref(job.task()));
        Self { job: Box::new(job), task }
    }

    pub(super) fn job(&self) -> &tasks::Job {
        &self.job
    }
}

/// The task, as it was claimed: one of `tasks`. Lives until the job is freed. NULL for NULL and for
/// a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_data(
    job: *const millpond_tasks_job,
) -> *const millpond_tasks_data {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    let data = || caller.held::<Job>("job", job).map(|job| job.task.data());
    caller.run_or(ptr::null(), || data().unwrap_or(ptr::null()))
}

/// The task's newest version, which renewals change; in the child of a fork, the one that was
/// claimed.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a job.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_version(
    job: *const millpond_tasks_job,
    version: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let version = caller.out("version", version, 0)?;
        version.set(caller.held::<Job>("job", job)?.job.handle().version);
        Ok(())
    })
}

/// Whether the lease is lost, because a renewal was refused or because none has succeeded for a
/// whole lease: stop working. What ends the job is refused then. Sends nothing.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a job.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_is_lost(
    job: *const millpond_tasks_job,
    lost: *mut bool,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        // A caller that ignores the status must not think that it is held.
        let lost = caller.out("lost", lost, true)?;
        lost.set(caller.held::<Job>("job", job)?.job.is_lost());
        Ok(())
    })
}

/// Leases all documents of a primary key while the job runs; no other job gets them meanwhile. What
/// ends the job releases them, unless it deletes them or sets until when they are held. If another
/// claimant holds one of them it waits up to `wait_ms` milliseconds, with 0 not at all and with -1
/// without limit. `millpond_close` on the client ends the wait. Waiters have no order: the claimant
/// that held the documents may get them again first.
///
/// `result` is set to them, by secondary key, which the caller frees with
/// `millpond_tasks_result_free`, or on failure to NULL.
///
/// Errors: as `millpond_tasks_claim_docs`; also `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1,
/// `MILLPOND_FORKED` in the child of a fork, `MILLPOND_LEASE_LOST` once the job has ended, and
/// `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it. After a `MILLPOND_DEPENDENCY` end the
/// job by `millpond_tasks_job_fail` with the error's message: that releases the task without counting
/// an attempt.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_claim_docs(
    job: *mut millpond_tasks_job,
    namespace_name: *const c_char,
    namespace_name_length: usize,
    key: *const c_char,
    key_length: usize,
    wait_ms: i64,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let job = caller.held::<Job>("job", job)?;
        let namespace = caller.namespace_name(namespace_name, namespace_name_length)?;
        let key = caller.key(key, key_length)?;
        let wait = wait_time(wait_ms)?.unwrap_or_default();
        result.set(Parts::docs(&job.job.claim_docs_within(namespace, key, wait)?));
        Ok(())
    })
}

/// Ends the job and schedules another attempt, with the reason in `err`; if that was the last
/// attempt, moves the task to the error queue. The delay is `delay_ms` milliseconds, or for
/// `MILLPOND_NOT_SET` as the worker's options say.
///
/// Errors: as `millpond_tasks_job_finish`.
///
/// Delivery: as `millpond_tasks_job_finish`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_retry(
    job: *mut millpond_tasks_job,
    err: *const c_char,
    err_length: usize,
    delay_ms: i64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    end(job, error, |caller, job| {
        let err =
            caller.text(|| "err".to_owned(), millpond_bytes { data: err, length: err_length })?;
        match given("delay_ms", delay_ms)? {
            None => job.retry(err),
            Some(delay_ms) => job.retry_after(err, Duration::from_millis(delay_ms)),
        }
    })
}

/// Ends the job and releases the task without counting an attempt, available after `delay_ms`
/// milliseconds; 0 is at once. For `MILLPOND_NOT_SET` it is a random time of 50 to 100, so that a task is not
/// claimed and released in a tight loop. It does not count for `max_claims` either.
///
/// Errors: as `millpond_tasks_job_finish`.
///
/// Delivery: as `millpond_tasks_job_finish`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_release(
    job: *mut millpond_tasks_job,
    delay_ms: i64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    end(job, error, |_, job| release(job, delay_ms))
}

pub(super) fn release(job: &tasks::Job, delay_ms: i64) -> Result<Modified> {
    match given("delay_ms", delay_ms)? {
        None => job.release(),
        Some(delay_ms) => job.release_after(Duration::from_millis(delay_ms)),
    }
}

/// A call that ends a job.
fn end(
    job: *mut millpond_tasks_job,
    error: *mut *mut millpond_error,
    end: impl FnOnce(&Caller, &tasks::Job) -> Result<Modified>,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || end(&caller, &caller.held::<Job>("job", job)?.job).map(drop))
}

/// Frees a job. The task of one that did not end stays leased until the lease is over, which is not
/// renewed any more. NULL and a job that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_free(job: *mut millpond_tasks_job) {
    caller::free::<Job>(job);
}
