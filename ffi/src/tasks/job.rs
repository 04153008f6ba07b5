//! A job: a task that is being worked on.

use std::ops::Deref;
use std::ptr;

use millpond::tasks;

use super::{TasksResult, millpond_tasks_data, millpond_tasks_job};
use crate::caller::{Caller, read};
use crate::error::millpond_error;
use crate::status::millpond_status;

/// What a handle of a job refers to.
pub(crate) struct Job {
    job: Box<tasks::Job>,
    task: TasksResult,
}

impl From<tasks::Job> for Job {
    fn from(job: tasks::Job) -> Self {
        let task = vec![job.task().clone()].into();
        Self { job: Box::new(job), task }
    }
}

impl Deref for Job {
    type Target = tasks::Job;

    fn deref(&self) -> &tasks::Job {
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
    read(job, ptr::null(), |job| &raw const job.task.data)
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
        version.set(caller.held("job", job)?.job.handle().version);
        Ok(())
    })
}
