//! What tracking promises, on the embedded engine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::step::{Snapshot, State as _, States, StepContext};
use crate::{Client, ManualClock, Options, SyncMode};

fn values(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.as_bytes().to_vec()).collect()
}

/// A client whose time is 1,000,000,000 seconds after the epoch.
fn client() -> (Client, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_000_000_000_000_000));
    (Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap(), clock)
}

fn collect(client: &Client) -> (Vec<Vec<u8>>, u64, u64) {
    let mut garbage = client.shuffle_queue("any").gc();
    let seen: Vec<_> = garbage.by_ref().flat_map(Result::unwrap).collect();
    (seen, garbage.scanned(), garbage.deleted())
}

#[test]
fn a_value_that_is_written_again_is_not_deleted_by_its_old_deadline() {
    let (client, _) = client();
    let queue = client.shuffle_queue("q");
    queue.write_tracked("t", [("id", "a"), ("n", "1")], "id", 999_999_990).unwrap();
    let later = queue.write_tracked("t", [("id", "a"), ("n", "2")], "id", 2_000_000_000).unwrap();
    assert_eq!(collect(&client), (vec![], 2, 0));
    assert_eq!(collect(&client), (vec![], 1, 0), "the stale entry is gone");
    assert_eq!(queue.delete_tracked("a").unwrap(), Some(later));
    assert_eq!(queue.len().unwrap(), 1, "the first message is nobody's by that value");
}

#[test]
fn many_are_written_and_tracked_in_one_step() {
    let (client, clock) = client();
    let queue = client.shuffle_queue("q");
    let many = |deadline| {
        let messages = (0..50).map(|i| (format!("t-{}", i % 7), [("id", format!("v-{i}"))]));
        queue.write_tracked_many(messages, "id", deadline).unwrap()
    };
    let receipts = many(None);
    assert_eq!(receipts.len(), 50);
    for (i, receipt) in receipts.iter().enumerate() {
        assert_eq!(queue.delete_tracked(format!("v-{i}")).unwrap().as_ref(), Some(receipt));
    }
    assert_eq!(queue.len().unwrap(), 0);

    many(None);
    clock.advance(DEADLINE_DEFAULT - Duration::from_secs(1));
    assert_eq!(collect(&client).2, 0, "a record lasts for a day by default");
    clock.advance(Duration::from_secs(1));
    assert_eq!(collect(&client).2, 50);
    many(Some(1_000_000_005));
    assert_eq!(collect(&client).2, 50);
    for error in [
        queue.write_tracked_many([("t", [("id", "1")])], "", None).unwrap_err(),
        queue
            .write_tracked_many([("t", [("id", "1")]), ("", [("id", "2")])], "id", None)
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    }
    assert!(queue.delete_tracked("1").unwrap().is_none());
}

#[test]
fn what_is_not_deleted_before_it_stops_comes_again() {
    let (client, _) = client();
    let queue = client.shuffle_queue("q");
    let names: Vec<String> = (0..1_200).map(|i| format!("v-{i:04}")).collect();
    for name in &names {
        queue.write_tracked("t", [("id", name)], "id", 5).unwrap();
    }
    let first = queue.gc().next().unwrap().unwrap();
    assert!(!first.is_empty() && first.len() < names.len(), "it comes in batches");
    let (seen, scanned, deleted) = collect(&client);
    let expected: Vec<_> = names.iter().map(|name| name.clone().into_bytes()).collect();
    assert_eq!((seen, scanned, deleted), (expected, 1_200, 1_200));
    assert_eq!(queue.len().unwrap(), 1_200, "messages stay");
}

#[test]
fn what_is_cordoned_is_collected_though_its_digits_are_others() {
    let (client, clock) = client();
    let queue = client.shuffle_queue("q").ttl(Duration::from_secs(60));
    queue.write_tracked("t", [("id", "old")], "id", 500_000_000).unwrap();
    queue.write_tracked("t", [("id", "by ttl")], "id", None).unwrap();
    queue.write_tracked("t", [("id", "")], "id", None).unwrap();
    queue.write_tracked("t", [("ID", "x")], "id", None).unwrap();
    assert_eq!(queue.cordon_deadline_exceeded(Duration::from_secs(3_600)).unwrap(), values(&[]));
    clock.advance(Duration::from_secs(60));
    assert_eq!(
        queue.cordon_deadline_exceeded(Duration::from_millis(59_001)).unwrap(),
        values(&["by ttl"])
    );
    assert_eq!(queue.cordon_deadline_exceeded(Duration::from_secs(60)).unwrap(), values(&[]));
    let mut digits = queue.gc().time_digits(4);
    let seen: Vec<_> = digits.by_ref().flat_map(Result::unwrap).collect();
    assert_eq!((seen, digits.deleted()), (values(&["by ttl"]), 1));
    assert_eq!(collect(&client).0, values(&["old"]));
    for within in [Duration::MAX, Duration::from_secs(1_000_000_000_000_000)] {
        let error = queue.cordon_deadline_exceeded(within).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    }
    for digits in [0, 11] {
        let error = queue.gc().time_digits(digits).next().unwrap().unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_queues_own_keys_are_no_ones_but_its() {
    let (client, _) = client();
    let queue = |name: &str| client.shuffle_queue(name).track_keys(TrackKeys::Queue);
    for name in ["a", "b"] {
        queue(name).write_tracked("t", [("id", "1")], "id", None).unwrap();
    }
    assert!(client.shuffle_queue("a").delete_tracked("1").unwrap().is_none());
    assert!(queue("a").delete_tracked("1").unwrap().is_some());
    assert_eq!((queue("a").len().unwrap(), queue("b").len().unwrap()), (0, 1));
    let deadline = DEADLINE_MAX + 1;
    let error = queue("a").write_tracked("t", [("id", "1")], "id", deadline).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
}

#[test]
fn a_message_that_is_gone_is_not_found() {
    let (client, _) = client();
    let queue = client.shuffle_queue("q");
    queue.write_tracked("t", [("id", "1")], "id", None).unwrap();
    let consumer = queue.consumer("g", "c");
    let message = consumer.read().unwrap().unwrap();
    consumer.ack_and_delete([&message]).unwrap();
    assert!(queue.delete_tracked("1").unwrap().is_none());
    assert_eq!(collect(&client), (vec![], 0, 0), "and its record is gone as well");

    queue.write_tracked("t", [("id", "2")], "id", None).unwrap();
    let message = consumer.read().unwrap().unwrap();
    assert!(queue.delete_tracked("2").unwrap().is_some(), "a message that was taken, too");
    assert_eq!(queue.pending_count("g").unwrap(), 0);
    assert_eq!(consumer.ack([&message]).unwrap(), 0);
}

#[test]
fn a_snapshot_knows_what_is_due_again() {
    struct Records(Vec<Vec<u8>>);
    impl Snapshot for Records {
        fn begin(&mut self) -> u64 {
            0
        }
        fn record(&mut self, record: &[u8]) {
            self.0.push(record.to_vec());
        }
    }
    struct Nothing;
    impl States for Nothing {
        fn state_of_kind(&self, _: u8, _: &[u8]) -> crate::Result<Arc<dyn crate::step::State>> {
            unreachable!("no step here spans states")
        }
        fn names_of_kind(&self, _: u8) -> Vec<Box<[u8]>> {
            unreachable!("no step here lists states")
        }
    }
    let context = StepContext::new(0, &Nothing, None, &|| false);
    let id = crate::shuffle::MessageId::default();
    let receipt = crate::shuffle::Receipt { stream: crate::shuffle::Stream::Number(0), id };
    let state = State::default();
    {
        let (mut tracked, mut effects) = state.open(&context);
        let record = Record { queue: Arc::from(&b"q"[..]), receipt, deadline: 7 };
        for value in ["again", "cordoned"] {
            tracked.track(value.as_bytes(), record.clone(), &mut effects);
        }
        assert_eq!(tracked.cordon(0..=9, &mut effects), values(&["again", "cordoned"]));
        tracked.track(b"again", record, &mut effects);
    }
    let mut records = Records(Vec::new());
    State::snapshot(&state, &mut records);
    let copy = State::default();
    records.0.iter().for_each(|record| copy.replay(record, None).unwrap());
    for state in [state, copy] {
        let (mut tracked, mut effects) = state.open(&context);
        assert_eq!(tracked.cordon(0..=9, &mut effects), values(&["again"]));
        assert_eq!(tracked.scan(b"", "", 9, 9).unwrap().scanned, 2);
    }
}

fn file(directory: &Path) -> Client {
    Options::file(directory).sync(SyncMode::Never).connect().unwrap()
}

#[test]
fn records_are_read_back_with_and_without_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let client = file(directory.path());
        let queue = client.shuffle_queue("q");
        if round > 0 {
            assert!(queue.delete_tracked(format!("keep-{}", round - 1)).unwrap().is_some());
            let mut garbage = queue.gc();
            let seen: Vec<_> = garbage.by_ref().flat_map(Result::unwrap).collect();
            assert_eq!(seen, values(&["cordoned", "old"]));
            assert_eq!((garbage.scanned(), garbage.deleted()), (3, 2), "one of them is stale");
        }
        let write = |value: &str, deadline| {
            queue.write_tracked("t", [("id", value)], "id", deadline).unwrap();
        };
        write(&format!("keep-{round}"), None);
        write("cordoned", Some(7));
        assert_eq!(
            queue.cordon_deadline_exceeded(Duration::from_secs(9_000_000_000)).unwrap(),
            values(&["cordoned"])
        );
        write("old", Some(3));
        write("old", Some(4));
        drop((queue, client));
    }
}

/// A tracked write spans the queue and the records: whatever a crash leaves of the log, both have
/// it or neither.
#[test]
fn a_torn_log_has_all_of_a_tracked_write_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = || {
        let files = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path());
        files.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap()
    };
    let copy = |length: usize| {
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(directory.path()).unwrap() {
            let from = file.unwrap().path();
            let mut bytes = std::fs::read(&from).unwrap();
            if from == log() {
                bytes.truncate(length);
            }
            std::fs::write(copy.path().join(from.file_name().unwrap()), bytes).unwrap();
        }
        copy
    };
    let client = file(directory.path());
    let queue = client.shuffle_queue("q");
    queue.write("t", [("n", "1")]).unwrap();
    let before = std::fs::read(log()).unwrap().len();
    queue.write_tracked("t", [("id", "x")], "id", None).unwrap();
    let after = std::fs::read(log()).unwrap().len();
    assert!(after > before);
    let mut whole = 0;
    for length in before..=after {
        let copy = copy(length);
        let client = file(copy.path());
        let queue = client.shuffle_queue("q");
        let is_whole = queue.len().unwrap() == 2;
        assert_eq!(queue.delete_tracked("x").unwrap().is_some(), is_whole, "{length}");
        whole += usize::from(is_whole);
    }
    assert_eq!(whole, 1, "only the whole log has it");
}
