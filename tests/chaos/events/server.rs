//! The queue on Redis: producers, consumers and operators as processes, and a server that comes back with its append-only file.

use std::time::Duration;

use millpond_tests::servers::Redis;

use super::lines::Heard;
use super::{LEASE, Outcome, configure, wait_until_done};
use crate::children::{Children, are_of_kills};
use crate::random::Random;
use crate::{said, watchdog};

const PRODUCERS: usize = 3;
const CONSUMERS: usize = 4;

/// Kills a producer, a consumer, an operator or the server, or stops a consumer, `kills` times.
///
/// # Errors
/// What was wrong.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=5s&connect_timeout=500ms", server.url());
    let client = millpond::connect(&url).map_err(said)?;
    configure(&client)?;
    let mut children: Children<Heard> = Children::new("events-child", url, seed);
    let mut producers = children.start_all("producer", PRODUCERS)?;
    let mut consumers = children.start_all("consumer", CONSUMERS)?;
    let mut operators = children.start_all("operator", 1)?;
    let mut configurers = children.start_all("configurer", 1)?;
    for child in producers.iter().chain(&consumers).chain(&operators).chain(&configurers) {
        child.wait_ready();
    }
    let mut counts = [0_u64; 5];
    for kill in 0..kills {
        watchdog::alive();
        std::thread::sleep(Duration::from_micros(100_000 + random.below(200_000)));
        // The server and a stop in the first turns, so that a short run has them too.
        let victim = [2, 3, 4, 1, 4, 0, 1, 2, 4, 1, 0, 4][kill as usize % 12];
        counts[victim] += 1;
        let consumer = random.below(CONSUMERS as u64) as usize;
        match victim {
            0 => {
                let slot = random.below(PRODUCERS as u64) as usize;
                children.replace("producer", &mut producers, slot)?;
            }
            1 => children.replace("consumer", &mut consumers, consumer)?,
            2 => {
                server.kill();
                std::thread::sleep(Duration::from_micros(random.below(150_000)));
                server.restart();
            }
            4 if random.one_in(2) => children.replace("operator", &mut operators, 0)?,
            4 => children.replace("configurer", &mut configurers, 0)?,
            _ => {
                consumers[consumer].pause();
                std::thread::sleep(LEASE + Duration::from_micros(random.below(200_000)));
                consumers[consumer].resume();
            }
        }
    }
    for child in producers.into_iter().chain(operators).chain(configurers) {
        children.end(child)?;
    }
    wait_until_done(&client)?;
    for consumer in consumers {
        children.end(consumer)?;
    }
    let Heard { ledger, errors, late } = children.heard;
    are_of_kills(&errors)?;
    ledger.check()?;
    let [producers, consumers, servers, stops, operators] = counts;
    println!(
        "killed {producers} producers, {consumers} consumers, {operators} operators and the server {servers} times, \
         stopped {stops} consumers\n{}, {late} ends came late; errors {errors:?}\nevents on redis: nothing wrong",
        ledger.counts()
    );
    Ok(())
}
