//! The queue on Redis: writers and consumers as processes, and a server that comes back with its
//! append-only file.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use millpond_tests::servers::{Redis, Reply};

use super::lines::Heard;
use super::{Outcome, STREAMS_MAX, check, wait_until_done};
use crate::children::{Children, are_of_kills};
use crate::random::Random;
use crate::{said, watchdog};

const WRITERS: usize = 4;
const CONSUMERS: usize = 5;

/// Kills a writer, a consumer or the server, `kills` times.
///
/// # Errors
/// What was wrong.
pub(super) fn run(kills: u64, seed: u64) -> Outcome<()> {
    let mut random = Random::new(seed);
    let server = Redis::builder().appendonly_always().start();
    let url = format!("{}?timeout=5s&connect_timeout=500ms", server.url());
    let client = millpond::connect(&url).map_err(said)?;
    let mut children: Children<Heard> = Children::new("shuffle-child", url, seed);
    let mut writers = children.start_all("writer", WRITERS)?;
    let mut consumers = children.start_all("consumer", CONSUMERS)?;
    for child in writers.iter().chain(&consumers) {
        child.wait_ready();
    }
    let (mut counts, mut sizes) = ([0_u64; 3], Sizes::default());
    for kill in 0..kills {
        watchdog::alive();
        let pause = Duration::from_micros(100_000 + random.below(300_000));
        let began = Instant::now();
        while began.elapsed() < pause {
            sizes.note(&server)?;
            std::thread::sleep(Duration::from_millis(5));
        }
        // The server in the first turn of six, so that a short run has it too.
        let victim = [2, 1, 0, 1, 0, 1][kill as usize % 6];
        counts[victim] += 1;
        match victim {
            0 => children.replace("writer", &mut writers, random.below(WRITERS as u64) as usize)?,
            1 => {
                let slot = random.below(CONSUMERS as u64) as usize;
                children.replace("consumer", &mut consumers, slot)?;
            }
            _ => {
                server.kill();
                std::thread::sleep(Duration::from_micros(random.below(150_000)));
                server.restart();
            }
        }
    }
    for writer in writers {
        children.end(writer)?;
    }
    wait_until_done(&client)?;
    for consumer in consumers {
        children.end(consumer)?;
    }
    let Heard { mut ledger, errors, dead, late } = children.heard;
    are_of_kills(&errors)?;
    check(&client, &mut ledger)?;
    let [writers, consumers, servers] = counts;
    println!(
        "killed {writers} writers, {consumers} consumers and the server {servers} times; {sizes}\n\
         {}, {dead} of which were told, {late} acknowledgements came late; errors {errors:?}\n\
         shuffle on redis: nothing wrong",
        ledger.counts()
    );
    Ok(())
}

/// Returns how many streams the queue has, and the first one beyond in which a message waits.
const BEYOND: &str = "
local streams = tonumber(redis.call('HGET', 'chaos:meta', 'streams') or 1)
for number = streams, tonumber(ARGV[1]) - 1 do
  local key = 'chaos:s' .. number
  if redis.call('XLEN', key) > 0 then
    local groups = redis.call('XINFO', 'GROUPS', key)
    if #groups == 0 then return {streams, key} end
    for _, group in ipairs(groups) do
      local of = {}
      for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
      local next = redis.call('XRANGE', key, '(' .. of['last-delivered-id'], '+', 'COUNT', 1)
      if of.pending > 0 or #next > 0 then return {streams, key} end
    end
  end
end
return {streams}";

/// How often the queue was seen with each number of streams, so that a run in which nothing was
/// resized is noticed.
#[derive(Default)]
struct Sizes(BTreeMap<i64, u32>);

impl Sizes {
    /// Checks the queue's size, and the streams that it had when it was larger.
    fn note(&mut self, server: &Redis) -> Outcome<()> {
        let reply = server.cli(&["EVAL", BEYOND, "0", &STREAMS_MAX.to_string()]);
        let Reply::Array(found) = reply else { return Err(format!("no size: {reply:?}")) };
        let streams = found[0].integer();
        *self.0.entry(streams).or_default() += 1;
        match found.get(1) {
            None => Ok(()),
            Some(key) => Err(format!("{} of {streams} streams holds work", key.text())),
        }
    }
}

impl std::fmt::Display for Sizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "streams seen, and how often: {:?}", self.0)
    }
}
