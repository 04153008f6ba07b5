//! Operates the queue until it is killed: configures, pauses and resumes it, changes its number of partitions, redrives
//! dead letters, lists and counts. See [`super::lines`].

use std::time::Duration;

use millpond::events::{EventQuery, EventState, RedriveFilter};
use millpond::{Client, Result};

use super::{Outcome, config, queue};
use crate::children::failed;
use crate::clock;
use crate::random::Random;

/// The states whose events it lists.
const LISTED: [EventState; 4] =
    [EventState::Scheduled, EventState::Ready, EventState::Leased, EventState::Dead];

/// What an operator does: of two, one pauses the queue, so that it is known when it was paused.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Duty {
    Pause,
    Configure,
}

/// Operates. One that was killed may have left the queue paused, so the first acts resume it.
///
/// # Errors
/// A call's that no kill explains.
pub(super) fn operate(
    client: &Client,
    duty: Duty,
    mut random: Random,
    is_over: impl Fn() -> bool,
    say: impl Fn(String),
) -> Outcome<()> {
    let mut is_paused = duty == Duty::Pause;
    while !is_over() {
        if let Err(error) = act(client, duty, &mut random, &mut is_paused, &say) {
            failed(&error, &say)?;
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
    }
    Ok(())
}

/// Calls one method, any that an operator can call in any state of the queue.
fn act(
    client: &Client,
    duty: Duty,
    random: &mut Random,
    is_paused: &mut bool,
    say: impl Fn(String),
) -> Result<()> {
    let queue = queue(client);
    if *is_paused && random.one_in(2) {
        say(format!("r {}", clock::now()));
        queue.resume()?;
        *is_paused = false;
        return Ok(());
    }
    let partitions = 1 + random.below(5) as usize;
    match random.below(8) {
        0 if duty == Duty::Pause => {
            queue.pause()?;
            say(format!("p {}", clock::now()));
            *is_paused = true;
        }
        // As a program does at its start, with the partitions that the queue had when it was made.
        0..=2 => {
            let mut config = config();
            config.dedup_ids_max = 100_000 + random.below(3);
            queue.configure(config)?;
        }
        3 => queue.reshard(partitions)?,
        4 | 5 => drop(queue.reshard_step(partitions)?),
        6 => drop(queue.redrive_all(RedriveFilter::new())?),
        _ => {
            queue.list(random.of(&LISTED), EventQuery::new())?;
            queue.stats()?;
        }
    }
    Ok(())
}
