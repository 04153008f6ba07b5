//! Recruit: ask for a slice of one of several jobs.

use std::sync::Arc;
use std::time::Duration;

use super::embedded;
use super::name::Name;
use super::new_job::{BACKOFF_MAX, JOBS_MAX, NewJob};
use super::pacer::Reported;
use super::report::{JobReport, push_counters, push_reports};
use crate::error::{Result, ensure, invalid};
use crate::step::reply::malformed;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// A job that a process offers to do.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) job: Arc<str>,
    /// The time between two slices.
    pub(super) interval_us: u64,
    /// How many slices may be saved up.
    pub(super) burst: u64,
    /// How many slices at a time; 0 for any number.
    pub(super) max_running: u32,
    /// When a slice that never ended stops counting.
    pub(super) lease_us: u64,
    /// How often the rate may be halved.
    pub(super) backoff_max: u32,
}

/// What an ask returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recruited {
    /// The slice, if there is one.
    pub granted: Option<Granted>,
    /// The mean time for which the process should not ask.
    pub pause: Duration,
    /// How long until one of the jobs can be granted, if none was.
    pub wait: Duration,
    /// Whether a job was refused only because `max_running` of its slices are running.
    pub is_busy: bool,
}

/// A slice that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Which of the offered jobs.
    pub index: usize,
    /// How often the job's rate is halved.
    pub backoff: u32,
    /// A number that grows with each grant.
    pub fence: u64,
}

/// Asks for a slice of one of several jobs, and reports earlier slices.
#[derive(Clone, Debug)]
pub struct Recruit {
    pub(super) name: Name,
    pub(super) offers: Vec<Offer>,
    pub(super) reports: Vec<JobReport>,
    pub(super) counters: Vec<(String, u64)>,
}

impl Recruit {
    /// Asks for a slice of one of these jobs per second, 1 to [`JOBS_MAX`].
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name or a job beyond its limits, and a job by share.
    pub fn new(name: impl AsRef<[u8]>, jobs: impl IntoIterator<Item = NewJob>) -> Result<Self> {
        let offer = |job: NewJob| {
            job.check()?;
            job.offer().ok_or_else(|| invalid(format!("the job {} has a share", job.id())))
        };
        let offers = jobs.into_iter().map(offer).collect::<Result<Vec<_>>>()?;
        let count = offers.len();
        ensure!((1..=JOBS_MAX).contains(&count), "{count} jobs are offered, not 1 to {JOBS_MAX}");
        Ok(Self::of(Name::new(name.as_ref())?, offers, Reported::default()))
    }

    pub(super) fn of(name: Name, offers: Vec<Offer>, reported: Reported) -> Self {
        Self { name, offers, reports: reported.reports, counters: reported.counters }
    }
}

impl Operation for Recruit {
    head!(
        "recruiter.recruit",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "steal.lua", "recruit.lua"]
    );
    type Output = Recruited;
    /// A second run would spend another token.
    const IDEMPOTENT: bool = false;
    const IN_MEMORY: bool = true;

    fn invocation(&self) -> Invocation {
        let mut keys = self.name.keys();
        let limited = self.offers.iter().filter(|offer| offer.max_running > 0);
        keys.extend(limited.map(|offer| self.name.running_key(&offer.job)));
        let mut args = ByteList::default();
        args.push_number(self.offers.len() as u64);
        args.push_number(self.reports.len() as u64);
        for offer in &self.offers {
            args.push(offer.job.as_bytes());
            args.push_number(offer.interval_us);
            args.push_number(offer.burst);
            args.push_number(u64::from(offer.max_running));
            args.push_number(offer.lease_us);
            args.push_number(u64::from(offer.backoff_max));
        }
        push_reports(&self.reports, &mut args);
        push_counters(&self.counters, &mut args);
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Recruited> {
        let mut replies = reply.list()?;
        let number = replies.next()?.count(self.offers.len())? as usize;
        let (backoff, fence) =
            (replies.next()?.count(BACKOFF_MAX as usize)? as u32, replies.next()?.number()?);
        let mut time = || replies.next()?.number().map(Duration::from_micros);
        let (pause, wait) = (time()?, time()?);
        let is_busy = replies.next()?.flag()?;
        replies.end()?;
        let granted = number.checked_sub(1).map(|index| Granted { index, backoff, fence });
        if granted.is_some_and(|granted| granted.fence == 0) {
            return Err(malformed());
        }
        Ok(Recruited { granted, pause, wait, is_busy })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Recruited> {
        let now = context.now();
        Ok(state.step(|jobs| {
            jobs.report(&self.reports);
            let recruited = jobs.recruit(&self.offers, now);
            jobs.count(&self.counters);
            recruited
        }))
    }
}
