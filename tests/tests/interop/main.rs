//! Our shuffle queues and the Go package that introduced them, on one Redis. `tests/interop/run`
//! builds the Go program that these tests need.

mod delivery;
mod go;
mod random;
mod tracking;

use millpond::ErrorKind;
use millpond::shuffle::{Receipt, ShuffleConsumer, Stream, shard};
use millpond_tests::servers::Redis;
use serde_json::json;

use go::Go;
use random::Random;

/// The key of the stream of a receipt.
fn key_of(name: &str, receipt: Receipt) -> String {
    match receipt.stream {
        Stream::Default => name.to_owned(),
        Stream::Number(number) => format!("{name}:s{number}"),
    }
}

#[test]
#[ignore = "needs the Go program: make interop"]
fn shards_are_equal() {
    let server = Redis::start();
    let mut go = Go::start(&server.url());
    let mut random = Random(1);
    for _ in 0..2_000 {
        let streams = 1 + random.below(300) as u32;
        let count = 1 + random.below(streams.into()) as u32;
        let key = random.bytes(1, 40);
        let request = json!({
            "streams": streams,
            "streams_per_shard": count,
            "shard_key": base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &key),
        });
        let ours = shard(streams, count, &key).expect("sizes and key are right");
        assert_eq!(go.call("shard", request), json!(ours), "{streams} {count} {key:?}");
    }
}

/// Writes, reads, acknowledgements and deletions by both; after each the counts are the same, and
/// what they have to be.
#[test]
#[ignore = "needs the Go program: make interop"]
fn counts_agree() {
    for seed in 1..=3 {
        println!("seed {seed}");
        let server = Redis::start();
        let client = millpond::connect(&server.url()).expect("the server is there");
        let queue = client.shuffle_queue("q").streams(8).streams_per_shard(3);
        let consumer = queue.consumer("g", "ours");
        let mut go = Go::start(&server.url());
        let mut random = Random(seed);
        let settings = json!({"name": "q", "streams": 8, "streams_per_shard": 3});
        let (mut len, mut by_us, mut by_go) = (0, Vec::new(), Vec::new());
        for number in 0..400 {
            let key = random.bytes(1, 2);
            let fields = random.fields(number);
            match random.below(9) {
                0 | 1 => {
                    go.write(&settings, &key, &fields);
                    len += 1;
                }
                2 => {
                    queue.write(&key, fields).expect("it is written");
                    len += 1;
                }
                3 => {
                    let many = (0..3).map(|_| (&key, [("i", number.to_string())]));
                    len += queue.write_many(many).expect("they are written").len() as u64;
                }
                4 => by_go.extend(go.read("q", "go", 0)),
                5 => by_us.extend(consumer.read_many(2).expect("the server is there")),
                6 => {
                    if let Some(taken) = by_go.pop() {
                        assert!(go.ack(&taken), "{taken:?}");
                    }
                }
                7 => {
                    let done = by_us.pop();
                    let acked = consumer.ack(done.as_ref()).expect("the server is there");
                    assert_eq!(acked, u64::from(done.is_some()));
                }
                _ => {
                    let done = by_us.pop();
                    len -= consumer.ack_and_delete(done.as_ref()).expect("the server is there");
                }
            }
            let pending = (by_us.len() + by_go.len()) as u64;
            assert_eq!((go.len("q"), go.stats("q")), (len, (len, pending)));
            assert_eq!(queue.len().expect("the server is there"), len);
            assert_eq!(queue.pending_count("g").expect("the server is there"), pending);
            let stats = queue.stats("g").expect("the server is there");
            assert_eq!((stats.len(), stats.pending()), (len, pending));
        }
    }
}

/// Either makes the queue larger, or smaller when it is empty, and the other follows.
#[test]
#[ignore = "needs the Go program: make interop"]
fn either_resizes() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let mut go = Go::start(&server.url());
    let mut random = Random(7);
    let queue = client.shuffle_queue("q");
    let consumer = queue.consumer("g", "ours");
    for number in 0..60 {
        // A shrink by Go overlooks the first stream beyond, so it shrinks empty queues only.
        let wanted = 1 + random.below(40) as u32;
        let fields = random.fields(number);
        let key = random.bytes(1, 9);
        let count = 1 + random.below(wanted.min(4).into()) as u32;
        let size = if random.below(2) == 0 {
            let settings = json!({"name": "q", "streams": wanted, "streams_per_shard": count});
            go.write(&settings, &key, &fields);
            // A writer with a number of its own changes nothing that Go made.
            let refused = queue.clone().streams(1_000).write(&key, [("a", "b")]);
            let error = refused.expect_err("the queue has another size");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            wanted
        } else {
            assert_eq!(queue.resize(wanted).expect("it is there"), wanted, "it is empty");
            let queue = queue.clone().streams_per_shard(count);
            let mut sent = vec![queue.write(&key, fields).expect("it is written")];
            // Ours waits with a smaller size until what lies beyond is done.
            let beyond = wanted + 1 + random.below(30) as u32;
            assert_eq!(queue.resize(beyond).expect("it is there"), beyond);
            while sent.iter().all(|receipt| receipt.stream < Stream::Number(wanted)) {
                let key = random.bytes(1, 9);
                sent.push(queue.write(key, [("far", "out")]).expect("it is written"));
            }
            assert_eq!(queue.resize(wanted).expect("it is there"), beyond);
            sent.push(queue.write(&key, [("a", "smaller one")]).expect("it is written"));
            assert_eq!(queue.stats("g").expect("it is there").streams.len(), beyond as usize);
            for _ in 1..sent.len() {
                read_by_either(&mut random, &server, &mut go, &consumer);
            }
            assert_eq!(go.len("q"), 1, "{number}");
            beyond
        };
        assert_eq!(queue.stats("g").expect("it is there").streams.len(), size as usize);
        read_by_either(&mut random, &server, &mut go, &consumer);
        assert_eq!((go.len("q"), go.stats("q")), (0, (0, 0)), "{number}");
    }
}

/// Takes and deletes one message, through Go or ours.
fn read_by_either(random: &mut Random, server: &Redis, go: &mut Go, ours: &ShuffleConsumer) {
    if random.below(2) == 0 {
        let taken = go.read("q", "go", 0).expect("there is one");
        assert!(go.ack(&taken));
        // Deleting is up to Go's users, like acknowledging.
        assert_eq!(server.cli(&["XDEL", &taken.stream, &taken.id]).integer(), 1);
    } else {
        let message = ours.read().expect("the server is there").expect("there is one");
        assert_eq!(ours.ack_and_delete([&message]).expect("the server is there"), 1);
    }
}
