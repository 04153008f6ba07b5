//! Messages between Go and ours, in one group: each once, and no waiter misses one.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond::shuffle::{ShuffleConsumer, shard};
use millpond_tests::servers::{Redis, wait_until};
use serde_json::json;

use crate::go::{Fields, Go, Taken};
use crate::key_of;
use crate::random::Random;

const STREAMS: u32 = 16;
const PER_SHARD: u32 = 3;
const WRITERS: u64 = 4;
const EACH: u64 = 250;

/// How long a waiter would wait if it was not woken, and what waking it may take at most.
const LONG: Duration = Duration::from_secs(60);
const PROMPT: Duration = Duration::from_secs(10);

/// What was written or read: stream, id, fields.
type Seen = Vec<(String, String, Fields)>;

fn ours(consumer: &ShuffleConsumer, max: usize, wait: Duration) -> Seen {
    let Some(batch) = consumer.messages(max).wait(wait).next() else { return Vec::new() };
    let batch = batch.expect("the server is there");
    let all = batch.iter().map(|message| {
        let mut fields = message.fields.clone();
        fields.sort();
        (key_of("q", message.into()), message.id.to_string(), fields)
    });
    let all = all.collect();
    assert_eq!(consumer.ack(&batch).expect("the server is there"), batch.len() as u64);
    all
}

fn seen(taken: Taken) -> (String, String, Fields) {
    (taken.stream, taken.id, taken.fields)
}

/// Two writers and two readers of either kind at the same time.
#[test]
#[ignore = "needs the Go program: make interop"]
fn both_write_and_both_read_in_one_group() {
    let server = Redis::start();
    // Of two Go readers that are the first to wait on a queue, one fails: both make the group of the
    // notifications. This makes it before they start.
    assert!(Go::start(&server.url()).read("q", "go", 1).is_none());
    let written = Mutex::new(Vec::new());
    let read = Mutex::new(Vec::new());
    let taken = AtomicU64::new(0);
    let began = Instant::now();
    let is_over = || taken.load(Ordering::SeqCst) >= WRITERS * EACH || began.elapsed() > LONG;
    let took = |more: Seen| {
        taken.fetch_add(more.len() as u64, Ordering::SeqCst);
        read.lock().unwrap().extend(more);
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (url, written) = (server.url(), &written);
            scope.spawn(move || {
                let mut random = Random(writer);
                let mut go = (writer % 2 == 0).then(|| Go::start(&url));
                let client = millpond::connect(&url).expect("the server is there");
                let queue = client.shuffle_queue("q").streams(STREAMS).streams_per_shard(PER_SHARD);
                let settings =
                    json!({"name": "q", "streams": STREAMS, "streams_per_shard": PER_SHARD});
                for i in 0..EACH {
                    let (key, fields) = (random.bytes(1, 20), random.fields(writer * EACH + i));
                    let id = match &mut go {
                        Some(go) => go.write(&settings, &key, &fields),
                        None => {
                            let receipt = queue.write(&key, fields.clone()).expect("it is written");
                            let shard = shard(STREAMS, PER_SHARD, &key).expect("it has one");
                            let streams: Vec<_> =
                                shard.iter().map(|number| format!("q:s{number}")).collect();
                            assert!(streams.contains(&key_of("q", receipt)));
                            receipt.id.to_string()
                        }
                    };
                    written.lock().unwrap().push((key, id, fields));
                }
            });
        }
        for reader in 0..2 {
            let (url, is_over, took) = (server.url(), &is_over, &took);
            scope.spawn(move || {
                let mut go = Go::start(&url);
                while !is_over() {
                    if let Some(message) = go.read("q", &format!("go-{reader}"), 100) {
                        assert!(go.ack(&message));
                        took(vec![seen(message)]);
                    }
                }
            });
            let url = server.url();
            scope.spawn(move || {
                let client = millpond::connect(&url).expect("the server is there");
                let consumer = client.shuffle_queue("q").consumer("g", format!("ours-{reader}"));
                while !is_over() {
                    took(ours(&consumer, 1 + reader * 4, Duration::from_millis(100)));
                }
            });
        }
    });
    let mut expected: Vec<_> = written.into_inner().unwrap();
    let mut found: Vec<_> = read.into_inner().unwrap();
    assert_eq!(found.len() as u64, WRITERS * EACH, "each once");
    // The fields tell messages apart, and their order is the same on both sides.
    expected.sort_by(|a, b| a.2.cmp(&b.2));
    found.sort_by(|a, b| a.2.cmp(&b.2));
    for ((key, id, fields), (stream, found_id, found_fields)) in expected.iter().zip(&found) {
        assert_eq!((fields, id), (found_fields, found_id));
        let shard = shard(STREAMS, PER_SHARD, key).expect("it has one");
        assert!(shard.iter().any(|number| format!("q:s{number}") == *stream), "{key:?} {stream}");
    }
    let mut go = Go::start(&server.url());
    assert_eq!(go.stats("q"), (WRITERS * EACH, 0));
    let client = millpond::connect(&server.url()).expect("the server is there");
    let mut readers: BTreeMap<String, usize> = BTreeMap::new();
    for (stream, ..) in &found {
        *readers.entry(stream.clone()).or_default() += 1;
    }
    assert_eq!(readers.len(), STREAMS as usize, "every stream was used: {readers:?}");
    assert_eq!(client.shuffle_queue("q").pending_count("g").expect("it is there"), 0);
}

/// Waits until this many clients block on the server.
fn blocked(server: &Redis, count: usize) {
    wait_until("a reader blocks", || {
        server.info("clients", "blocked_clients").is_some_and(|now| now == count.to_string())
    });
}

/// A blocked Go reader gets what ours writes, the very first message of a queue too.
#[test]
#[ignore = "needs the Go program: make interop"]
fn our_writes_wake_go() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let queue = client.shuffle_queue("q");
    let mut go = Go::start(&server.url());
    let mut random = Random(3);
    for number in 0..20 {
        let fields = random.fields(number);
        let (receipt, sent, taken) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let taken = go.read("q", "go", LONG.as_millis() as u64).expect("it was woken");
                assert!(go.ack(&taken));
                taken
            });
            blocked(&server, 1);
            let sent = Instant::now();
            let receipt = queue.write(random.bytes(1, 9), fields.clone()).expect("it is written");
            (receipt, sent, reader.join().unwrap())
        });
        assert!(sent.elapsed() < PROMPT, "{number}: {:?}", sent.elapsed());
        assert_eq!(seen(taken), (key_of("q", receipt), receipt.id.to_string(), fields));
    }
}

/// Ours that wait, three in one process and one in another, get what Go writes.
#[test]
#[ignore = "needs the Go program: make interop"]
fn go_writes_wake_ours() {
    let server = Redis::start();
    let mut go = Go::start(&server.url());
    let settings = json!({"name": "q", "streams": STREAMS, "streams_per_shard": PER_SHARD});
    let mut random = Random(4);
    for round in 0..10 {
        let (expected, sent, found) = std::thread::scope(|scope| {
            let first = millpond::connect(&server.url()).expect("the server is there");
            let second = millpond::connect(&server.url()).expect("the server is there");
            let waiters: Vec<_> = [&first, &first, &first, &second]
                .into_iter()
                .enumerate()
                .map(|(number, client)| {
                    let consumer = client.shuffle_queue("q").consumer("g", number.to_string());
                    scope.spawn(move || ours(&consumer, 1, LONG))
                })
                .collect();
            // One connection blocks for all that wait in a process.
            blocked(&server, 2);
            let sent = Instant::now();
            let expected: Vec<_> = (0..4)
                .map(|number| {
                    let fields = random.fields(round * 4 + number);
                    let id = go.write(&settings, &random.bytes(1, 9), &fields);
                    (id, fields)
                })
                .collect();
            let found: Seen =
                waiters.into_iter().flat_map(|waiter| waiter.join().unwrap()).collect();
            (expected, sent, found)
        });
        assert!(sent.elapsed() < PROMPT, "{round}: {:?}", sent.elapsed());
        let mut found: Vec<_> = found.into_iter().map(|(_, id, fields)| (id, fields)).collect();
        found.sort_by(|a, b| a.1.cmp(&b.1));
        let mut expected = expected;
        expected.sort_by(|a, b| a.1.cmp(&b.1));
        assert_eq!(found, expected);
    }
}
