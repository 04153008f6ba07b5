//! The deploy storm of schedules: twenty processes put the same ones and receive, and one after the other is killed and
//! started again, as if deploys never ended; the server too. Each tick fires exactly once: there is one event of it,
//! which is delivered until somebody has acknowledged it, and no tick is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use millpond::events::{Config, Event, EventQueue, Missed, Overlap, Schedule};
use millpond::{Client, Result};
use millpond_tests::servers::Redis;

use crate::children::failed;
use crate::pipe::{READY, Speaker, say};
use crate::random::Random;
use crate::{said, watchdog};

type Outcome<T> = std::result::Result<T, String>;

const PROCESSES: usize = 20;
const SCHEDULES: usize = 5;

/// Between two kills.
const PAUSE: Duration = Duration::from_millis(500);

/// How many processes are killed for each kill of the server.
const SERVER_EVERY: u64 = 60;

const LEASE: Duration = Duration::from_secs(1);

const SECOND: Duration = Duration::from_secs(1);

fn queue(client: &Client) -> EventQueue {
    client.events("chaos")
}

/// What fires each second, for a minute if nobody is there. The revision of every other one rises some times a second,
/// and nothing else of it changes.
fn schedules() -> impl Iterator<Item = Schedule> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let revision = since.as_millis() as u64 / 300;
    (0..SCHEDULES).map(move |number| {
        let schedule = Schedule::new(format!("s{number}")).every(SECOND);
        let revision = if number % 2 == 1 { revision } else { 0 };
        schedule
            .revision(revision)
            .missed(Missed::Expire)
            .grace(60 * SECOND)
            .overlap(Overlap::Allow)
            .payload(number.to_string())
    })
}

/// Kills a process `kills` times.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    println!("schedules: {kills} kills, seed {seed}");
    storm(kills, &mut Random::new(seed)).map_err(|wrong| format!("seed {seed}: {wrong}"))
}

fn storm(kills: u64, random: &mut Random) -> Outcome<()> {
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=2s&connect_timeout=500ms", server.url());
    let client = millpond::connect(&url).map_err(said)?;
    let mut config = Config::default();
    (config.lease, config.max_attempts, config.max_crashes) = (LEASE, 0, 0);
    queue(&client).configure(config).map_err(said)?;
    let start =
        || Speaker::start(&["schedules-child", &url]).map_err(|error| format!("no child: {error}"));
    let mut processes = (0..PROCESSES).map(|_| start()).collect::<Outcome<Vec<_>>>()?;
    let mut ticks = Ticks::default();
    for kill in 1..=kills {
        watchdog::alive();
        std::thread::sleep(PAUSE);
        if kill % SERVER_EVERY == 0 {
            server.kill();
            server.restart();
        }
        let slot = random.below(PROCESSES as u64) as usize;
        let killed = std::mem::replace(&mut processes[slot], start()?);
        ticks.take(&killed.kill()?)?;
    }
    for process in processes {
        ticks.take(&process.kill()?)?;
    }
    // No other ticks come, and what the killed have held is delivered when their leases are over.
    let queue = queue(&client);
    for schedule in queue.list_schedules().map_err(said)? {
        queue.pause_schedule(&schedule.id).map_err(said)?;
    }
    for events in queue.deliveries().max(100).wait(3 * LEASE) {
        let events = events.map_err(said)?;
        events.iter().try_for_each(|event| ticks.take(&[line(event)]))?;
        queue.ack_many(&events).map_err(said)?;
    }
    let left = queue.stats().map_err(said)?.events;
    match left {
        0 => ticks.check(),
        left => Err(format!("{left} events are left")),
    }
}

fn line(event: &Event) -> String {
    format!("r {} {} {}", event.id, String::from_utf8_lossy(&event.payload), event.fire_at_us)
}

/// What a child does until it is killed.
///
/// # Errors
/// A call's that no kill explains.
pub(crate) fn work(url: &str) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    let queue = queue(&client);
    say(READY);
    loop {
        if let Err(error) = turn(&queue) {
            failed(&error, say)?;
        }
    }
}

fn turn(queue: &EventQueue) -> Result<()> {
    for schedule in schedules() {
        queue.put_schedule(schedule)?;
    }
    let events = queue.receive(10)?;
    events.iter().map(line).for_each(say);
    std::thread::sleep(Duration::from_millis(100));
    queue.ack_many(&events).map(drop)
}

/// The events of each tick, by schedule.
#[derive(Default)]
struct Ticks(BTreeMap<String, BTreeMap<u64, BTreeSet<String>>>);

impl Ticks {
    fn take(&mut self, lines: &[String]) -> Outcome<()> {
        for line in lines {
            let words: Vec<_> = line.split(' ').collect();
            let (id, schedule, tick) = match words[..] {
                ["r", id, schedule, tick] => (id, schedule, tick),
                // What a call came to while the server was away.
                ["x", _] => continue,
                _ => return Err(format!("a child said: {line}")),
            };
            let tick: u64 = tick.parse().map_err(|_| format!("a child said: {line}"))?;
            let of = self.0.entry(schedule.to_owned()).or_default();
            of.entry(tick / 1_000_000).or_default().insert(id.to_owned());
        }
        Ok(())
    }

    fn check(&self) -> Outcome<()> {
        if self.0.len() != SCHEDULES {
            return Err(format!("{} schedules have fired of {SCHEDULES}", self.0.len()));
        }
        let mut count = 0;
        for (schedule, ticks) in &self.0 {
            if let Some((tick, ids)) = ticks.iter().find(|(_, ids)| ids.len() > 1) {
                return Err(format!("the tick {tick} of {schedule} fired as {ids:?}"));
            }
            let missing =
                ticks.keys().zip(ticks.keys().skip(1)).find(|(one, next)| *one + 1 != **next);
            if let Some((one, next)) = missing {
                return Err(format!("{schedule} fired at {one}, and next at {next}"));
            }
            count += ticks.len();
        }
        println!("{count} ticks of {SCHEDULES} schedules, each once\nschedules: nothing wrong");
        Ok(())
    }
}
