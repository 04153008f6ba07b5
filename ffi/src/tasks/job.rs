//! A job: a task that is being worked on.

use std::ops::Deref;
use std::ptr;

use millpond::{Result, tasks};

use super::{TasksResult, millpond_tasks_data, millpond_tasks_job};
use crate::caller::{Caller, read};
use crate::error::millpond_error;
use crate::exclusive::Own;
use crate::outcome::Ending;
use crate::report::Report;
use crate::status::millpond_status;

/// What a handle of a job refers to.
pub(crate) struct Job {
    job: Own<tasks::Job>,
    task: TasksResult,
}

impl From<tasks::Job> for Job {
    fn from(job: tasks::Job) -> Self {
        let task = vec![job.task().clone()].into();
        Self { job: job.into(), task }
    }
}

/// What is reported on a job.
pub(crate) type Reported = TasksResult;

/// What C sees of it.
pub(super) fn data(of: &Reported) -> *const millpond_tasks_data {
    &raw const of.data
}

impl From<millpond::Report<tasks::Job>> for Box<Report<Reported>> {
    fn from(report: millpond::Report<tasks::Job>) -> Self {
        let task = |job: &tasks::Job| vec![job.task().clone()].into();
        Report::new(report, task)
    }
}

/// How a run ends a job.
pub(super) fn ending(said: Ending) -> Result<Ending> {
    Ok(said)
}

impl Deref for Job {
    type Target = tasks::Job;

    fn deref(&self) -> &tasks::Job {
        &self.job
    }
}

/// The task, as it was claimed: one of `tasks`. Lives until the job is freed. NULL for NULL and for
/// a freed or invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_job_data(
    job: *const millpond_tasks_job,
) -> *const millpond_tasks_data {
    read(job, ptr::null(), |job| data(&job.task))
}

/// The task's newest version, which changes with each renewal; in the child of a fork, the version
/// that was claimed.
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
    caller.local(error, || {
        let version = caller.out("version", version, 0)?;
        version.set(caller.held("job", job)?.job.handle().version);
        Ok(())
    })
}
