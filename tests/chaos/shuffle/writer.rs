//! Writes until it is killed, and reports how each write ended. See [`super::lines`].

use std::time::Duration;

use millpond::Client;

use super::lines::receipts;
use super::{Outcome, SIZE_FOR, SIZES, queue};
use crate::clock;
use crate::random::Random;

/// Messages of a write of many.
const BATCH: u64 = 20;

/// Writes single messages and batches, whose names begin with `name`.
///
/// # Errors
/// None so far: it only ends by being killed.
pub(super) fn write(
    client: &Client,
    name: &str,
    mut random: Random,
    say: impl Fn(String),
) -> Outcome<()> {
    let queue = queue(client);
    let mut last = 0;
    for index in 0_u64.. {
        let size = clock::now() as u128 / SIZE_FOR.as_nanos() % SIZES.len() as u128;
        let size = SIZES[size as usize];
        // A late writer sets what others have set: all use the same clock.
        if size != last && queue.resize(size).is_ok() {
            last = size;
        }
        let count = if random.one_in(4) { 1 + random.below(BATCH) } else { 1 };
        let messages: Vec<(u64, [(&str, String); 2])> = (0..count)
            .map(|k| {
                // What begins with a p is poison: no consumer finishes it.
                let kind = if random.one_in(1_000) { 'p' } else { 'w' };
                let pad = "-".repeat(random.below(1_000) as usize);
                let fields = [("n", format!("{kind}{name}.{index}.{k}")), ("pad", pad)];
                (random.below(20), fields)
            })
            .collect();
        let names: Vec<_> = messages.iter().map(|(_, fields)| fields[0].1.clone()).collect();
        say(format!("i {name}.{index} {}", names.join(" ")));
        let mut messages =
            messages.into_iter().map(|(tenant, fields)| (tenant.to_string(), fields));
        let written = match count {
            1 => {
                let (tenant, fields) = messages.next().expect("there is one");
                queue.write(tenant, fields).map(|receipt| vec![receipt])
            }
            _ => queue.write_many(messages),
        };
        match written {
            Ok(written) => say(format!("a {name}.{index} {}", receipts(&written))),
            Err(error) => {
                say(format!("e {name}.{index} {}", error.kind().name()));
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        std::thread::sleep(Duration::from_micros(random.below(6_000)));
    }
    Ok(())
}
