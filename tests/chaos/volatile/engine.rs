//! The hashes on the embedded engine: a process that holds locks and writes in threads and is killed, and another one
//! that opens the same directory.

use std::time::Duration;

use millpond::Client;

use super::ledger::{Micros, Stop};
use super::lines::Heard;
use super::time::ServerTime;
use super::{Outcome, TTL, VALUE_TTL, holder, leftovers, micros, writer};
use crate::children::{in_directory, in_threads, kill_engines};
use crate::random::Random;
use crate::said;

const HOLDERS: u64 = 4;
const WRITERS: u64 = 2;

/// What the child does until it is killed.
///
/// # Errors
/// Those of a call; there is none that a kill explains.
pub(super) fn work(client: &Client, life: u64, random: Random) -> Outcome<()> {
    let client = client.clone();
    in_threads(HOLDERS + WRITERS, random, move |number, random| {
        let (time, name) = (ServerTime::of("file:"), format!("{life}.{number}"));
        match number {
            0..HOLDERS => holder::hold(&client, time, &name, random),
            _ => writer::write(&client, time, &name, random),
        }
    })
}

/// Kills the process `kills` times, and stops it now and then, and looks at what the directory holds after the last.
///
/// # Errors
/// What was wrong, with the directory, which stays.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    in_directory(|place| run_in(place, kills, seed))
}

fn run_in(place: &str, kills: u64, seed: u64) -> Outcome<()> {
    let (mut random, mut stops, mut is_silent) = (Random::new(seed), Vec::new(), false);
    let heard: Heard =
        kill_engines("volatile-child", place, kills, seed, &mut random, |life, child| {
            if life % 4 != 2 || !child.wait_ready() {
                return;
            }
            child.pause();
            let stopped = now();
            while now() <= stopped + micros(TTL) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let resumed = now();
            child.resume();
            stops.push(Stop { name: life.to_string(), stopped, resumed });
            // All that it held is lost; and if it held nothing, one of its threads is slow sooner or later.
            let is_refusal = |line: &str| {
                let after = line.strip_prefix("l ").and_then(|line| line.split(' ').nth(2));
                after.and_then(|after| after.parse::<Micros>().ok()) > Some(resumed)
            };
            is_silent |= !child.says(is_refusal);
        })?;
    if is_silent {
        return Err("a process that was stopped was not refused".to_owned());
    }
    let end = now() + micros(VALUE_TTL);
    while now() <= end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let client = millpond::connect(&format!("file:{place}")).map_err(said)?;
    let [fields, locks] = leftovers::reap(&client)?;
    let Heard { mut ledger, errors, reaped } = heard;
    let stopped = stops.len();
    ledger.stops = stops;
    ledger.check()?;
    if !errors.is_empty() {
        return Err(format!("calls of the embedded engine failed with {errors:?}"));
    }
    println!(
        "killed the process {kills} times and stopped it {stopped} times\n{}\nreaped {} fields and {} locks by the \
         writers, {fields} and {locks} at last\nvolatile on file: nothing wrong",
        ledger.counts(),
        reaped[0],
        reaped[1],
    );
    Ok(())
}

fn now() -> Micros {
    ServerTime::of("file:").now().expect("the process has the time")
}
