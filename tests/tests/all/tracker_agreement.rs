//! Random steps of a queue tracker on Redis and on the embedded engine: both return the same, to the microsecond. The
//! engine's clock is set to the stamp that the server gave, which is read back from it.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use millpond::step::Operation;
use millpond::tracker::{
    Add, Advance, Clear, Contains, ROUND_MAX, ReadIds, ReadSample, ReadStats, Remove, Sample,
    Tracked,
};
use millpond::{Client, ManualClock, Options};
use millpond_tests::servers::Redis;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const IDS: [&[u8]; 7] = [b"a", b"b", b"ab", b"\xff\0", "é".as_bytes(), b"10", b"9"];

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<usize>),
    /// From where the scan is, or from another row; the rows and their ids; the limit; whether rounds take no time.
    Advance(Option<u8>, Vec<(u8, Option<usize>)>, usize, bool),
    Sample(usize),
    /// Removes some ids of a sample: the last one, or one before it.
    Remove(usize, Vec<bool>),
    Ids(usize),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let ids = prop::collection::vec(0..IDS.len(), 1..4);
    let row = (1..20_u8, prop::option::weighted(0.8, 0..IDS.len()));
    let rows = prop::collection::vec(row, 0..4);
    let after = prop::option::weighted(0.3, 0..20_u8);
    let advance = (after, rows, 1..4_usize, any::<bool>());
    let which = prop::collection::vec(any::<bool>(), IDS.len());
    prop_oneof![
        4 => ids.prop_map(Step::Add),
        6 => advance.prop_map(|(after, rows, limit, wraps)| Step::Advance(after, rows, limit, wraps)),
        5 => (1..4_usize).prop_map(Step::Sample),
        5 => (0..3_usize, which).prop_map(|(age, which)| Step::Remove(age, which)),
        2 => (1..4_usize).prop_map(Step::Ids),
        1 => Just(Step::Clear),
    ]
}

struct Pair {
    server: Redis,
    on_redis: Client,
    embedded: Client,
    clock: Arc<ManualClock>,
    /// The time of the clock.
    now: u64,
    samples: Vec<Sample>,
}

impl Pair {
    fn start() -> Self {
        let server = Redis::start();
        let on_redis = millpond::connect(&server.url()).unwrap();
        let now = 1_600_000_000_000_000;
        let clock = Arc::new(ManualClock::at(now));
        let embedded = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
        Self { server, on_redis, embedded, clock, now, samples: Vec::new() }
    }

    /// Runs a step on both: first on the server, whose last stamp the clock is then set to.
    fn both<O: Operation>(
        &mut self,
        step: impl Fn() -> millpond::Result<O>,
    ) -> Result<O::Output, TestCaseError>
    where
        O::Output: PartialEq + std::fmt::Debug,
    {
        let expected = match step() {
            Ok(step) => self.on_redis.run(Ok(step)).unwrap(),
            Err(error) => return Err(TestCaseError::reject(error.to_string())),
        };
        let stamp = self.server.cli(&[
            "EVAL",
            "return redis.call('HGET', KEYS[1], 'stamp') or '0'",
            "1",
            "{k}:tracker",
        ]);
        let stamp: u64 = stamp.text().parse().unwrap();
        if stamp > self.now {
            self.clock.advance(Duration::from_micros(stamp - self.now));
            self.now = stamp;
        }
        let output = self.embedded.run(step()).unwrap();
        prop_assert_eq!(&output, &expected);
        Ok(output)
    }

    fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Add(ids) => self.both(|| Add::new("k", ids.iter().map(|id| IDS[*id])))?,
            Step::Advance(after, rows, limit, wraps) => {
                let after = match after {
                    Some(0) => String::new(),
                    Some(row) => row.to_string(),
                    None => self.both(|| ReadStats::new("k"))?.row.unwrap_or_default(),
                };
                let ids = rows.iter().map(|(_, id)| id.map_or(b"".as_slice(), |id| IDS[id]));
                let rows = rows.iter().map(|(row, _)| row.to_string());
                let round_min = if *wraps { Duration::ZERO } else { ROUND_MAX };
                let advance =
                    || Advance::new("k", &after, rows.clone(), ids.clone(), *limit, round_min);
                // A page that ends where it began is refused.
                if advance().is_ok() {
                    self.both(advance)?;
                }
            }
            Step::Sample(limit) => {
                let sample = self.both(|| ReadSample::new("k", *limit))?;
                self.samples.push(sample);
            }
            Step::Remove(age, which) => {
                let Some(sample) = self.samples.iter().rev().nth(*age).cloned() else {
                    return Ok(());
                };
                let ids = sample.ids.iter().zip(which).filter(|(_, which)| **which);
                let ids = ids.map(|(id, _)| id);
                self.both(|| Remove::new("k", ids.clone(), &sample.ids, sample.stamp))?;
            }
            Step::Ids(limit) => {
                let mut after = 0;
                while let Some(Tracked { stamp, .. }) =
                    self.both(|| ReadIds::new("k", after, *limit))?.pop()
                {
                    after = stamp;
                }
            }
            Step::Clear => {
                self.both(|| Clear::new("k"))?;
            }
        }
        self.both(|| Contains::new("k", IDS))?;
        self.both(|| ReadStats::new("k"))?;
        self.both(|| ReadIds::new("k", 0, 1_000))?;
        Ok(())
    }
}

#[test]
fn both_engines_track_the_same() {
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
