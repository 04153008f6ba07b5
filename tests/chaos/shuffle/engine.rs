//! The queue on the embedded engine: a process that writes and consumes in threads and is killed,
//! and another one that opens the same directory.

use millpond::Client;

use super::lines::Heard;
use super::{Outcome, check, consumer, queue, wait_until_done, writer};
use crate::children::{Hear, drain, in_directory, in_threads, kill_engines};
use crate::pipe::say;
use crate::random::Random;
use crate::said;

const WRITERS: u64 = 2;
const CONSUMERS: u64 = 3;

/// What the child does until it is killed.
///
/// # Errors
/// Those of a call; there is none that a kill explains.
pub(super) fn work(client: &Client, life: u64, random: Random) -> Outcome<()> {
    let client = client.clone();
    in_threads(WRITERS + CONSUMERS, random, move |number, random| {
        let name = format!("{life}.{number}");
        match number {
            0..WRITERS => writer::write(&client, &name, random, say),
            _ => consumer::consume(&client, &name, random, || false, say),
        }
    })
}

/// Kills the process `kills` times, and looks at what the directory holds after the last.
///
/// # Errors
/// What was wrong, with the directory, which stays.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    in_directory(|place| run_in(place, kills, seed))
}

fn run_in(place: &str, kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let mut heard: Heard =
        kill_engines("shuffle-child", place, kills, seed, &mut random, |_, _| {})?;
    let client = millpond::connect(&format!("file:{place}")).map_err(said)?;
    let left = queue(&client).backlog().map_err(said)?;
    let consume = |number, random, is_over: &dyn Fn() -> bool, say: &dyn Fn(String)| {
        consumer::consume(&client, &format!("last.{number}"), random, is_over, say)
    };
    heard.take(&drain(CONSUMERS, &mut random, consume, || wait_until_done(&client))?)?;
    let Heard { mut ledger, errors, dead, late } = heard;
    check(&client, &mut ledger)?;
    if !errors.is_empty() {
        return Err(format!("calls of the embedded engine failed with {errors:?}"));
    }
    println!(
        "killed the process {kills} times; {left} messages were left at last\n\
         {}, {dead} of which were told, {late} acknowledgements came late\n\
         shuffle on file: nothing wrong",
        ledger.counts()
    );
    Ok(())
}
