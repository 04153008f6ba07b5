//! Events under loads: many that wait, many that are due together, schedules that tick together, and the embedded engine.

use std::cell::RefCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use millpond::events::{Event, EventQueue, NewEvent, Publish, Receive, Schedule};
use millpond::step::Operation;
use millpond::tasks::{Modification, NewTask};
use millpond_tests::servers::Redis;

use super::{DAY, PAYLOAD, fill, op, partition, reply};
use crate::Outcome;
use crate::measure::in_turn;
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

const ROUNDS: usize = 7;

/// How many events each measurement of a step is of, and how many a step has.
const EVENTS: usize = 20_000;
const A_STEP: usize = 100;

/// How many wait for their time behind those that are measured.
const BEHIND: usize = 1_000_000;

/// How many are due at one time.
const TOGETHER: usize = 100_000;

/// How many schedules tick at one time.
const SCHEDULES: usize = 10_000;

/// A server with a queue, and the steps that were run on it.
struct Loaded {
    server: Redis,
    connection: redis::Connection,
    calls: u64,
}

impl Loaded {
    /// With this many events that wait for their time, by 1,000.
    fn start(behind: usize) -> Outcome<Self> {
        let server = Redis::start();
        let mut connection = redis::Client::open(server.url())?.get_connection()?;
        let mut calls = 0;
        fill(&server, &mut connection, &mut calls, behind / 1_000)?;
        Ok(Self { server, connection, calls })
    }

    fn publish(&mut self, delay: Duration) -> Outcome<f64> {
        self.server.cli(&["CONFIG", "RESETSTAT"]);
        for _ in 0..EVENTS / A_STEP {
            let events = vec![NewEvent::new(PAYLOAD).delay(delay); A_STEP];
            send(
                &mut self.connection,
                &Publish::new(partition()?, op(&mut self.calls), events, 0)?,
            )?;
        }
        Ok(spent(&self.server, &["evalsha"], EVENTS))
    }

    fn receive(&mut self) -> Outcome<f64> {
        self.server.cli(&["CONFIG", "RESETSTAT"]);
        for _ in 0..EVENTS / A_STEP {
            let token = self.calls.to_be_bytes();
            let receive =
                Receive::new(partition()?, op(&mut self.calls), A_STEP, Some(DAY), token, 1)?;
            let received = receive.decode(reply(send(&mut self.connection, &receive)?))?;
            assert_eq!(received.events.len(), A_STEP);
        }
        Ok(spent(&self.server, &["evalsha"], EVENTS))
    }

    /// Receives of events that have become due a moment before.
    fn receive_due(&mut self) -> Outcome<f64> {
        let delay = Duration::from_secs(1);
        self.publish(delay)?;
        std::thread::sleep(delay);
        self.receive()
    }
}

pub(crate) fn waiting(report: &mut Report) -> Outcome {
    let (empty, full) = (RefCell::new(Loaded::start(0)?), RefCell::new(Loaded::start(BEHIND)?));
    let section = report.section(
        "Events in front of a million",
        "Microseconds of redis-server's own time for one event (`INFO commandstats`), by 100 a step, with a payload of \
         100 bytes: where a million other events wait for their time, against a queue without them; and the receipt of \
         events that have become due since the last step, which it makes ready, against that of events that are ready. \
         Aims: 2, and 1.8 for what has become due.",
        &["step", "µs", "against, µs", "ratio"],
    );
    let mut row = |what: &str,
                   most: f64,
                   ours: &dyn Fn() -> Outcome<f64>,
                   theirs: &dyn Fn() -> Outcome<f64>|
     -> Outcome {
        let pair = in_turn(ROUNDS, ours, theirs)?;
        let aim = format!("aim {most}");
        let told = ratio(pair.ratio, Some((aim.as_str(), pair.ratio <= most)));
        section.row([what.into(), number(pair.ours), number(pair.theirs), told]);
        Ok(())
    };
    let publish = |on: &RefCell<Loaded>| on.borrow_mut().publish(DAY);
    row("publish, for a time to come", 2.0, &|| publish(&full), &|| publish(&empty))?;
    let receive = |on: &RefCell<Loaded>| -> Outcome<f64> {
        let mut on = on.borrow_mut();
        on.publish(Duration::ZERO)?;
        on.receive()
    };
    row("receive", 2.0, &|| receive(&full), &|| receive(&empty))?;
    row("receive of what has become due", 1.8, &|| empty.borrow_mut().receive_due(), &|| {
        receive(&empty)
    })
}

/// Milliseconds since the Unix epoch.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// How late these events are received by eight threads, by 100, which acknowledge them; and in which time all were.
fn received(queue: &EventQueue, events: usize) -> Outcome<(Vec<f64>, Duration)> {
    let (lateness, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let consumers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| -> millpond::Result<()> {
                    let mut deliveries =
                        queue.deliveries().max(100).wait(Duration::from_millis(200));
                    while count.load(Ordering::Relaxed) < events {
                        let Some(batch) = deliveries.next().transpose()? else { continue };
                        let now = now_ms() as f64;
                        let late = |event: &Event| now - event.fire_at_us as f64 / 1e3;
                        lateness.lock().expect("nobody panics").extend(batch.iter().map(late));
                        count.fetch_add(queue.ack_many(&batch)?.len(), Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        consumers.into_iter().try_for_each(|consumer| consumer.join().expect("nobody panics"))
    })?;
    let mut lateness = lateness.into_inner().expect("nobody panics");
    lateness.sort_unstable_by(f64::total_cmp);
    let longest = lateness[lateness.len() - 1].max(0.0);
    Ok((lateness, Duration::from_secs_f64(longest / 1e3)))
}

pub(crate) fn together(report: &mut Report) -> Outcome {
    let section = report.section(
        "Events that are due together",
        "How late events are received that are due at one time, all published before, by eight threads in one process, \
         in batches of 100 that they acknowledge: seconds until half of them, and all of them, were received.",
        &["events", "queue", "half, s", "all, s", "a second"],
    );
    for (name, of_server) in [("Redis", true), ("memory:", false)] {
        let server = of_server.then(Redis::start);
        let url = server.as_ref().map_or("memory:".to_owned(), Redis::url);
        let queue = millpond::connect(&url)?.events("bench");
        let mut row = |what: String, events: usize| -> Outcome {
            let (lateness, all) = received(&queue, events)?;
            let half = lateness[lateness.len() / 2].max(0.0) / 1e3;
            let rate = events as f64 / all.as_secs_f64();
            section.row([what, name.into(), number(half), number(all.as_secs_f64()), number(rate)]);
            Ok(())
        };
        let due = now_ms() + 5_000;
        queue.publish_many((0..TOGETHER).map(|_| NewEvent::new(PAYLOAD).at_ms(due)))?;
        row("100 thousand".into(), TOGETHER)?;
        let every = Duration::from_secs(20);
        let schedule = |number: usize| Schedule::new(number.to_string()).every(every);
        queue.sync_schedules("bench", 1, (0..SCHEDULES).map(schedule))?;
        row("one each of 10 thousand schedules".into(), SCHEDULES)?;
    }
    Ok(())
}

pub(crate) fn embedded(report: &mut Report) -> Outcome {
    let client = millpond::connect("memory:")?;
    let (queue, store) = (client.events("bench"), client.tasks("bench"));
    let section = report.section(
        "Events and tasks on the embedded engine",
        "Thousands a second in one thread on `memory:`: events that are published, received and acknowledged, against \
         tasks that are inserted, claimed and deleted, with as many bytes. Aim: no less.",
        &["each call", "events, k/s", "tasks, k/s", "ratio"],
    );
    for size in [1, 100] {
        let calls = 20_000 / size;
        let rate = |begin: Instant| (calls * size) as f64 / begin.elapsed().as_secs_f64() / 1e3;
        let events = || -> Outcome<f64> {
            let begin = Instant::now();
            for _ in 0..calls {
                queue.publish_many(vec![NewEvent::new(PAYLOAD); size])?;
                queue.ack_many(&queue.receive(size)?)?;
            }
            Ok(rate(begin))
        };
        let json = format!("{:?}", "x".repeat(PAYLOAD.len()));
        let tasks = || -> Outcome<f64> {
            let begin = Instant::now();
            for _ in 0..calls {
                let mut modification = Modification::new();
                for _ in 0..size {
                    modification = modification.insert(NewTask::new("q").value(&json));
                }
                store.modify(modification)?;
                let claimed = store.claim_many(["q"], DAY, size)?;
                let mut modification = Modification::new();
                for task in &claimed {
                    modification = modification.delete(task);
                }
                store.modify(modification)?;
            }
            Ok(rate(begin))
        };
        let pair = in_turn(ROUNDS, events, tasks)?;
        let aim = Some(("aim 1", pair.ratio >= 1.0));
        section.row([
            size.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, aim),
        ]);
    }
    Ok(())
}
