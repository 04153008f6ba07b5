//! A worker with a handler, which is called with one job after the other.

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use millpond::Result;
use millpond::tasks::{Failure, Modification};

use super::job::Job;
use super::*;
use crate::caller::{Caller, invalid};
use crate::error::{self, millpond_error};
use crate::handle;
use crate::keys::millpond_bytes;
use crate::options::{NOT_SET, given};
use crate::status::millpond_status;

/// How a job ends.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_task_end {
    /// It is deleted.
    MILLPOND_TASK_DONE = 0,
    /// What `modification` says happens, as by `millpond_tasks_job_finish`.
    MILLPOND_TASK_FINISH = 1,
    /// It is tried again, as by `millpond_tasks_job_retry` with `err` and `delay_ms`.
    MILLPOND_TASK_RETRY = 2,
    /// It is moved, as by `millpond_tasks_job_move` with `queue` and `err`.
    MILLPOND_TASK_MOVE = 3,
    /// It is released without counting an attempt, as by `millpond_tasks_job_release` with `delay_ms`.
    MILLPOND_TASK_RELEASE = 4,
    /// The work has failed, as by `millpond_tasks_job_fail` with `err`.
    MILLPOND_TASK_FAIL = 5,
}

use millpond_task_end::*;

/// How a handler wants its job to end. It is set to "done" before the handler is called. What it
/// points to must stay valid until the handler is called again or `millpond_tasks_run` returns; the
/// texts of the job's task do.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_outcome {
    /// A `millpond_task_end`.
    pub end: u32,
    /// What happens instead of a delete.
    pub modification: *const millpond_tasks_modification,
    /// Why it failed.
    pub err: millpond_bytes,
    /// The queue that it moves to.
    pub queue: millpond_bytes,
    /// In how many milliseconds it is tried again or available. `MILLPOND_NOT_SET`: as the worker's
    /// options say, or of a release a short random time.
    pub delay_ms: i64,
}

impl millpond_task_outcome {
    const DONE: Self = Self {
        end: MILLPOND_TASK_DONE as u32,
        modification: ptr::null(),
        err: millpond_bytes::NONE,
        queue: millpond_bytes::NONE,
        delay_ms: NOT_SET,
    };

    fn read(
        &self,
        caller: &Caller,
        job: &millpond::tasks::Job,
    ) -> Result<std::result::Result<Modification, Failure>> {
        let text = |name: &str, bytes| caller.text(|| name.to_owned(), bytes).map(str::to_owned);
        const DONE: u32 = MILLPOND_TASK_DONE as u32;
        const FINISH: u32 = MILLPOND_TASK_FINISH as u32;
        const RETRY: u32 = MILLPOND_TASK_RETRY as u32;
        const MOVE: u32 = MILLPOND_TASK_MOVE as u32;
        const RELEASE: u32 = MILLPOND_TASK_RELEASE as u32;
        const FAIL: u32 = MILLPOND_TASK_FAIL as u32;
        Ok(match self.end {
            DONE => Ok(job.delete()),
            FINISH => Ok(caller.modification(self.modification)?),
            FAIL => Err(Failure::Error(text("err", self.err)?)),
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

/// Works on a job, and sets in `outcome` how it ends.
pub type millpond_task_handler = Option<
    unsafe extern "C" fn(
        job: *mut millpond_tasks_job,
        outcome: *mut millpond_task_outcome,
        context: *mut c_void,
    ),
>;

/// Works until there is nothing left to do and the wait is over: calls `handler`, on this thread,
/// with one job after the other and with `context`, and does to each what the handler says, unless
/// the handler ended it itself. If that cannot be done, because a modification is refused or
/// invalid, the job has failed: the task is released at once, unless its lease was lost, and
/// `on_error` of the options is called.
///
/// The handler must return (no longjmp, no exception), and may call Millpond. The job and its task
/// are there until what the handler says is done, and are freed then. For more threads run several.
///
///     static void resize(millpond_tasks_job *job, millpond_task_outcome *outcome, void *context) {
///         if (!resize_image(millpond_tasks_job_data(job)->tasks->value)) {
///             outcome->end = MILLPOND_TASK_FAIL;
///             outcome->err = (millpond_bytes){"no such image", 13};
///         }
///     }
///     status = millpond_tasks_run(store, &inbox, 1, NULL, resize, NULL, &error);
///
/// Errors: as `millpond_tasks_jobs_new` and `millpond_tasks_claim`; also
/// `MILLPOND_INVALID_ARGUMENT` for a `handler` that is NULL, and for an outcome that no job can
/// have, whose task stays leased until the lease is over.
///
/// Delivery: as `millpond_tasks_claim`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_run(
    store: *mut millpond_tasks_store,
    queues: *const millpond_bytes,
    queue_count: usize,
    options: *const millpond_tasks_worker_options,
    handler: millpond_task_handler,
    context: *mut c_void,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let handler = handler.ok_or_else(|| invalid("handler is NULL"))?;
        let store = caller.held("store", store)?;
        let queues = caller.texts("queues", queues, queue_count)?;
        let options = caller.options("options", options)?;
        let on_error = options.on_error;
        for job in options.apply(&caller, store.worker(queues))?.jobs() {
            let handle = handle::make(Job::from(job?));
            let job = caller.held("job", handle as *const millpond_tasks_job)?;
            let mut outcome = millpond_task_outcome::DONE;
            // SAFETY: the header says what a handler has to be; the job is there until it is freed.
            unsafe { handler(handle as *mut millpond_tasks_job, &raw mut outcome, context) };
            let ended = outcome.read(&caller, &job).and_then(|said| job.settle(said));
            if let (Ok(Some(refused)), Some(on_error)) = (&ended, on_error) {
                let error = handle::make(error::Failure::new(refused));
                // SAFETY: the header says what it has to be; the error is there until it is freed.
                unsafe {
                    on_error(
                        handle as *mut millpond_tasks_job,
                        error as *const millpond_error,
                        context,
                    );
                }
                handle::free::<error::Failure>(error);
            }
            handle::free::<Job>(handle);
            ended?;
        }
        Ok(())
    })
}
