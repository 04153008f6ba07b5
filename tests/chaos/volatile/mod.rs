//! The crash test of the locks of volatile hashes: processes are killed or stopped while they hold locks, and the
//! server is killed; and as often a process that does all of it on the embedded engine.
//!
//! All times are the server's, in microseconds, as fences are. A process reads the time before each call, so a call
//! that succeeded was done at that time or later, and after it where that matters. What holds, for every lock of a hash
//! that was taken, which its fence names:
//!
//! - No other one of the hash has the same fence.
//! - Of two that were taken one after the other the second has the higher fence.
//! - It was taken after all earlier holders of the field were confirmed for the last time, and after the time to live of
//!   each that did not release it was over, also if the server or the process came back in between.
//! - Its holder was not refused before its time to live was over, and never confirmed after that or after a refusal. So
//!   a process that was stopped for longer sets nothing.
//! - It is free after its time to live, if its holder was killed.
//! - Its holder finds no value of a later holder, and no value older than the last one that was acknowledged.
//!
//! At the end, when all has expired, reaps of the family leave nothing behind: no hash was forgotten.

mod engine;
mod holder;
mod ledger;
mod leftovers;
mod lines;
mod server;
mod time;
mod writer;

use std::time::Duration;

use millpond::Client;
use millpond::volatile::{VolatileHash, VolatileHashes};

use crate::random::Random;
use crate::said;
use time::ServerTime;

type Outcome<T> = Result<T, String>;

/// The time to live of all locks.
const TTL: Duration = Duration::from_millis(300);

/// The longest time to live of a value.
const VALUE_TTL: Duration = Duration::from_millis(1_500);

const SHARDS: u32 = 4;

/// How many hashes of the family the writers use.
const BASES: u64 = 150;

/// The hash that is in no family, in the name of a place.
const ALONE: &str = "-";

/// The fields whose locks the holders take: the base of a hash of the family, or [`ALONE`], and the field.
const PLACES: [&str; 5] = ["-/a", "-/b", "h0/a", "h0/b", "h1/a"];

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

fn family(client: &Client) -> VolatileHashes {
    client.volatile_hashes("chaos", SHARDS)
}

/// The hash and the field that a place names.
fn at<'a>(client: &Client, place: &'a str) -> (VolatileHash, &'a str) {
    let (base, field) = place.split_once('/').expect("a place is a hash and a field");
    let hash = match base {
        ALONE => client.volatile_hash("chaos"),
        base => family(client).hash(base),
    };
    (hash, field)
}

/// Kills processes `kills` times on Redis, and as often on the embedded engine.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let wrong = |wrong| format!("seed {seed}: {wrong}");
    println!("volatile on redis: {kills} kills, seed {seed}");
    server::run(kills, seed).map_err(wrong)?;
    println!("volatile on file: {kills} kills, seed {seed}");
    engine::run(kills, seed).map_err(wrong)
}

/// What a child does until it is killed.
///
/// # Errors
/// A call's, where it cannot be one that a kill explains.
pub(crate) fn work(role: &str, url: &str, seed: u64, life: u64) -> Outcome<()> {
    let client = millpond::connect(url).map_err(said)?;
    let (time, random) = (ServerTime::of(url), Random::named(seed, &[life]));
    let name = life.to_string();
    crate::pipe::say(crate::pipe::READY);
    match role {
        "holder" => holder::hold(&client, time, &name, random),
        "writer" => writer::write(&client, time, &name, random),
        "engine" => engine::work(&client, life, random),
        _ => Err(crate::USAGE.to_owned()),
    }
}
