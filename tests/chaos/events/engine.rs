//! The queue on the embedded engine: a process that publishes, consumes and operates in threads and is killed, and another one
//! that opens the same directory.

use std::time::Duration;

use millpond::Client;

use super::lines::Heard;
use super::operator::Duty;
use super::{LEASE, Outcome, configure, consumer, operator, producer, queue, wait_until_done};
use crate::children::{Hear, drain, in_directory, in_threads, kill_engines};
use crate::pipe::say;
use crate::random::Random;
use crate::said;

const PRODUCERS: u64 = 2;
const CONSUMERS: u64 = 3;
/// The second of two operators.
const OPERATOR: u64 = PRODUCERS + 1;

/// What the child does until it is killed.
///
/// # Errors
/// Those of a call; there is none that a kill explains.
pub(super) fn work(client: &Client, life: u64, random: Random) -> Outcome<()> {
    let client = client.clone();
    in_threads(PRODUCERS + CONSUMERS + 2, random, move |number, random| match number {
        0..PRODUCERS => producer::publish(&client, &format!("{life}.{number}"), random, say),
        PRODUCERS => operator::operate(&client, Duty::Pause, random, || false, say),
        OPERATOR => operator::operate(&client, Duty::Configure, random, || false, say),
        _ => consumer::consume(&client, random, || false, say),
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
    let (mut random, mut stops) = (Random::new(seed), 0);
    configure(&millpond::connect(&format!("file:{place}")).map_err(said)?)?;
    let mut heard: Heard =
        kill_engines("events-child", place, kills, seed, &mut random, |life, child| {
            if life % 4 == 2 {
                stops += 1;
                child.pause();
                std::thread::sleep(LEASE + Duration::from_millis(100));
                child.resume();
                std::thread::sleep(Duration::from_millis(100));
            }
        })?;
    let client = millpond::connect(&format!("file:{place}")).map_err(said)?;
    let left = queue(&client).stats().map_err(said)?.events;
    let consume = |_, random, is_over: &dyn Fn() -> bool, say: &dyn Fn(String)| {
        consumer::consume(&client, random, is_over, say)
    };
    heard.take(&drain(CONSUMERS, &mut random, consume, || wait_until_done(&client))?)?;
    let Heard { ledger, errors, late } = heard;
    ledger.check()?;
    if !errors.is_empty() {
        return Err(format!("calls of the embedded engine failed with {errors:?}"));
    }
    println!(
        "killed the process {kills} times and stopped it {stops} times; {left} events were left at last\n\
         {}, {late} ends came late\nevents on file: nothing wrong",
        ledger.counts()
    );
    Ok(())
}
