//! Fairness while it lasts: one tenant writes 1,000 times as much as each of the others and more
//! than is consumed, so that its backlog grows. How many messages are served between the write of
//! another tenant's message and its pick-up; no clock is involved.

use std::collections::{HashMap, HashSet};

use millpond::shuffle::Receipt;
use millpond::{Client, Error};
use millpond_tests::servers::Redis;

const TENANTS: usize = 32;

/// Messages that each of the light tenants writes.
const EACH: usize = 5;

const LIGHT: usize = (TENANTS - 1) * EACH;

/// The heavy tenant writes this many messages per turn, and in all 1,000 times [`EACH`].
const WRITTEN: usize = 5;

/// This many messages are consumed per turn: fewer than are written.
const SERVED: usize = 4;

const TURNS: usize = 1_000 * EACH / WRITTEN;

/// One message that is waiting or was served.
struct Message {
    receipt: Receipt,
    is_light: bool,
    /// How many messages had been served when it was written.
    written: usize,
}

/// How long light messages waited, in messages served; sorted.
struct Waits(Vec<usize>);

impl Waits {
    fn percentile(&self, percent: usize) -> usize {
        self.0[(self.0.len() * percent / 100).min(self.0.len() - 1)]
    }
}

fn tenant(number: usize) -> String {
    format!("tenant-{number}")
}

/// Plays the load on a queue of this many streams. The tenant `heavy` is the heavy one, if any.
fn play(
    client: &Client,
    name: &str,
    streams: u32,
    heavy: Option<usize>,
) -> Result<(Waits, Vec<Receipt>), Error> {
    let queue = client.shuffle_queue(name).streams(streams).streams_per_shard(streams.min(4));
    let consumer = queue.consumer("g", "c");
    let (mut waiting, mut waits) = (HashMap::new(), Vec::new());
    let mut served = Vec::new();
    let light: Vec<usize> = (0..TENANTS).filter(|tenant| Some(*tenant) != heavy).collect();
    let mut next = 0;
    for turn in 0..TURNS {
        // A light tenant's message comes between those of the heavy one, at any place.
        let mut tenants = vec![heavy; if heavy.is_some() { WRITTEN } else { 0 }];
        if next < LIGHT && next * TURNS / LIGHT <= turn {
            tenants.insert(next % (tenants.len() + 1), Some(light[next % light.len()]));
            next += 1;
        }
        let names = tenants.iter().flatten().map(|number| (tenant(*number), [("f", "v")]));
        let receipts = queue.write_many(names)?;
        for (receipt, tenant) in receipts.into_iter().zip(tenants) {
            let message = Message { receipt, is_light: tenant != heavy, written: served.len() };
            waiting.insert(receipt, message);
        }
        let batch = consumer.read_many(SERVED)?;
        for message in &batch {
            let message = waiting.remove(&Receipt::from(message)).expect("it was written once");
            if message.is_light {
                waits.push(served.len() - message.written);
            }
            served.push(message.receipt);
        }
        assert_eq!(consumer.ack_and_delete(&batch)?, batch.len() as u64);
    }
    // What the plain queue has not reached yet has waited at least this long.
    let left = waiting.values().filter(|message| message.is_light);
    waits.extend(left.map(|message| served.len() - message.written));
    assert_eq!(waits.len(), LIGHT);
    waits.sort_unstable();
    Ok((Waits(waits), served))
}

/// Compares one load with the same without the heavy tenant and on one plain stream.
fn compare(client: &Client, heavy: usize) -> Result<(), Error> {
    let (sharded, served) = play(client, &format!("sharded-{heavy}"), 64, Some(heavy))?;
    let (plain, _) = play(client, &format!("plain-{heavy}"), 1, Some(heavy))?;
    let (idle, _) = play(client, &format!("idle-{heavy}"), 64, None)?;
    let [sharded_p50, plain_p50, idle_p50] = [&sharded, &plain, &idle].map(|w| w.percentile(50));
    let [sharded_p99, plain_p99, idle_p99] = [&sharded, &plain, &idle].map(|w| w.percentile(99));
    println!(
        "tenant {heavy} is heavy; messages served before a light one, p50 and p99: sharded \
         {sharded_p50} and {sharded_p99}, plain {plain_p50} and {plain_p99}, idle {idle_p50} and \
         {idle_p99}"
    );
    // Before a light message comes at most one of each stream that holds something: the four of
    // the heavy tenant, and those in which others' messages have just arrived.
    assert!(sharded_p50 <= 4 && sharded_p99 <= 6, "{:?}", sharded.0);
    assert_eq!(idle_p99, 0, "{:?}", idle.0);
    assert!(plain_p50 > 300 && plain_p99 > 600, "{:?}", plain.0);
    check_turns(&served);
    Ok(())
}

/// Of the heavy tenant's streams, which are never empty, each is served once between two turns of
/// another.
fn check_turns(served: &[Receipt]) {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for receipt in served {
        *counts.entry(receipt.stream).or_default() += 1;
    }
    let mut streams: Vec<_> = counts.into_iter().collect();
    streams.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let heavy: HashSet<_> = streams[..4].iter().map(|(stream, _)| *stream).collect();
    // Until the backlog stands in all four, a stream may be empty in its turn.
    let steady = &served[served.len() / 10..];
    let order: Vec<_> = steady.iter().map(|r| r.stream).filter(|s| heavy.contains(s)).collect();
    assert!(order.len() > 2_000, "{} messages of the heavy tenant were served", order.len());
    for (at, four) in order.windows(4).enumerate() {
        let distinct: HashSet<_> = four.iter().collect();
        assert_eq!(distinct.len(), 4, "out of turn at {at}: {four:?}");
    }
}

#[test]
fn a_heavy_tenants_growing_backlog_is_its_own_on_redis() -> Result<(), Error> {
    let server = Redis::start();
    compare(&millpond::connect(&server.unix_url())?, 0)
}

#[test]
fn a_growing_backlog_delays_only_its_own_tenant() -> Result<(), Error> {
    let client = millpond::connect("memory:")?;
    (0..TENANTS).step_by(4).try_for_each(|heavy| compare(&client, heavy))
}
