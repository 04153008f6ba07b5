//! Consumes until it is killed or has to stop, and reports what it received and
//! acknowledged. See [`super::lines`].

use std::time::Duration;

use millpond::shuffle::{Message, ShuffleConsumer};
use millpond::{Client, Result};

use super::lines::{delivered, name_of};
use super::{GROUP, MAX_DELIVERIES, MIN_IDLE, Outcome, queue};
use crate::children::failed;
use crate::clock;
use crate::random::Random;

/// Consumes as the consumer `name`.
///
/// # Errors
/// A call's that no kill explains.
pub(super) fn consume(
    client: &Client,
    name: &str,
    mut random: Random,
    is_over: impl Fn() -> bool,
    say: impl Fn(String),
) -> Outcome<()> {
    let consumer = queue(client).consumer(GROUP, name).max_deliveries(MAX_DELIVERIES);
    let mut messages = consumer.messages(1 + random.below(20) as usize).wait(MIN_IDLE / 2);
    while !is_over() {
        let asked = clock::now();
        let taken = match random.one_in(3) {
            true => reclaim(&consumer, &say),
            false => messages.next().unwrap_or_else(|| Ok(Vec::new())),
        };
        let worked = taken.and_then(|batch| work(&consumer, batch, asked, &mut random, &say));
        if let Err(error) = worked {
            failed(&error, &say)?;
        }
    }
    Ok(())
}

fn reclaim(consumer: &ShuffleConsumer, say: impl Fn(String)) -> Result<Vec<Message>> {
    let reclaimed = consumer.reclaim(MIN_IDLE, 20)?;
    if reclaimed.dead > 0 {
        say(format!("k {}", reclaimed.dead));
    }
    Ok(reclaimed.messages)
}

/// Works on a batch for a while and acknowledges it, all at once or one by one.
fn work(
    consumer: &ShuffleConsumer,
    batch: Vec<Message>,
    asked: u64,
    random: &mut Random,
    say: impl Fn(String),
) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    say(format!("g {asked} {}", delivered(&batch)));
    std::thread::sleep(Duration::from_micros(random.below(5_000)));
    match random.below(150) {
        // One that works for long and renews its messages, and one that does not.
        0 => {
            for _ in 0..4 {
                std::thread::sleep(MIN_IDLE / 3);
                consumer.renew(&batch)?;
            }
        }
        1 => std::thread::sleep(MIN_IDLE * 2),
        _ => {}
    }
    let done: Vec<_> = batch.into_iter().filter(|m| !name_of(m).starts_with('p')).collect();
    let together = if random.one_in(3) { 1 } else { done.len().max(1) };
    let delete = random.one_in(2);
    for part in done.chunks(together) {
        let names: Vec<_> = part.iter().map(name_of).collect();
        let names = names.join(" ");
        let count = match delete {
            true => consumer.ack_and_delete(part),
            false => consumer.ack(part),
        };
        match count {
            Ok(count) if count == part.len() as u64 => say(format!("d {} {names}", clock::now())),
            // Another consumer has acknowledged the others, or they are dead letters.
            Ok(count) => say(format!("p {count} {names}")),
            Err(error) => {
                say(format!("u {names}"));
                return Err(error);
            }
        }
    }
    Ok(())
}
