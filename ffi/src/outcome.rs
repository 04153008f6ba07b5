//! How a job ends, as its handler says.

use std::ptr;
use std::time::Duration;

use millpond::Result;
use millpond::tasks::{Failure, Modification};

use crate::caller::{Caller, invalid};
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, given};
use crate::tasks::millpond_tasks_modification;

/// What a handler says.
pub(crate) type Ending = std::result::Result<Option<Modification>, Failure>;

/// How a job of a worker ends. The job of a shuffle queue has a message in place of a task, and the job of a queue of
/// events has an event: these have no modification, and cannot be moved.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_task_end {
    /// It is deleted; a message is acknowledged.
    MILLPOND_TASK_DONE = 0,
    /// `modification` is applied, as by `millpond_tasks_job_finish`.
    MILLPOND_TASK_FINISH = 1,
    /// It is tried again, after `delay_ms` and for the reason `err`.
    MILLPOND_TASK_RETRY = 2,
    /// It is moved to `queue` for the reason `err`.
    MILLPOND_TASK_MOVE = 3,
    /// It is given back untried, and available after `delay_ms`.
    MILLPOND_TASK_RELEASE = 4,
    /// The work has failed with `err`: it is tried again later, or put aside if this was the last attempt.
    MILLPOND_TASK_FAIL = 5,
    /// It is put aside immediately, into the error queue or the dead letters, for the reason `err`: another attempt
    /// would not help.
    MILLPOND_TASK_REJECT = 6,
}

use millpond_task_end::*;

/// How a job is to end. It is set to "done" before a handler is called. What it points to must stay valid until that
/// handler is called again with this `context` (each thread can have its own), or until the worker's run is over; the
/// texts of the job's task do. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_outcome {
    /// A `millpond_task_end`.
    pub end: u32,
    /// What happens in the same step; the task is deleted unless the modification changes it.
    pub modification: *const millpond_tasks_modification,
    /// Why it failed.
    pub err: millpond_bytes,
    /// The queue that it is moved to.
    pub queue: millpond_bytes,
    /// How many milliseconds until it is tried again or available. `MILLPOND_NOT_SET`: as the
    /// worker's options say; for a release, a short random time.
    pub delay_ms: i64,
}

impl millpond_task_outcome {
    pub(crate) const DONE: Self = Self {
        end: MILLPOND_TASK_DONE as u32,
        modification: ptr::null(),
        err: millpond_bytes::NONE,
        queue: millpond_bytes::NONE,
        delay_ms: NOT_SET,
    };

    /// What a run takes. An invalid outcome is an error.
    pub(crate) fn read(&self, caller: &Caller) -> Result<Ending> {
        let text = |name: &str, bytes| caller.text(|| name.to_owned(), bytes).map(str::to_owned);
        const DONE: u32 = MILLPOND_TASK_DONE as u32;
        const FINISH: u32 = MILLPOND_TASK_FINISH as u32;
        const RETRY: u32 = MILLPOND_TASK_RETRY as u32;
        const MOVE: u32 = MILLPOND_TASK_MOVE as u32;
        const RELEASE: u32 = MILLPOND_TASK_RELEASE as u32;
        const FAIL: u32 = MILLPOND_TASK_FAIL as u32;
        const REJECT: u32 = MILLPOND_TASK_REJECT as u32;
        Ok(match self.end {
            DONE => Ok(None),
            FINISH => Ok(Some(caller.modification(self.modification)?)),
            FAIL => Err(Failure::Error(text("err", self.err)?)),
            REJECT => Err(Failure::Reject(text("err", self.err)?)),
            RETRY => Err(match given("delay_ms", self.delay_ms)? {
                None => Failure::Retry(text("err", self.err)?),
                Some(ms) => Failure::RetryAfter(text("err", self.err)?, Duration::from_millis(ms)),
            }),
            MOVE => Err(Failure::Move(text("queue", self.queue)?, text("err", self.err)?)),
            RELEASE => Err(match given("delay_ms", self.delay_ms)? {
                None => Failure::Release,
                Some(ms) => Failure::ReleaseAfter(Duration::from_millis(ms)),
            }),
            other => return Err(invalid(format!("end is {other}, which is no millpond_task_end"))),
        })
    }
}
