//! The crash test of task stores: a process whose threads claim, renew and modify, over several queues
//! and documents in one step, is killed at random instants, on the embedded engine while snapshots are
//! taken and on Redis together with the server. What is there then has to be what was acknowledged to
//! each thread, or that plus the step it had begun; all of a step, or nothing of it.

mod model;
mod plan;
mod races;
mod writer;

use std::collections::BTreeMap;
use std::time::Duration;

use millpond::tasks::{DocQuery, Filter, TaskQuery, TaskStore};
use millpond::{Client, Error};
use millpond_tests::servers::{Redis, wait_until};
use tempfile::TempDir;

use crate::file::{has_unfinished, newest, url_of};
use crate::pipe::Speaker;
use crate::random::Random;
use crate::{said, watchdog};
use model::{Doc, Model, Task};
use plan::{Plan, WRITERS};

pub(crate) use writer::work;

type Outcome<T> = Result<T, String>;

/// Queues that all threads put tasks into, beside an inbox for each that it claims from.
const QUEUES: [&str; 4] = ["a", "b", "c", "d"];

const NAMESPACE: &str = "docs";

/// Longer than any run, so that what is held stays held.
const LEASE: Duration = Duration::from_secs(86_000);

fn store(client: &Client) -> TaskStore {
    client.tasks("chaos")
}

fn inbox(writer: usize) -> String {
    format!("inbox/{writer}")
}

/// The results of the kills.
#[derive(Debug, Default)]
struct Counts {
    acknowledged: u64,
    kept: u64,
    lost: u64,
    races: u64,
    snapshots: u64,
    kills_in_snapshot: u64,
}

/// Kills the process `kills` times on the embedded engine, and half as often on Redis.
///
/// # Errors
/// What was wrong, with the seed and the directory, which is kept.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    println!("tasks on file: {kills} kills, seed {seed}");
    on_file(kills, seed).map_err(|wrong| format!("seed {seed}, {wrong}"))?;
    println!("tasks on redis: {} kills, seed {seed}", kills / 2);
    on_redis(kills / 2, seed).map_err(|wrong| format!("seed {seed}, {wrong}"))
}

fn on_file(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut sites = Vec::new();
    // A kill of the process must be harmless in every setting.
    for sync in ["always", "100ms", "never"] {
        let directory = tempfile::Builder::new()
            .prefix("millpond-chaos-")
            .tempdir()
            .map_err(|error| format!("no directory for the engine: {error}"))?;
        sites.push((sync, directory, models()));
    }
    for round in 0..kills {
        watchdog::alive();
        let number = (round % 3) as usize;
        let (sync, directory, models) = &mut sites[number];
        let outcome = file_round(sync, directory, models, seed, round, &mut random, &mut counts);
        if let Err(wrong) = outcome {
            let (sync, directory, _) = sites.swap_remove(number);
            let kept = directory.keep();
            return Err(format!(
                "kill {round}, sync={sync}: {wrong}\nthe directory is {}",
                kept.display()
            ));
        }
    }
    println!("{counts:?}\ntasks on file: nothing wrong");
    Ok(())
}

fn models() -> Vec<Model> {
    vec![Model::default(); WRITERS]
}

fn file_round(
    sync: &str,
    directory: &TempDir,
    models: &mut [Model],
    seed: u64,
    round: u64,
    random: &mut Random,
    counts: &mut Counts,
) -> Outcome<()> {
    let place = directory.path();
    let before = newest(place, "log").map_or(1, |(number, _)| number);
    let url = url_of(place, sync);
    let child = start(&url, seed, round)?;
    // Now and then the kill comes while the directory is being opened.
    if random.one_in(10) {
        std::thread::sleep(Duration::from_micros(random.below(30_000)));
    } else {
        child.wait_ready();
        std::thread::sleep(Duration::from_micros(random.below(200_000)));
    }
    let heard = Heard::of(&child.kill()?)?;
    counts.snapshots += newest(place, "log").map_or(1, |(number, _)| number) - before;
    counts.kills_in_snapshot += u64::from(has_unfinished(place));
    let client =
        millpond::connect(&url).map_err(|error| format!("cannot open it again: {error:?}"))?;
    check(&client, seed, round, models, &heard, counts)?;
    client.close().map_err(|error| format!("cannot close it: {error:?}"))
}

fn on_redis(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut models = models();
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=5s&connect_timeout=500ms", server.url());
    for round in 0..kills {
        watchdog::alive();
        let child = start(&url, seed, round)?;
        child.wait_ready();
        std::thread::sleep(Duration::from_micros(random.below(200_000)));
        // The server first, every second time: a thread whose call returns an error does nothing more.
        let lines = match random.one_in(2) {
            true => {
                server.kill();
                let lines = child.kill()?;
                server.restart();
                lines
            }
            false => child.kill()?,
        };
        let heard = Heard::of(&lines)?;
        settle(&server);
        let client = millpond::connect(&url).map_err(said)?;
        check(&client, seed, round, &mut models, &heard, &mut counts)
            .map_err(|wrong| format!("kill {round}: {wrong}"))?;
    }
    println!("{counts:?}\ntasks on redis: nothing wrong");
    Ok(())
}

/// Waits until the server has done what a killed client has sent: then it has closed its connections, and only the one
/// that asks is left.
fn settle(server: &Redis) {
    wait_until("a killed client's connections are closed", || {
        server.cli(&["CLIENT", "LIST"]).text().lines().count() == 1
    });
}

fn start(url: &str, seed: u64, round: u64) -> Outcome<Speaker> {
    Speaker::start(&["tasks-child", url, &seed.to_string(), &round.to_string()])
        .map_err(|error| format!("no child: {error}"))
}

/// What a child's threads printed: `i WRITER STEP` before each step and `a WRITER STEP` when it
/// returned, `r RACER NUMBER` before each race and `w RACER NUMBER` when it was won.
struct Heard {
    intended: Vec<u64>,
    acknowledged: Vec<u64>,
    races: races::Races,
}

impl Heard {
    fn of(lines: &[String]) -> Outcome<Self> {
        let mut heard = Self {
            intended: vec![0; WRITERS],
            acknowledged: vec![0; WRITERS],
            races: Default::default(),
        };
        for line in lines {
            let words: Vec<_> = line.split(' ').collect();
            let numbers: Option<Vec<u64>> =
                words[1..].iter().map(|word| word.parse().ok()).collect();
            match (words[0], numbers.as_deref()) {
                ("i", Some(&[writer, step])) => heard.intended[writer as usize] = step + 1,
                ("a", Some(&[writer, step])) => heard.acknowledged[writer as usize] = step + 1,
                ("r", Some(&[_, number])) => heard.races.begin(number),
                ("w", Some(&[racer, number])) => heard.races.won(racer, number)?,
                _ => return Err(format!("a child said: {line}")),
            }
        }
        Ok(heard)
    }
}

/// Compares the store with what was acknowledged to the threads, and moves the models to where it is.
fn check(
    client: &Client,
    seed: u64,
    round: u64,
    models: &mut [Model],
    heard: &Heard,
    counts: &mut Counts,
) -> Outcome<()> {
    let found = read(client).map_err(said)?;
    let nothing = Model::default();
    for (writer, model) in models.iter_mut().enumerate() {
        let found = found.get(&writer).unwrap_or(&nothing);
        let mut plan = Plan::new(writer, seed, round);
        let mut done = 0;
        let mut difference = None;
        while done < heard.acknowledged[writer] || model != found {
            if done >= heard.acknowledged[writer] {
                difference.get_or_insert_with(|| model.difference(found));
            }
            if done == heard.intended[writer] {
                return Err(format!(
                    "thread {writer} after {} steps acknowledged: {}\nand after {done} begun: {}",
                    heard.acknowledged[writer],
                    difference.unwrap_or_default(),
                    model.difference(found)
                ));
            }
            let step = plan.next(model);
            model.run(&step);
            done += 1;
        }
        counts.acknowledged += heard.acknowledged[writer];
        counts.kept += done - heard.acknowledged[writer];
        counts.lost += heard.intended[writer] - done;
    }
    counts.races += heard.races.check(client)?;
    Ok(())
}

/// Everything in the store, by the thread that it belongs to.
fn read(client: &Client) -> Result<BTreeMap<usize, Model>, Error> {
    let store = store(client);
    let now_ms = store.time()?;
    let mut models: BTreeMap<usize, Model> = BTreeMap::new();
    let wrong = |what: String| Err(Error::new(millpond::ErrorKind::Internal, what));
    let inboxes = (0..WRITERS).map(inbox);
    for queue in QUEUES.iter().map(|queue| (*queue).to_owned()).chain(inboxes) {
        let tasks = store.list(&queue, TaskQuery::new().limit(10_000))?.tasks;
        let stats = store.queue_stats(Filter::new().exact(&queue))?;
        let counted = stats.first().map_or((0, 0), |stats| (stats.size, stats.available));
        let available = tasks.iter().filter(|task| task.at_ms <= now_ms).count() as u64;
        if counted != (tasks.len() as u64, available) {
            return wrong(format!(
                "{queue} counts {stats:?} and holds {}, {available}",
                tasks.len()
            ));
        }
        for task in tasks {
            let Some(writer) = writer_of(&task.id) else { continue };
            let model = models.entry(writer).or_default();
            if model.tasks.insert(task.id.to_string(), Task::of(&task, now_ms)).is_some() {
                return wrong(format!("{} is in two queues", task.id));
            }
            // By its id it is the same.
            if store.fetch([&task.id])?.first() != Some(&task) {
                return wrong(format!("{} is listed and not there", task.id));
            }
        }
    }
    let docs = store.list_docs(NAMESPACE, DocQuery::new().limit(10_000))?.docs;
    for doc in docs {
        if let Some(writer) = writer_of(&doc.id) {
            let model = models.entry(writer).or_default();
            model.docs.insert(doc.id.to_string(), Doc::of(&doc, now_ms));
        }
    }
    Ok(models)
}

/// Ids are `<writer>-<number>`.
fn writer_of(id: &str) -> Option<usize> {
    id.split_once('-')?.0.parse().ok()
}
