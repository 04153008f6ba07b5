//! The runs of workers. The core does the work; this hands out its jobs, and says how they ended.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use millpond::tasks::{self, Failure};
use millpond::{Async, Error, Report, Result, RunEvent, events, shuffle};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::errors;
use crate::generated::{EventJob, EventWorker, Job, ShuffleJob, ShuffleWorker, Worker};
use crate::given::{given, required};
use crate::handle::{Handle, block, derive, either};
use crate::loops::start_waiting;
use crate::to_python::{ToPython, decoded, plain};

/// The most events that an event loop gets at a time.
const EVENTS_MAX: usize = 100;

/// What Python is told.
enum Told<J> {
    /// A job to work on, and its number.
    Job(u64, J),
    /// The job of this number lost its lease.
    Lost(u64),
    Report(Report<J>),
    Failed(Error),
}

/// The jobs that were handed out, and the numbers of those that were lost since.
#[derive(Default)]
struct Begun {
    jobs: u64,
    lost: Vec<u64>,
    waker: Option<Waker>,
}

/// A run of an event loop's.
trait AsyncRun {
    type Job;

    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Option<RunEvent<Self::Job>>>>;

    fn on_lost(job: &Self::Job, then: impl FnOnce() + Send + 'static);
}

/// What there is to tell, or that the run is over.
type Tellings<J> = Result<Option<Vec<Told<J>>>>;

/// All that there is to tell an event loop, up to a limit.
fn poll<R: AsyncRun>(
    run: &R,
    begun: &Arc<Mutex<Begun>>,
    context: &mut Context<'_>,
) -> Poll<Tellings<R::Job>> {
    let mut state = lock(begun);
    state.waker = Some(context.waker().clone());
    let mut all: Vec<_> = state.lost.drain(..).map(Told::Lost).collect();
    drop(state);
    while all.len() < EVENTS_MAX {
        all.push(match run.poll(context) {
            Poll::Ready(Ok(Some(RunEvent::Job(job)))) => {
                let mut state = lock(begun);
                state.jobs += 1;
                let (number, begun) = (state.jobs, begun.clone());
                drop(state);
                R::on_lost(&job, move || {
                    let mut state = lock(&begun);
                    state.lost.push(number);
                    let waker = state.waker.take();
                    drop(state);
                    waker.into_iter().for_each(Waker::wake);
                });
                Told::Job(number, job)
            }
            Poll::Ready(Ok(Some(RunEvent::Report(report)))) => Told::Report(report),
            Poll::Ready(Err(error)) => Told::Failed(error),
            Poll::Ready(Ok(None)) if all.is_empty() => return Poll::Ready(Ok(None)),
            Poll::Pending if all.is_empty() => return Poll::Pending,
            _ => break,
        });
    }
    Poll::Ready(Ok(Some(all)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The class of a run; `$read` makes of what the handler returned what the core takes, `$done`.
macro_rules! run_class {
    (
        $name:ident of $worker:ident, $core:ty, $asked:ty, $job:ident, $core_job:ty, $asked_job:ty,
        $done:ty, |$returned:pat_param| $read:expr
    ) => {
        #[pyclass(frozen, module = "millpond._native")]
        pub(crate) struct $name {
            core: Handle<$core, $asked>,
            begun: Arc<Mutex<Begun>>,
            text: bool,
        }

        impl AsyncRun for $asked {
            type Job = $asked_job;

            fn poll(&self, context: &mut Context<'_>) -> Poll<Result<Option<RunEvent<Self::Job>>>> {
                self.poll_next(context)
            }

            fn on_lost(job: &Self::Job, then: impl FnOnce() + Send + 'static) {
                job.on_lost(then);
            }
        }

        impl ToPython for Told<$core_job> {
            fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
                told(py, self, <$core_job>::time_left, text)
            }
        }

        impl ToPython for Told<$asked_job> {
            fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
                told(py, self, <$asked_job>::time_left, text)
            }
        }

        #[pymethods]
        impl $worker {
            fn start(&self, drains: bool, tells_all: bool) -> $name {
                let core = derive!(&self.core, |core| match drains {
                    true => core.start_drain(),
                    false => core.clone().tell_all(tells_all).start(),
                });
                $name { core, begun: Arc::default(), text: self.text }
            }
        }

        #[pymethods]
        impl $name {
            #[getter]
            fn concurrency(&self) -> usize {
                either!(&self.core, |core| core.concurrency())
            }

            /// What there is to tell next, or None when the run is over.
            fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                let text = self.text;
                match &self.core {
                    Handle::Blocking(core) => {
                        let next = || {
                            Ok(core.next()?.map(|event| {
                                vec![match event {
                                    RunEvent::Job(job) => Told::Job(0, job),
                                    RunEvent::Report(report) => Told::Report(report),
                                }]
                            }))
                        };
                        block(py, next, |py, all| list(py, all, text))
                    }
                    Handle::Async(core) => {
                        let (core, begun) = (core.clone(), self.begun.clone());
                        let next = || poll_fn(move |context| poll(&core, &begun, context));
                        start_waiting(py, next, move |py, all| list(py, all, text))
                    }
                }
            }

            /// Ends a job that is done.
            fn end(
                &self,
                py: Python<'_>,
                job: &$job,
                returned: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                let read = |$returned: Option<&Bound<'_, PyAny>>| -> PyResult<$done> { $read };
                self.end_as(py, job, Ok(read(returned)?))
            }

            /// Ends a job that failed.
            fn fail(
                &self,
                py: Python<'_>,
                job: &$job,
                kind: &str,
                err: &Bound<'_, PyAny>,
                delay: Option<&Bound<'_, PyAny>>,
                queue: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                self.end_as(py, job, Err(failure(kind, err, delay, queue)?))
            }

            /// What became of its jobs so far.
            fn counts(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                plain(py, either!(&self.core, |core| core.counts()))
            }
        }

        impl $name {
            fn end_as(
                &self,
                py: Python<'_>,
                job: &$job,
                outcome: Result<$done, Failure>,
            ) -> PyResult<()> {
                let ended = match (&self.core, &job.core) {
                    (Handle::Blocking(run), Handle::Blocking(job)) => {
                        py.detach(|| run.end(job, outcome))
                    }
                    (Handle::Async(run), Handle::Async(job)) => run.end(job, outcome),
                    _ => unreachable!("a run and its jobs are of one kind"),
                };
                ended.map_err(|error| errors::exception(py, &error))
            }
        }
    };
}

run_class!(
    Run of Worker, tasks::Run, tasks::Run<Async>, Job, tasks::Job, tasks::Job<Async>,
    Option<tasks::Modification>, |returned| given("modification", returned)
);
run_class!(
    ShuffleRun of ShuffleWorker, shuffle::Run, shuffle::Run<Async>, ShuffleJob, shuffle::Job,
    shuffle::Job<Async>, (), |_| Ok(())
);

run_class!(
    EventRun of EventWorker, events::Run, events::Run<Async>, EventJob, events::Job,
    events::Job<Async>, (), |_| Ok(())
);

/// A failure, of what Python says of it.
fn failure(
    kind: &str,
    err: &Bound<'_, PyAny>,
    delay: Option<&Bound<'_, PyAny>>,
    queue: Option<&Bound<'_, PyAny>>,
) -> PyResult<Failure> {
    let err: String = required("err", err)?;
    let delay: Option<Duration> = given("delay", delay)?;
    Ok(match (kind, delay, queue) {
        ("retry", None, _) => Failure::Retry(err),
        ("retry", Some(delay), _) => Failure::RetryAfter(err, delay),
        ("release", None, _) => Failure::Release,
        ("release", Some(delay), _) => Failure::ReleaseAfter(delay),
        ("reject", ..) => Failure::Reject(err),
        ("move", _, Some(queue)) => Failure::Move(required("queue", queue)?, err),
        _ => Failure::Error(err),
    })
}

#[pymethods]
impl ShuffleJob {
    #[getter]
    fn message(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        decoded(self.text)(py, either!(&self.core, |core| core.message().clone()))
    }
}

fn list<J>(py: Python<'_>, all: Option<Vec<Told<J>>>, text: bool) -> PyResult<Py<PyAny>>
where
    Told<J>: ToPython,
{
    Ok(all.to_python(py, text)?.unbind())
}

/// A tuple of the name of what it is, and what there is of it.
fn told<J: ToPython>(
    py: Python<'_>,
    told: Told<J>,
    time_left: impl Fn(&J) -> Option<Duration>,
    text: bool,
) -> PyResult<Bound<'_, PyAny>> {
    match told {
        Told::Job(number, job) => {
            // It has only just begun, so this is all of its time.
            let timeout = time_left(&job).map(|left| (left.as_secs_f64() * 1e3).round() / 1e3);
            ("job", number, job.to_python(py, text)?, timeout).into_bound_py_any(py)
        }
        Told::Lost(number) => ("lost", number).into_bound_py_any(py),
        Told::Failed(error) => {
            ("failed", errors::exception(py, &error).into_value(py)).into_bound_py_any(py)
        }
        Told::Report(report) => {
            let is_trouble = report.is_trouble();
            let Report { kind, job, error, message, .. } = report;
            let error = error.map(|error| errors::exception(py, &error).into_value(py));
            let job = job.map(|job| job.to_python(py, text)).transpose()?;
            ("report", kind.name(), job, error, message, is_trouble).into_bound_py_any(py)
        }
    }
}
