//! What an enlistment did, and why.

use std::time::Duration;

/// What an enlistment did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duty {
    /// Whether a slice ran and found something to do.
    pub recruited: bool,
    /// The job whose slice ran, if one did.
    pub job: Option<String>,
    /// How long the slice took.
    pub took: Duration,
    /// The outcome of the slice, or why none ran.
    pub why: Why,
}

/// The outcome of a slice, or why an enlistment ran none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// The slice found something to do.
    Worked,
    /// The slice found nothing to do.
    Nothing,
    /// The slice was aborted.
    Aborted,
    /// The slice failed.
    Failed,
    /// The lottery drew no job.
    NotDrawn,
    /// It is not yet this process's turn to ask the server.
    NotDue,
    /// No job was due to run.
    Denied,
    /// A job that was due already had `max_running` slices running.
    Busy,
    /// The process was already running a slice.
    InSlice,
    /// Slices have taken as much of the process's time as `duty_max` allows.
    OverDuty,
    /// No job is installed.
    NoJobs,
    /// The server did not respond in time, or with an error.
    Unavailable,
    /// The recruiter was stopped.
    Stopped,
}

impl Why {
    pub(super) const ALL: [Self; 13] = [
        Self::Worked,
        Self::Nothing,
        Self::Aborted,
        Self::Failed,
        Self::NotDrawn,
        Self::NotDue,
        Self::Denied,
        Self::Busy,
        Self::InSlice,
        Self::OverDuty,
        Self::NoJobs,
        Self::Unavailable,
        Self::Stopped,
    ];

    /// Its name in every language, and in counters: `worked`, `nothing`, `aborted`, `failed`, `not_drawn`, `not_due`,
    /// `denied`, `busy`, `in_slice`, `over_duty`, `no_jobs`, `unavailable`, `stopped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worked => "worked",
            Self::Nothing => "nothing",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::NotDrawn => "not_drawn",
            Self::NotDue => "not_due",
            Self::Denied => "denied",
            Self::Busy => "busy",
            Self::InSlice => "in_slice",
            Self::OverDuty => "over_duty",
            Self::NoJobs => "no_jobs",
            Self::Unavailable => "unavailable",
            Self::Stopped => "stopped",
        }
    }
}

impl Duty {
    /// The duty of an enlistment that ran nothing.
    pub(super) fn dismissed(why: Why) -> Self {
        Self { recruited: false, job: None, took: Duration::ZERO, why }
    }
}

/// How a slice ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) why: Why,
    pub(super) items: u64,
    /// Whether there is more to do now.
    pub(super) more: bool,
}

impl Outcome {
    pub(super) const FAILED: Self = Self { why: Why::Failed, items: 0, more: false };
    pub(super) const ABORTED: Self = Self { why: Why::Aborted, items: 0, more: false };

    /// It worked on this many items; 0 if there was nothing to do.
    pub(super) fn worked(items: u64, more: bool) -> Self {
        let why = if items > 0 { Why::Worked } else { Why::Nothing };
        Self { why, items, more }
    }
}
