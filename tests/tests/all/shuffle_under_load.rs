//! Writers while the number of streams changes all the time, many consumers of two groups of which
//! some go away in mid-work: nothing is lost, nothing is stranded, and tenants are served in turn.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use millpond::shuffle::{Message, shard};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::Redis;

type Result = std::result::Result<(), millpond::Error>;

const WRITERS: u64 = 4;
const MESSAGES: u64 = 1_500;
const GROUPS: [&str; 2] = ["one", "two"];

fn number(message: &Message) -> u64 {
    let number = message.field("n").expect("it was written");
    String::from_utf8_lossy(number).parse().expect("a number")
}

/// Writers that resize the queue all the time, consumers that lose every eighth batch.
fn resize_under_load(client: &Client) -> Result {
    let seen: [Mutex<HashMap<u64, u32>>; 2] = Default::default();
    let writing = AtomicU64::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let writing = &writing;
            scope.spawn(move || {
                let sizes = [1u32, 2, 8, 3, 16, 5];
                for n in 0..MESSAGES {
                    let streams = sizes[((n / 50 + writer) % 6) as usize];
                    let queue = client.shuffle_queue("q");
                    if n % 50 == 0 {
                        queue.resize(streams).expect("it is there");
                    }
                    let message = [("n", (writer * MESSAGES + n).to_string())];
                    queue.write(format!("tenant-{}", n % 13), message).expect("it is there");
                }
                writing.fetch_sub(1, Ordering::Release);
            });
        }
        for (group, seen) in GROUPS.iter().zip(&seen) {
            for consumer in 0..4 {
                let writing = &writing;
                scope.spawn(move || {
                    let queue = client.shuffle_queue("q");
                    let mut batches = 0;
                    loop {
                        let is_over = writing.load(Ordering::Acquire) == 0;
                        // Each batch is taken by a consumer of its own, as after a restart.
                        let own = queue.consumer(group, format!("{consumer}-{batches}"));
                        let batch = own.read_many(1 + batches % 20).expect("it is there");
                        if batch.is_empty() && is_over {
                            return;
                        }
                        batches += 1;
                        if batches % 8 == 0 {
                            continue;
                        }
                        own.ack(&batch).expect("it is there");
                        let mut seen = seen.lock().expect("nobody panicked");
                        batch.iter().for_each(|m| *seen.entry(number(m)).or_default() += 1);
                    }
                });
            }
        }
    });
    let queue = client.shuffle_queue("q");
    for (group, seen) in GROUPS.iter().zip(seen) {
        let mut seen = seen.into_inner().expect("nobody panicked");
        let last = queue.consumer(group, "last");
        loop {
            let reclaimed = last.reclaim(Duration::ZERO, 100)?;
            if reclaimed.messages.is_empty() {
                break;
            }
            last.ack(&reclaimed.messages)?;
            for message in &reclaimed.messages {
                assert_eq!(message.deliveries, 2);
                *seen.entry(number(message)).or_default() += 1;
            }
        }
        assert_eq!(seen.len() as u64, WRITERS * MESSAGES, "{group}: some were lost or stranded");
        assert!(seen.values().all(|times| *times == 1), "{group}: some came twice");
    }
    assert_eq!((queue.backlog()?, queue.len()? > 0), (0, true));
    // Every consumer is done with everything, so nothing holds the streams.
    assert_eq!(queue.resize(1)?, 1);
    assert_eq!(queue.stats("one")?.streams.len(), 1);
    Ok(())
}

#[test]
fn nothing_is_lost_while_the_queue_is_resized_on_redis() -> Result {
    let server = Redis::start();
    resize_under_load(&millpond::connect(&server.unix_url())?)
}

#[test]
fn nothing_is_lost_while_the_queue_is_resized_embedded() -> Result {
    resize_under_load(&millpond::connect("memory:")?)
}

/// 64 streams, 4 a tenant, 32 tenants, one of which has written 1,000 times more than the others:
/// how many messages are served before a light tenant's first one.
#[test]
fn a_burst_of_one_tenant_delays_only_itself() -> Result {
    let server = Redis::start();
    for url in [server.unix_url(), "memory:".to_owned()] {
        let client = millpond::connect(&url)?;
        let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
        let tenant = |number: u32| format!("tenant-{number}");
        queue.write_many((0..1_000).map(|_| (tenant(0), [("t", "0")])))?;
        queue.write_many((1..32).map(|number| (tenant(number), [("t", number.to_string())])))?;
        let heavy = shard(64, 4, tenant(0))?;
        let consumer = queue.consumer("g", "c");
        let mut waited = HashMap::new();
        for turn in 0..200 {
            let Some(message) = consumer.read()? else { break };
            let tenant = String::from_utf8_lossy(message.field("t").expect("it is there"));
            waited.entry(tenant.parse::<u32>().expect("a number")).or_insert(turn);
            consumer.ack_and_delete([&message])?;
        }
        assert_eq!(waited.len(), 32, "{url}");
        let longest = waited.values().max().copied().unwrap_or_default();
        // One round of the streams that hold something; on one plain stream it would be 1,030.
        assert!(longest < 64, "{url}: {longest} messages came before");
        assert_eq!(heavy.len(), 4);
    }
    Ok(())
}

#[test]
fn groups_that_join_at_the_same_time_join_once() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.unix_url())?;
    let queue = client.shuffle_queue("q").streams(8);
    queue.write_many((0..80).map(|n| (n.to_string(), [("n", n.to_string())])))?;
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for consumer in 0..8 {
            let (queue, seen) = (queue.clone(), &seen);
            scope.spawn(move || {
                let consumer = queue.consumer("g", consumer.to_string());
                while let Some(message) = consumer.read().expect("nobody loses the race") {
                    seen.lock().expect("nobody panicked").push(number(&message));
                }
            });
        }
    });
    let mut seen = seen.into_inner().expect("nobody panicked");
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..80));
    let error = queue.consumer("g", "").read().expect_err("it has no name");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    Ok(())
}
