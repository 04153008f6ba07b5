//! A slice: one run of a job's handler, within a budget.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::duty::{Duty, Outcome, Why};
use super::name::Name;
use super::new_job::NewJob;
use super::recruit::Granted;
use super::report::{Ending, Report};
use super::{Settings, Shared};
use crate::client::{Blocking, Client, Mode};
use crate::worker::per_fork::generation;

/// A slice has overrun if it takes longer than its budget by more than this, or a tenth of the budget if that is more:
/// it can end only between two items.
const OVERRUN_MIN: Duration = Duration::from_millis(10);

/// One slice of a job's work, for its handler.
///
/// The handler stops when the slice [is over](Self::is_over); it is not interrupted. It ends the slice with the number
/// of items that it worked on, where 0 means that there was nothing to do: then a job per second runs less often for a
/// while. A job by share keeps its share, whatever the results of its slices.
pub struct Slice<M: Mode = Blocking>(Arc<Inner<M>>);

struct Inner<M: Mode> {
    client: Client<M>,
    name: Name,
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    job: Arc<NewJob>,
    budget: Duration,
    begun: Duration,
    /// The grant of a job per second.
    granted: Option<Granted>,
    /// When it stops counting against a limit, if the job has one.
    lost_at: Option<Duration>,
    /// Whether the process rests after it.
    rests: bool,
    has_more: AtomicBool,
    is_aborted: AtomicBool,
    is_ended: AtomicBool,
    /// The process that works on it.
    generation: u32,
}

/// Where a slice belongs.
pub(super) struct Place<M: Mode> {
    pub(super) client: Client<M>,
    pub(super) name: Name,
    pub(super) shared: Arc<Shared>,
    pub(super) settings: Arc<Settings>,
    /// Whether the process rests after the slice.
    pub(super) rests: bool,
}

impl<M: Mode> Slice<M> {
    /// The slice of a job that needs no permission, or one that was granted to an ask at this time.
    pub(super) fn begin(
        place: Place<M>,
        job: Arc<NewJob>,
        offered: Option<Duration>,
        granted: Option<(Granted, Duration)>,
    ) -> Self {
        let Place { client, name, shared, settings, rests } = place;
        let begun = client.local_time();
        let limited = job.offer().filter(|offer| offer.max_running > 0).zip(granted);
        let lost_at =
            limited.map(|(offer, (_, asked))| asked + Duration::from_micros(offer.lease_us));
        Self(Arc::new(Inner {
            client,
            name,
            shared,
            settings,
            budget: job.budget_of(offered),
            job,
            begun,
            granted: granted.map(|(granted, _)| granted),
            lost_at,
            rests,
            has_more: AtomicBool::new(false),
            is_aborted: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            generation: generation(),
        }))
    }

    /// The id of the job.
    pub fn job(&self) -> &str {
        self.0.job.id()
    }

    /// The time for the slice: the job's budget, or less if the process offered less.
    pub fn budget(&self) -> Duration {
        self.0.budget
    }

    /// How much of the budget is left.
    pub fn remaining(&self) -> Duration {
        self.0.budget.saturating_sub(self.0.took())
    }

    /// Whether nothing of the budget is left.
    pub fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }

    /// A number that grows with each slice of a job per second, over all processes; 0 for a job by share.
    pub fn fence(&self) -> u64 {
        self.0.granted.map_or(0, |granted| granted.fence)
    }

    /// Whether its lease is over: it no longer counts against `max_running`, and another slice may run in its place.
    pub fn is_lost(&self) -> bool {
        self.0.lost_at.is_some_and(|lost_at| self.0.client.local_time() >= lost_at)
    }

    /// Reports that there is more to do: the job runs at its full rate again.
    pub fn more(&self) {
        self.0.has_more.store(true, Ordering::Relaxed);
    }

    /// Marks the slice as aborted, because another process was doing the same work, or because for another reason this
    /// slice tells nothing about how much there is to do. It then does not change how often the job runs.
    pub fn abort(&self) {
        self.0.is_aborted.store(true, Ordering::Relaxed);
    }

    /// Ends the slice, which worked on this many items. Only the first end of a slice counts.
    ///
    /// # Rust
    /// The recruiter calls it with the result of a handler. A slice that is dropped without an end was aborted.
    pub fn end(&self, items: u64) -> Duty {
        match self.0.is_aborted.load(Ordering::Relaxed) {
            true => self.0.end(Outcome::ABORTED),
            false => self.0.end(Outcome::worked(items, self.0.has_more.load(Ordering::Relaxed))),
        }
    }

    /// Ends the slice as failed. It is not repeated: the next slice of the job does the work.
    pub fn fail(&self) -> Duty {
        self.0.end(Outcome::FAILED)
    }
}

impl<M: Mode> Slice<M> {
    /// Ends a slice whose job has no handler.
    pub(super) fn give_up(&self) -> Duty {
        self.0.end(Outcome::ABORTED)
    }
}

impl<M: Mode> Inner<M> {
    fn took(&self) -> Duration {
        self.client.local_time().saturating_sub(self.begun)
    }

    fn end(&self, outcome: Outcome) -> Duty {
        let (took, why) = (self.took(), outcome.why);
        let duty =
            Duty { recruited: why == Why::Worked, job: Some(self.job.id().to_string()), took, why };
        // A copy in the child of a fork does not end the parent's slice.
        let is_copy = self.generation != generation();
        if self.is_ended.swap(true, Ordering::AcqRel) || is_copy {
            return duty;
        }
        let now = self.client.local_time();
        let rest = if self.rests { self.settings.rest(took) } else { Duration::ZERO };
        let backoff = self.granted.map_or(0, |granted| granted.backoff);
        let pacer = &self.shared.pacer;
        let has_overrun = took > self.budget + OVERRUN_MIN.max(self.budget / 10);
        let is_urgent = pacer.ended(&self.job, outcome, took, has_overrun, backoff, (now, rest));
        pacer.count(why);
        let limited = self.granted.filter(|_| self.lost_at.is_some());
        let ending =
            limited.map(|granted| Ending { job: self.job.id().clone(), fence: granted.fence });
        // After a stop, no ask will carry the report.
        if is_urgent || ending.is_some() || self.settings.is_stopped() {
            let reported = pacer.take_reports(now);
            // If this is lost, the slice stops counting when its lease is over, and the counts miss it.
            self.client.run_unattended(Ok(Report::new(self.name.clone(), ending, reported)));
        }
        duty
    }
}

impl<M: Mode> Drop for Inner<M> {
    fn drop(&mut self) {
        if !self.is_ended.load(Ordering::Acquire) {
            self.end(Outcome::ABORTED);
        }
    }
}

impl<M: Mode> Clone for Slice<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Mode> fmt::Debug for Slice<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice").field("job", &self.job()).finish_non_exhaustive()
    }
}
