//! Writes fields of many hashes of the family, takes locks that it leaves, and reaps, until it is killed.

use std::time::Duration;

use millpond::{Client, Result};

use super::time::ServerTime;
use super::{BASES, Outcome, TTL, VALUE_TTL, at, family, micros};
use crate::children::failed;
use crate::pipe::say;
use crate::random::Random;

const FIELDS: [&str; 3] = ["x", "y", "z"];

/// Writes.
///
/// # Errors
/// A call's that no kill explains.
pub(super) fn write(
    client: &Client,
    mut time: ServerTime,
    name: &str,
    mut random: Random,
) -> Outcome<()> {
    for number in 0_u64.. {
        let token = format!("{name}.{number}");
        if let Err(error) = step(client, &mut time, name, &token, &mut random) {
            failed(&error, say)?;
        }
        std::thread::sleep(Duration::from_micros(random.below(3_000)));
    }
    Ok(())
}

fn step(
    client: &Client,
    time: &mut ServerTime,
    name: &str,
    token: &str,
    random: &mut Random,
) -> Result<()> {
    let place = format!("w{}/{}", random.below(BASES), random.of(&FIELDS));
    let (hash, field) = at(client, &place);
    let most = if random.one_in(2) { micros(VALUE_TTL) } else { 20_000 };
    let ttl = Duration::from_micros(1_000 + random.below(most - 1_000));
    match random.below(12) {
        0..5 => hash.set_many([(field, name), ("more", name)], ttl),
        5 => hash.touch(field, ttl).map(drop),
        6 => hash.delete([field]).map(drop),
        7 => hash.clear().map(drop),
        8..11 => {
            let before = time.now()?;
            let Some(fence) = hash.acquire(field, token, TTL)?.fence else { return Ok(()) };
            say(format_args!("a {place} {fence} {before} {} {name} manual", time.after()));
            if random.one_in(3) {
                say(format_args!("s {place} {fence}"));
                hash.release(field, token)?;
            }
            Ok(())
        }
        _ => {
            let reaped = family(client).reap(1 + random.below(40) as usize)?;
            say(format_args!("r {} {}", reaped.fields, reaped.locks));
            Ok(())
        }
    }
}
