//! Report: the outcomes of slices.

use std::sync::Arc;

use super::embedded;
use super::name::Name;
use super::new_job::{BACKOFF_MAX, JOBS_MAX};
use super::pacer::Reported;
use crate::error::{Result, ensure};
use crate::step::limits::INTEGER_MAX;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The report of a process on its slices of a job since its last report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// The id of the job.
    pub job: Arc<str>,
    /// Slices that found nothing, failed or took too long, less those that worked: at most 2^53, with either sign.
    pub bad: i64,
    /// Whether the last one reported that there is more to do.
    pub has_more: bool,
    /// How often the rate may be halved, up to 24.
    pub backoff_max: u32,
}

/// A slice that ends, of a job with a limit.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) job: Arc<str>,
    pub(super) fence: u64,
}

/// Reports slices, and ends one that counts against a limit; returns whether it still counted.
#[derive(Clone, Debug)]
pub struct Report {
    pub(super) name: Name,
    pub(super) ending: Option<Ending>,
    pub(super) reports: Vec<JobReport>,
    pub(super) counters: Vec<(String, u64)>,
}

impl Report {
    /// Ends the slice of a job with `max_running` that was granted with this fence, so that another one may run.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name beyond its limits.
    pub fn end(name: impl AsRef<[u8]>, job: impl AsRef<str>, fence: u64) -> Result<Self> {
        let ending = Ending { job: job.as_ref().into(), fence };
        Ok(Self::new(Name::new(name.as_ref())?, Some(ending), Reported::default()))
    }

    /// Reports slices.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name or a number beyond its limits.
    pub fn slices(
        name: impl AsRef<[u8]>,
        reports: impl IntoIterator<Item = JobReport>,
    ) -> Result<Self> {
        let reports: Vec<JobReport> = reports.into_iter().collect();
        let count = reports.len();
        ensure!(count <= JOBS_MAX, "{count} jobs are reported on; {JOBS_MAX} are allowed");
        for JobReport { job, bad, backoff_max, .. } in &reports {
            let is_allowed = *backoff_max <= BACKOFF_MAX && bad.unsigned_abs() <= INTEGER_MAX;
            ensure!(is_allowed, "the report of {job} is beyond its limits");
        }
        let reported = Reported { reports, ..Reported::default() };
        Ok(Self::new(Name::new(name.as_ref())?, None, reported))
    }

    pub(super) fn new(name: Name, ending: Option<Ending>, reported: Reported) -> Self {
        Self { name, ending, reports: reported.reports, counters: reported.counters }
    }
}

impl Operation for Report {
    head!(
        "recruiter.report",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "steal.lua", "report.lua"]
    );
    type Output = bool;
    /// A second run would count twice.
    const IDEMPOTENT: bool = false;
    const IN_MEMORY: bool = true;

    fn invocation(&self) -> Invocation {
        let mut keys = self.name.keys();
        let mut args = ByteList::default();
        match &self.ending {
            Some(Ending { job, fence }) => {
                keys.push(self.name.running_key(job));
                args.push_number(*fence);
                args.push(job.as_bytes());
            }
            None => (0..2).for_each(|_| args.push(b"")),
        }
        args.push_number(self.reports.len() as u64);
        push_reports(&self.reports, &mut args);
        push_counters(&self.counters, &mut args);
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<bool> {
        Ok(state.step(|jobs| {
            let ending = self.ending.as_ref();
            let has_ended = ending.is_some_and(|ending| jobs.end(&ending.job, ending.fence));
            jobs.report(&self.reports);
            jobs.count(&self.counters);
            has_ended
        }))
    }
}

pub(super) fn push_reports(reports: &[JobReport], args: &mut ByteList) {
    for report in reports {
        args.push(report.job.as_bytes());
        args.push(report.bad.to_string().as_bytes());
        args.push(if report.has_more { b"1" } else { b"0" });
        args.push_number(u64::from(report.backoff_max));
    }
}

pub(super) fn push_counters(counters: &[(String, u64)], args: &mut ByteList) {
    for (counter, count) in counters {
        args.push(counter.as_bytes());
        args.push_number(*count);
    }
}
