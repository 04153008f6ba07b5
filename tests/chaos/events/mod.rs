//! The crash test of events: producers, consumers, the server and operators who configure, pause, reshard and
//! redrive are killed, consumers stand still for longer than their leases, and as often a process that does all of it
//! on the embedded engine is killed; and each reply in turn is lost.
//!
//! What holds at the end, for every event by its name:
//!
//! - One whose publishing was acknowledged was delivered and has ended; one that was refused was not.
//! - What was acknowledged by its consumer was not delivered again.
//! - Each attempt was delivered to one consumer.
//! - The events of a key came one after the other, by their times and in the order of publishing.
//! - Nothing was delivered by a step that was sent while the queue was paused.
//! - Nothing is left.

mod consumer;
mod engine;
mod ledger;
mod lines;
mod losses;
mod operator;
mod producer;
mod server;

use std::time::{Duration, Instant};

use millpond::Client;
use millpond::events::{Config, EventQueue, RedriveFilter};

use self::operator::Duty;
use crate::random::Random;
use crate::{said, watchdog};

type Outcome<T> = Result<T, String>;

/// How long events are leased, unless a consumer renews the lease.
const LEASE: Duration = Duration::from_millis(400);

/// How long the survivors may take for what is left.
const PATIENCE: Duration = Duration::from_secs(60);

fn queue(client: &Client) -> EventQueue {
    client.events("chaos")
}

/// The configuration of the queue: nothing is given up but by a consumer's word.
fn config() -> Config {
    let mut config = Config::default();
    (config.partitions, config.lease) = (2, LEASE);
    (config.max_attempts, config.max_crashes) = (0, 0);
    (config.backoff_min, config.backoff_max) = (Duration::ZERO, Duration::from_millis(50));
    config
}

/// Makes the queue.
fn configure(client: &Client) -> Outcome<()> {
    queue(client).configure(config()).map_err(said)
}

/// Kills processes `kills` times on Redis, and as often on the embedded engine.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let wrong = |wrong| format!("seed {seed}: {wrong}");
    losses::run()?;
    println!("events on redis: {kills} kills, seed {seed}");
    server::run(kills, seed).map_err(wrong)?;
    println!("events on file: {kills} kills, seed {seed}");
    engine::run(kills, seed).map_err(wrong)
}

/// What a child does until it is killed.
///
/// # Errors
/// A call's, where it cannot be one that a kill explains.
pub(crate) fn work(role: &str, url: &str, seed: u64, life: u64) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    let random = Random::named(seed, &[life]);
    let name = life.to_string();
    crate::pipe::say(crate::pipe::READY);
    match role {
        "producer" => producer::publish(&client, &name, random, crate::pipe::say),
        "consumer" => consumer::consume(&client, random, || false, crate::pipe::say),
        "operator" => operator::operate(&client, Duty::Pause, random, || false, crate::pipe::say),
        "configurer" => {
            operator::operate(&client, Duty::Configure, random, || false, crate::pipe::say)
        }
        "engine" => engine::work(&client, life, random),
        _ => Err(crate::USAGE.to_owned()),
    }
}

/// Waits until all events have ended, with nothing in their way that an operator left.
fn wait_until_done(client: &Client) -> Outcome<()> {
    let began = Instant::now();
    queue(client).resume().map_err(said)?;
    loop {
        watchdog::alive();
        queue(client).redrive_all(RedriveFilter::new()).map_err(said)?;
        match queue(client).stats().map_err(said)?.events {
            0 => return Ok(()),
            left if began.elapsed() > PATIENCE => {
                return Err(format!("{left} events are left after {PATIENCE:?}"));
            }
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
