//! The crash test on Redis: producers as processes, a consumer for each Ick, and a server that is
//! killed at random instants and comes back with its append-only file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millpond_tests::servers::{Redis, wait_until};

use crate::consumer::{self, WAIT};
use crate::ledger::{Attempt, Fate, Ledger, Nanos};
use crate::pipe::Speaker;
use crate::producer::{ICKS, ick_name};
use crate::random::Random;
use crate::watchdog;

type Outcome<T> = Result<T, String>;

const PRODUCERS: usize = 8;

/// What the producers' connections are called.
const PRODUCER: &str = "producer";

/// The timeout of every client's calls.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(1);

/// Everything the producers said.
#[derive(Default)]
struct Heard {
    ledger: Ledger,
    done: u64,
    refused: u64,
    unknown: u64,
    kinds: BTreeMap<String, u64>,
    longest: Duration,
}

/// Kills the server `kills` times.
///
/// # Errors
/// What was wrong, with the seed.
pub(crate) fn run(kills: u64, seed: u64) -> Outcome<()> {
    println!("redis: {kills} kills, seed {seed}");
    run_seeded(kills, seed).map_err(|wrong| format!("seed {seed}: {wrong}"))
}

fn run_seeded(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout={}ms&connect_timeout=500ms", server.url(), TIMEOUT.as_millis());
    let is_over = Arc::new(AtomicBool::new(false));
    let consumers = (0..ICKS)
        .map(|ick| consumer::start(&url, ick, is_over.clone()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{error:?}"))?;
    let producer_url = format!("{url}&client_name={PRODUCER}");
    let mut lives = 0;
    let mut start = |slot: usize| {
        lives += 1;
        // Every second one has many adds on their way at once.
        let window = if slot.is_multiple_of(2) { 1 } else { 8 };
        let words = [&producer_url, &seed.to_string(), &lives.to_string(), &window.to_string()];
        let mut arguments = vec!["producer"];
        arguments.extend(words.map(String::as_str));
        Speaker::start(&arguments).map_err(|error| format!("no child: {error}"))
    };
    let mut producers = (0..PRODUCERS).map(&mut start).collect::<Outcome<Vec<_>>>()?;
    let mut heard = Heard::default();
    let mut stops = 0_u64;
    let started = Instant::now();
    for kill in 0..kills {
        watchdog::alive();
        std::thread::sleep(Duration::from_micros(random.below(500_000)));
        if kill % 7 == 5 {
            // A server that is up and does not reply, for longer than a call may take.
            stops += 1;
            server.stop();
            std::thread::sleep(TIMEOUT + Duration::from_millis(300));
        }
        server.kill();
        let down = if random.one_in(8) { 2_500_000 } else { random.below(150_000) };
        std::thread::sleep(Duration::from_micros(down));
        server.restart();
        std::thread::sleep(Duration::from_micros(random.below(200_000)));
        let slot = random.below(PRODUCERS as u64) as usize;
        let killed = std::mem::replace(&mut producers[slot], start(slot)?);
        heard.take(&killed.kill()?)?;
        if (kill + 1) % 5 == 0 {
            println!("{} kills in {} s", kill + 1, started.elapsed().as_secs());
        }
    }
    for producer in producers {
        heard.take(&producer.kill()?)?;
    }
    // What a producer had sent when it died is still done, and then the server forgets it.
    wait_until("what was sent is done", || {
        !server.cli(&["CLIENT", "LIST"]).text().contains(&format!("name={PRODUCER}"))
    });
    is_over.store(true, Ordering::Release);

    let mut deliveries = 0;
    let mut batches = 0;
    let mut longest = Duration::ZERO;
    for (ick, consumer) in consumers.into_iter().enumerate() {
        let log = consumer.join().map_err(|_| "a consumer panicked".to_owned())?;
        let log = log.map_err(|error| format!("{error}"))?;
        for kind in log.errors {
            *heard.kinds.entry(kind.name().to_owned()).or_default() += 1;
        }
        longest = longest.max(log.longest);
        batches += log.batches;
        deliveries += log.deliveries.len();
        for (member, delivery) in log.deliveries {
            heard.ledger.deliver(ick, &member, delivery);
        }
    }
    let client = millpond::connect(&url).map_err(|error| format!("{error:?}"))?;
    for ick in 0..ICKS {
        let stats = client.ick(ick_name(ick)).stats().map_err(|error| format!("{error:?}"))?;
        let left = stats.map_or(0, |stats| stats.total_size());
        if left > 0 {
            return Err(format!("{left} members are left in Ick {ick} that was emptied"));
        }
    }
    println!(
        "redis: {kills} kills, {lives} producers, {stops} stops, {} adds acknowledged, {} refused, \
         {} unknown, {deliveries} members delivered in {batches} batches, errors {:?}, longest add \
         {:?}, longest turn of a loop {longest:?}",
        heard.done, heard.refused, heard.unknown, heard.kinds, heard.longest
    );
    heard.ledger.check()?;
    for kind in heard.kinds.keys() {
        let expected = match kind.as_str() {
            "CONNECTION_LOST" | "CONNECTION_FAILED" | "UNAVAILABLE" => true,
            "TIMEOUT" => stops > 0,
            _ => false,
        };
        if !expected {
            return Err(format!("a call failed with {kind}"));
        }
    }
    if heard.longest > TIMEOUT + SLACK || longest > TIMEOUT + WAIT + SLACK {
        return Err(format!("a call took longer than its {TIMEOUT:?}"));
    }
    println!("redis: nothing wrong");
    Ok(())
}

/// An add that a producer has sent.
struct Sent<'a> {
    ick: usize,
    sent: Nanos,
    members: Vec<&'a str>,
    fate: Fate,
}

impl Heard {
    /// Handles what one producer printed in its life.
    fn take(&mut self, lines: &[String]) -> Outcome<()> {
        let mut adds: BTreeMap<u64, Sent<'_>> = BTreeMap::new();
        for line in lines {
            self.line(line, &mut adds).ok_or_else(|| format!("a producer said: {line}"))?;
        }
        for add in adds.into_values() {
            match add.fate {
                Fate::Done(_) => self.done += 1,
                Fate::Refused => self.refused += 1,
                Fate::Unknown => self.unknown += 1,
            }
            for member in add.members {
                let attempt = Attempt { sent: add.sent, fate: add.fate };
                self.ledger.add(add.ick, member, attempt);
            }
        }
        Ok(())
    }

    fn line<'a>(&mut self, line: &'a str, adds: &mut BTreeMap<u64, Sent<'a>>) -> Option<()> {
        let mut words = line.split(' ');
        let what = words.next()?;
        let index = words.next()?.parse().ok()?;
        if what == "i" {
            let ick = words.next()?.parse().ok()?;
            let sent = words.next()?.parse().ok()?;
            adds.insert(index, Sent { ick, sent, members: words.collect(), fate: Fate::Unknown });
            return Some(());
        }
        let add = adds.get_mut(&index)?;
        let ended: Nanos = words.next()?.parse().ok()?;
        self.longest = self.longest.max(Duration::from_nanos(ended - add.sent));
        add.fate = match (what, words.next()) {
            ("a", None) => Fate::Done(ended),
            ("e", Some(kind)) => {
                *self.kinds.entry(kind.to_owned()).or_default() += 1;
                match kind {
                    "CONNECTION_FAILED" | "UNAVAILABLE" => Fate::Refused,
                    _ => Fate::Unknown,
                }
            }
            _ => return None,
        };
        Some(())
    }
}
