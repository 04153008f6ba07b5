//! The workers of {{ words }}, and their runs.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use millpond::{{ queue }}::{self, Failure, Run};
use millpond::{ErrorKind, RunEvent, Result};

use super::job::{Job, Reported, data, ending};
use super::*;
use crate::caller::{self, Caller, invalid};
use crate::error::millpond_error;
use crate::exclusive::Own;
use crate::handle;
use crate::options::time_limit;
use crate::outcome::millpond_task_outcome;
use crate::report::{Report, millpond_job_counts, millpond_report_data};
use crate::signal_stop::SignalStop;
use crate::status::millpond_status;

/// A worker, which says how {{ items }} are worked on: with `millpond_{{ queue }}_worker_run` until it is stopped, or
/// with `millpond_{{ queue }}_worker_drain` until nothing is left. Freed with `millpond_{{ queue }}_worker_free`.
///
/// Any number of threads may use one worker at a time.
pub struct millpond_{{ queue }}_worker {
    _private: (),
}

/// What a handle of a worker refers to.
pub(crate) struct Worker {
    pub(super) worker: {{ queue }}::Worker,
    /// The run of the threads that are in `millpond_{{ queue }}_worker_run`.
    run: ArcSwapOption<Own<Run>>,
    signals: ArcSwapOption<Own<SignalStop>>,
}

impl From<{{ queue }}::Worker> for Box<Worker> {
    fn from(worker: {{ queue }}::Worker) -> Self {
        Self::new(Worker { worker, run: ArcSwapOption::empty(), signals: ArcSwapOption::empty() })
    }
}

impl Worker {
    fn begin(&self, drains: bool, tells_all: bool) -> Run {
        match drains {
            true => self.worker.start_drain(),
            false => self.worker.clone().tell_all(tells_all).start(),
        }
    }

    /// The run that the threads of this process share.
    fn shared_run(&self, tells_all: bool) -> Arc<Own<Run>> {
        loop {
            let run = self.run.load_full();
            if let Some(run) = run.as_ref().filter(|run| run.is_own()) {
                return run.clone();
            }
            self.run.compare_and_swap(&run, Some(Arc::new(self.begin(false, tells_all).into())));
        }
    }

    /// The next call starts another run.
    fn is_over(&self, run: &Arc<Own<Run>>) {
        self.run.compare_and_swap(run, None);
    }
}

/// Frees a worker. NULL and what was freed before are fine. Runs and jobs that were created from the worker stay
/// usable, but can no longer be stopped.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_free(worker: *mut millpond_{{ queue }}_worker) {
    caller::free(worker);
}

/// Starts a run, for a loop of your own in place of `millpond_{{ queue }}_worker_run`. With `drains` the run is over
/// when nothing is available, and everything is reported. Otherwise the run continues until the worker is stopped; with
/// `tells_all` it also reports what went well: jobs that are done, given back or moved.
///
/// `run` is set to the run, which the caller frees with `millpond_{{ queue }}_run_free`, or on failure to NULL. Sends
/// nothing yet.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a worker.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_start(
    worker: *mut millpond_{{ queue }}_worker,
    drains: bool,
    tells_all: bool,
    run: *mut *mut millpond_{{ queue }}_run,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let run = caller.new_handle("run", run)?;
        run.set(caller.held("worker", worker)?.begin(drains, tells_all).into());
        Ok(())
    })
}

/// Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
/// after `within_ms` is given back and available immediately, and is lost to its handler. 0 stops immediately; -1 waits
/// without limit. A second stop changes the time. A stopped worker stays stopped. Returns immediately.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1.
///
/// Threads: any, but not from a signal handler, which must not wait for a lock: for signals there is
/// `millpond_{{ queue }}_worker_stop_on_signals`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_stop(
    worker: *mut millpond_{{ queue }}_worker,
    within_ms: i64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let within = time_limit("within_ms", within_ms)?;
        caller.held("worker", worker)?.worker.stop(within);
        Ok(())
    })
}

/// Makes SIGTERM and SIGINT stop the worker, as `millpond_{{ queue }}_worker_stop` does with this `within_ms`. A second
/// signal stops it immediately, and a third one does what signals did before. Another call starts over, with its own
/// time. All of this ends when the worker is freed.
///
/// From this call on, a native thread waits for the signals. Handlers that are already installed are called as well; a
/// handler that the program installs later replaces this one. In the child of a fork, signals do what they did before.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `within_ms` below -1; `MILLPOND_INTERNAL` if the system has no
/// room for a pipe or a thread.
///
/// Threads: any; not from a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_stop_on_signals(
    worker: *mut millpond_{{ queue }}_worker,
    within_ms: i64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let within = time_limit("within_ms", within_ms)?;
        let held = caller.held("worker", worker)?;
        let worker = held.worker.clone();
        let signals = SignalStop::begin(within, move |within| worker.stop(within))?;
        held.signals.store(Some(Arc::new(signals.into())));
        Ok(())
    })
}

/// A run of a worker, which hands out jobs and reports what became of them. Freed with
/// `millpond_{{ queue }}_run_free`.
///
/// Any number of threads may use one run at a time.
pub struct millpond_{{ queue }}_run {
    _private: (),
}

/// What a worker reports. Freed with `millpond_{{ queue }}_report_free`.
pub struct millpond_{{ queue }}_report {
    _private: (),
}

/// Takes what comes next: a job to work on, which the caller ends with `millpond_{{ queue }}_run_end` and then frees,
/// or a report of what became of a job, which the caller frees. Waits while there is no job, and while `concurrency`
/// jobs are running.
///
/// One of `job` and `report` is set; both are NULL on failure, and also on success when the run is over.
///
/// Errors: the non-retryable error that ended the run, for one of the callers; `MILLPOND_CANCELLED` if
/// `millpond_on_interrupt` asked for it, after which the run continues.
///
/// Threads: any number may wait here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_run_next(
    run: *mut millpond_{{ queue }}_run,
    job: *mut *mut millpond_{{ queue }}_job,
    report: *mut *mut millpond_{{ queue }}_report,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let job = caller.new_handle("job", job)?;
        let report = caller.new_handle("report", report)?;
        match caller.held("run", run)?.next()? {
            Some(RunEvent::Job(of)) => job.set(of.into()),
            Some(RunEvent::Report(of)) => report.set(of.into()),
            None => {}
        }
        Ok(())
    })
}

/// Ends a job of this run, and returns immediately; the result is reported. If `outcome` is NULL, the job is
{% if queue == "tasks" %}
/// done. Nothing happens to a job that was ended by one of its own functions, or that the run has given back.
/// The job still has to be freed.
///
/// A modification that is invalid, or refused because something that it depends on has changed, is a failure:
/// the task is immediately given back as by `millpond_tasks_job_fail`.
{% elif queue == "events" %}
/// done, and its event is deleted. An event that is tried again is delayed by the queue's backoff; after its
/// `max_attempts` it becomes a dead letter. Nothing happens to a job that the run has given back. The job
/// still has to be freed.
{% else %}
/// done, and its message is acknowledged, and deleted if the worker's options say so. A message that is tried
/// again is delivered again; after the consumer's `max_deliveries` it becomes a dead letter. Nothing happens to
/// a job that the run has given back. The job still has to be freed.
{% endif %}
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a job that is not from this run, and for an invalid outcome, after
/// which the job can end in another way; `MILLPOND_FORKED` in the child of a fork.
///
/// Delivery: if the connection fails, the end is sent again while the lease lasts.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_run_end(
    run: *mut millpond_{{ queue }}_run,
    job: *mut millpond_{{ queue }}_job,
    outcome: *const millpond_task_outcome,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let run = caller.held("run", run)?;
        let job = caller.held("job", job)?;
        let said = match caller.array(|| "outcome".to_owned(), outcome, 1) {
            _ if outcome.is_null() => Ok(None),
            outcome => outcome?[0].read(&caller)?,
        };
        run.end(&job, ending(said)?)
    })
}

/// Sets `counts` to what became of the jobs of a run so far.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_run_counts(
    run: *mut millpond_{{ queue }}_run,
    counts: *mut millpond_job_counts,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let out = caller.out("counts", counts, millpond_job_counts::default())?;
        out.set(caller.held("run", run)?.counts().into());
        Ok(())
    })
}

/// Frees a run. NULL and what was freed before are fine. What the run still holds stays leased until the lease expires.
/// To avoid that, first stop the worker, and take what comes next until the run is over.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_run_free(run: *mut millpond_{{ queue }}_run) {
    caller::free(run);
}

/// What is in a report. Lives until the report is freed. NULL for NULL and for a freed or invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_report_data(
    report: *const millpond_{{ queue }}_report,
) -> *const millpond_report_data {
    caller::read(report, ptr::null(), |report| &raw const report.data)
}

/// The job that a report is about, as `millpond_{{ queue }}_job_data` has it. Lives until the report is freed. NULL if
/// the report concerns the whole worker, and for NULL and a freed or invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_report_job_data(
    report: *const millpond_{{ queue }}_report,
) -> *const {{ job_data }} {
    caller::read(report, ptr::null(), |report| report.job.as_ref().map_or(ptr::null(), data))
}

/// Frees a report. NULL and what was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_report_free(report: *mut millpond_{{ queue }}_report) {
    caller::free(report);
}

/// Works on a job, and sets in `outcome` how it ends. The job is freed after the call.
pub type millpond_{{ one }}_handler = Option<
    unsafe extern "C" fn(
        job: *mut millpond_{{ queue }}_job,
        outcome: *mut millpond_task_outcome,
        context: *mut c_void,
    ),
>;

/// Receives what a worker reports. The report is freed after the call.
pub type millpond_{{ one }}_report_handler =
    Option<unsafe extern "C" fn(report: *const millpond_{{ queue }}_report, context: *mut c_void)>;

/// The handlers of a C program.
struct Handlers {
    handler: unsafe extern "C" fn(*mut millpond_{{ queue }}_job, *mut millpond_task_outcome, *mut c_void),
    on_report: millpond_{{ one }}_report_handler,
    context: *mut c_void,
}

impl Handlers {
    fn new(
        handler: millpond_{{ one }}_handler,
        on_report: millpond_{{ one }}_report_handler,
        context: *mut c_void,
    ) -> Result<Self> {
        let handler = handler.ok_or_else(|| invalid("handler is NULL"))?;
        Ok(Self { handler, on_report, context })
    }

    /// Works until the run is over.
    fn work(&self, caller: &Caller, run: &Run) -> Result<()> {
        while let Some(event) = run.next()? {
            match event {
                RunEvent::Job(job) => self.handle(caller, run, job)?,
                RunEvent::Report(report) => self.report(report.into()),
            }
        }
        Ok(())
    }

    fn handle(&self, caller: &Caller, run: &Run, job: millpond::{{ queue }}::Job) -> Result<()> {
        let handle = handle::make(Job::from(job));
        let job = caller.held("job", handle as *const millpond_{{ queue }}_job)?;
        let mut outcome = millpond_task_outcome::DONE;
        // SAFETY: the header says what a handler has to be; the job lives until it is freed.
        unsafe {
            (self.handler)(handle as *mut millpond_{{ queue }}_job, &raw mut outcome, self.context)
        };
        let said = outcome.read(caller).and_then(ending);
        let said = said.unwrap_or_else(|wrong| Err(Failure::Error(wrong.to_string())));
        let ended = run.end(&job, said);
        handle::free::<Job>(handle);
        ended
    }

    fn report(&self, report: Box<Report<Reported>>) {
        match self.on_report {
            None => report.log(),
            Some(on_report) => {
                let handle = handle::make(report);
                // SAFETY: the header says what it has to be; the report lives until it is freed.
                unsafe { on_report(handle as *const millpond_{{ queue }}_report, self.context) };
                handle::free::<Box<Report<Reported>>>(handle);
            }
        }
    }
}

/// Works in this thread until the worker is stopped: calls `handler` with one job after another and with `context`, and
/// ends each job as the handler says{% if queue == "tasks" %}, unless the handler ended it itself{% endif %}. Other
/// threads may work for the same worker at the same time, with the same handlers: up to `concurrency` of them have a
/// job. If the server is unreachable, the run keeps trying until it responds.
///
/// The handlers must return (no longjmp, no exception), and may call Millpond. An invalid `outcome` of a handler is a
/// failure of its job.
///
/// `on_report` receives what becomes of all jobs, and reports that the server is unreachable or responds again. It may
/// be NULL: then problems and retries are printed to standard error, one line each. `counts` is set to what the run did
/// on all threads, even if the call fails; it may be NULL.
///
///     static void resize(millpond_{{ queue }}_job *job, millpond_task_outcome *outcome, void *context) {
///         if (!resize_image(millpond_{{ queue }}_job_data(job)->{{ data }})) {
///             outcome->end = MILLPOND_TASK_FAIL;
///             outcome->err = (millpond_bytes){"no such image", 13};
///         }
///     }
///     status = millpond_{{ queue }}_worker_run(worker, resize, NULL, NULL, NULL, &error);
///
/// Errors: the non-retryable error that ended the run, for one of the threads, such as `MILLPOND_WRONG_TYPE` or
/// `MILLPOND_INVALID_ARGUMENT`. `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it: the run still exists, and
/// the next call continues it.
///
/// Delivery: {{ delivery }}.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_run(
    worker: *mut millpond_{{ queue }}_worker,
    handler: millpond_{{ one }}_handler,
    on_report: millpond_{{ one }}_report_handler,
    context: *mut c_void,
    counts: *mut millpond_job_counts,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.optional_out(counts, millpond_job_counts::default());
        let handlers = Handlers::new(handler, on_report, context)?;
        let worker = caller.held("worker", worker)?;
        let run = worker.shared_run(on_report.is_some());
        let result = handlers.work(&caller, &run);
        out.set(run.counts().into());
        if !matches!(&result, Err(error) if error.kind() == ErrorKind::Cancelled) {
            worker.is_over(&run);
        }
        result
    })
}

/// Works in this thread until nothing is available; otherwise like `millpond_{{ queue }}_worker_run`. For tests, and
/// for programs that cron starts. `counts` is set to what the run did; it may be NULL.
///
/// Errors: as `millpond_{{ queue }}_worker_run`; also those of the connection.
///
/// Delivery: {{ delivery }}.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_{{ queue }}_worker_drain(
    worker: *mut millpond_{{ queue }}_worker,
    handler: millpond_{{ one }}_handler,
    on_report: millpond_{{ one }}_report_handler,
    context: *mut c_void,
    counts: *mut millpond_job_counts,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.optional_out(counts, millpond_job_counts::default());
        let handlers = Handlers::new(handler, on_report, context)?;
        let run = caller.held("worker", worker)?.begin(true, true);
        handlers.work(&caller, &run)?;
        out.set(run.counts().into());
        Ok(())
    })
}
