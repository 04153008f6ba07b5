//! Consumes until it is killed or has to stop, and reports what it received and acknowledged. See [`super::lines`].

use std::time::Duration;

use millpond::events::{Event, EventQueue, Settled};
use millpond::{Client, ErrorKind, Result};

use super::lines::{delivered, names};
use super::{LEASE, Outcome, queue};
use crate::children::failed;
use crate::clock;
use crate::random::Random;

/// Consumes.
///
/// # Errors
/// A call's that no kill explains.
pub(super) fn consume(
    client: &Client,
    mut random: Random,
    is_over: impl Fn() -> bool,
    say: impl Fn(String),
) -> Outcome<()> {
    let queue = queue(client);
    let mut deliveries = queue.deliveries().max(1 + random.below(8) as usize).wait(LEASE / 4);
    while !is_over() {
        let asked = clock::now();
        let taken = match random.one_in(3) {
            true => queue.receive(1 + random.below(4) as usize),
            false => deliveries.next().unwrap_or_else(|| Ok(Vec::new())),
        };
        let worked = taken.and_then(|batch| work(&queue, &batch, asked, &mut random, &say));
        if let Err(error) = worked {
            failed(&error, &say)?;
        }
    }
    Ok(())
}

/// Works on a batch for a while, and ends it.
fn work(
    queue: &EventQueue,
    batch: &[Event],
    asked: u64,
    random: &mut Random,
    say: impl Fn(String),
) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    say(format!("g {asked} {} {}", clock::now(), delivered(batch)));
    std::thread::sleep(Duration::from_micros(random.below(3_000)));
    let (failed, done): (Vec<_>, Vec<_>) = batch.iter().partition(|_| random.one_in(20));
    // Those of a key that come later do not wait for a dead letter.
    let (dead, done): (Vec<_>, Vec<_>) =
        done.into_iter().partition(|event| event.key.is_empty() && random.one_in(20));
    for event in failed {
        if random.one_in(2) {
            queue.renew([event], None)?;
        }
        // It is refused if the lease ran out meanwhile and another one has the event.
        match queue.nack(event, "no", None) {
            Err(error) if error.kind() == ErrorKind::LeaseLost => {}
            other => other?,
        }
    }
    for event in dead {
        match queue.dead_letter(event, "odd") {
            Err(error) if error.kind() == ErrorKind::LeaseLost => {}
            other => other?,
        }
    }
    say(format!("s {} {}", clock::now(), names(done.iter().copied())));
    let settled = queue.ack_many(done.iter().copied())?;
    let ended = clock::now();
    let of = |is: &dyn Fn(Settled) -> bool| {
        let with = done.iter().zip(&settled).filter(|(_, settled)| is(**settled));
        with.map(|(event, _)| *event).collect::<Vec<_>>()
    };
    let (acknowledged, late) = (of(&|one| one == Settled::Ended), of(&|one| one != Settled::Ended));
    for (what, events) in [(format!("d {ended}"), acknowledged), ("l".to_owned(), late)] {
        if !events.is_empty() {
            say(format!("{what} {}", names(events)));
        }
    }
    Ok(())
}
