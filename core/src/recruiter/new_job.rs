//! A job: a kind of background work, how often it runs, and for how long at a time.

use std::sync::Arc;
use std::time::Duration;

use super::recruit::Offer;
use crate::error::{Result, ensure, invalid};

/// The longest id of a job, in bytes.
pub const JOB_BYTES_MAX: usize = 64;

/// The most jobs of a recruiter.
pub const JOBS_MAX: usize = 64;

/// The highest rate of a job, in slices a second; the lowest is one a day.
pub const RATE_MAX: f64 = 1_000.0;

/// The most slices of a job that may be saved up.
pub const BURST_MAX: u32 = 10_000;

/// The most slices of a job at a time, if their number is limited.
pub const RUNNING_MAX: u32 = 1_000;

/// The time for one slice by default.
pub const BUDGET_DEFAULT: Duration = Duration::from_millis(50);

/// The longest time between two slices of a job that finds nothing to do, by default.
pub const IDLE_MAX_DEFAULT: Duration = Duration::from_secs(10);

/// The longest time for one slice.
pub const BUDGET_MAX: Duration = Duration::from_secs(60);

/// The longest lease of a slice.
pub const LEASE_MAX: Duration = Duration::from_secs(3_600);

/// The shortest lease of a slice by default, which is 20 times its budget if that is longer.
pub const LEASE_MIN_DEFAULT: Duration = Duration::from_secs(5);

/// The longest [`idle_max`](NewJob::idle_max).
pub const IDLE_MAX: Duration = Duration::from_secs(3_600);

/// The longest time between two slices, in microseconds: a day.
pub(super) const INTERVAL_US_MAX: u64 = 86_400_000_000;

const RATE_MIN: f64 = 1e6 / INTERVAL_US_MAX as f64;

/// How often a rate can be halved.
pub(super) const BACKOFF_MAX: u32 = 24;

/// All draws of the lottery: 53 bits.
pub(super) const DRAWS: u64 = 1 << 53;

/// A kind of background work, for [`Recruiter::install`](super::Recruiter::install): its id and how often it runs. It
/// has either a share or a rate per second.
///
/// ```
/// use std::time::Duration;
/// use millpond::recruiter::NewJob;
///
/// let job = NewJob::new("mail").per_second(2.0).budget(Duration::from_millis(20)).max_running(3);
/// # let _ = job;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NewJob {
    id: Arc<str>,
    share: Option<f64>,
    per_second: Option<f64>,
    burst: Option<u32>,
    budget: Duration,
    max_running: u32,
    lease: Option<Duration>,
    idle_max: Duration,
}

/// How often a job runs.
#[derive(Clone, Copy, Debug)]
enum Rate {
    Share(f64),
    PerSecond(f64),
}

impl NewJob {
    /// The job with this id, 1 to [`JOB_BYTES_MAX`] bytes without control characters.
    pub fn new(id: impl AsRef<str>) -> Self {
        Self {
            id: id.as_ref().into(),
            share: None,
            per_second: None,
            burst: None,
            budget: BUDGET_DEFAULT,
            max_running: 0,
            lease: None,
            idle_max: IDLE_MAX_DEFAULT,
        }
    }

    /// How many slices of the job all processes together run in a second: one a day to [`RATE_MAX`].
    pub fn per_second(self, rate: f64) -> Self {
        Self { per_second: Some(rate), ..self }
    }

    /// The part of all enlistments that run the job, 0 to 1: a lottery in the process, which makes no call to a server.
    pub fn share(self, share: f64) -> Self {
        Self { share: Some(share), ..self }
    }

    /// How many slices may be saved up while no process enlists, 1 to [`BURST_MAX`]; by default the slices of one
    /// second, or of five seconds up to five slices, whichever is more. Only for a rate per second.
    pub fn burst(self, burst: u32) -> Self {
        Self { burst: Some(burst), ..self }
    }

    /// The time for one slice, 1 ms to [`BUDGET_MAX`]; [`BUDGET_DEFAULT`] by default. The handler can see how much is
    /// left; it is not interrupted.
    pub fn budget(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    /// How many slices run at a time over all processes, up to [`RUNNING_MAX`]; 0, the default, is no limit. Only for a
    /// rate per second.
    pub fn max_running(self, max_running: u32) -> Self {
        Self { max_running, ..self }
    }

    /// After how long a slice that has not ended stops counting against `max_running`, from the budget to
    /// [`LEASE_MAX`]; by default 20 budgets, and at least [`LEASE_MIN_DEFAULT`].
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// The longest time between two slices of the job when it finds nothing to do, up to [`IDLE_MAX`];
    /// [`IDLE_MAX_DEFAULT`] by default. With 0 the job always runs at its full rate.
    pub fn idle_max(self, idle_max: Duration) -> Self {
        Self { idle_max, ..self }
    }

    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(super) fn budget_of(&self, offered: Option<Duration>) -> Duration {
        offered.map_or(self.budget, |offered| offered.min(self.budget))
    }

    /// Exactly one kind of rate.
    fn rate(&self) -> Option<Rate> {
        match (self.share, self.per_second) {
            (Some(share), None) => Some(Rate::Share(share)),
            (None, Some(rate)) => Some(Rate::PerSecond(rate)),
            _ => None,
        }
    }

    /// How many of all draws run it; `None` for a job per second.
    pub(super) fn width(&self) -> Option<u64> {
        self.share.map(|share| (share * DRAWS as f64).round() as u64)
    }

    /// The job as an ask offers it; `None` for a job by share.
    pub(super) fn offer(&self) -> Option<Offer> {
        let rate = self.per_second?;
        let lease = self.lease.unwrap_or((self.budget * 20).max(LEASE_MIN_DEFAULT));
        Some(Offer {
            job: self.id.clone(),
            interval_us: interval_us(rate),
            burst: u64::from(self.burst.unwrap_or_else(|| burst_default(rate))),
            max_running: self.max_running,
            lease_us: lease.as_micros() as u64,
            backoff_max: self.backoff_max(),
        })
    }

    /// Whether the number of its slices that run at a time is limited.
    pub(super) fn is_limited(&self) -> bool {
        self.max_running > 0
    }

    /// How often its rate may be halved.
    pub(super) fn backoff_max(&self) -> u32 {
        let Some(rate) = self.per_second else { return 0 };
        let (mut period, idle_max) = (interval_us(rate), self.idle_max.as_micros() as u64);
        let mut backoff = 0;
        while period * 2 <= idle_max {
            period *= 2;
            backoff += 1;
        }
        backoff
    }

    /// Refuses a job with values beyond their limits.
    pub(super) fn check(&self) -> Result<()> {
        let id = &*self.id;
        let is_id = (1..=JOB_BYTES_MAX).contains(&id.len()) && !id.chars().any(char::is_control);
        ensure!(is_id, "the id of a job has 1 to {JOB_BYTES_MAX} bytes and no control characters");
        let rate = self.rate().ok_or_else(|| {
            invalid(format!("the job {id} has either a share or a rate per second"))
        })?;
        match rate {
            Rate::Share(share) => {
                ensure!((0.0..=1.0).contains(&share), "the share of {id} is {share}, not 0 to 1");
                let is_plain = self.burst.is_none() && self.max_running == 0;
                ensure!(is_plain, "{id} runs by share: it has no burst and no max_running");
            }
            Rate::PerSecond(rate) => {
                let is_rate = (RATE_MIN..=RATE_MAX).contains(&rate);
                ensure!(
                    is_rate,
                    "the rate of {id} is {rate} a second, not one a day to {RATE_MAX}"
                );
            }
        }
        let burst = self.burst.unwrap_or(1);
        ensure!(
            (1..=BURST_MAX).contains(&burst),
            "the burst of {id} is {burst}, not 1 to {BURST_MAX}"
        );
        let running = self.max_running;
        ensure!(
            running <= RUNNING_MAX,
            "{id} has {running} slices at a time; {RUNNING_MAX} are allowed"
        );
        let budget = self.budget;
        ensure!(
            (Duration::from_millis(1)..=BUDGET_MAX).contains(&budget),
            "the budget of {id} is {budget:?}, not a millisecond to a minute"
        );
        if let Some(lease) = self.lease {
            ensure!(
                (budget..=LEASE_MAX).contains(&lease),
                "the lease of {id} is {lease:?}, not its budget to an hour"
            );
        }
        let idle_max = self.idle_max;
        ensure!(idle_max <= IDLE_MAX, "the idle_max of {id} is {idle_max:?}, more than an hour");
        Ok(())
    }
}

/// With fewer, a few processes that ask at random times could not keep the rate; a daily job has one.
fn burst_default(rate: f64) -> u32 {
    let of_five_seconds = (rate * 5.0).ceil().min(5.0);
    rate.ceil().max(of_five_seconds) as u32
}

fn interval_us(rate: f64) -> u64 {
    (1e6 / rate).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_its_limits_is_refused() {
        for job in [
            NewJob::new("a"),
            NewJob::new("a").share(0.1).per_second(1.0),
            NewJob::new("a").share(-0.1),
            NewJob::new("a").share(f64::NAN),
            NewJob::new("a").share(1.5),
            NewJob::new("a").share(0.5).burst(2),
            NewJob::new("a").share(0.5).max_running(1),
            NewJob::new("").share(0.5),
            NewJob::new("a\n").share(0.5),
            NewJob::new("a".repeat(65)).share(0.5),
            NewJob::new("a").per_second(0.0),
            NewJob::new("a").per_second(f64::INFINITY),
            NewJob::new("a").per_second(f64::NAN),
            NewJob::new("a").per_second(1_001.0),
            NewJob::new("a").per_second(1.0 / 86_401.0),
            NewJob::new("a").per_second(1.0).burst(0),
            NewJob::new("a").per_second(1.0).burst(10_001),
            NewJob::new("a").per_second(1.0).max_running(1_001),
            NewJob::new("a").per_second(1.0).budget(Duration::ZERO),
            NewJob::new("a").per_second(1.0).budget(Duration::from_secs(61)),
            NewJob::new("a").per_second(1.0).lease(Duration::from_millis(49)),
            NewJob::new("a").per_second(1.0).idle_max(Duration::from_secs(3_601)),
        ] {
            assert!(job.check().is_err(), "{job:?}");
        }
        for job in [
            NewJob::new("a").share(0.0),
            NewJob::new("a").share(1.0),
            NewJob::new("a").per_second(1_000.0).burst(10_000).max_running(1_000),
            NewJob::new("a".repeat(64)).per_second(1.0 / 86_400.0),
        ] {
            job.check().unwrap();
        }
    }

    #[test]
    fn a_job_has_defaults() {
        let daily = NewJob::new("a").per_second(1.0 / 86_400.0).offer().unwrap();
        assert_eq!(
            (daily.interval_us, daily.burst, daily.lease_us),
            (86_400_000_000, 1, 5_000_000)
        );
        for (rate, burst) in [(0.1, 1), (0.5, 3), (1.0, 5), (2.5, 5), (10.0, 10), (99.5, 100)] {
            assert_eq!(NewJob::new("a").per_second(rate).offer().unwrap().burst, burst);
        }
        assert_eq!(NewJob::new("a").per_second(10.0).backoff_max(), 6);
        assert_eq!(NewJob::new("a").per_second(0.1).backoff_max(), 0);
        assert_eq!(NewJob::new("a").share(0.5).width(), Some(1 << 52));
    }
}
