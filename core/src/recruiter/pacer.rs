//! When a process asks for a slice, and its pending reports: shared by all handles of a recruiter in the process. It
//! contains no clock and no random source; the time and random draws are passed in. Times are those of one clock, with
//! an arbitrary origin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::duty::{Outcome, Why};
use super::lottery::Lottery;
use super::new_job::{DRAWS, JOBS_MAX, NewJob};
use super::recruit::{Granted, Recruited};
use super::report::JobReport;
use crate::error::Result;
use crate::runtime::sync::lock;
use crate::step::limits::INTEGER_MAX;

/// The first ask of a process is at a random time within this of its start.
const FIRST_US: u64 = 5_000_000;

/// How often a process reports the results of its slices if it does not ask.
const REPORT_US: u64 = 5_000_000;

/// How long a process does not ask after the server did not respond: at first up to a second, then up to twice as long
/// each time.
const AWAY_US: u64 = 1_000_000;
const AWAY_US_MAX: u64 = 10_000_000;

/// What a process does when it enlists.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing.
    Dismissed(Why),
    /// A slice of the job with this number, which needs no permission; then [`Pacer::ended`].
    Run(usize),
    /// Asks the server; then [`Pacer::answered`].
    Ask,
}

/// The process does nothing, asks, or runs a slice: one thing at a time.
const FREE: u8 = 0;
const ASKING: u8 = 1;
const IN_SLICE: u8 = 2;

pub(super) struct Pacer {
    state: AtomicU8,
    /// No ask before this time, in microseconds.
    not_before: AtomicU64,
    /// No slice by share before this time, in microseconds.
    rest_until: AtomicU64,
    /// The jobs per second that some handle has installed.
    known: Mutex<BTreeSet<Arc<str>>>,
    /// How many enlistments ended for each reason.
    reasons: [AtomicU64; Why::ALL.len()],
    tallies: Mutex<BTreeMap<Arc<str>, Tally>>,
    /// When the process last reported, or began, in microseconds.
    reported: AtomicU64,
    /// How often in a row the server did not respond.
    away: AtomicU64,
}

/// The report on the slices of a job that goes with the next ask.
#[derive(Clone, Debug, Default)]
struct Tally {
    bad: i64,
    has_more: bool,
    backoff_max: u32,
    /// Whether there is anything that changes how often the job runs.
    is_due: bool,
    /// By counter: worked, nothing, failed, aborted, overran, items, busy_us.
    counts: BTreeMap<&'static str, u64>,
}

/// What an ask carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reported {
    pub(super) reports: Vec<JobReport>,
    pub(super) counters: Vec<(String, u64)>,
}

impl Pacer {
    pub(super) fn new(draw: u64, now: Duration) -> Self {
        Self {
            state: AtomicU8::new(FREE),
            not_before: AtomicU64::new(micros(now) + part(draw, FIRST_US)),
            rest_until: AtomicU64::new(0),
            known: Mutex::default(),
            reasons: Default::default(),
            tallies: Mutex::default(),
            reported: AtomicU64::new(micros(now)),
            away: AtomicU64::new(0),
        }
    }

    /// Handles the installation of a job. If the process has not offered the job yet, it asks soon.
    pub(super) fn installed(&self, job: &NewJob, draw: u64, now: Duration) {
        if job.offer().is_some() && lock(&self.known).insert(job.id().clone()) {
            self.not_before.fetch_min(micros(now) + part(draw, FIRST_US), Ordering::Relaxed);
        }
    }

    /// The decision of an enlistment: no call, no lock and no allocation.
    pub(super) fn enlist(&self, lottery: &Lottery, draw: u64, now: Duration) -> Step {
        if lottery.is_empty() {
            return Step::Dismissed(Why::NoJobs);
        }
        if self.state.load(Ordering::Relaxed) == IN_SLICE {
            return Step::Dismissed(Why::InSlice);
        }
        let now = micros(now);
        let (state, step) = match lottery.winner(draw % DRAWS) {
            Some(_) if now < self.rest_until.load(Ordering::Relaxed) => {
                return Step::Dismissed(Why::OverDuty);
            }
            Some(job) => (IN_SLICE, Step::Run(job)),
            None if !lottery.has_paced() => return Step::Dismissed(Why::NotDrawn),
            None if now < self.not_before.load(Ordering::Relaxed) => {
                return Step::Dismissed(Why::NotDue);
            }
            None => (ASKING, Step::Ask),
        };
        match self.state.compare_exchange(FREE, state, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => step,
            Err(IN_SLICE) => Step::Dismissed(Why::InSlice),
            Err(_) => Step::Dismissed(Why::NotDue),
        }
    }

    /// How long until the next ask may be; `None` while the process asks or is in a slice.
    pub(super) fn due_in(&self, now: Duration) -> Option<Duration> {
        let left = self.not_before.load(Ordering::Relaxed).saturating_sub(micros(now));
        let is_free = self.state.load(Ordering::Relaxed) == FREE;
        is_free.then(|| Duration::from_micros(left))
    }

    /// Takes the pending reports, as many as one ask carries. Reports that are lost on the way are not sent again.
    pub(super) fn take_reports(&self, now: Duration) -> Reported {
        self.reported.store(micros(now), Ordering::Relaxed);
        let mut reported = Reported::default();
        let mut tallies = lock(&self.tallies);
        // The others go with the next ask.
        while reported.reports.len() < JOBS_MAX
            && let Some((job, tally)) = tallies.pop_first()
        {
            if tally.is_due {
                let Tally { bad, has_more, backoff_max, .. } = tally;
                reported.reports.push(JobReport { job: job.clone(), bad, has_more, backoff_max });
            }
            let counts = tally.counts.into_iter();
            reported.counters.extend(counts.map(|(name, count)| (format!("{job}:{name}"), count)));
        }
        for (why, count) in Why::ALL.iter().zip(&self.reasons) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                reported.counters.push((format!(":{}", why.name()), count));
            }
        }
        reported
    }

    /// Ends an ask that was not sent.
    pub(super) fn give_up(&self) {
        self.state.store(FREE, Ordering::Release);
    }

    /// Handles the result of an ask: the granted slice, which [`ended`](Self::ended) follows, or why there is none.
    pub(super) fn answered(
        &self,
        result: &Result<Recruited>,
        draw: u64,
        now: Duration,
    ) -> std::result::Result<Granted, Why> {
        let (pause, granted) = match result {
            Ok(Recruited { granted, pause, wait, is_busy }) => {
                self.away.store(0, Ordering::Relaxed);
                let why = if *is_busy { Why::Busy } else { Why::Denied };
                (micros(*wait) + exponential(draw, micros(*pause)), granted.ok_or(why))
            }
            Err(_) => {
                let times = self.away.fetch_add(1, Ordering::Relaxed).min(16);
                let most = AWAY_US_MAX.min(AWAY_US << times);
                (most / 2 + part(draw, most / 2), Err(Why::Unavailable))
            }
        };
        self.not_before.store(micros(now) + pause, Ordering::Relaxed);
        let state = if granted.is_ok() { IN_SLICE } else { FREE };
        self.state.store(state, Ordering::Release);
        granted
    }

    /// Handles the end of a slice that took this long, after which the process rests until some time. Returns whether
    /// it is to be reported now: a job whose rate was halved has more to do, or the last report was long ago.
    pub(super) fn ended(
        &self,
        job: &NewJob,
        outcome: Outcome,
        took: Duration,
        has_overrun: bool,
        backoff: u32,
        (now, rest): (Duration, Duration),
    ) -> bool {
        let rest_until = now + rest;
        let rest_until = micros(rest_until);
        self.not_before.fetch_max(rest_until, Ordering::Relaxed);
        self.rest_until.fetch_max(rest_until, Ordering::Relaxed);
        let word = outcome.why.name();
        let mut tallies = lock(&self.tallies);
        let tally = tallies.entry(job.id().clone()).or_default();
        let counts = [(word, 1), ("items", outcome.items), ("busy_us", micros(took))];
        for (name, count) in counts.into_iter().chain(has_overrun.then_some(("overran", 1))) {
            if count > 0 {
                let sum = tally.counts.entry(name).or_default();
                *sum = sum.saturating_add(count).min(INTEGER_MAX);
            }
        }
        tally.backoff_max = job.backoff_max();
        tally.bad += match outcome.why {
            Why::Aborted => 0,
            Why::Worked => i64::from(has_overrun) - 1,
            _ => 1 + i64::from(has_overrun),
        };
        if outcome.why != Why::Aborted && job.offer().is_some() {
            (tally.is_due, tally.has_more) = (true, outcome.more);
        }
        drop(tallies);
        self.state.store(FREE, Ordering::Release);
        let is_long_ago = micros(now) >= self.reported.load(Ordering::Relaxed) + REPORT_US;
        is_long_ago || outcome.more && backoff > 0
    }

    /// Counts an enlistment.
    pub(super) fn count(&self, why: Why) {
        self.reasons[why as usize].fetch_add(1, Ordering::Relaxed);
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

/// A random part of a number.
fn part(draw: u64, whole: u64) -> u64 {
    ((draw % DRAWS) as f64 / DRAWS as f64 * whole as f64) as u64
}

/// A random time with this mean, at most four times as long.
fn exponential(draw: u64, mean: u64) -> u64 {
    let uniform = ((draw % DRAWS) + 1) as f64 / DRAWS as f64;
    (-uniform.ln() * mean as f64).min(4.0 * mean as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reasons are counted by their numbers.
    #[test]
    fn the_reasons_are_in_their_order() {
        for (number, why) in Why::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, number);
        }
    }

    /// B5, P9: of many threads that enlist, one asks; while a slice runs, none does.
    #[test]
    fn one_ask_or_slice_at_a_time() {
        let pacer = Pacer::new(0, Duration::ZERO);
        let paced = Lottery::default().with(NewJob::new("a").per_second(1.0)).unwrap();
        let both = paced.with(NewJob::new("b").share(1.0)).unwrap();
        let now = Duration::from_secs(10);
        let asks = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..64).map(|_| scope.spawn(|| pacer.enlist(&paced, 0, now))).collect();
            let steps = threads.into_iter().map(|thread| thread.join().unwrap());
            steps.filter(|step| *step == Step::Ask).count()
        });
        assert_eq!(asks, 1);
        assert_eq!(pacer.enlist(&both, 0, now), Step::Dismissed(Why::NotDue));
        let granted = Some(Granted { index: 0, backoff: 0, fence: 1 });
        let (pause, wait) = (Duration::ZERO, Duration::ZERO);
        let recruited = Recruited { granted, pause, wait, is_busy: false };
        assert!(pacer.answered(&Ok(recruited), 0, now).is_ok());
        for lottery in [&paced, &both] {
            assert_eq!(pacer.enlist(lottery, 0, now), Step::Dismissed(Why::InSlice));
        }
        let outcome = Outcome::worked(1, false);
        pacer.ended(&paced.jobs()[0], outcome, Duration::ZERO, false, 0, (now, Duration::ZERO));
        assert_eq!(pacer.enlist(&both, 0, now), Step::Run(1));
    }

    /// Reports that exceed one ask go with the next.
    #[test]
    fn no_report_is_lost() {
        let pacer = Pacer::new(0, Duration::ZERO);
        for number in 0..JOBS_MAX + 6 {
            let job = NewJob::new(format!("job {number}")).per_second(1.0);
            let outcome = Outcome::worked(1, false);
            pacer.ended(&job, outcome, Duration::ZERO, false, 0, Default::default());
        }
        let reports = [0; 3].map(|_| pacer.take_reports(Duration::ZERO).reports.len());
        assert_eq!(reports, [JOBS_MAX, 6, 0]);
    }

    /// A process that does not ask reports at the end of a slice, but not after each.
    #[test]
    fn a_process_that_does_not_ask_reports_every_five_seconds() {
        let pacer = Pacer::new(0, Duration::ZERO);
        let job = NewJob::new("a").share(1.0);
        let mut reports = Vec::new();
        for second in 1..=16 {
            let (outcome, now) = (Outcome::worked(1, false), Duration::from_secs(second));
            if pacer.ended(&job, outcome, Duration::ZERO, false, 0, (now, Duration::ZERO)) {
                let counters = pacer.take_reports(now).counters;
                reports.push((second, counters.into_iter().find(|(name, _)| name == "a:worked")));
            }
        }
        let worked = |count| Some(("a:worked".to_owned(), count));
        assert_eq!(reports, [(5, worked(5)), (10, worked(5)), (15, worked(5))]);
    }

    /// O10: a server that does not respond is left alone for half a second to a second, and at last for five to ten.
    #[test]
    fn a_server_that_is_away_is_asked_less_and_less() {
        let pacer = Pacer::new(0, Duration::ZERO);
        let lottery = Lottery::default().with(NewJob::new("a").per_second(1.0)).unwrap();
        let mut now = Duration::from_secs(10);
        for (most, draw) in [(1, 0), (2, DRAWS - 1), (4, DRAWS / 2), (8, 0), (10, 0), (10, 0)] {
            assert_eq!(pacer.enlist(&lottery, 0, now), Step::Ask);
            let away = Err(crate::error::invalid("away"));
            assert_eq!(pacer.answered(&away, draw, now), Err(Why::Unavailable));
            let left = pacer.due_in(now).unwrap();
            let most = Duration::from_secs(most);
            assert!(most / 2 <= left && left <= most, "{left:?}");
            now += left;
        }
    }
}
