//! The crash test of shuffle queues: writers, consumers and the server are killed while the queue
//! is resized, and the same number of times a process that does all of it on the embedded engine.
//!
//! What holds at the end, for every message by its name:
//!
//! - A write that was acknowledged was delivered, from where the writer's receipt says, or is a dead
//!   letter; one that was refused was not.
//! - What was acknowledged by its consumer was not delivered again.
//! - Nothing is left: not in the queue, and not in streams that it had when it was larger.
//! - Dead letters were delivered as often as was configured, and never more often. The messages that
//!   no consumer acknowledges are among them.

mod consumer;
mod engine;
mod ledger;
mod lines;
mod server;
mod writer;

use std::time::{Duration, Instant};

use millpond::shuffle::ShuffleQueue;
use millpond::{Client, Error};

use crate::random::Random;
use crate::{said, watchdog};
use ledger::Ledger;

type Outcome<T> = Result<T, String>;

/// How many streams writers ask for, one after the other; each for [`SIZE_FOR`].
const SIZES: [u32; 6] = [16, 3, 8, 1, 12, 2];

const STREAMS_MAX: u32 = 16;

const SIZE_FOR: Duration = Duration::from_millis(600);

const GROUP: &str = "workers";

/// How long a consumer may be silent before others take over.
const MIN_IDLE: Duration = Duration::from_millis(300);

/// How often a message may be delivered.
const MAX_DELIVERIES: u64 = 5;

/// How long the survivors may take for what is left.
const PATIENCE: Duration = Duration::from_secs(60);

fn queue(client: &Client) -> ShuffleQueue {
    client.shuffle_queue("chaos")
}

/// Kills processes `kills` times on Redis, and as often on the embedded engine.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let wrong = |wrong| format!("seed {seed}: {wrong}");
    println!("shuffle on redis: {kills} kills, seed {seed}");
    server::run(kills, seed).map_err(wrong)?;
    println!("shuffle on file: {kills} kills, seed {seed}");
    engine::run(kills, seed).map_err(wrong)
}

/// What a child does until it is killed.
///
/// # Errors
/// A call's, where it cannot be one that a kill explains.
pub(crate) fn work(role: &str, url: &str, seed: u64, life: u64) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    let random = Random::named(seed, &[life]);
    crate::pipe::say(crate::pipe::READY);
    match role {
        "writer" => writer::write(&client, &life.to_string(), random, crate::pipe::say),
        "consumer" => {
            consumer::consume(&client, &life.to_string(), random, || false, crate::pipe::say)
        }
        "engine" => engine::work(&client, life, random),
        _ => Err(crate::USAGE.to_owned()),
    }
}

/// Compares the queue, after all consumers are done, with what they and the writers reported.
fn check(client: &Client, ledger: &mut Ledger) -> Outcome<()> {
    let queue = queue(client);
    check_empty(&queue)?;
    // Made as large as it ever was, so that what lies beyond its size would be seen again.
    queue.resize(STREAMS_MAX).map_err(said)?;
    queue.write("probe", [("n", "probe")]).map_err(said)?;
    let last = queue.consumer(GROUP, "last");
    let probe = last.read_many(100).map_err(said)?;
    if probe.len() != 1 {
        return Err(format!("{} messages lay in streams beyond the queue's", probe.len() - 1));
    }
    last.ack_and_delete(&probe).map_err(said)?;
    check_empty(&queue)?;
    for dead in queue.dead_letters(10_000).map_err(said)? {
        ledger.bury(&dead)?;
    }
    ledger.check()
}

fn check_empty(queue: &ShuffleQueue) -> Outcome<()> {
    let found = || Ok::<_, Error>((queue.backlog()?, queue.stats(GROUP)?));
    let (backlog, stats) = found().map_err(said)?;
    match (backlog, stats.pending(), stats.lag()) {
        (0, 0, 0) => Ok(()),
        left => Err(format!("backlog, pending and lag are {left:?} and not 0: {stats:?}")),
    }
}

/// Waits until those that are left have done everything.
fn wait_until_done(client: &Client) -> Outcome<()> {
    let began = Instant::now();
    loop {
        watchdog::alive();
        let left = queue(client).backlog().map_err(said)?;
        if left == 0 {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err(format!("{left} messages are left after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
