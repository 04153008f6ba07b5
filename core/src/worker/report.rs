//! The reports of a run.

use std::fmt;

use crate::error::{Error, ErrorKind};

/// Prints a problem for which there is no hook to standard error, on one line.
pub(crate) fn log(message: fmt::Arguments<'_>) {
    eprintln!("millpond: {message}");
}

/// An item that a run hands out.
#[derive(Debug)]
pub enum RunEvent<J> {
    /// A job to work on.
    Job(J),
    /// The outcome of another job, or a change of the server's state.
    Report(Report<J>),
}

/// A report of a worker: on a problem or, on request, on a success.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<J> {
    /// What happened.
    pub kind: ReportKind,
    /// The job that it happened to; `None` if it concerns the whole worker.
    pub job: Option<J>,
    /// The error for a person or an error tracker; every trouble has one. For a job that was put aside it has the kind
    /// `DEAD_LETTER`; if the library refused the end of the job, its source says why. For a handler on a thread that
    /// took too long it has the kind `TIMEOUT`.
    pub error: Option<Error>,
    /// The whole report in one line, for logs.
    pub message: String,
}

/// The kinds of reports of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReportKind {
    /// A job was done.
    Done,
    /// A job failed and is tried again.
    Retried,
    /// A job was given back untried.
    Released,
    /// A job was moved to another queue.
    Moved,
    /// A job was put aside because it was rejected, tried too often, or crashed its workers.
    Dead,
    /// A job was cancelled, and its task is gone.
    Cancelled,
    /// The end that a handler chose for its job was refused, and the job was given back as a failure.
    Refused,
    /// The lease of a job was lost before it ended: another worker may have it.
    Lost,
    /// The server does not respond. The worker keeps trying.
    Away,
    /// The server responds again.
    Back,
}

impl ReportKind {
    /// Its name in every language: `done`, `retried`, `released`, `moved`, `dead`, `cancelled`, `refused`, `lost`,
    /// `away`, `back`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Retried => "retried",
            Self::Released => "released",
            Self::Moved => "moved",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::Away => "away",
            Self::Back => "back",
        }
    }

    /// The text of the report on a job.
    pub(crate) fn told(self, text: &str) -> String {
        let what = match self {
            Self::Done => "is done",
            Self::Retried => "failed, and is tried again",
            Self::Released => "was given back",
            Self::Moved => "was moved",
            Self::Dead => "was put aside",
            Self::Cancelled => "was cancelled",
            Self::Refused => "could not end as its handler said, and is tried again",
            _ => "was lost before it ended",
        };
        let colon = if text.is_empty() { "" } else { ": " };
        format!("{what}{colon}{text}")
    }

    /// Whether it is reported even without `tell_all`.
    pub(crate) fn is_failure(self) -> bool {
        self == Self::Retried || self.is_trouble()
    }

    /// The kind of the error of a report without another error.
    fn error_kind(self) -> Option<ErrorKind> {
        match self {
            Self::Dead => Some(ErrorKind::DeadLetter),
            Self::Lost => Some(ErrorKind::LeaseLost),
            _ => None,
        }
    }

    /// Whether it needs attention: it is logged by default.
    pub fn is_trouble(self) -> bool {
        matches!(self, Self::Dead | Self::Refused | Self::Lost | Self::Away | Self::Back)
    }
}

impl<J> Report<J> {
    pub(crate) fn of_run(kind: ReportKind, message: String, error: Error) -> Self {
        Self { kind, job: None, error: Some(error), message }
    }

    /// A report on a job with this name; `error` is why it did not end as its handler said.
    pub(crate) fn of_job(
        kind: ReportKind,
        job: J,
        name: &str,
        text: &str,
        error: Option<Error>,
    ) -> Self {
        let message = format!("{name} {}", kind.told(text));
        let own = kind.error_kind().map(|kind| Error::new(kind, &*message));
        let error = match (kind, own, error) {
            (ReportKind::Dead, Some(own), Some(refused)) => Some(own.with_source(refused)),
            (_, own, error) => error.or(own),
        };
        Self { kind, job: Some(job), error, message }
    }

    /// Whether it needs attention: it is logged by default. Its kind [says so](ReportKind::is_trouble), or a handler on
    /// a thread took longer than its `timeout`, which nothing else reports.
    pub fn is_trouble(&self) -> bool {
        let is_late = self.kind == ReportKind::Retried && self.error.is_some();
        is_late || self.kind.is_trouble()
    }

    pub(crate) fn map<K>(self, job: impl FnOnce(J) -> K) -> Report<K> {
        let Self { kind, job: of, error, message } = self;
        Report { kind, job: of.map(job), error, message }
    }
}

/// How many jobs of a run ended in which way; returned by a worker's `run` and `drain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs that were done.
    pub done: u64,
    /// Jobs that failed and are tried again later, including those whose end was refused.
    pub retried: u64,
    /// Jobs that were put aside because they were rejected, tried too often, or crashed their workers.
    pub dead: u64,
    /// Jobs that were given back untried, moved to another queue, cancelled, or lost.
    pub others: u64,
}

impl JobCounts {
    pub(crate) fn count(&mut self, kind: ReportKind) {
        *match kind {
            ReportKind::Done => &mut self.done,
            ReportKind::Retried | ReportKind::Refused => &mut self.retried,
            ReportKind::Dead => &mut self.dead,
            ReportKind::Away | ReportKind::Back => return,
            _ => &mut self.others,
        } += 1;
    }
}
