//! A job: a message that is being worked on.

use std::ops::Deref;
use std::ptr;

use millpond::shuffle::{self, Failure};
use millpond::{Result, shuffle::Message};

use super::batch::Batch;
use super::{millpond_shuffle_job, millpond_shuffle_message};
use crate::caller::{invalid, read};
use crate::exclusive::Own;
use crate::outcome::Ending;
use crate::report::Report;

/// What a handle of a job refers to.
pub(crate) struct Job {
    job: Own<shuffle::Job>,
    message: Reported,
}

/// What is reported on a job: a batch of one message.
pub(crate) type Reported = Batch;

/// What C sees of it.
pub(super) fn data(of: &Reported) -> *const millpond_shuffle_message {
    of.list.as_ptr()
}

fn reported(job: &shuffle::Job) -> Reported {
    Batch::new(std::iter::once::<&Message>(job.message()))
}

impl From<shuffle::Job> for Job {
    fn from(job: shuffle::Job) -> Self {
        let message = reported(&job);
        Self { job: job.into(), message }
    }
}

impl From<millpond::Report<shuffle::Job>> for Box<Report<Reported>> {
    fn from(report: millpond::Report<shuffle::Job>) -> Self {
        Report::new(report, reported)
    }
}

/// How a run ends a job.
pub(super) fn ending(said: Ending) -> Result<std::result::Result<(), Failure>> {
    match said {
        Ok(Some(_)) => {
            Err(invalid("end is MILLPOND_TASK_FINISH, but a message has no modification"))
        }
        said => Ok(said.map(drop)),
    }
}

impl Deref for Job {
    type Target = shuffle::Job;

    fn deref(&self) -> &shuffle::Job {
        &self.job
    }
}

/// The message, as it was taken. Lives until the job is freed. NULL for NULL and for a freed or invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_job_data(
    job: *const millpond_shuffle_job,
) -> *const millpond_shuffle_message {
    read(job, ptr::null(), |job| data(&job.message))
}
