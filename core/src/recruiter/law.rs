//! Who gets the next slice, and when a process asks again: a pure function of the stored state of the jobs, equal to
//! the script to the microsecond.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::recruit::{Granted, Offer, Recruited};
use super::report::JobReport;
use crate::step::Timestamp;

/// How far a clock may be behind the latest time seen and still be treated as standing still; further behind, it was
/// set back.
pub(super) const CLOCK_STEP_US: u64 = 2_000_000;

/// How far in the future a process may have to ask again, because of one job and because of all processes.
pub(super) const ASK_US_MAX: u64 = 5_000_000;
pub(super) const ASK_ALL_US_MAX: u64 = 120_000_000;

/// How often all processes together ask at most, on average: every two milliseconds.
pub(super) const ASK_ALL_US: u64 = 2_000;

/// A pause that is too short to be worth it.
pub(super) const PAUSE_US_MIN: u64 = 1_000;

/// How long a process waits at most for a job to have a token, and for a busy job.
pub(super) const WAIT_US_MAX: u64 = 60_000_000;
pub(super) const BUSY_US_MAX: u64 = 1_000_000;

/// All jobs of a recruiter.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    last_fence: u64,
    /// The latest time seen.
    latest: Timestamp,
    /// When the next process may ask.
    next_ask: Timestamp,
    by_id: BTreeMap<Arc<str>, Job>,
    counters: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Job {
    /// When the bucket of tokens is full again; none before the job was offered.
    tat: Timestamp,
    last_grant: Timestamp,
    backoff: u32,
    next_ask: Timestamp,
    /// The slices that count, by fence, with the ends of their leases.
    running: HashMap<u64, Timestamp>,
}

impl Jobs {
    pub(super) fn count(&mut self, counters: &[(String, u64)]) {
        for (counter, count) in counters {
            let sum = self.counters.entry(counter.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    pub(super) fn report(&mut self, reports: &[JobReport]) {
        for report in reports {
            if let Some(job) = self.by_id.get_mut(&report.job) {
                job.report(report);
            }
        }
    }

    /// Ends a slice of a job with a limit; returns whether it still counted.
    pub(super) fn end(&mut self, job: &str, fence: u64) -> bool {
        let of = self.by_id.get_mut(job);
        let is_known = of.is_some_and(|of| of.running.remove(&fence).is_some());
        if !is_known {
            self.count(&[(format!("{job}:late"), 1)]);
        }
        is_known
    }

    /// Grants a slice of one of the jobs, if one is due.
    pub(super) fn recruit(&mut self, offers: &[Offer], clock: Timestamp) -> Recruited {
        let is_set_back = clock + CLOCK_STEP_US < self.latest;
        let now = if is_set_back { clock } else { clock.max(self.latest) };
        if is_set_back {
            self.next_ask = now;
        }
        let (mut best, mut wait, mut busy_wait): (Option<(usize, f64)>, _, _) = (None, None, None);
        // The offered job that a process is to ask for first, when, and when the next process is to ask for it.
        let mut first_ask: Option<(usize, u64, u64)> = None;
        let mut lost = Vec::new();
        for (index, offer) in offers.iter().enumerate() {
            let interval = offer.interval_us;
            let tolerance = (offer.burst - 1) * interval;
            let job = self.by_id.entry(offer.job.clone()).or_insert_with(|| Job {
                tat: now + tolerance,
                next_ask: now,
                ..Job::default()
            });
            // An earlier definition may have allowed a lower rate, and an earlier clock may have been ahead.
            job.backoff = job.backoff.min(offer.backoff_max);
            job.last_grant = job.last_grant.min(now);
            let period = interval << job.backoff;
            job.next_ask = job.next_ask.min(now + ASK_US_MAX);
            let ask = job.next_ask.max(now);
            if first_ask.is_none_or(|(_, first, _)| ask < first) {
                let next = (ask + ask_interval_us(period)).min(now + ASK_US_MAX);
                first_ask = Some((index, ask, next));
            }

            job.tat = job.tat.min(now + offer.burst * interval);
            let token = job.tat.max(now).saturating_sub(tolerance);
            let ready = if job.backoff > 0 { token.max(job.last_grant + period) } else { token };
            if ready > now {
                wait = earlier(wait, ready - now);
                continue;
            }
            if offer.max_running > 0 {
                let before = job.running.len();
                job.running.retain(|_, end| *end > now);
                lost.push((format!("{}:lost", offer.job), (before - job.running.len()) as u64));
                if job.running.len() >= offer.max_running as usize {
                    // No lease is longer, unless the clock was set back since.
                    let longest = now + offer.lease_us;
                    job.running.values_mut().for_each(|end| *end = longest.min(*end));
                    let first = job.running.values().min().map_or(0, |end| end - now);
                    busy_wait = earlier(busy_wait, first.min(BUSY_US_MAX));
                    continue;
                }
            }
            let idle = (now - job.last_grant) as f64 / interval as f64;
            if best.is_none_or(|(_, best)| idle > best) {
                best = Some((index, idle));
            }
        }
        lost.retain(|(_, count)| *count > 0);
        self.count(&lost);
        let ask_all = self.next_ask.min(now + ASK_ALL_US_MAX).max(now);
        self.next_ask = (ask_all + ASK_ALL_US).min(now + ASK_ALL_US_MAX);
        self.latest = now;
        // Only that job's: several jobs together need the sum of the asks that each needs alone.
        let mut at_ask = now;
        if let Some((index, ask, next)) = first_ask {
            at_ask = ask;
            self.by_id.get_mut(&offers[index].job).expect("each offered job is known").next_ask =
                next;
        }
        let pause = (at_ask - now).max(ask_all - now);
        let pause = if pause <= PAUSE_US_MIN { 0 } else { pause };
        let pause = Duration::from_micros(pause);
        let Some((index, _)) = best else {
            let wait = [wait, busy_wait].into_iter().flatten().min().unwrap_or(WAIT_US_MAX);
            let wait = Duration::from_micros(wait.min(WAIT_US_MAX));
            return Recruited { granted: None, pause, wait, is_busy: busy_wait.is_some() };
        };
        let (offer, fence) = (&offers[index], now.max(self.last_fence + 1));
        self.last_fence = fence;
        let job = self.by_id.get_mut(&offer.job).expect("each offered job is known");
        job.tat = job.tat.max(now) + offer.interval_us;
        job.last_grant = now;
        if offer.max_running > 0 {
            job.running.insert(fence, now + offer.lease_us);
        }
        let backoff = job.backoff;
        self.count(&[(format!("{}:granted", offer.job), 1)]);
        let granted = Some(Granted { index, backoff, fence });
        Recruited { granted, pause, wait: Duration::ZERO, is_busy: false }
    }

    /// For each job: its id, how often its rate is halved, and its last grant.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (&Arc<str>, u32, Timestamp)> {
        self.by_id.iter().map(|(id, job)| (id, job.backoff, job.last_grant))
    }

    pub(super) fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counters.iter().map(|(counter, count)| (&**counter, *count))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty() && self.counters.is_empty()
    }
}

impl Job {
    fn report(&mut self, report: &JobReport) {
        self.backoff = match report.has_more {
            true => 0,
            false => {
                let backoff = i64::from(self.backoff).saturating_add(report.bad);
                backoff.clamp(0, i64::from(report.backoff_max)) as u32
            }
        };
    }
}

/// The time between two asks for a job with this time between two slices: one and a half asks for each slice; two, if
/// there is less than one slice a second.
fn ask_interval_us(period: u64) -> u64 {
    let period = period as f64;
    let interval = if period <= 1e6 { 1e6 / (1_500_000.0 / period + 0.5) } else { period / 2.0 };
    interval as u64
}

fn earlier(one: Option<u64>, other: u64) -> Option<u64> {
    Some(one.map_or(other, |one| one.min(other)))
}
