//! Stats: what a recruiter has done.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::duty::Why;
use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::reply::malformed;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "recruiter",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let stats = client.recruiter(name).stats()?;
        let slices = stats.jobs.iter().map(|job| job.granted).sum();
        Ok(vec![Statistic::of("slices", slices), Statistic::of("enlisted", stats.enlisted)])
    },
};

/// The reports of all processes about a recruiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecruiterStats {
    /// Enlistments: those that ran a slice, and those that the next fields count.
    pub enlisted: u64,
    /// Enlistments for which the lottery drew no job.
    pub not_drawn: u64,
    /// Enlistments of a process whose turn to ask had not come.
    pub not_due: u64,
    /// Requests to the server when no job was due to run.
    pub denied: u64,
    /// Requests to the server when a job that was due already had `max_running` slices running.
    pub busy: u64,
    /// Enlistments of a process that was running a slice.
    pub in_slice: u64,
    /// Enlistments of a process whose slices had taken as much of its time as `duty_max` allows.
    pub over_duty: u64,
    /// Enlistments without a job.
    pub no_jobs: u64,
    /// Requests to which the server did not respond in time, or responded with an error.
    pub unavailable: u64,
    /// The jobs, by their ids: those per second that a process has offered, and those by share that one has reported.
    pub jobs: Vec<JobStats>,
}

/// The reports of all processes about a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobStats {
    /// The id of the job.
    pub job: String,
    /// How many times its rate is halved, because there was little to do.
    pub backoff: u64,
    /// When its last slice was granted, in microseconds since the Unix epoch; 0 if none was.
    pub last_granted_us: Timestamp,
    /// Slices that were granted; 0 for a job by share.
    pub granted: u64,
    /// Slices that worked.
    pub worked: u64,
    /// Slices that found nothing to do.
    pub nothing: u64,
    /// Slices that were aborted.
    pub aborted: u64,
    /// Slices that failed.
    pub failed: u64,
    /// Slices that took longer than their budget, by more than a tenth of it and more than 10 ms.
    pub overran: u64,
    /// Items that were worked on.
    pub items: u64,
    /// The time that slices took, in microseconds.
    pub busy_us: u64,
    /// Slices that stopped counting against `max_running` because they had not ended by the end of their lease.
    pub lost: u64,
    /// Slices that ended after they had stopped counting.
    pub late: u64,
}

/// Reads what a recruiter has done.
#[derive(Clone, Debug)]
pub struct ReadStats {
    pub(super) name: Name,
}

impl Operation for ReadStats {
    head!(
        "recruiter.stats",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "steal.lua", "stats.lua"]
    );
    type Output = RecruiterStats;
    const IDEMPOTENT: bool = true;
    const IN_MEMORY: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<RecruiterStats> {
        let text = |reply: Reply| String::from_utf8(reply.bytes()?).map_err(|_| malformed());
        let mut replies = reply.list()?;
        let mut read = Reading::default();
        replies.next()?.list()?.all(usize::MAX, |replies| {
            let id = text(replies.next()?)?;
            read.job(&id, replies.next()?.number::<u32>()?.into(), replies.next()?.number()?);
            Ok(())
        })?;
        replies.next()?.list()?.all(usize::MAX, |replies| {
            let field = text(replies.next()?)?;
            let count = text(replies.next()?)?.parse().map_err(|_| malformed())?;
            read.count(&field, count);
            Ok(())
        })?;
        replies.end()?;
        Ok(read.stats())
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<RecruiterStats> {
        Ok(state.step(|jobs| {
            let mut read = Reading::default();
            for (id, backoff, last) in jobs.jobs() {
                read.job(id, backoff.into(), last);
            }
            for (counter, count) in jobs.counters() {
                read.count(counter, count);
            }
            read.stats()
        }))
    }
}

/// The stats read so far.
#[derive(Default)]
struct Reading {
    stats: RecruiterStats,
    jobs: BTreeMap<String, JobStats>,
}

impl Reading {
    fn job(&mut self, id: &str, backoff: u64, last_granted_us: Timestamp) {
        let job = self.job_of(id);
        (job.backoff, job.last_granted_us) = (backoff, last_granted_us);
    }

    fn job_of(&mut self, id: &str) -> &mut JobStats {
        let job = || JobStats { job: id.to_owned(), ..JobStats::default() };
        self.jobs.entry(id.to_owned()).or_insert_with(job)
    }

    /// A counter that this version does not know is ignored.
    fn count(&mut self, field: &str, count: u64) {
        let Some((id, counter)) = field.rsplit_once(':') else { return };
        if id.is_empty() {
            return self.count_enlistments(counter, count);
        }
        let job = self.job_of(id);
        let counted = match counter {
            "granted" => &mut job.granted,
            "worked" => &mut job.worked,
            "nothing" => &mut job.nothing,
            "aborted" => &mut job.aborted,
            "failed" => &mut job.failed,
            "overran" => &mut job.overran,
            "items" => &mut job.items,
            "busy_us" => &mut job.busy_us,
            "lost" => &mut job.lost,
            "late" => &mut job.late,
            _ => return,
        };
        *counted = count;
    }

    fn count_enlistments(&mut self, name: &str, count: u64) {
        let stats = &mut self.stats;
        // Enlistments after a stop are not counted.
        let is_it = |why: &Why| why.name() == name && *why != Why::Stopped;
        let Some(why) = Why::ALL.into_iter().find(is_it) else { return };
        stats.enlisted += count;
        let counted = match why {
            // The jobs count these.
            Why::Worked | Why::Nothing | Why::Aborted | Why::Failed | Why::Stopped => return,
            Why::NotDrawn => &mut stats.not_drawn,
            Why::NotDue => &mut stats.not_due,
            Why::Denied => &mut stats.denied,
            Why::Busy => &mut stats.busy,
            Why::InSlice => &mut stats.in_slice,
            Why::OverDuty => &mut stats.over_duty,
            Why::NoJobs => &mut stats.no_jobs,
            Why::Unavailable => &mut stats.unavailable,
        };
        *counted = count;
    }

    fn stats(self) -> RecruiterStats {
        RecruiterStats { jobs: self.jobs.into_values().collect(), ..self.stats }
    }
}
