//! What a queue promises, on the embedded engine; the conformance cases hold both engines to it.

use super::*;
use crate::{ManualClock, Operation, Options};

fn fields(i: usize) -> [(&'static str, String); 1] {
    [("i", i.to_string())]
}

fn numbers(messages: &[Message]) -> Vec<usize> {
    let number = |message: &Message| {
        std::str::from_utf8(message.field("i").unwrap()).unwrap().parse().unwrap()
    };
    messages.iter().map(number).collect()
}

/// A queue of five streams of unequal length.
fn uneven() -> ShuffleQueue {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q").streams(5).streams_per_shard(1);
    queue.write_many((0..60).map(|i| ((i * i % 7).to_string(), fields(i)))).unwrap();
    queue
}

#[test]
fn a_batch_is_what_single_reads_would_have_taken() {
    for max in [1, 2, 3, 5, 7, 16, 40, 60, 100] {
        let (single, many) = (uneven().consumer("g", "c"), uneven().consumer("g", "c"));
        let expected: Vec<_> = (0..max).map_while(|_| single.read().unwrap()).collect();
        assert_eq!(numbers(&many.read_many(max).unwrap()), numbers(&expected), "{max}");
        // And so is what comes after it.
        let expected: Vec<_> = (0..7).map_while(|_| single.read().unwrap()).collect();
        assert_eq!(numbers(&many.read_many(7).unwrap()), numbers(&expected), "{max}");
    }
}

#[test]
fn one_tenants_burst_does_not_delay_the_others() {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q").streams(16).streams_per_shard(2);
    let heavy = shard(16, 2, "heavy").unwrap();
    let light = (0..)
        .map(|i| format!("light-{i}"))
        .find(|key| shard(16, 2, key).unwrap().iter().all(|number| !heavy.contains(number)));
    queue.write_many((0..1_000).map(|i| ("heavy", fields(i)))).unwrap();
    queue.write(light.unwrap(), fields(1_000)).unwrap();
    let first = queue.consumer("g", "c").read_many(4).unwrap();
    assert!(numbers(&first).contains(&1_000), "{first:?}");
}

#[test]
fn a_message_is_the_groups_until_it_is_acknowledged() {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q");
    queue.write("t", fields(0)).unwrap();
    let (one, two) = (queue.consumer("one", "a"), queue.consumer("two", "a"));
    let message = one.read().unwrap().unwrap();
    assert!(queue.consumer("one", "b").read().unwrap().is_none());
    assert_eq!(two.read().unwrap().unwrap(), message, "each group gets each message");
    assert_eq!((queue.len().unwrap(), queue.backlog().unwrap()), (1, 1));
    assert_eq!(one.ack([&message]).unwrap(), 1);
    assert_eq!(one.ack([&message]).unwrap(), 0);
    assert_eq!(queue.pending_count("one").unwrap(), 0);
    assert_eq!(queue.stats("two").unwrap().pending(), 1);
    assert_eq!(two.ack_and_delete([Receipt::from(&message)]).unwrap(), 1);
    assert_eq!((queue.len().unwrap(), queue.backlog().unwrap()), (0, 0));
}

#[test]
fn a_receipt_of_no_stream_is_refused() {
    let consumer = crate::connect("memory:").unwrap().shuffle_queue("q").consumer("g", "c");
    let id = MessageId { time_ms: 1, sequence: 0 };
    let receipt = |number| Receipt { stream: Stream::Number(number), id };
    assert_eq!(consumer.ack([receipt(STREAMS_MAX - 1)]).unwrap(), 0);
    for error in [
        consumer.ack([receipt(STREAMS_MAX), receipt(0)]).unwrap_err(),
        consumer.extend([receipt(u32::MAX)]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn an_iterator_without_an_end_is_refused_as_it_is_read() {
    use std::iter::repeat;
    let queue = crate::connect("memory:").unwrap().shuffle_queue("q");
    let consumer = queue.consumer("g", "c");
    let id = MessageId { time_ms: 1, sequence: 0 };
    let receipt = Receipt { stream: Stream::Number(0), id };
    for (result, says) in [
        (queue.write("t", repeat(("a", "b"))).map(drop), "message 0 has more than 32768 fields"),
        (queue.write_many(repeat(("t", [("a", "b")]))).map(drop), "at most 1000000 messages"),
        (consumer.ack(repeat(receipt)).map(drop), "at most 1000000 messages"),
        (consumer.extend(repeat(receipt)).map(drop), "at most 1000000 messages"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(says), "{error}");
    }
    assert_eq!(queue.len().unwrap(), 0);
}

#[test]
fn a_queue_grows_at_once_and_shrinks_when_that_strands_nothing() {
    let client = crate::connect("memory:").unwrap();
    let streams = |count| client.shuffle_queue("q").streams(count).streams_per_shard(1);
    let key = (0..).map(|i| i.to_string()).find(|key| shard(8, 1, key).unwrap() == [7]).unwrap();
    streams(8).write(&key, fields(0)).unwrap();
    let count = || streams(8).stats("g").unwrap().streams.len();
    assert_eq!(count(), 8);
    streams(2).write("x", fields(1)).unwrap();
    assert_eq!(count(), 8, "there is a message in stream 7");
    let consumer = streams(2).consumer("g", "c");
    let messages = consumer.read_many(9).unwrap();
    assert_eq!(messages.len(), 2);
    streams(2).write("x", fields(2)).unwrap();
    assert_eq!(count(), 8, "it is not acknowledged");
    consumer.ack(&messages).unwrap();
    streams(2).write("x", fields(3)).unwrap();
    assert_eq!(count(), 2);
    assert_eq!(numbers(&consumer.read_many(9).unwrap()), [2, 3]);
}

#[test]
fn what_nobody_writes_to_lives_for_its_time() {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let queue = client.shuffle_queue("q").ttl(Duration::from_secs(10));
    queue.write("t", fields(0)).unwrap();
    // A reader with less time does not shorten it.
    let reader = client.shuffle_queue("q").ttl(Duration::from_secs(1)).consumer("g", "c");
    assert!(reader.read().unwrap().is_some());
    clock.advance(Duration::from_secs(9));
    assert_eq!(queue.len().unwrap(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!((queue.len().unwrap(), queue.pending_count("g").unwrap()), (0, 0));
    assert!(reader.read().unwrap().is_none());
}

#[test]
fn what_a_silent_consumer_left_is_taken_over_and_dies_in_the_end() {
    let clock = Arc::new(ManualClock::at(1_000_000));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let queue = client.shuffle_queue("q").streams(3).streams_per_shard(1);
    queue.write_many((0..6).map(|i| (i.to_string(), fields(i)))).unwrap();
    let silent = queue.consumer("g", "silent");
    let taken = silent.read_many(6).unwrap();
    let minute = Duration::from_secs(60);
    clock.advance(minute);
    assert_eq!(silent.extend([&taken[0]]).unwrap(), 1);
    let other = queue.consumer("g", "other").max_deliveries(2);
    assert_eq!(other.reclaim(minute, 2).unwrap().messages.len(), 2);
    let rest = other.reclaim(minute, 100).unwrap();
    assert_eq!((rest.messages.len(), rest.dead), (3, 0), "one is worked on");
    assert!(rest.messages.iter().all(|(_, deliveries)| *deliveries == 2));
    assert_eq!(silent.extend(&taken).unwrap(), 1, "the others are not its own any more");
    clock.advance(minute);
    let end = other.reclaim(minute, 100).unwrap();
    assert_eq!((end.messages.len(), end.dead), (1, 5));
    let letters = queue.dead_letters(100).unwrap();
    assert_eq!(letters.len(), 5);
    assert!(letters.iter().all(|letter| letter.deliveries == 2 && letter.consumer == b"other"));
    assert!(taken.contains(&letters[0].message), "{letters:?}");
    assert_eq!((queue.len().unwrap(), queue.backlog().unwrap()), (1, 1));
}

#[test]
fn bad_arguments_are_refused_before_anything_is_done() {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q");
    let refused = |result: Result<()>, message: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), message);
    };
    let write = |queue: ShuffleQueue| queue.write("t", fields(0)).map(drop);
    refused(write(client.shuffle_queue("")), "shuffle.write: the name is empty");
    refused(
        write(queue.clone().streams(0)),
        "shuffle.write: a queue has 1 to 65536 streams, not 0",
    );
    refused(
        write(queue.clone().streams(2).streams_per_shard(3)),
        "shuffle.write: a shard has 1 to 2 of the queue's 2 streams, not 3",
    );
    refused(
        write(queue.clone().ttl(Duration::from_millis(999))),
        "shuffle.write: the time to live is 999ms; it has to be between a second and 100 years",
    );
    refused(queue.write("", fields(0)).map(drop), "shuffle.write: the shard key is empty");
    refused(
        queue.write("t", [("", ""); 0]).map(drop),
        "shuffle.write: message 0 has 0 fields; 1 to 32768 are allowed",
    );
    refused(queue.consumer("", "c").read().map(drop), "shuffle.read: the group's name is empty");
    refused(queue.consumer("g", "").read().map(drop), "shuffle.read: the consumer's name is empty");
    refused(
        queue.consumer("g", "c").read_many(0).map(drop),
        "shuffle.read: a read takes 1 to 10000 messages, not 0",
    );
    assert_eq!(queue.len().unwrap(), 0);
}

#[test]
fn every_script_is_called_as_its_header_says() {
    let receipt = Receipt { stream: Stream::Number(1), id: MessageId::default() };
    let mut write = Write::new("q", 4, 2, TTL_DEFAULT).unwrap();
    write.push("t", fields(0)).unwrap();
    for (name, source, call) in [
        ("write", include_str!("write.lua"), write.invocation()),
        ("read", include_str!("read.lua"), Read::new("q", "g", "c", 1).unwrap().invocation()),
        ("ack", include_str!("ack.lua"), Ack::new("q", "g", [receipt]).unwrap().invocation()),
        ("len", include_str!("len.lua"), Len::new("q").unwrap().invocation()),
        ("backlog", include_str!("backlog.lua"), Backlog::new("q").unwrap().invocation()),
        (
            "extend",
            include_str!("extend.lua"),
            Extend::new("q", "g", "c", [receipt]).unwrap().invocation(),
        ),
        (
            "reclaim",
            include_str!("reclaim.lua"),
            Reclaim::new("q", "g", "c", Duration::ZERO, 1).unwrap().invocation(),
        ),
        (
            "dead_letters",
            include_str!("dead_letters.lua"),
            ReadDeadLetters::new("q", 1).unwrap().invocation(),
        ),
        ("stats", include_str!("stats.lua"), ReadStats::new("q", "g").unwrap().invocation()),
    ] {
        crate::script_header::check(name, source, &call);
    }
}

#[test]
fn a_journal_is_read_back_after_a_snapshot_and_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Options::file(directory.path()).sync(crate::SyncMode::Never).connect().unwrap();
    for round in 0..3 {
        let client = open();
        let queue = client.shuffle_queue("q").streams(3);
        assert_eq!(queue.len().unwrap(), round * 5);
        assert_eq!(queue.pending_count("g").unwrap(), round);
        queue.write_many((0..6).map(|i| (i.to_string(), fields(i)))).unwrap();
        let messages = queue.consumer("g", "c").read_many(2).unwrap();
        queue.consumer("g", "c").ack_and_delete([&messages[0]]).unwrap();
    }
}
