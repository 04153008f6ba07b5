//! Tracked messages between Go and ours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use millpond::Client;
use millpond::shuffle::{Deadline, Receipt, ShuffleQueue};
use millpond_tests::servers::Redis;
use serde_json::{Value, json};

use crate::go::{Go, decoded};
use crate::key_of;
use crate::random::Random;

const STREAMS: u32 = 8;
const PER_SHARD: u32 = 3;

fn settings(deadline: Deadline) -> Value {
    json!({
        "name": "q", "streams": STREAMS, "streams_per_shard": PER_SHARD,
        "track_field": "job", "deadline": deadline,
    })
}

fn queue(client: &Client) -> ShuffleQueue {
    client.shuffle_queue("q").streams(STREAMS).streams_per_shard(PER_SHARD)
}

/// What is recorded of a value: the record without what tells two messages apart, what marks its
/// deadline, and its score.
fn record(server: &Redis, value: &[u8]) -> (Value, Vec<Vec<u8>>, String) {
    let json = server.cli(&[b"HGET", b"meta:cancelation".as_slice(), value]);
    // Of a value that is no text, the record is not either; only ASCII is compared then.
    let text = String::from_utf8_lossy(json.bytes()).into_owned();
    let mut record: Value = serde_json::from_str(&text).expect("a record is JSON");
    for field in ["stream_id", "msg_id"] {
        assert!(record[field].take().is_string(), "{record}");
    }
    let all = server.cli(&["HKEYS", "meta:cancelation"]);
    let marks = all.array().iter().map(|mark| mark.bytes().to_vec()).filter(|mark| mark != value);
    let score = server.cli(&[b"ZSCORE", b"meta:deadlines".as_slice(), value]).text();
    (record, marks.collect(), score)
}

/// Values that are texts, with marks in them that a script could stumble over, and any bytes.
fn values(random: &mut Random) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> =
        ["j-1", "a:b", "x:expiry:1", "ü", "\"\\\n/", " ", "%5B*?"].map(Into::into).into();
    values.extend((0..20).map(|_| random.bytes(1, 40)));
    values
}

/// Both leave the same in Redis for the same message.
#[test]
#[ignore = "needs the Go program: make interop"]
fn records_are_the_same() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let mut go = Go::start(&server.url());
    let mut random = Random(5);
    for value in values(&mut random) {
        for deadline in [1, 1_700_000_000, 99_999_999_999] {
            let fields = vec![(b"job".to_vec(), value.clone()), (b"n".to_vec(), b"1".to_vec())];
            server.cli(&["FLUSHALL"]);
            go.write(&settings(deadline), b"t", &fields);
            let theirs = record(&server, &value);
            server.cli(&["FLUSHALL"]);
            queue(&client).write_tracked("t", fields, "job", deadline).expect("it is written");
            assert_eq!(record(&server, &value), theirs, "{:?}", String::from_utf8_lossy(&value));
        }
    }
}

/// Either deletes what the other has written, delivered or not.
#[test]
#[ignore = "needs the Go program: make interop"]
fn either_deletes() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let queue = queue(&client);
    let consumer = queue.consumer("g", "ours");
    let mut go = Go::start(&server.url());
    let mut random = Random(6);
    for value in values(&mut random) {
        for (by_go, is_taken, deadline) in
            [(true, false, 0), (true, true, 1 << 40), (false, false, 0), (false, true, 1 << 40)]
        {
            let case = format!("{by_go} {is_taken} {:?}", String::from_utf8_lossy(&value));
            let mut fields = random.fields(0);
            fields.push((b"job".to_vec(), value.clone()));
            let key = random.bytes(1, 9);
            if by_go {
                let id = go.write(&settings(deadline), &key, &fields);
                if is_taken {
                    assert_eq!(go.read("q", "go", 0).expect("it is there").id, id, "{case}");
                }
                let deleted = queue.delete_tracked(&value).expect("the server is there");
                assert_eq!(deleted.expect("it is tracked").id.to_string(), id, "{case}");
                assert_eq!(go.delete_tracked(&value), Err("no record".into()), "{case}");
            } else {
                let deadline: Option<Deadline> = (deadline != 0).then_some(deadline);
                let sent = queue.write_tracked(&key, fields, "job", deadline);
                let sent: Receipt = sent.expect("it is written");
                if is_taken {
                    let taken = consumer.read().expect("it is there").expect("a message");
                    assert_eq!(Receipt::from(&taken), sent, "{case}");
                }
                assert_eq!(go.delete_tracked(&value), Ok(()), "{case} {}", key_of("q", sent));
                assert_eq!(go.delete_tracked(&value), Err("no message".into()), "{case}");
                // Go leaves the record, and what is pending.
                assert_eq!(queue.delete_tracked(&value).expect("it is there"), None, "{case}");
                consumer.ack([sent]).expect("the server is there");
            }
            assert_eq!((go.stats("q"), queue.len().expect("it is there")), ((0, 0), 0), "{case}");
            assert!(go.read("q", "go", 0).is_none(), "{case}");
            assert!(consumer.read().expect("the server is there").is_none(), "{case}");
        }
    }
    assert!(server.cli(&["HKEYS", "meta:cancelation"]).array().is_empty());
    assert!(server.cli(&["ZRANGE", "meta:deadlines", "0", "-1"]).array().is_empty());
}

/// What passed its deadline is found by the other.
#[test]
#[ignore = "needs the Go program: make interop"]
fn either_finds_what_is_late() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let queue = queue(&client);
    let mut go = Go::start(&server.url());
    let late: Deadline = server.cli(&["TIME"]).array()[0].text().parse().expect("seconds");
    let fields = |value: &str| vec![(b"job".to_vec(), value.as_bytes().to_vec())];
    for (value, deadline) in
        [("late", late - 60), ("too late", late - 9_000), ("early", late + 900)]
    {
        go.write(&settings(deadline), b"t", &fields(value));
    }
    let within = std::time::Duration::from_secs(600);
    assert_eq!(queue.cordon_deadline_exceeded(within).expect("it is there"), [b"late"]);

    server.cli(&["FLUSHALL"]);
    queue.write_tracked("t", fields("late"), "job", late - 60).expect("it is written");
    queue.write_tracked("t", fields("early"), "job", late + 900).expect("it is written");
    let found = go.call("cordon", json!({"within": 600}));
    assert_eq!(found, json!([BASE64.encode("late")]));
}

/// Either collects what the other has recorded.
#[test]
#[ignore = "needs the Go program: make interop"]
fn either_collects() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    let queue = queue(&client);
    let mut go = Go::start(&server.url());
    let mut random = Random(8);
    let value = |n: i64| format!("job-{n:04}").into_bytes();
    let fields = |n: i64| vec![(b"job".to_vec(), value(n))];
    let past: Vec<_> = (0..300).map(value).collect();
    let left = |server: &Redis| {
        let keys = server.cli(&["HKEYS", "meta:cancelation"]);
        let mut keys: Vec<_> = keys.array().iter().map(|key| key.text()).collect();
        keys.sort();
        keys
    };
    let kept = ["job-9999", "job-9999:expiry:99999999999"];

    for n in 0..300 {
        go.write(&settings(1_000_000_000 + n), &random.bytes(1, 9), &fields(n));
    }
    go.write(&settings(99_999_999_999), b"t", &fields(9_999));
    let mut garbage = queue.gc();
    let mut seen: Vec<_> = (&mut garbage).flat_map(|batch| batch.expect("it is there")).collect();
    seen.sort();
    assert_eq!((&seen, garbage.deleted()), (&past, 300));
    assert_eq!(left(&server), kept);

    server.cli(&["FLUSHALL"]);
    for n in 0..300 {
        let key = random.bytes(1, 9);
        queue.write_tracked(key, fields(n), "job", 1_000_000_000 + n).expect("it is written");
    }
    queue.write_tracked("t", fields(9_999), "job", 99_999_999_999).expect("it is written");
    let response = match go.try_call("gc", json!({})) {
        // Go's collection asks for HSCAN with NOVALUES, which Redis has from 7.4 on.
        Err(error) if is_before_7_4(&server) => {
            println!("left out on this Redis, before 7.4: Go's collection of ours ({error})");
            return;
        }
        response => response.expect("it collects"),
    };
    let mut seen: Vec<_> =
        response["seen"].as_array().expect("a list").iter().map(decoded).collect();
    seen.sort();
    assert_eq!((seen, &response["deleted"]), (past, &json!(300)));
    assert_eq!(left(&server), kept);
}

fn is_before_7_4(server: &Redis) -> bool {
    let version = server.info("server", "redis_version").expect("a server has one");
    let mut parts = version.split('.').map(|part| part.parse::<u32>().expect("a number"));
    (parts.next(), parts.next()) < (Some(7), Some(4))
}
