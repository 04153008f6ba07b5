//! What a run reports besides jobs.

use crate::error::Error;

/// What a run hands out.
#[derive(Debug)]
pub enum Event<J> {
    /// A job to work on.
    Job(J),
    /// What became of another one, or of the server.
    Report(Report<J>),
}

/// What a worker reports: trouble, and if it was asked for also what went well.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<J> {
    /// What happened.
    pub kind: ReportKind,
    /// The job that it happened to; `None` for what concerns the whole worker.
    pub job: Option<J>,
    /// Why, where the library or the store said so.
    pub error: Option<Error>,
    /// All of it in one line, to log.
    pub message: String,
}

/// What a worker reports of.
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
    /// A job was put aside, as it was rejected, tried too often, or ended its workers.
    Dead,
    /// A job was cancelled, and is gone.
    Cancelled,
    /// The end of a job was refused as its handler said it, and it was given back as a failure.
    Refused,
    /// The lease of a job was lost before it ended: another worker may have it.
    Lost,
    /// The server does not respond. The worker goes on asking.
    Away,
    /// The server responds again.
    Back,
}

impl ReportKind {
    /// Its name in every language: `done`, `retried`, `released`, `moved`, `dead`, `cancelled`, `refused`, `lost`, `away`,
    /// `back`.
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

    /// What it says of a job.
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

    /// Whether it is reported although nobody asked for all.
    pub(crate) fn is_failure(self) -> bool {
        self == Self::Retried || self.is_trouble()
    }

    /// Whether somebody should know of it even if nobody asked: it is logged by default.
    pub fn is_trouble(self) -> bool {
        matches!(self, Self::Dead | Self::Refused | Self::Lost | Self::Away | Self::Back)
    }
}

impl<J> Report<J> {
    pub(crate) fn of_run(kind: ReportKind, message: String, error: Option<Error>) -> Self {
        Self { kind, job: None, error, message }
    }

    pub(crate) fn map<K>(self, job: impl FnOnce(J) -> K) -> Report<K> {
        let Self { kind, job: of, error, message } = self;
        Report { kind, job: of.map(job), error, message }
    }
}

/// What became of the jobs of a run, as numbers of jobs: returned by a worker's `run` and `drain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Were done.
    pub done: u64,
    /// Failed, and are tried again later; those too whose end was refused.
    pub retried: u64,
    /// Were put aside, as they were rejected, tried too often, or ended their workers.
    pub dead: u64,
    /// Were given back untried, moved to another queue, cancelled, or lost.
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
