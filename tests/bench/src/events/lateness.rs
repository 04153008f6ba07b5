//! How late events come, beside BullMQ's delayed jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use millpond::Client;
use millpond::events::NewEvent;
use millpond_tests::servers::Redis;

use super::peer::{bull, ms};
use crate::Outcome;
use crate::measure::Ending;
use crate::plot::{self, Pickup, Picture, Run};
use crate::report::{Report, number, ratio};

const CONSUMERS: [usize; 3] = [1, 8, 64];

/// What is due, and when.
#[derive(Clone, Copy)]
struct Load {
    events: usize,
    /// From one event to the next; none where each is published when the one before was received.
    every: Option<Duration>,
    consumers: usize,
}

/// How long after its publishing an event is due where they come one at a time.
const DELAY: Duration = Duration::from_millis(30);

/// What is published at once is due from then on.
const BEGIN: Duration = Duration::from_secs(2);

/// Microseconds since the Unix epoch.
fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

impl Load {
    /// When each event was due, and how long after that it was received, with events of Millpond.
    fn ours(self, client: &Client) -> Outcome<Vec<Pickup>> {
        let queue = client.events("bench");
        let (pickups, count) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _ending = Ending(&is_over);
            let consumers: Vec<_> = (0..self.consumers)
                .map(|_| {
                    scope.spawn(|| -> millpond::Result<()> {
                        let wait = Duration::from_millis(500);
                        let mut deliveries = queue.deliveries().wait(wait);
                        while !is_over.load(Ordering::Relaxed) {
                            let Some(batch) = deliveries.next() else { continue };
                            for event in batch? {
                                let delay = now_us().saturating_sub(event.fire_at_us);
                                let pickup = (event.fire_at_us, Duration::from_micros(delay));
                                pickups.lock().expect("nobody panicked").push(pickup);
                                queue.ack(&event)?;
                                count.fetch_add(1, Ordering::Release);
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(500));
            let wait_for = |events: usize| -> Outcome {
                while count.load(Ordering::Acquire) < events {
                    if consumers.iter().any(|consumer| consumer.is_finished()) {
                        return Err("a consumer failed".into());
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(())
            };
            match self.every {
                None => {
                    for number in 0..self.events {
                        queue.publish(NewEvent::new("x").delay(DELAY))?;
                        wait_for(number + 1)?;
                    }
                }
                Some(every) => {
                    let begin = now_us() / 1_000 + BEGIN.as_millis() as u64;
                    let event = |number: usize| {
                        let after = every.as_micros() as u64 * number as u64 / 1_000;
                        NewEvent::new("x").at_ms(begin + after)
                    };
                    queue.publish_many((0..self.events).map(event))?;
                }
            }
            wait_for(self.events)
        })?;
        let pickups = pickups.into_inner().expect("nobody panicked");
        let first = pickups.iter().map(|(due, _)| *due).min().unwrap_or_default();
        let since = |due: u64| Duration::from_micros(due - first);
        Ok(pickups.into_iter().map(|(due, delay)| Pickup { at: since(due), delay }).collect())
    }

    /// The same with BullMQ's delayed jobs, and as many workers.
    fn bull(self, server: &Redis) -> Outcome<Vec<Pickup>> {
        let every_us = self.every.map_or(0, |every| every.as_micros());
        let arguments = ["late".to_owned(), self.events.to_string(), every_us.to_string()];
        let rest = [self.consumers.to_string(), ms(DELAY), ms(BEGIN)];
        let output = bull(server, &[arguments, rest].concat())?;
        let pickups: Vec<[f64; 2]> = serde_json::from_slice(&output)?;
        let of = |time: f64| Duration::from_secs_f64(time.max(0.0) / 1e3);
        Ok(pickups.iter().map(|[at, late]| Pickup { at: of(*at), delay: of(*late) }).collect())
    }
}

fn run(name: &'static str, color: &'static str, pickups: Vec<Pickup>) -> Run {
    Run { name, color, pickups }
}

fn late_ms(run: &Run, share: f64) -> f64 {
    run.percentile(share).as_secs_f64() * 1e3
}

pub(crate) fn lateness(report: &mut Report) -> Outcome {
    let section = report.section(
        "Lateness of events",
        "Milliseconds from the time of an event to its receipt by a thread that waits: 300 one at a time, each \
         published with a delay of 30 ms when the one before was received, and 2,000 that are due over 20 s. All \
         consumers are in one process. BullMQ's are as many workers with a concurrency of 1, and its times are whole \
         milliseconds. Aims for p99: 5 ms, and 0.1 of BullMQ's.",
        &["events", "consumers", "queue", "p50", "p99", "longest", "p99 of BullMQ's"],
    );
    let hundred = Duration::from_millis(10);
    for (what, events, every) in
        [("one at a time", 300, None), ("100 a second", 2_000, Some(hundred))]
    {
        for consumers in CONSUMERS {
            let load = Load { events, every, consumers };
            let server = Redis::start();
            let bull = run("BullMQ", "", load.bull(&server)?);
            server.cli(&["FLUSHALL"]);
            let redis = run("Redis", "", load.ours(&millpond::connect(&server.url())?)?);
            let memory = run("memory:", "", load.ours(&millpond::connect("memory:")?)?);
            for late in [&redis, &memory, &bull] {
                let (p99, theirs) = (late_ms(late, 0.99), late_ms(&bull, 0.99));
                let share = (late.name != bull.name).then(|| {
                    let is_met = p99 <= 5.0 && p99 <= 0.1 * theirs;
                    ratio(p99 / theirs, Some(("aim 0.1, and 5 ms", is_met)))
                });
                section.row([
                    what.into(),
                    consumers.to_string(),
                    late.name.into(),
                    number(late_ms(late, 0.5)),
                    number(p99),
                    number(late_ms(late, 1.0)),
                    share.unwrap_or_default(),
                ]);
            }
        }
    }
    Ok(())
}

const PICTURE: Picture = Picture {
    title: "How late 10,000 events of a minute come to 8 consumers",
    delay: "from its time to its receipt",
    at: "time of the event, s",
    all: "percentile of events",
    lasts: Duration::from_secs(60),
};

pub(crate) fn minute(report: &mut Report) -> Outcome {
    let load = Load { events: 10_000, every: Some(PICTURE.lasts / 10_000), consumers: 8 };
    let server = Redis::start();
    let bull = load.bull(&server)?;
    server.cli(&["FLUSHALL"]);
    let runs = [
        run("BullMQ’s delayed jobs", "#d55e00", bull),
        run("events on Redis", "#0072b2", load.ours(&millpond::connect(&server.url())?)?),
        run("events on memory:", "#6b6b6b", load.ours(&millpond::connect("memory:")?)?),
    ];
    let section = report.section(
        "A minute of events",
        "Milliseconds from the time of an event to its receipt: 10,000 events, published before, whose times are \
         spread over a minute, and 8 consumers; BullMQ's delayed jobs and 8 workers beside it.\n\n\
         ![Lateness over a minute](lateness.svg)",
        &["queue", "p50, ms", "p90, ms", "p99, ms", "longest, ms"],
    );
    for run in &runs {
        let late = |share| number(late_ms(run, share));
        section.row([run.name.into(), late(0.5), late(0.9), late(0.99), late(1.0)]);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/lateness.svg");
    std::fs::write(path, plot::draw(&PICTURE, &runs))?;
    Ok(())
}
