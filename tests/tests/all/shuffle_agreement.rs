//! Random steps of a shuffle queue on Redis, on both embedded engines and in a model that is
//! written from the specification: all return the same, down to which message comes next.

use std::time::Duration;

use millpond::Client;
use millpond::shuffle::{Message, Receipt, Stream, shard};
use millpond_tests::servers::Redis;
use millpond_tests::shuffle::model::{Model, Rules};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

#[derive(Clone, Debug)]
enum Step {
    /// Tenants, and how many streams there are to be.
    Write {
        tenants: Vec<u8>,
        streams: u32,
    },
    Read {
        group: u8,
        max: usize,
        prefer: Option<u32>,
    },
    /// Which of the messages that the group has read so far.
    Ack {
        group: u8,
        which: Vec<prop::sample::Index>,
    },
    /// Which of them are given back, if the consumer still has them.
    Release {
        group: u8,
        which: Vec<prop::sample::Index>,
    },
    /// Which of them are given up.
    Reject {
        group: u8,
        which: Vec<prop::sample::Index>,
    },
    /// Which of the dead letters are put back.
    Redrive {
        which: Vec<prop::sample::Index>,
    },
    /// Takes over everything that is pending, or only what was released.
    Reclaim {
        group: u8,
        only_released: bool,
        max: usize,
        max_deliveries: u64,
    },
    Counts {
        group: u8,
    },
    /// The durable engine is closed and opened again.
    Reopen,
}

/// Either one group that deletes what it has done, or two that keep it. Where both are mixed a
/// server cannot always tell how much a group has left, and writers may choose otherwise.
#[derive(Clone, Debug)]
struct Case {
    deletes: bool,
    steps: Vec<Step>,
}

fn step() -> impl Strategy<Value = Step> {
    let streams = prop_oneof![Just(1u32), Just(2), Just(3), Just(5), Just(8)];
    prop_oneof![
        4 => (prop::collection::vec(0u8..6, 1..6), streams)
            .prop_map(|(tenants, streams)| Step::Write { tenants, streams }),
        4 => (0u8..2, 1usize..12, prop::option::weighted(0.2, 0u32..9))
            .prop_map(|(group, max, prefer)| Step::Read { group, max, prefer }),
        3 => (0u8..2, which()).prop_map(|(group, which)| Step::Ack { group, which }),
        1 => (0u8..2, which()).prop_map(|(group, which)| Step::Release { group, which }),
        1 => (0u8..2, which()).prop_map(|(group, which)| Step::Reject { group, which }),
        1 => which().prop_map(|which| Step::Redrive { which }),
        2 => (0u8..2, any::<bool>(), 1usize..12, 0u64..4).prop_map(
            |(group, only_released, max, max_deliveries)| Step::Reclaim {
                group,
                only_released,
                max,
                max_deliveries,
            }
        ),
        1 => (0u8..2).prop_map(|group| Step::Counts { group }),
        1 => Just(Step::Reopen),
    ]
}

fn which() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 1..9)
}

fn case() -> impl Strategy<Value = Case> {
    (any::<bool>(), prop::collection::vec(step(), 1..30)).prop_map(|(deletes, mut steps)| {
        for step in &mut steps {
            // A message that dies is deleted.
            match step {
                Step::Reclaim { max_deliveries, .. } if !deletes => *max_deliveries = 0,
                Step::Reject { which, .. } if !deletes => which.clear(),
                _ => {}
            }
        }
        Case { deletes, steps }
    })
}

/// A stream and the number of the message in it.
type Place = (u32, String);

#[derive(Debug, PartialEq)]
enum StepResult {
    Nothing,
    Written(Vec<u32>),
    Read(Vec<Place>),
    Reclaimed(Vec<Place>, u64),
    /// The dead letters with their reasons, and to which streams some of them went.
    Redriven(Vec<String>, Vec<Option<u32>>),
    Flags(Vec<bool>),
    Numbers(Vec<u64>),
}

const TTL: u64 = 3_600;

/// Nothing is idle for as long but what was released so.
const IDLE: Duration = Duration::from_secs(3_600);

fn group_name(case: &Case, group: u8) -> &'static str {
    if group == 0 || case.deletes { "one" } else { "two" }
}

/// Streams of a shard: 1 or 2.
fn per_shard(streams: u32) -> u32 {
    streams.min(2)
}

struct Expecting {
    model: Model,
    name: String,
    /// How many messages were written.
    written: u64,
    /// What each group has read, as the model calls it.
    read: [Vec<(u32, String)>; 2],
}

impl Expecting {
    fn run(&mut self, case: &Case, step: &Step) -> StepResult {
        let name = self.name.clone();
        match step {
            Step::Write { tenants, streams } => {
                let mut written = Vec::new();
                let resized = self.model.resize(&name, Some(TTL), (*streams).into());
                resized.expect("no key is broken");
                for tenant in tenants {
                    let shard = shard(*streams, per_shard(*streams), [b'a' + tenant]);
                    let shard: Vec<u64> =
                        shard.expect("a shard").into_iter().map(u64::from).collect();
                    let fields = vec![("n".to_owned(), self.written.to_string())];
                    let (_, stream) = self
                        .model
                        .write(&name, Some(TTL), (*streams).into(), &shard, fields)
                        .expect("no key is broken");
                    written.push(stream as u32);
                    self.written += 1;
                }
                StepResult::Written(written)
            }
            Step::Read { group, max, prefer } => {
                let number = usize::from(*group != 0 && !case.deletes);
                let group = group_name(case, *group);
                let mut places = Vec::new();
                // A batch asks once whether the group has joined the stream.
                let prefer = prefer
                    .filter(|number| self.model.has_joined(&format!("{name}:s{number}"), group))
                    .map(i64::from);
                for _ in 0..*max {
                    let taken = self.model.read(&name, TTL, group, "c", prefer);
                    let Some((stream, id, fields)) = taken.expect("no key is broken") else {
                        break;
                    };
                    let stream = stream.rsplit_once(":s").expect("a stream's key").1;
                    let stream = stream.parse().expect("a number");
                    self.read[number].push((stream, id));
                    places.push((stream, fields[0].1.clone()));
                }
                StepResult::Read(places)
            }
            Step::Ack { group, which } => {
                let number = usize::from(*group != 0 && !case.deletes);
                let read = &self.read[number];
                if read.is_empty() {
                    return StepResult::Nothing;
                }
                let mut ack = |index: &prop::sample::Index| {
                    let (stream, id) = index.get(read);
                    let key = format!("{name}:s{stream}");
                    let ids = [id.clone()];
                    let acknowledged = self.model.ack(&key, group_name(case, *group), &ids);
                    if case.deletes {
                        self.model.delete(&key, &ids);
                    }
                    acknowledged == 1
                };
                StepResult::Flags(which.iter().map(&mut ack).collect())
            }
            Step::Release { group, which } | Step::Reject { group, which } => {
                let read = &self.read[usize::from(*group != 0 && !case.deletes)];
                if read.is_empty() {
                    return StepResult::Nothing;
                }
                let group = group_name(case, *group);
                let mut own = 0;
                for index in which {
                    let (stream, id) = index.get(read);
                    let key = format!("{name}:s{stream}");
                    own += u64::from(match step {
                        Step::Reject { .. } => {
                            let held = (key.as_str(), group, "c");
                            self.model.reject(&name, held, id, "no").expect("no key is broken")
                        }
                        _ => self.model.release(&key, group, "c", id, IDLE.as_millis() as i64),
                    });
                }
                StepResult::Numbers(vec![own])
            }
            Step::Redrive { which } => {
                let letters = self.model.dead_letters(&name, 1_000).expect("no key is broken");
                if letters.is_empty() {
                    return StepResult::Nothing;
                }
                let ids = which.iter().map(|index| index.get(&letters).0.clone());
                let ids: Vec<_> = ids.collect();
                let places = self.model.redrive(&name, Some(TTL), 16, &ids);
                let stream = |place: Option<(String, String)>| {
                    let (key, _) = place?;
                    let number = key.rsplit_once(":s").expect("a stream's key").1;
                    Some(number.parse().expect("a number"))
                };
                let places = places.expect("no key is broken").into_iter().map(stream).collect();
                let shown = letters.into_iter().map(|(_, letter)| {
                    format!("{} {} {}", letter.message.2[0].1, letter.deliveries, letter.reason)
                });
                StepResult::Redriven(shown.collect(), places)
            }
            Step::Reclaim { group, only_released, max, max_deliveries } => {
                let group = group_name(case, *group);
                let idle = if *only_released { IDLE.as_millis() as i64 } else { 0 };
                let (messages, dead) = self
                    .model
                    .reclaim(&name, (group, "d"), idle, *max, *max_deliveries)
                    .expect("no key is broken");
                let place = |(taken, deliveries): ((String, String, _), u64)| {
                    let (stream, _, fields): (_, _, Vec<(String, String)>) = taken;
                    let stream = stream.rsplit_once(":s").expect("a stream's key").1.to_owned();
                    (stream.parse().expect("a number"), format!("{}x{deliveries}", fields[0].1))
                };
                StepResult::Reclaimed(messages.into_iter().map(place).collect(), dead)
            }
            Step::Counts { group } => {
                let group = group_name(case, *group);
                let counts = [
                    self.model.len(&name),
                    self.model.backlog(&name),
                    self.model.pending_count(&name, group),
                ];
                StepResult::Numbers(counts.map(|count| count.expect("no key is broken")).to_vec())
            }
            Step::Reopen => StepResult::Nothing,
        }
    }
}

/// One of ours, with the receipts of what each group has read.
#[derive(Default)]
struct Found {
    written: u64,
    read: [Vec<Receipt>; 2],
}

fn stream(stream: Stream) -> u32 {
    match stream {
        Stream::Number(number) => number,
        Stream::Default => panic!("nobody asked for the default stream"),
    }
}

impl Found {
    fn run(
        &mut self,
        client: &Client,
        name: &str,
        case: &Case,
        step: &Step,
    ) -> Result<StepResult, millpond::Error> {
        let queue = client.shuffle_queue(name).ttl(Duration::from_secs(TTL));
        Ok(match step {
            Step::Write { tenants, streams } => {
                queue.resize(*streams)?;
                let queue = queue.streams(*streams).streams_per_shard(per_shard(*streams));
                let messages = tenants
                    .iter()
                    .zip(self.written..)
                    .map(|(tenant, number)| ([b'a' + tenant], [("n", number.to_string())]));
                let receipts = queue.write_many(messages)?;
                self.written += receipts.len() as u64;
                StepResult::Written(receipts.iter().map(|receipt| stream(receipt.stream)).collect())
            }
            Step::Read { group, max, prefer } => {
                let number = usize::from(*group != 0 && !case.deletes);
                let consumer = queue.consumer(group_name(case, *group), "c");
                let messages = consumer.prefer_stream(*prefer).read_many(*max)?;
                self.read[number].extend(messages.iter().map(Receipt::from));
                let place = |message: &Message| {
                    let number = message.field("n").expect("it was written");
                    (stream(message.stream), String::from_utf8_lossy(number).into_owned())
                };
                StepResult::Read(messages.iter().map(place).collect())
            }
            Step::Ack { group, which } => {
                let read = &self.read[usize::from(*group != 0 && !case.deletes)];
                if read.is_empty() {
                    return Ok(StepResult::Nothing);
                }
                let receipts = which.iter().map(|index| index.get(read));
                let consumer = queue.consumer(group_name(case, *group), "c");
                StepResult::Flags(match case.deletes {
                    true => consumer.ack_and_delete_each(receipts)?,
                    false => consumer.ack_each(receipts)?,
                })
            }
            Step::Release { group, which } | Step::Reject { group, which } => {
                let read = &self.read[usize::from(*group != 0 && !case.deletes)];
                if read.is_empty() {
                    return Ok(StepResult::Nothing);
                }
                let receipts = which.iter().map(|index| index.get(read));
                let consumer = queue.consumer(group_name(case, *group), "c");
                StepResult::Numbers(vec![match step {
                    Step::Reject { .. } => consumer.reject(receipts, "no")?,
                    _ => consumer.release(receipts, IDLE, Duration::ZERO)?,
                }])
            }
            Step::Redrive { which } => {
                let mut letters = queue.dead_letters(1)?;
                while let Some(last) = letters.last()
                    && let mut more = queue.dead_letters_after(7, last)?
                    && !more.is_empty()
                {
                    letters.append(&mut more);
                }
                if letters.is_empty() {
                    return Ok(StepResult::Nothing);
                }
                let ids = which.iter().map(|index| index.get(&letters));
                let receipts = queue.redrive(ids)?;
                let shown = letters.iter().map(|letter| {
                    let number = letter.message.field("n").expect("it was written");
                    let number = String::from_utf8_lossy(number);
                    format!("{number} {} {}", letter.deliveries, letter.reason)
                });
                let places = receipts.iter().map(|found| found.map(|found| stream(found.stream)));
                StepResult::Redriven(shown.collect(), places.collect())
            }
            Step::Reclaim { group, only_released, max, max_deliveries } => {
                let consumer = queue.consumer(group_name(case, *group), "d");
                let consumer = consumer.max_deliveries(*max_deliveries);
                let min_idle = if *only_released { IDLE } else { Duration::ZERO };
                let reclaimed = consumer.reclaim(min_idle, *max)?;
                let place = |message: &Message| {
                    let deliveries = message.deliveries;
                    let number = message.field("n").expect("it was written");
                    let number = String::from_utf8_lossy(number);
                    (stream(message.stream), format!("{number}x{deliveries}"))
                };
                let messages = reclaimed.messages.iter().map(place).collect();
                StepResult::Reclaimed(messages, reclaimed.dead)
            }
            Step::Counts { group } => {
                let pending = queue.pending_count(group_name(case, *group))?;
                StepResult::Numbers(vec![queue.len()?, queue.backlog()?, pending])
            }
            Step::Reopen => StepResult::Nothing,
        })
    }
}

#[test]
fn redis_the_embedded_engines_and_the_model_agree() {
    let server = Redis::start();
    let redis = millpond::connect(&server.unix_url()).expect("the url is the harness' own");
    let memory = millpond::connect("memory:").expect("there is always memory");
    let directory = tempfile::tempdir().expect("there is a place for files");
    // Before Redis 7 no server can tell how much a group has left, so only deleted work is gone.
    let version = server.info("server", "redis_version").expect("it has a version");
    let always_deletes = version.starts_with("6.");
    let number = std::cell::Cell::new(0u32);

    let mut runner =
        TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&case(), |mut case| {
        case.deletes |= always_deletes;
        number.set(number.get() + 1);
        let name = format!("queue-{}", number.get());
        let part = directory.path().join((number.get() / 20).to_string());
        let url = format!("file:{}?sync=never", part.display());
        let open = || millpond::connect(&url).expect("nobody else holds it");
        let mut file = open();
        let mut model = Expecting {
            model: Model::new(Rules::Ours),
            name: name.clone(),
            written: 0,
            read: Default::default(),
        };
        let mut found = [Found::default(), Found::default(), Found::default()];
        let look = [Step::Counts { group: 0 }, Step::Counts { group: 1 }];
        for step in case.steps.iter().chain(&look) {
            if matches!(step, Step::Reopen) {
                drop(file);
                file = open();
            }
            let expected = model.run(&case, step);
            let engines = [("redis", &redis), ("memory", &memory), ("file", &file)];
            for ((engine, client), found) in engines.into_iter().zip(&mut found) {
                let result = found.run(client, &name, &case, step);
                let result = result.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!(&result, &expected, "{} after {:?}", engine, step);
            }
        }
        server.cli(&["FLUSHALL"]);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
