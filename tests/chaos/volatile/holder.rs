//! Takes locks, works under them and releases them until it is killed, and reports it. See [`super::lines`].

use std::time::Duration;

use millpond::volatile::{FieldLock, VolatileHash};
use millpond::{Client, ErrorKind, Result};

use super::time::ServerTime;
use super::{Outcome, PLACES, TTL, VALUE_TTL, at};
use crate::children::failed;
use crate::pipe::say;
use crate::random::Random;

/// Takes one lock after the other.
///
/// # Errors
/// A call's that no kill explains.
pub(super) fn hold(
    client: &Client,
    mut time: ServerTime,
    name: &str,
    mut random: Random,
) -> Outcome<()> {
    for number in 0_u64.. {
        let place = random.of(&PLACES);
        let token = format!("{name}.{number}");
        if let Err(error) = take(client, &mut time, name, &token, place, &mut random) {
            failed(&error, say)?;
        }
        std::thread::sleep(Duration::from_micros(random.below(5_000)));
    }
    Ok(())
}

/// A lock of a holder: renewed by the test, or by the library.
enum Grip {
    Manual(String),
    Native(FieldLock),
}

/// Takes the lock of a place, if it is free, and works under it.
fn take(
    client: &Client,
    time: &mut ServerTime,
    name: &str,
    token: &str,
    place: &str,
    random: &mut Random,
) -> Result<()> {
    let (hash, field) = at(client, place);
    let way = random.below(4);
    let before = time.now()?;
    let taken = match way {
        0 => hash.lock(field, TTL)?.map(|lock| (lock.fence(), Grip::Native(lock))),
        1 => {
            let fence = hash.get_or_acquire(field, token, TTL)?.fence;
            fence.map(|fence| (fence, Grip::Manual(token.to_owned())))
        }
        _ => {
            let fence = hash.acquire(field, token, TTL)?.fence;
            fence.map(|fence| (fence, Grip::Manual(token.to_owned())))
        }
    };
    let Some((fence, grip)) = taken else { return Ok(()) };
    let kind = if let Grip::Native(_) = grip { "native" } else { "manual" };
    say(format_args!("a {place} {fence} {before} {} {name} {kind}", time.after()));
    // Some let it expire, as if they were killed here.
    if let (Grip::Manual(_), true) = (&grip, random.one_in(12)) {
        return Ok(());
    }
    let mut held = Held { hash, field, place, fence, value: format!("{name} {fence}"), grip, time };
    let worked = held.work(random);
    if worked.is_err() && matches!(held.grip, Grip::Native(_)) {
        // It is released when it is dropped.
        held.say_released();
    }
    if worked? { held.release(random) } else { Ok(()) }
}

struct Held<'a> {
    hash: VolatileHash,
    field: &'a str,
    place: &'a str,
    fence: u64,
    /// Who holds it and with which fence.
    value: String,
    grip: Grip,
    time: &'a mut ServerTime,
}

impl Held<'_> {
    /// Sets the value and renews the lock a few times; returns whether it is held all the time.
    fn work(&mut self, random: &mut Random) -> Result<bool> {
        let seen = self.hash.get(self.field)?.and_then(|value| fence_of(&value));
        for step in 0..=random.below(4) {
            // Some are slower than their lock lives.
            let pause = if random.one_in(16) { TTL } else { Duration::from_millis(2) };
            std::thread::sleep(pause + Duration::from_micros(random.below(20_000)));
            let before = self.time.now()?;
            if step > 0 && random.one_in(3) && !self.renew(before)? || !self.set(before)? {
                return Ok(false);
            }
            // It was read under the lock, since the lock is held still.
            if let (0, Some(seen)) = (step, seen) {
                self.say("v", seen);
            }
        }
        Ok(true)
    }

    /// Sets the value; returns whether it holds the lock.
    fn set(&mut self, before: u64) -> Result<bool> {
        let set = match &self.grip {
            Grip::Manual(token) => self.hash.set_locked(self.field, token, &self.value, VALUE_TTL),
            Grip::Native(lock) => lock.set(&self.value, VALUE_TTL),
        };
        self.confirmed("c", before, set)
    }

    /// Renews a lock that the library does not renew; returns whether it holds the lock.
    fn renew(&mut self, before: u64) -> Result<bool> {
        let Grip::Manual(token) = &self.grip else { return Ok(true) };
        if self.hash.renew(self.field, token, TTL)? {
            let after = self.time.after();
            self.say("n", format_args!("{before} {after}"));
            return Ok(true);
        }
        // A set has to be refused as well.
        self.say_refused();
        self.set(before)
    }

    /// Releases the lock, which it tells before.
    fn release(mut self, random: &mut Random) -> Result<()> {
        self.say_released();
        let before = self.time.now()?;
        let token = match &self.grip {
            Grip::Manual(token) => token,
            Grip::Native(_) => return self.release_native(before),
        };
        if random.one_in(2) {
            let set = self.hash.set_and_release(self.field, token, &self.value, VALUE_TTL);
            return self.confirmed("d", before, set).map(drop);
        }
        if self.hash.release(self.field, token)? {
            self.say("d", before);
            return Ok(());
        }
        self.say_refused();
        self.set(before).map(drop)
    }

    fn release_native(self, before: u64) -> Result<()> {
        let Self { place, fence, grip, time, .. } = self;
        let Grip::Native(lock) = grip else { return Ok(()) };
        match lock.release()? {
            true => say(format_args!("d {place} {fence} {before}")),
            false => say(format_args!("l {place} {fence} {}", time.after())),
        }
        Ok(())
    }

    /// Reports a call that was done or refused; returns whether it was done.
    fn confirmed(&mut self, what: &str, before: u64, outcome: Result<()>) -> Result<bool> {
        match outcome {
            Ok(()) => {
                self.say(what, before);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::LeaseLost => {
                self.say_refused();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn say_refused(&mut self) {
        let after = self.time.after();
        self.say("l", after);
    }

    fn say_released(&self) {
        say(format_args!("s {} {}", self.place, self.fence));
    }

    fn say(&self, what: &str, more: impl std::fmt::Display) {
        say(format_args!("{what} {} {} {more}", self.place, self.fence));
    }
}

/// The fence with which a value was set.
fn fence_of(value: &[u8]) -> Option<u64> {
    str::from_utf8(value).ok()?.split_once(' ')?.1.parse().ok()
}
