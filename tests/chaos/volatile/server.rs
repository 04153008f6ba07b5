//! The hashes on Redis: holders and writers as processes, and a server that comes back with its append-only file.

use std::time::{Duration, Instant};

use millpond::Client;
use millpond_tests::servers::Redis;

use super::ledger::{Micros, Stop};
use super::lines::Heard;
use super::time::ServerTime;
use super::{Outcome, PLACES, TTL, VALUE_TTL, at, leftovers, micros};
use crate::children::{Children, are_of_kills};
use crate::pipe::Speaker;
use crate::random::Random;
use crate::{said, watchdog};

const HOLDERS: usize = 5;
const WRITERS: usize = 2;

/// How long to look for a process that holds a lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills a holder, any process or the server, or stops a holder, `kills` times.
///
/// # Errors
/// What was wrong.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=5s&connect_timeout=500ms", server.url());
    let (client, mut time) = (millpond::connect(&url).map_err(said)?, ServerTime::of(&url));
    let mut children: Children<Heard> = Children::new("volatile-child", url, seed);
    let speakers = children.start_all("holder", HOLDERS)?;
    let names = (1..=HOLDERS as u64).collect();
    let mut holders = Holders { speakers, names, server_since: 0 };
    let mut writers = children.start_all("writer", WRITERS)?;
    for child in holders.speakers.iter().chain(&writers) {
        child.wait_ready();
    }
    let mut counts = [0_u64; 4];
    for kill in 0..kills {
        watchdog::alive();
        std::thread::sleep(Duration::from_micros(50_000 + random.below(200_000)));
        // The server and a stop in the first turns, so that a short run has them too.
        let victim = [0, 2, 1, 3, 1, 0, 2, 3][kill as usize % 8];
        counts[victim] += 1;
        match victim {
            0 => {
                server.kill();
                std::thread::sleep(Duration::from_micros(random.below(2 * micros(TTL))));
                server.restart();
                holders.server_since = time_again(&mut time)?;
            }
            1 => {
                let held = holders.pause_one(&client, &mut time, &mut random)?;
                holders.replace(&mut children, held.slot)?;
                wait_until(&mut time, held.stopped + micros(TTL))?;
                if let Some(fence) = holder_of(&client, held.place)?
                    && fence == held.fence
                {
                    return Err(format!("a killed process holds {} with {fence}", held.place));
                }
            }
            2 => {
                let held = holders.pause_one(&client, &mut time, &mut random)?;
                wait_until(&mut time, held.stopped + micros(TTL))?;
                let (resumed, child) = (time.now().map_err(said)?, &holders.speakers[held.slot]);
                child.resume();
                let refused = format!("l {} {} ", held.place, held.fence);
                if !child.says(|line| line.starts_with(&refused)) {
                    return Err(format!("a holder that was stopped did not say {refused}"));
                }
                let name = holders.names[held.slot].to_string();
                let stop = Stop { name, stopped: held.stopped, resumed };
                children.heard.ledger.stops.push(stop);
            }
            _ => match random.below((HOLDERS + WRITERS) as u64) as usize {
                slot @ 0..HOLDERS => holders.replace(&mut children, slot)?,
                slot => children.replace("writer", &mut writers, slot - HOLDERS)?,
            },
        }
    }
    for child in holders.speakers.into_iter().chain(writers) {
        children.end(child)?;
    }
    server.kill();
    server.restart();
    let until = time_again(&mut time)? + micros(VALUE_TTL);
    wait_until(&mut time, until)?;
    let [fields, locks] = leftovers::reap(&client)?;
    let keys = server.cli(&["KEYS", "*"]);
    if !keys.array().is_empty() {
        return Err(format!("the reaps left {keys:?}"));
    }
    let Heard { ledger, errors, reaped } = children.heard;
    are_of_kills(&errors)?;
    ledger.check()?;
    let [servers, held, stops, others] = counts;
    println!(
        "killed {held} processes that held a lock, {others} others and the server {} times, stopped {stops} that held \
         a lock\n{}\nreaped {} fields and {} locks by the writers, {fields} and {locks} at last; errors {errors:?}\n\
         volatile on redis: nothing wrong",
        servers + 1,
        ledger.counts(),
        reaped[0],
        reaped[1],
    );
    Ok(())
}

/// The time, from a server that was restarted: the connection that there was is gone.
fn time_again(time: &mut ServerTime) -> Outcome<Micros> {
    time.now().or_else(|_| time.now()).map_err(said)
}

/// Waits until it is later than a time, by the server.
fn wait_until(time: &mut ServerTime, end: Micros) -> Outcome<()> {
    while time_again(time)? <= end {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The fence of the holder of a place.
fn holder_of(client: &Client, place: &str) -> Outcome<Option<u64>> {
    let (hash, field) = at(client, place);
    Ok(hash.holder(field).map_err(said)?.map(|holder| holder.fence))
}

struct Holders {
    speakers: Vec<Speaker>,
    /// The numbers of their lives.
    names: Vec<u64>,
    /// When the server came back. A process whose call was cut off then leaves the lock, so it would not be refused.
    server_since: Micros,
}

/// A lock whose holder stands still.
struct Paused {
    slot: usize,
    place: &'static str,
    fence: u64,
    /// When it stood still already.
    stopped: Micros,
}

impl Holders {
    /// Kills one of them and starts another one in its place.
    fn replace(&mut self, children: &mut Children<Heard>, slot: usize) -> Outcome<()> {
        // The next one is numbered before the last one has ended.
        self.names[slot] = children.lives + 1;
        children.replace("holder", &mut self.speakers, slot)
    }

    /// Stops a process while it holds a lock.
    fn pause_one(
        &self,
        client: &Client,
        time: &mut ServerTime,
        random: &mut Random,
    ) -> Outcome<Paused> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let place = random.of(&PLACES);
            let (hash, field) = at(client, place);
            let holder = hash.holder(field).map_err(said)?;
            // Who the last one is that set the value, and with which fence.
            let value = hash.get(field).map_err(said)?.unwrap_or_default();
            let value = String::from_utf8_lossy(&value);
            let named = value.split_once(' ').and_then(|(name, fence)| {
                Some((name.parse::<u64>().ok()?, fence.parse::<u64>().ok()?))
            });
            if let (Some(holder), Some((name, fence))) = (holder, named)
                && holder.fence == fence
                && fence > self.server_since
                && let Some(slot) = self.names.iter().position(|one| *one == name)
            {
                self.speakers[slot].pause();
                // After one reply nothing that it had sent is under way any more.
                time_again(time)?;
                let is_held = holder_of(client, place)? == Some(fence);
                let stopped = time_again(time)?;
                if is_held {
                    return Ok(Paused { slot, place, fence, stopped });
                }
                self.speakers[slot].resume();
            }
            std::thread::sleep(Duration::from_micros(random.below(2_000)));
        }
        Err(format!("no process holds a lock for {PATIENCE:?}"))
    }
}
