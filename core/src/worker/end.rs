//! How a job ends: made from the outcome of its handler, for all queues.

use std::sync::Arc;
use std::time::Duration;

use super::failure::Failure;
use super::machine::Ended;
use super::queue::Queue;
use super::report::{Report, ReportKind};
use crate::error::Error;
use crate::runtime::backoff::with_jitter;
use crate::step::limits::RELEASE_DELAY;

/// How a job is to end; `D` is the result of a successful handler.
#[derive(Debug)]
pub(crate) enum End<D> {
    /// It is done.
    Done(D),
    /// It is tried again, or is dead if that was its last attempt.
    Failed(Failed),
    /// It is given back untried, and available after this time.
    Released(Duration),
    /// The run gives it back untried, and it is available immediately.
    GivenBack,
    /// It is moved to this queue, for this reason.
    Moved(String, String),
    /// It is put aside, for this reason.
    Dead(String),
}

/// An attempt that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) err: String,
    /// The delay of the next attempt, if it is not the queue's backoff.
    pub(crate) delay: Option<Duration>,
    /// It is an error of the handler, which did not ask for another attempt.
    pub(crate) is_error: bool,
}

impl<D> End<D> {
    /// The end for the outcome of a handler; a job that is given back without a delay gets a random one.
    pub(crate) fn of(outcome: Result<D, Failure>, draw: u64) -> Self {
        let failed = |err, delay, is_error| Self::Failed(Failed { err, delay, is_error });
        match outcome {
            Ok(done) => Self::Done(done),
            Err(Failure::Error(err)) => failed(err, None, true),
            Err(Failure::Retry(err)) => failed(err, None, false),
            Err(Failure::RetryAfter(err, delay)) => failed(err, Some(delay), false),
            Err(Failure::Move(queue, err)) => Self::Moved(queue, err),
            Err(Failure::Reject(err)) => Self::Dead(err),
            Err(Failure::Release) => Self::Released(with_jitter(RELEASE_DELAY, draw)),
            Err(Failure::ReleaseAfter(delay)) => Self::Released(delay),
        }
    }

    /// The kind and the text of the report on such an end.
    pub(crate) fn told(&self) -> (ReportKind, String) {
        match self {
            Self::Done(_) => (ReportKind::Done, String::new()),
            Self::Failed(Failed { err, .. }) => (ReportKind::Retried, err.clone()),
            Self::Released(_) | Self::GivenBack => (ReportKind::Released, String::new()),
            Self::Moved(queue, err) => (ReportKind::Moved, format!("{queue}: {err}")),
            Self::Dead(err) => (ReportKind::Dead, format!("rejected: {err}")),
        }
    }
}

/// The end of a job, ready to be sent, and its report.
pub(crate) struct Ending<Q: Queue> {
    pub(crate) job: Arc<Q::Core>,
    pub(crate) step: Q::Step,
    pub(crate) kind: ReportKind,
    pub(crate) text: String,
    /// Why the job cannot end as its handler said.
    pub(crate) refused: Option<Error>,
}

impl<Q: Queue> Ending<Q> {
    pub(crate) fn new(
        job: Arc<Q::Core>,
        step: Q::Step,
        (kind, text): (ReportKind, String),
    ) -> Self {
        Self { job, step, kind, text, refused: None }
    }

    /// The end has taken effect.
    pub(crate) fn done(self) -> Ended<Q> {
        Ended::Done(report::<Q>(self.kind, self.job, &self.text, self.refused))
    }

    /// The job can no longer end: it is lost.
    pub(crate) fn lost(self, error: Error) -> Ended<Q> {
        let text = error.to_string();
        Ended::Done(report::<Q>(ReportKind::Lost, self.job, &text, Some(error)))
    }
}

/// The report on a job.
pub(crate) fn report<Q: Queue>(
    kind: ReportKind,
    job: Arc<Q::Core>,
    text: &str,
    error: Option<Error>,
) -> Report<Arc<Q::Core>> {
    let name = Q::name(&job);
    Report::of_job(kind, job, &name, text, error)
}
