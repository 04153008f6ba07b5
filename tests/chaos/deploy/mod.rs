//! A deploy that never ends: workers of a task store, of a shuffle queue and of a queue of events are told to stop or
//! killed, one every second, and started again. The server is killed twice meanwhile, and a worker may have to stop
//! while it is away. Every job has to have one outcome, only what a killed process worked on may have run again, no job
//! may be held for longer than a lease and what it takes others to find it, and the events of a key are handled one at
//! a time and in order. The workers are written in six languages, and do the same.
//!
//! A job says what its handler does: it sleeps `ms`, and then it is `done`, `reject`ed, fails the first time
//! (`retry`), or is done and has a job that follows from it in the same step (`follow`), which messages have not. A
//! worker prints `begin N` when a handler begins, `run N WHAT` when it has decided how the job ends, where WHAT is
//! `retry` if it fails, and `told KIND MESSAGE` for what is reported to it, each behind the nanoseconds of the system's
//! monotonic clock.

mod keys;
mod language;
mod leases;
mod ledger;
mod worker;

use std::fmt;
use std::time::{Duration, Instant};

use millpond::Client;
use millpond::events::{Config, NewEvent};
use millpond::tasks::{Filter, Modification, NewTask};
use millpond_tests::servers::Redis;

use self::language::Language;
use self::leases::Leases;
use self::ledger::{Ledger, Wanted};
use self::worker::{BACKOFF, LEASE};
use crate::pipe::Speaker;
use crate::random::Random;
use crate::{said, watchdog};

pub(crate) use worker::work;

type Outcome<T> = Result<T, String>;

const WORKERS: usize = 12;

/// How many jobs there are of each queue for every second of the storm.
const JOBS: u64 = 83;

/// The numbers of jobs that follow begin here.
const FOLLOWS: u64 = 1_000_000;

/// The key of the event of this number, if it has one. What follows from an event has its key.
fn key_of(number: u64) -> Option<u64> {
    let number = number % FOLLOWS;
    number.is_multiple_of(4).then_some(number % 200)
}

const PAUSE: Duration = Duration::from_secs(1);

/// How long the last workers may take for what is left.
const PATIENCE: Duration = Duration::from_secs(120);

const STORE: &str = "storm";
const QUEUE: &str = "storm-messages";
const GROUP: &str = "workers";
const STREAMS: u32 = 16;
const EVENTS: &str = "storm-events";
const PARTITIONS: u16 = 4;

/// What a worker works on.
const ROLES: [&str; 3] = ["tasks", "messages", "events"];

/// What is known of a worker.
#[derive(Clone, Copy)]
struct Worker {
    language: Language,
    role: &'static str,
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a worker in {} on {}", self.language.name, self.role)
    }
}

/// The workers, of which each slot has one at a time.
struct Workers<'a> {
    url: String,
    languages: &'a [Language],
    /// How many there were so far of each role.
    lives: [usize; ROLES.len()],
    slots: Vec<(Worker, Speaker)>,
    ledger: Ledger,
}

impl<'a> Workers<'a> {
    fn start(url: String, languages: &'a [Language]) -> Outcome<Self> {
        let (slots, ledger) = (Vec::new(), Ledger::default());
        let mut workers = Self { url, languages, lives: [0; ROLES.len()], slots, ledger };
        for slot in 0..WORKERS {
            let worker = workers.next(slot)?;
            workers.slots.push(worker);
        }
        Ok(workers)
    }

    /// Starts the next one of a slot. All languages have their turn in each role.
    fn next(&mut self, slot: usize) -> Outcome<(Worker, Speaker)> {
        let of = slot % ROLES.len();
        let (role, life) = (ROLES[of], self.lives[of]);
        self.lives[of] += 1;
        let language = self.languages[life % self.languages.len()];
        let process = language.start(role, &self.url, &format!("life-{life}"))?;
        Ok((Worker { language, role }, process))
    }

    /// Waits until all of them work.
    fn wait_ready(&self) -> Outcome<()> {
        match self.slots.iter().find(|(_, process)| !process.wait_ready()) {
            Some((worker, _)) => Err(format!("{worker} does not begin")),
            None => Ok(()),
        }
    }

    /// Ends the one of a slot, which was told to stop unless it is to be killed, and starts another.
    fn replace(&mut self, slot: usize, is_killed: bool) -> Outcome<()> {
        let next = self.next(slot)?;
        let (worker, process) = std::mem::replace(&mut self.slots[slot], next);
        self.end(worker, process, is_killed)
    }

    fn end(&mut self, worker: Worker, process: Speaker, is_killed: bool) -> Outcome<()> {
        let lines = if is_killed { process.kill() } else { process.stopped() };
        let lines = lines.map_err(|error| format!("{worker}: {error}"))?;
        self.ledger.take(worker, &lines, is_killed)
    }

    fn stop(mut self) -> Outcome<Ledger> {
        self.wait_ready()?;
        self.slots.iter().for_each(|(_, process)| process.tell_to_stop());
        for (worker, process) in std::mem::take(&mut self.slots) {
            self.end(worker, process, false)?;
        }
        Ok(self.ledger)
    }
}

/// Ends workers in these languages, `kills` of them; by default in all that are there.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64, languages: Option<&[String]>) -> Outcome<()> {
    println!("deploy: {kills} kills, seed {seed}");
    let server = Redis::builder().appendonly_always().start();
    let languages = Language::find(languages, &server.url())?;
    storm(kills, seed, &languages, &server).map_err(|wrong| format!("seed {seed}: {wrong}"))
}

fn storm(kills: u64, seed: u64, languages: &[Language], server: &Redis) -> Outcome<()> {
    let mut random = Random::new(seed);
    let client = millpond::connect(&server.url()).map_err(said)?;
    let wanted = fill(&client, kills * JOBS, &mut random).map_err(said)?;
    let (mut leases, mut ends) = (Leases::default(), [0_u64; 2]);
    let mut workers = Workers::start(server.url(), languages)?;
    for kill in 0..kills {
        watchdog::alive();
        std::thread::sleep(PAUSE);
        leases.look(server, &client)?;
        workers.wait_ready()?;
        let slot = random.below(WORKERS as u64) as usize;
        let how = random.below(2) as usize;
        ends[how] += 1;
        let is_away = kills > 2 && kill % (kills / 3) == kills / 3 - 1 && kill < kills * 5 / 6;
        if is_away {
            server.kill();
        }
        if how == 1 {
            workers.slots[slot].1.tell_to_stop();
        }
        if is_away {
            std::thread::sleep(Duration::from_micros(random.below(700_000)));
            server.restart();
        }
        workers.replace(slot, how == 0)?;
    }
    wait_until_done(&client, server, &mut leases)?;
    let ledger = workers.stop()?;
    check_queues(&client, &wanted)?;
    let counts = ledger.check(&wanted)?;
    let [killed, stopped] = ends;
    println!(
        "{killed} workers were killed and {stopped} stopped, the server was killed twice; {counts}; no job was held for \
         longer than {:?}\n\
         deploy: nothing wrong",
        leases.longest
    );
    Ok(())
}

/// Nothing is left but what was put aside, and what tasks have put out.
fn check_queues(client: &Client, wanted: &Wanted) -> Outcome<()> {
    let queues = client.tasks(STORE).queues(Filter::new()).map_err(said)?;
    let queues: Vec<_> = queues.iter().map(|(queue, size)| (&**queue, *size)).collect();
    if queues != [("jobs/err", wanted.dead), ("out", wanted.done)] {
        return Err(format!("of {wanted:?} there are {queues:?}"));
    }
    let queue = client.shuffle_queue(QUEUE);
    let dead = queue.dead_letters(10_000).map_err(said)?.len() as u64;
    let pending = queue.stats(GROUP).map_err(said)?.pending();
    if (dead, pending, queue.len().map_err(said)?) != (wanted.dead, 0, 0) {
        return Err(format!("of {wanted:?} messages {dead} are dead, and {pending} pending"));
    }
    let events = client.events(EVENTS).stats().map_err(said)?;
    match (events.events, events.dead, events.done) == (wanted.dead, wanted.dead, 0) {
        true => Ok(()),
        false => Err(format!("of {wanted:?} events there are {events:?}")),
    }
}

/// Makes as many jobs for each of the queues.
fn fill(client: &Client, jobs: u64, random: &mut Random) -> millpond::Result<Wanted> {
    let (store, queue) = (client.tasks(STORE), client.shuffle_queue(QUEUE).streams(STREAMS));
    let events = client.events(EVENTS);
    let mut config = Config::default();
    (config.partitions, config.lease, config.max_crashes) = (PARTITIONS, LEASE, 0);
    (config.backoff_min, config.backoff_max) = BACKOFF;
    events.configure(config)?;
    let mut wanted = Wanted::default();
    for numbers in (0..jobs).collect::<Vec<_>>().chunks(1_000) {
        let mut tasks = Modification::new();
        let (mut messages, mut published) = (Vec::new(), Vec::new());
        for number in numbers {
            let ms = 60 + random.below(240);
            let then = ["done", "done", "done", "done", "follow", "retry", "reject"]
                [random.below(7) as usize];
            wanted.want(then);
            let value = format!(r#"{{"n": {number}, "ms": {ms}, "then": "{then}"}}"#);
            let event = NewEvent::new(&value);
            published.push(match key_of(*number) {
                Some(key) => event.key(format!("key-{key}")),
                None => event,
            });
            tasks = tasks.insert(NewTask::new("jobs").id(format!("j{number}")).value(value));
            let fields =
                [("n", number.to_string()), ("ms", ms.to_string()), ("then", then.to_owned())];
            messages.push((format!("tenant-{}", number % 50), fields));
        }
        store.modify(tasks)?;
        queue.write_many(messages)?;
        events.publish_many(published)?;
    }
    Ok(wanted)
}

/// Waits until those that are left have done everything.
fn wait_until_done(client: &Client, server: &Redis, leases: &mut Leases) -> Outcome<()> {
    let began = Instant::now();
    loop {
        watchdog::alive();
        leases.look(server, client)?;
        let left = left(client)?;
        if left == [0; ROLES.len()] {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("of {ROLES:?} {left:?} are left after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// How many jobs of each role have not ended.
fn left(client: &Client) -> Outcome<[u64; ROLES.len()]> {
    let tasks = client.tasks(STORE).queues(Filter::new().exact("jobs")).map_err(said)?;
    let tasks = tasks.first().map_or(0, |(_, size)| *size);
    let messages = client.shuffle_queue(QUEUE).backlog().map_err(said)?;
    let events = client.events(EVENTS).stats().map_err(said)?;
    Ok([tasks, messages, events.events - events.dead])
}
