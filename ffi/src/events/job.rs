//! A job: an event that is being worked on.

use std::ops::Deref;
use std::ptr;

use millpond::Result;
use millpond::events::{self, Failure};

use super::{EventsResult, millpond_events_data, millpond_events_job};
use crate::caller::{invalid, read};
use crate::exclusive::Own;
use crate::outcome::Ending;
use crate::report::Report;

/// What a handle of a job refers to.
pub(crate) struct Job {
    job: Own<events::Job>,
    event: EventsResult,
}

impl From<events::Job> for Job {
    fn from(job: events::Job) -> Self {
        let event = vec![job.event().clone()].into();
        Self { job: job.into(), event }
    }
}

/// What is reported on a job.
pub(crate) type Reported = EventsResult;

/// What C sees of it.
pub(super) fn data(of: &Reported) -> *const millpond_events_data {
    &raw const of.data
}

impl From<millpond::Report<events::Job>> for Box<Report<Reported>> {
    fn from(report: millpond::Report<events::Job>) -> Self {
        let event = |job: &events::Job| vec![job.event().clone()].into();
        Report::new(report, event)
    }
}

/// How a run ends a job.
pub(super) fn ending(said: Ending) -> Result<std::result::Result<(), Failure>> {
    match said {
        Ok(Some(_)) => {
            Err(invalid("end is MILLPOND_TASK_FINISH, but an event has no modification"))
        }
        said => Ok(said.map(drop)),
    }
}

impl Deref for Job {
    type Target = events::Job;

    fn deref(&self) -> &events::Job {
        &self.job
    }
}

/// The event, as it was received: one of `events`. Lives until the job is freed. NULL for NULL and for a freed or
/// invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_events_job_data(
    job: *const millpond_events_job,
) -> *const millpond_events_data {
    read(job, ptr::null(), |job| data(&job.event))
}
