//! Random steps of a recruiter on Redis and on the embedded engine: both return the same, to the microsecond. The
//! engine's clock is set to the time at which the server decided, which is read back from it.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use millpond::recruiter::{JobReport, NewJob, Recruit, Recruited, Report};
use millpond::{Client, ManualClock, Options};
use millpond_tests::servers::Redis;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const JOBS: [&str; 3] = ["a", "b:c", "é"];

#[derive(Clone, Debug)]
enum Step {
    /// Asks for one of these jobs: which, how often a second, how many at a time, with which burst.
    Recruit(Vec<(usize, f64, u32, u32)>),
    Report(Vec<(usize, i64, bool, u32)>),
    /// Ends a slice of this job: the one that was granted this number of grants before its last; a fence that was never
    /// granted, if there is no such grant.
    End(usize, usize),
    /// Waits, at least so long.
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let rate = prop_oneof![Just(1_000.0), Just(300.0), Just(40.0), Just(1.0), Just(0.001)];
    let offer = (0..JOBS.len(), rate, 0..3_u32, prop_oneof![Just(1_u32), 2..20_u32]);
    let offers = prop::collection::vec(offer, 1..4).prop_map(|mut offers| {
        offers.sort_by_key(|offer| offer.0);
        offers.dedup_by_key(|offer| offer.0);
        offers
    });
    let report = (0..JOBS.len(), -3..4_i64, prop::bool::weighted(0.2), 0..8_u32);
    prop_oneof![
        12 => offers.prop_map(Step::Recruit),
        3 => prop::collection::vec(report, 1..4).prop_map(Step::Report),
        3 => (0..JOBS.len(), 0..4_usize).prop_map(|(job, age)| Step::End(job, age)),
        4 => (0..6_u64).prop_map(Step::Wait),
    ]
}

fn job((id, rate, max_running, burst): (usize, f64, u32, u32)) -> NewJob {
    // A lease that is over within the test, at times.
    let lease = Duration::from_millis(4);
    let job = NewJob::new(JOBS[id]).per_second(rate).burst(burst).max_running(max_running);
    // Different definitions, which allow different backoffs.
    let job = job.idle_max(Duration::from_millis(3_000 * u64::from(burst % 3)));
    job.budget(Duration::from_millis(1)).lease(lease)
}

struct Pair {
    server: Redis,
    on_redis: Client,
    embedded: Client,
    clock: Arc<ManualClock>,
    /// The time of the clock.
    now: u64,
    /// The fences of each job, latest last.
    fences: [Vec<u64>; JOBS.len()],
}

impl Pair {
    fn start() -> Self {
        let server = Redis::start();
        let on_redis = millpond::connect(&server.url()).unwrap();
        let now = 1_600_000_000_000_000;
        let clock = Arc::new(ManualClock::at(now));
        let embedded = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
        Self { server, on_redis, embedded, clock, now, fences: Default::default() }
    }

    /// The time of the last decision.
    fn latest(&self) -> u64 {
        let script =
            "return string.format('%.0f', cmsgpack.unpack(redis.call('HGET', KEYS[1], 'all'))[2])";
        self.server.cli(&["EVAL", script, "1", "{k}:steal"]).text().parse().unwrap()
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Recruit(offers) => {
                let jobs: Vec<_> = offers.iter().copied().map(job).collect();
                let recruit = || Recruit::new("k", jobs.clone());
                let expected: Recruited = self.on_redis.run(recruit()).unwrap();
                let latest = self.latest();
                self.clock.advance(Duration::from_micros(latest - self.now));
                self.now = latest;
                prop_assert_eq!(self.embedded.run(recruit()).unwrap(), expected);
                if let Some(granted) = expected.granted {
                    let fences = &mut self.fences[offers[granted.index].0];
                    prop_assert!(fences.last().is_none_or(|last| *last < granted.fence));
                    fences.push(granted.fence);
                }
            }
            Step::Report(reports) => {
                let report = |(id, bad, has_more, backoff_max): &(usize, i64, bool, u32)| {
                    let (job, backoff_max) = (JOBS[*id].into(), *backoff_max);
                    JobReport { job, bad: *bad, has_more: *has_more, backoff_max }
                };
                let report = || Report::slices("k", reports.iter().map(report));
                let expected = self.on_redis.run(report()).unwrap();
                prop_assert_eq!(self.embedded.run(report()).unwrap(), expected);
            }
            Step::End(id, age) => {
                let fence = self.fences[*id].iter().rev().nth(*age).copied().unwrap_or(1);
                let end = || Report::end("k", JOBS[*id], fence);
                let expected = self.on_redis.run(end()).unwrap();
                prop_assert_eq!(self.embedded.run(end()).unwrap(), expected);
            }
            Step::Wait(milliseconds) => std::thread::sleep(Duration::from_millis(*milliseconds)),
        }
        let stats = |client: &Client| client.recruiter("k").stats().unwrap();
        prop_assert_eq!(stats(&self.embedded), stats(&self.on_redis));
        Ok(())
    }
}

#[test]
fn both_engines_grant_the_same() {
    let config = Config { failure_persistence: None, ..Config::with_cases(60) };
    let mut runner = TestRunner::new(config);
    let steps = prop::collection::vec(step(), 1..60);
    let result = runner.run(&steps, |steps| {
        let mut pair = Pair::start();
        steps.iter().try_for_each(|step| pair.run(step))
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
