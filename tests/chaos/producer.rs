//! The child of the Redis test: adds members until it is killed, and reports how each add ended.
//!
//! | line | meaning |
//! | --- | --- |
//! | `i N ICK SENT MEMBER…` | add N was sent |
//! | `a N ENDED` | it was acknowledged |
//! | `e N ENDED KIND` | it returned an error |
//!
//! Times are nanoseconds of [`clock::now`].

use std::sync::mpsc;

use millpond::Result;
use millpond::ick::Add;

use crate::clock;
use crate::ledger::Nanos;
use crate::pipe::{READY, say};
use crate::random::Random;

/// The Icks that producers add to and consumers empty.
pub(crate) const ICKS: usize = 4;

/// Members of an Ick that all producers add again and again, so that consumers meet them dirtied
/// again while they are reserved.
const SHARED: u64 = 10;

/// For this long: a member that is added forever would hide that one of its adds was lost.
const SHARED_FOR: Nanos = 100_000_000;

pub(crate) fn ick_name(ick: usize) -> String {
    format!("chaos/{ick}")
}

/// Adds forever, one at a time or, from a window of 2 on, in the background.
pub(crate) fn produce(url: &str, seed: u64, life: u64, window: usize) -> Result<()> {
    let client = millpond::connect(url)?;
    let mut random = Random::named(seed, &[life]);
    let (done, results) = mpsc::channel();
    let mut in_flight = 0;
    say(READY);
    for index in 0_u64.. {
        let ick = random.below(ICKS as u64) as usize;
        // One that only this producer adds, and some that all add.
        let mut members = vec![format!("{life}-{index}")];
        let age = clock::now() / SHARED_FOR;
        members.extend((0..random.below(4)).map(|_| format!("{age}/{}", random.below(SHARED))));
        members.sort();
        members.dedup();
        let step = Add::new(ick_name(ick), members.iter().map(|member| (index as f64, member)));
        say(format_args!("i {index} {ick} {} {}", clock::now(), members.join(" ")));
        if window < 2 {
            tell(index, client.run(step).map(drop));
            continue;
        }
        let done = done.clone();
        // The receiver lives as long as this loop, which has no end.
        client.submit(step, move |result| drop(done.send((index, result.map(drop), clock::now()))));
        in_flight += 1;
        while in_flight == window {
            let (index, result, ended) = results.recv().expect("this loop holds a sender");
            tell_at(index, result, ended);
            in_flight -= 1;
        }
    }
    Ok(())
}

fn tell(index: u64, result: Result<()>) {
    tell_at(index, result, clock::now());
}

fn tell_at(index: u64, result: Result<()>, ended: u64) {
    match result {
        Ok(()) => say(format_args!("a {index} {ended}")),
        Err(error) => say(format_args!("e {index} {ended} {}", error.kind().name())),
    }
}
