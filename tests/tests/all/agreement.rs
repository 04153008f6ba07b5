//! Random sequences of steps, on Redis, on both embedded engines and on a model that knows
//! nothing of either: every result and the final state have to agree.

use std::collections::BTreeMap;

use millpond::ick::{Entry, Ick, Set};
use millpond_tests::servers::Redis;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<(f64, u8)>),
    Reserve {
        max: u64,
        backwash: bool,
    },
    Commit(Vec<u8>),
    Exchange {
        max: u64,
        members: Vec<u8>,
        backwash: bool,
    },
    Stats,
    Peek(Set, u64),
    Delete {
        unlink: bool,
    },
    /// Closes the durable engine and opens it again.
    Reopen,
}

/// Few members, so that they meet; some with bytes that no text has.
fn member(number: u8) -> Vec<u8> {
    match number % 3 {
        0 => vec![b'm', number],
        1 => vec![0xff, 0, number],
        _ => format!("member-{number}").into_bytes(),
    }
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-4..12i32).prop_map(f64::from),
        2 => (0..1000u32).prop_map(|n| f64::from(n) / 7.0),
        1 => prop_oneof![
            Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(1e300), Just(5e-324),
            Just(1_763_691_473.123_456), Just(9_007_199_254_740_993.0), Just(1e17), Just(0.1),
        ],
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let members = || prop::collection::vec(0..12u8, 0..6);
    prop_oneof![
        8 => prop::collection::vec((score(), 0..12u8), 0..6).prop_map(Step::Add),
        4 => (0..8u64, any::<bool>()).prop_map(|(max, backwash)| Step::Reserve { max, backwash }),
        3 => members().prop_map(Step::Commit),
        4 => (0..8u64, members(), any::<bool>())
            .prop_map(|(max, members, backwash)| Step::Exchange { max, members, backwash }),
        1 => Just(Step::Stats),
        1 => (any::<bool>(), 0..8u64).prop_map(|(producer, max)| {
            Step::Peek(if producer { Set::Producer } else { Set::Consumer }, max)
        }),
        1 => any::<bool>().prop_map(|unlink| Step::Delete { unlink }),
        1 => Just(Step::Reopen),
    ]
}

/// An Ick as the specification describes it, with maps and sorting and nothing clever.
#[derive(Default)]
struct Model {
    exists: bool,
    producer: BTreeMap<Vec<u8>, f64>,
    consumer: BTreeMap<Vec<u8>, f64>,
}

fn sorted(set: &BTreeMap<Vec<u8>, f64>) -> Vec<(Vec<u8>, f64)> {
    let mut pairs: Vec<_> = set.iter().map(|(member, score)| (member.clone(), *score)).collect();
    pairs.sort_by(|a, b| a.1.partial_cmp(&b.1).expect("no NaN").then_with(|| a.0.cmp(&b.0)));
    pairs
}

fn lower(set: &mut BTreeMap<Vec<u8>, f64>, member: Vec<u8>, score: f64) {
    let entry = set.entry(member).or_insert(score);
    if score < *entry {
        *entry = score;
    }
}

impl Model {
    fn take(&mut self, max: u64, backwash: bool) -> Vec<(Vec<u8>, f64)> {
        self.exists = true;
        if backwash {
            for (member, score) in std::mem::take(&mut self.consumer) {
                lower(&mut self.producer, member, score);
            }
        }
        while (self.consumer.len() as u64) < max && !self.producer.is_empty() {
            let (member, score) = sorted(&self.producer).remove(0);
            self.producer.remove(&member);
            lower(&mut self.consumer, member, score);
        }
        sorted(&self.consumer).into_iter().take(max as usize).collect()
    }

    fn commit(&mut self, members: &[u8]) -> u64 {
        self.exists = true;
        members.iter().filter(|m| self.consumer.remove(&member(**m)).is_some()).count() as u64
    }

    fn run(&mut self, step: &Step) -> StepResult {
        match step {
            Step::Add(pairs) => {
                self.exists = true;
                let (mut new, mut lowered) = (0, 0);
                for (score, number) in pairs {
                    match self.producer.get(&member(*number)) {
                        None => new += 1,
                        Some(old) if score < old => lowered += 1,
                        Some(_) => {}
                    }
                    lower(&mut self.producer, member(*number), *score);
                }
                StepResult::Counts(vec![new, lowered])
            }
            Step::Reserve { max, backwash } => StepResult::Batch(self.take(*max, *backwash)),
            Step::Commit(members) => StepResult::Counts(vec![self.commit(members)]),
            Step::Exchange { max, members, backwash } => {
                self.commit(members);
                StepResult::Batch(self.take(*max, *backwash))
            }
            Step::Stats => {
                let (producer, consumer) = (sorted(&self.producer), sorted(&self.consumer));
                let range = |set: &[(Vec<u8>, f64)]| Some((set.first()?.1, set.last()?.1));
                StepResult::Stats(self.exists.then(|| {
                    let sizes = [producer.len() as u64, consumer.len() as u64];
                    (sizes, [range(&producer), range(&consumer)])
                }))
            }
            Step::Peek(set, max) => {
                let set = match set {
                    Set::Producer => &self.producer,
                    Set::Consumer => &self.consumer,
                };
                StepResult::Batch(sorted(set).into_iter().take(*max as usize).collect())
            }
            Step::Delete { .. } => {
                let keys = [self.exists, !self.producer.is_empty(), !self.consumer.is_empty()];
                *self = Self::default();
                StepResult::Counts(vec![keys.into_iter().filter(|key| *key).count() as u64])
            }
            Step::Reopen => StepResult::Counts(vec![]),
        }
    }
}

type Range = Option<(f64, f64)>;

#[derive(Debug, PartialEq)]
enum StepResult {
    Counts(Vec<u64>),
    Batch(Vec<(Vec<u8>, f64)>),
    Stats(Option<([u64; 2], [Range; 2])>),
}

fn pairs(batch: Vec<Entry>) -> StepResult {
    StepResult::Batch(batch.into_iter().map(|entry| (entry.member, entry.score)).collect())
}

fn run(ick: &Ick, step: &Step) -> Result<StepResult, millpond::Error> {
    Ok(match step {
        Step::Add(given) => {
            let added = ick.add(given.iter().map(|(score, number)| (*score, member(*number))))?;
            StepResult::Counts(vec![added.new, added.lowered])
        }
        Step::Reserve { max, backwash: false } => pairs(ick.reserve(*max)?),
        Step::Reserve { max, backwash: true } => pairs(ick.reserve_backwash(*max)?),
        Step::Commit(members) => {
            StepResult::Counts(vec![ick.commit(members.iter().map(|number| member(*number)))?])
        }
        Step::Exchange { max, members, backwash } => {
            let members = members.iter().map(|number| member(*number));
            pairs(match backwash {
                false => ick.exchange(*max, members)?,
                true => ick.exchange_backwash(*max, members)?,
            })
        }
        Step::Stats => StepResult::Stats(ick.stats()?.map(|stats| {
            let sizes = [stats.producer_size, stats.consumer_size];
            (sizes, [stats.producer_range, stats.consumer_range])
        })),
        Step::Peek(set, max) => pairs(ick.peek(*set, *max)?),
        Step::Delete { unlink: false } => StepResult::Counts(vec![ick.delete()?]),
        Step::Delete { unlink: true } => StepResult::Counts(vec![ick.unlink()?]),
        Step::Reopen => StepResult::Counts(vec![]),
    })
}

#[test]
fn redis_the_embedded_engines_and_the_model_agree() {
    let server = Redis::start();
    let redis = millpond::connect(&server.unix_url()).expect("the url is the harness' own");
    let memory = millpond::connect("memory:").expect("there is always memory");
    let directory = tempfile::tempdir().expect("there is a place for files");
    let file = std::cell::RefCell::new(None);
    let number = std::cell::Cell::new(0u32);

    let look = [Step::Stats, Step::Peek(Set::Producer, 99), Step::Peek(Set::Consumer, 99)];
    let mut runner = TestRunner::new(Config { cases: 2_500, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(step(), 1..30), |steps| {
        number.set(number.get() + 1);
        let name = format!("ick-{}", number.get());
        // A journal of a few sequences, or opening it again and again would be most of the test.
        // Power is not cut here, so nothing is gained by waiting for the disk.
        let part = directory.path().join((number.get() / 20).to_string());
        let url = format!("file:{}?sync=never", part.display());
        file.replace(Some(millpond::connect(&url).expect("nobody else holds it")));
        let mut model = Model::default();
        for step in steps.iter().chain(&look) {
            if matches!(step, Step::Reopen) {
                file.replace(None);
                file.replace(Some(millpond::connect(&url).expect("it was closed")));
            }
            let expected = model.run(step);
            let reopened = file.borrow();
            let file = reopened.as_ref().expect("it is open between steps");
            for (engine, client) in [("redis", &redis), ("memory", &memory), ("file", file)] {
                let found = run(&client.ick(&name), step);
                let found = found.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!(&found, &expected, "{} after {:?}", engine, step);
            }
        }
        // Names are new each time, so the engines stay small only if they evict.
        run(&redis.ick(&name), &Step::Delete { unlink: false }).expect("delete always works");
        let file = file.borrow();
        let file = file.as_ref().expect("it is open between steps");
        for client in [&memory, file] {
            run(&client.ick(&name), &Step::Delete { unlink: false }).expect("delete always works");
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(number.get() >= 2_000);
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
}
