//! Tracked messages on every engine: the same steps, the same results.

use std::time::Duration;

use millpond::shuffle::{Receipt, Stream, TrackKeys};
use millpond::{Client, ErrorKind, Options, SyncMode, shuffle, step::Operation};
use millpond_tests::block_on;
use millpond_tests::servers::{Cluster, Redis};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

type Result = std::result::Result<(), millpond::Error>;

fn collect(queue: &millpond::shuffle::ShuffleQueue) -> (Vec<Vec<u8>>, u64, u64) {
    let mut garbage = queue.gc();
    let mut seen = Vec::new();
    for values in &mut garbage {
        seen.extend(values.expect("the server is there"));
    }
    seen.sort();
    (seen, garbage.scanned(), garbage.deleted())
}

fn walk(client: &Client, name: &str, keys: TrackKeys) -> Result {
    let queue = client.shuffle_queue(name).streams(4).track_keys(keys);
    let value = b"\xff\0:expiry:5".as_slice();
    let fields = [(b"id".as_slice(), value), (b"n", b"1")];
    let receipt = queue.write_tracked("t", fields, "id", None)?;
    assert!(queue.delete_tracked("nobody")?.is_none());
    let consumer = queue.consumer("g", "c");
    assert_eq!(consumer.read()?.map(|message| Receipt::from(&message)), Some(receipt));
    assert_eq!(queue.delete_tracked(value)?, Some(receipt));
    assert_eq!(queue.delete_tracked(value)?, None);
    assert_eq!((queue.len()?, queue.pending_count("g")?), (0, 0));

    // The field of a value's deadline is no record of another value.
    queue.write_tracked("t", [("id", "t0")], "id", 4_000_000_000)?;
    for field in ["t0:expiry:4000000000", "t0:expiry:-5"] {
        assert_eq!(queue.delete_tracked(field)?, None);
    }
    assert!(queue.delete_tracked("t0")?.is_some());

    // Enough for several pages.
    for i in 0..1_500 {
        let value = i.to_string();
        queue.write_tracked(&value, [("id", &value)], "id", 1_000 + i)?;
    }
    queue.write_tracked("t", [("id", "large")], "id", shuffle::DEADLINE_MAX)?;
    queue.write_tracked("t", [("id", "small")], "id", -shuffle::DEADLINE_MAX)?;
    let cordoned = queue.cordon_deadline_exceeded(Duration::from_secs(1_000_000_000))?;
    assert!(cordoned.is_empty(), "all are older");
    let everything = Duration::from_secs(999_999_999_999_999);
    let cordoned = queue.cordon_deadline_exceeded(everything)?;
    assert_eq!((cordoned.len(), &*cordoned[7]), (1_500, b"7".as_slice()));
    let (seen, scanned, deleted) = collect(&queue);
    assert_eq!((seen.len(), deleted), (1_501, 1_501));
    // A server may scan an entry twice while its table shrinks.
    assert!(scanned >= 1_502, "{scanned}");
    assert_eq!(collect(&queue), (vec![], 1, 0), "the large deadline is left");
    assert!(queue.delete_tracked("large")?.is_some());
    assert_eq!(collect(&queue), (vec![], 0, 0));
    assert_eq!(queue.len()?, 1_501, "messages stay");
    Ok(())
}

#[test]
fn every_engine() -> Result {
    let server = Redis::start();
    let directory = tempfile::tempdir().expect("a folder");
    for client in [
        millpond::connect(&server.url())?,
        millpond::connect("memory:")?,
        Options::file(directory.path()).sync(SyncMode::Never).connect()?,
    ] {
        walk(&client, "q", TrackKeys::Global)?;
        walk(&client, "own", TrackKeys::Queue)?;
    }
    Ok(())
}

#[test]
fn a_cluster_needs_keys_of_the_queue() -> Result {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url())?;
    walk(&client, "{q}", TrackKeys::Queue)?;
    let queue = client.shuffle_queue("{q}");
    let fields = [("id", "1")];
    for error in [
        queue.write_tracked("t", fields, "id", None).map(|_| ()).unwrap_err(),
        queue.delete_tracked("1").map(|_| ()).unwrap_err(),
        queue.gc().next().expect("an error").map(|_| ()).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::CrossSlot);
        assert!(error.to_string().contains("track"), "{error}");
    }
    assert_eq!(queue.len()?, 1_501, "nothing was written");
    Ok(())
}

#[test]
fn an_async_client_collects_as_well() -> Result {
    let server = Redis::start();
    block_on(async {
        for url in [server.url(), "memory:".to_owned()] {
            let client = millpond::aio::connect(&url)?;
            let queue = client.shuffle_queue("q");
            for i in 0..900 {
                let value = i.to_string();
                queue.write_tracked("t", [("id", &value)], "id", 5).await?;
            }
            let (mut garbage, mut seen) = (queue.gc(), 0);
            while let Some(values) = garbage.next().await {
                seen += values?.len();
            }
            assert_eq!((seen, garbage.deleted()), (900, 900));
        }
        Ok(())
    })
}

#[test]
fn keys_that_hold_something_else_change_nothing() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q");
    for key in ["meta:cancelation", "meta:deadlines", "meta:presortedgarbage"] {
        server.cli(&["FLUSHALL"]);
        server.cli(&["SET", key, "x"]);
        let mut errors = vec![
            queue.delete_tracked("1").map(|_| ()),
            queue.cordon_deadline_exceeded(Duration::ZERO).map(|_| ()),
            queue.gc().next().expect("an error").map(|_| ()),
        ];
        if key != "meta:presortedgarbage" {
            errors.push(queue.write_tracked("t", [("id", "1")], "id", None).map(|_| ()));
        }
        for error in errors {
            let error = error.expect_err(key);
            assert_eq!(error.kind(), ErrorKind::WrongType);
            assert!(error.to_string().contains(key), "{error}");
        }
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 1);
    }
    // A foreign record, of no stream at all.
    server.cli(&["FLUSHALL"]);
    server.cli(&["XADD", "jobs", "1-1", "f", "v"]);
    server.cli(&["XADD", "jobs:s99999", "1-1", "f", "v"]);
    for stream in ["jobs", "jobs:s99999", "jobs:s", "meta:cancelation"] {
        let record = format!(r#"{{"stream_id":"{stream}","msg_id":"1-1"}}"#);
        server.cli(&["HSET", "meta:cancelation", "x", &record]);
        assert_eq!(queue.delete_tracked("x").unwrap_err().kind(), ErrorKind::Corrupt, "{record}");
    }
    assert_eq!(server.cli(&["XLEN", "jobs"]).integer(), 1);
    server.cli(&["SET", "q:s0", "x"]);
    server.cli(&["HSET", "meta:cancelation", "x", r#"{"stream_id":"q:s0","msg_id":"1-1"}"#]);
    assert_eq!(queue.delete_tracked("x").unwrap_err().kind(), ErrorKind::WrongType);
    Ok(())
}

#[test]
fn malformed_arguments_are_refused() -> Result {
    let server = Redis::start();
    let keys = ["c", "d", "g"];
    let write = shuffle::Write::new("q", 1, 1, None)?.invocation();
    for deadline in ["x", "1.5", "1e3", "99999999999999999", " 1"] {
        let mut words = vec!["EVAL", write.script.source(), "5", "q", "m", "n", "c", "d"];
        words.extend(["1000", "1", "1", "f", deadline, "0", "1", "f", "v"]);
        let error = server.cli(&words).error().expect(deadline).to_owned();
        assert!(error.starts_with("INVALID_ARGUMENT deadline"), "{error}");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    }
    let cordon = shuffle::Cordon::new("q", TrackKeys::Queue, Duration::ZERO)?.invocation();
    let delete = shuffle::DeleteTracked::new("q", TrackKeys::Queue, "v")?.invocation();
    let scan = shuffle::ScanExpired::new("q", TrackKeys::Queue, "", None)?.invocation();
    let forget = shuffle::ForgetExpired::new("q", TrackKeys::Queue, [])?.invocation();
    for (call, args) in [
        (&cordon, vec![]),
        (&cordon, vec!["-1"]),
        (&cordon, vec!["1.5"]),
        (&cordon, vec!["1e3"]),
        (&delete, vec![]),
        (&scan, vec![]),
        (&scan, vec!["x7", "0", "10"]),
        (&scan, vec!["g0 ", "0", "10"]),
        (&scan, vec!["", "x", "10"]),
        (&scan, vec!["", "0", "0"]),
        (&scan, vec!["", "0"]),
        (&forget, vec!["v"]),
    ] {
        let mut words = vec!["EVAL", call.script.source(), "3"];
        words.extend(keys);
        words.extend(&args);
        let reply = server.cli(&words);
        let error = reply.error().unwrap_or_else(|| panic!("{args:?} gave {reply:?}"));
        assert!(error.starts_with("INVALID_ARGUMENT"), "{args:?}: {error}");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    }
    Ok(())
}

#[derive(Clone, Debug)]
enum Step {
    Write { value: u8, deadline: i64 },
    Delete { value: u8 },
    Read { acknowledge: bool },
    Cordon { within: u64 },
    Collect { stop: bool },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let deadline = prop_oneof![Just(-5), Just(77), Just(1_000_000_000), Just(9_000_000_000)];
    prop_oneof![
        5 => (0u8..6, deadline).prop_map(|(value, deadline)| Step::Write { value, deadline }),
        2 => (0u8..6).prop_map(|value| Step::Delete { value }),
        2 => any::<bool>().prop_map(|acknowledge| Step::Read { acknowledge }),
        1 => prop_oneof![Just(0), Just(1_500_000_000), Just(9_999_999_999)]
            .prop_map(|within| Step::Cordon { within }),
        2 => any::<bool>().prop_map(|stop| Step::Collect { stop }),
        1 => Just(Step::Reopen),
    ]
}

/// What a step returns, with nothing in it that depends on the time.
fn run(client: &Client, name: &str, step: &Step) -> std::result::Result<String, millpond::Error> {
    let queue = client.shuffle_queue(name).streams(3).track_keys(TrackKeys::Queue);
    let place = |receipt: Receipt| match receipt.stream {
        Stream::Number(number) => number,
        Stream::Default => panic!("nobody asked for the default stream"),
    };
    let result = match step {
        Step::Write { value, deadline } => {
            let tenant = [b'a' + value % 2];
            let fields = [("id", [b'0' + value])];
            format!("{}", place(queue.write_tracked(tenant, fields, "id", *deadline)?))
        }
        Step::Delete { value } => {
            format!("{:?}", queue.delete_tracked([b'0' + value])?.map(place))
        }
        Step::Read { acknowledge } => {
            let consumer = queue.consumer("g", "c");
            let message = consumer.read()?;
            if let (Some(message), true) = (&message, acknowledge) {
                consumer.ack_and_delete([message])?;
            }
            format!("{:?}", message.map(|message| message.fields))
        }
        Step::Cordon { within } => {
            format!("{:?}", queue.cordon_deadline_exceeded(Duration::from_secs(*within))?)
        }
        Step::Collect { stop: true } => {
            let mut garbage = queue.gc();
            let mut first = garbage.next().transpose()?.unwrap_or_default();
            first.sort();
            format!("{first:?} {}", garbage.deleted())
        }
        Step::Collect { stop: false } => format!("{:?}", collect(&queue)),
        Step::Reopen => String::new(),
    };
    let counts = (queue.len()?, queue.backlog()?, queue.pending_count("g")?);
    Ok(format!("{result} {counts:?}"))
}

#[test]
fn random_steps_return_the_same_everywhere() {
    let server = Redis::start();
    let redis = millpond::connect(&server.url()).expect("a client");
    let memory = millpond::connect("memory:").expect("a client");
    let directory = tempfile::tempdir().expect("a folder");
    let open =
        || Options::file(directory.path()).sync(SyncMode::Never).connect().expect("a client");
    let cases = 300;
    let file = std::cell::RefCell::new(Some(open()));
    let count = std::cell::Cell::new(0);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let steps = prop::collection::vec(step(), 1..30);
    let outcome = runner.run(&steps, |steps| {
        count.set(count.get() + 1);
        let name = format!("q{}", count.get());
        for (index, step) in steps.iter().enumerate() {
            if matches!(step, Step::Reopen) {
                file.borrow_mut().take();
                file.replace(Some(open()));
            }
            let expected = run(&memory, &name, step).expect("memory has no connection to lose");
            let found = run(&redis, &name, step).expect("the server is there");
            prop_assert_eq!(&found, &expected, "redis, step {}", index);
            let durable = file.borrow();
            let durable = durable.as_ref().expect("it was opened");
            let found = run(durable, &name, step).expect("the disk is there");
            prop_assert_eq!(&found, &expected, "file, step {}", index);
        }
        Ok::<_, TestCaseError>(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(count.get() >= cases);
}

/// As with the original, a record that names no message stays, and deleting by it returns an
/// error.
#[test]
fn a_record_that_names_no_message_is_left_as_it_is() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q");
    let receipt = queue.write("t", [("id", "1")])?;
    let Stream::Number(number) = receipt.stream else { panic!("{receipt:?}") };
    let id = receipt.id.to_string();
    for record in [
        "no JSON".to_owned(),
        "7".to_owned(),
        "{}".to_owned(),
        format!(r#"{{"stream_id":"","msg_id":"{id}","deadline":5}}"#),
        format!(r#"{{"stream_id":"q","msg_id":"{id}","deadline":5}}"#),
        format!(r#"{{"stream_id":"q:s65536","msg_id":"{id}","deadline":5}}"#),
        format!(r#"{{"stream_id":"q:s{number}","msg_id":"","deadline":5}}"#),
        format!(r#"{{"stream_id":"q:s{number}","msg_id":"99999999999999999999-1","deadline":5}}"#),
        format!(r#"{{"stream_id":"q:s{number}","msg_id":"{id}","deadline":"soon"}}"#),
        format!(r#"{{"stream_id":null,"msg_id":"{id}"}}"#),
    ] {
        server.cli(&["HSET", "meta:cancelation", "1", &record]);
        for _ in 0..2 {
            let error = queue.delete_tracked("1").expect_err("the record is none");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{record}: {error}");
            assert!(error.message().contains("meta:cancelation"), "{error}");
        }
        assert_eq!(server.cli(&["HGET", "meta:cancelation", "1"]).text(), record);
        assert_eq!(queue.len()?, 1, "{record}");
    }
    let record = format!(r#"{{"stream_id":"q:s{number}","msg_id":"{id}"}}"#);
    server.cli(&["HSET", "meta:cancelation", "1", &record]);
    assert_eq!(queue.delete_tracked("1")?, Some(receipt), "a deadline may be missing");
    assert_eq!(server.cli(&["EXISTS", "meta:cancelation"]).integer(), 0);
    Ok(())
}

#[test]
fn many_tracked_messages_are_one_call() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(4);
    let messages = (0..1_000).map(|i| (format!("t-{}", i % 7), [("id", i.to_string())]));
    let receipts = queue.write_tracked_many(messages, "id", None)?;
    let stats = server.cli(&["INFO", "commandstats"]).text();
    let calls = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    // The first time, the script is sent to the server.
    assert_eq!((calls("cmdstat_evalsha:calls="), calls("cmdstat_eval:calls=")), (1, 1));
    for (i, receipt) in receipts.iter().enumerate() {
        assert_eq!(queue.delete_tracked(i.to_string())?.as_ref(), Some(receipt));
    }
    assert_eq!(queue.len()?, 0);
    Ok(())
}
