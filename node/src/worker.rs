//! Workers. The core takes jobs, ends them and tells what became of them; JavaScript calls the handlers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use millpond::tasks::{self, Failure, JobCounts, Modification};
use millpond::{Async, Error, Report, Result, RunEvent, events, shuffle};
use napi::Env;
use napi::bindgen_prelude::Null;
use napi_derive::napi;

use crate::convert::duration;
use crate::entries::Entries;
use crate::handle::{Handle, Held, Lease};
use crate::handles::{EventJob, Job, ShuffleJob};
use crate::list::{Done, List, Push, written_by};
use crate::loops::{Jobs, Loop};

/// The most events that JavaScript gets at a time.
const EVENTS_MAX: usize = 1_000;

/// A run of the core's.
pub(crate) trait Run: 'static {
    type Job: Lease + 'static;

    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Option<RunEvent<Self::Job>>>>;
    fn end(&self, job: &Self::Job, outcome: Outcome) -> Result<()>;
    fn counts(&self) -> JobCounts;
    /// What there is to work on, and the job's handle.
    fn push(job: Handle<Self::Job>, list: &mut List<'_>) -> Done;
}

/// How a job ends; that of a message has no modification.
type Outcome = Result<Option<Modification>, Failure>;

macro_rules! run {
    ($queue:ident, $job:ident.$subject:ident, $outcome:ident => $end:expr) => {
        impl Run for $queue::Run<Async> {
            type Job = $queue::Job<Async>;

            fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Option<RunEvent<Self::Job>>>> {
                self.poll_next(context)
            }

            fn end(&self, job: &Self::Job, $outcome: Outcome) -> Result<()> {
                self.end(job, $end)
            }

            fn counts(&self) -> JobCounts {
                self.counts()
            }

            fn push(job: Handle<Self::Job>, list: &mut List<'_>) -> Done {
                job.core.$subject().push(list)?;
                list.value($job::new(job))
            }
        }
    };
}

run!(tasks, Job.task, outcome => outcome);
run!(shuffle, ShuffleJob.message, outcome => outcome.map(drop));
run!(events, EventJob.event, outcome => outcome.map(drop));

/// A run, and what JavaScript has not received yet.
pub(crate) struct Running<R: Run>(Rc<Handle<Told<R>>>);

struct Told<R> {
    run: R,
    /// Whether also what went well is told.
    tells_all: bool,
    failed: RefCell<Option<Error>>,
}

impl<R: Run> Running<R> {
    fn new(run: Handle<R>, tells_all: bool) -> Self {
        let empty = run.with(());
        Self(Rc::new(empty.with(Told { run: run.core, tells_all, failed: RefCell::default() })))
    }

    /// Returns what there is; without events the run is over.
    fn next(&self, number: u32) -> bool {
        let (told, handle) = (self.0.clone(), self.0.clone());
        let next = poll_fn(move |context| told.core.poll(context));
        self.0.start(
            number,
            |_| Ok(next),
            move |env, text, events| written_by(env, text, |list| handle.push(events, list)),
        )
    }

    /// Ends a job, which JavaScript has no more then.
    fn end(&self, env: &Env, job: &Held<R::Job>, outcome: Outcome) -> napi::Result<()> {
        match job.take() {
            Some(job) => self.0.at_once(env, |told| told.run.end(&job, outcome)),
            None => Ok(()),
        }
    }
}

impl<R: Run> Told<R> {
    /// All events there are; none when the run is over.
    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Vec<RunEvent<R::Job>>>> {
        if let Some(failed) = self.failed.take() {
            return Poll::Ready(Err(failed));
        }
        let mut events = Vec::new();
        while events.len() < EVENTS_MAX {
            match self.run.poll(context) {
                Poll::Pending if events.is_empty() => return Poll::Pending,
                Poll::Ready(Ok(Some(event))) => events.extend(self.heard(event)),
                Poll::Ready(Err(failed)) if events.is_empty() => return Poll::Ready(Err(failed)),
                Poll::Ready(Err(failed)) => {
                    self.failed.replace(Some(failed));
                    break;
                }
                Poll::Pending | Poll::Ready(Ok(None)) => break,
            }
        }
        Poll::Ready(Ok(events))
    }

    /// The event, if JavaScript is to have it.
    fn heard(&self, event: RunEvent<R::Job>) -> Option<RunEvent<R::Job>> {
        let RunEvent::Report(report) = &event else { return Some(event) };
        (self.tells_all || report.is_trouble()).then_some(event)
    }
}

impl<R: Run> Handle<Told<R>> {
    /// How many there are, and each: whether it is a report, and that or a job. Without any, what was done.
    fn push(&self, events: Vec<RunEvent<R::Job>>, list: &mut List<'_>) -> Done {
        list.value(events.len() as f64)?;
        if events.is_empty() {
            return self.core.run.counts().push(list);
        }
        events.into_iter().try_for_each(|event| match event {
            RunEvent::Report(report) => {
                list.value(true)?;
                self.push_report(report, list)
            }
            RunEvent::Job(job) => {
                list.value(false)?;
                R::push(self.with(job), list)
            }
        })
    }

    fn push_report(&self, report: Report<R::Job>, list: &mut List<'_>) -> Done {
        list.value(report.kind.name())?;
        list.value(report.is_trouble())?;
        list.value(report.message)?;
        match report.error {
            Some(error) => list.failure(&error)?,
            None => list.value(Null)?,
        }
        match report.job {
            Some(job) => R::push(self.with(job), list),
            None => list.value(Null),
        }
    }
}

/// A worker of a queue as JavaScript has it, and its runs.
macro_rules! worker {
    ($queue:ident, $worker:ident, $run:ident, $job:ident) => {
        /// [`millpond::$queue::Worker`].
        #[napi]
        pub struct $worker(pub(crate) Handle<$queue::Worker<Async>>);

        #[napi]
        impl $worker {
            /// Begins to work.
            #[napi]
            pub fn start(&self, tells_all: bool) -> $run {
                let run = self.0.core.clone().tell_all(tells_all).start();
                $run(Running::new(self.0.with(run), tells_all))
            }

            /// The same until nothing is available.
            #[napi]
            pub fn start_drain(&self, tells_all: bool) -> $run {
                $run(Running::new(self.0.with(self.0.core.start_drain()), tells_all))
            }

            /// Stops its runs.
            #[napi]
            pub fn stop(&self, within_ms: f64) {
                self.0.core.stop(duration(within_ms));
            }
        }

        /// A run of such a worker.
        #[napi]
        pub struct $run(Running<$queue::Run<Async>>);

        #[napi]
        impl $run {
            /// Returns jobs and reports; without any it is over, and what it did.
            #[napi]
            pub fn next(&self, number: u32) -> bool {
                self.0.next(number)
            }

            /// Ends a job as [`Entries`] reads it; without them it is done.
            #[napi]
            pub fn end(&self, env: Env, job: &$job, outcome: Option<Entries>) -> napi::Result<()> {
                let outcome = outcome.map_or(Ok(Ok(None)), |outcome| outcome.reader().outcome())?;
                self.0.end(&env, &job.0, outcome)
            }
        }
    };
}

worker!(tasks, TaskWorker, TaskRun, Job);
worker!(shuffle, ShuffleWorker, ShuffleRun, ShuffleJob);
worker!(events, EventWorker, EventRun, EventJob);

#[napi]
impl TaskWorker {
    /// Its jobs, for a loop.
    #[napi]
    pub fn jobs(&self) -> Jobs {
        Jobs(Loop::new(self.0.with(self.0.core.jobs())))
    }
}
