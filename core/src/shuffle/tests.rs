//! What a queue promises, on the embedded engine; the conformance cases hold both engines to it.

use super::*;
use crate::{ManualClock, Options};

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
        consumer.renew([receipt(u32::MAX)]).unwrap_err(),
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
        (consumer.renew(repeat(receipt)).map(drop), "at most 1000000 messages"),
        (consumer.ack_each(repeat(receipt)).map(drop), "at most 1000000 messages"),
        (consumer.reject(repeat(receipt), "no").map(drop), "at most 1000000 messages"),
        (queue.delete_dead_letters(repeat(id)).map(drop), "at most 1000000 letters"),
        (queue.redrive(repeat(id)).map(drop), "at most 1000000 letters"),
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
    let queue = client.shuffle_queue("q").streams_per_shard(1);
    let key = (0..).map(|i| i.to_string()).find(|key| shard(8, 1, key).unwrap() == [7]).unwrap();
    assert_eq!(queue.resize(3).unwrap(), 3, "of a queue that is not there yet");
    assert_eq!(queue.resize(8).unwrap(), 8);
    queue.write(&key, fields(0)).unwrap();
    assert_eq!(queue.resize(2).unwrap(), 8, "there is a message in stream 7");
    let receipt = queue.write(&key, fields(1)).unwrap();
    assert!(receipt.stream < Stream::Number(2), "writers leave the streams beyond alone");
    let consumer = queue.consumer("g", "c");
    let messages = consumer.read_many(9).unwrap();
    assert_eq!(messages.len(), 2, "readers do not");
    assert_eq!(queue.resize(2).unwrap(), 8, "it is not acknowledged");
    consumer.ack(&messages).unwrap();
    assert_eq!(queue.stats("g").unwrap().streams.len(), 8);
    queue.write("x", fields(3)).unwrap();
    assert_eq!(queue.stats("g").unwrap().streams.len(), 2, "a write is as good as a resize");
    assert_eq!(numbers(&consumer.read_many(9).unwrap()), [3]);

    queue.resize(8).unwrap();
    queue.write(&key, fields(4)).unwrap();
    assert_eq!(queue.resize(2).unwrap(), 8);
    assert_eq!(queue.resize(5).unwrap(), 8);
    assert_eq!(queue.resize(9).unwrap(), 9, "it grows while it gets smaller");
    let nine = client.shuffle_queue("q").streams(9);
    nine.write("x", fields(5)).unwrap();
}

#[test]
fn a_writer_of_another_size_is_refused_and_changes_nothing() {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q");
    queue.clone().streams(64).write("t", fields(0)).unwrap();
    let refused = |queue: ShuffleQueue, message: &str| {
        let error = queue.write("t", fields(1)).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::InvalidArgument, message)
        );
        let messages = (0..3).map(|i| ("t", [("id", i.to_string())]));
        let error = queue.write_tracked_many(messages, "id", None).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::InvalidArgument, message)
        );
    };
    let message = |given| {
        format!(
            "shuffle.write: the queue has 64 streams, and this writer was given {given}: give it \
             none to take those that are there, or resize the queue"
        )
    };
    refused(queue.clone().streams(16), &message(16));
    refused(queue.clone().streams(65), &message(65));
    refused(
        queue.clone().streams_per_shard(65),
        "shuffle.write: a shard has 1 to 64 of the queue's 64 streams, not 65",
    );
    let stats = queue.stats("g").unwrap();
    assert_eq!((stats.streams.len(), stats.len()), (64, 1));
    assert!(queue.delete_tracked("0").unwrap().is_none(), "nothing is tracked");
    assert_eq!(queue.resize(16).unwrap(), if shard(64, 2, "t").unwrap()[0] < 16 { 16 } else { 64 });
    queue.clone().streams(16).write("t", fields(2)).unwrap();
}

/// An idle queue keeps its shape, also for another writer.
#[test]
fn a_writer_of_no_size_takes_the_queues() {
    let client = crate::connect("memory:").unwrap();
    for streams in [1, 3, 64] {
        let queue = client.shuffle_queue(format!("q-{streams}"));
        queue.clone().streams(streams).write("t", fields(0)).unwrap();
        let consumer = queue.consumer("g", "c");
        consumer.ack_and_delete(&consumer.read_many(9).unwrap()).unwrap();
        let receipt = queue.write("tenant", fields(1)).unwrap();
        let own = shard(streams, streams.min(2), "tenant").unwrap();
        assert_eq!(receipt.stream, Stream::Number(own[0]));
        assert_eq!(queue.stats("g").unwrap().streams.len(), streams as usize);
    }
    let new = client.shuffle_queue("new").streams_per_shard(20);
    new.write("t", fields(0)).unwrap();
    assert_eq!(new.stats("g").unwrap().streams.len(), 20, "room for the shard");
    client.shuffle_queue("newer").write("t", fields(0)).unwrap();
    assert_eq!(client.shuffle_queue("newer").stats("g").unwrap().streams.len(), 16);
}

/// A client of its own clock.
fn client() -> (Client, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_000_000));
    (Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap(), clock)
}

#[test]
fn what_nobody_writes_to_lives_for_its_time() {
    let (client, clock) = client();
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
fn without_a_ttl_nothing_that_was_written_expires() {
    let (client, clock) = client();
    let queue = client.shuffle_queue("q");
    queue.write_many((0..40).map(|i| (i.to_string(), fields(i)))).unwrap();
    // Nor does a reader with a time to live change that.
    let reader = client.shuffle_queue("q").ttl(Duration::from_secs(1)).consumer("g", "c");
    assert!(reader.read().unwrap().is_some());
    clock.advance(Duration::from_secs(100 * 366 * 86_400));
    assert_eq!((queue.len().unwrap(), queue.pending_count("g").unwrap()), (40, 1));
    assert_eq!(reader.read_many(100).unwrap().len(), 39);
}

#[test]
fn dead_letters_stay_until_they_are_deleted_or_their_time_is_over() {
    let (client, clock) = client();
    let day = Duration::from_secs(86_400);
    let die = |queue: &ShuffleQueue, i| {
        queue.write("t", fields(i)).unwrap();
        let consumer = queue.consumer("g", "c").max_deliveries(1);
        consumer.read().unwrap().unwrap();
        assert_eq!(consumer.reclaim(Duration::ZERO, 9).unwrap().dead, 1);
    };
    // A time to live of what is written is not that of the dead.
    let queue = client.shuffle_queue("q").ttl(day);
    die(&queue, 0);
    clock.advance(50 * day);
    die(&queue, 1);
    let letters = queue.dead_letters(100).unwrap();
    let dead: Vec<_> = letters.iter().map(|letter| letter.message.clone()).collect();
    assert_eq!(numbers(&dead), [0, 1]);
    assert_eq!(queue.delete_dead_letters([&letters[1]]).unwrap(), 1);
    assert_eq!(queue.delete_dead_letters([letters[1].id, MessageId::default()]).unwrap(), 0);
    assert_eq!(queue.dead_letters(100).unwrap(), letters[..1]);

    // One that has a time to live goes when that is over, and takes the older ones along.
    let kept = queue.clone().dead_ttl(2 * day);
    die(&kept, 2);
    clock.advance(day);
    die(&kept, 3);
    let count = || queue.dead_letters(100).unwrap().len();
    assert_eq!(count(), 2);
    clock.advance(day + Duration::from_secs(1));
    kept.consumer("g", "c").reclaim(Duration::ZERO, 9).unwrap();
    assert_eq!(count(), 1);
    clock.advance(day);
    assert_eq!(count(), 0, "also when nobody reclaims");
}

#[test]
fn a_message_says_how_often_it_was_delivered() {
    let queue = crate::connect("memory:").unwrap().shuffle_queue("q");
    queue.write("t", fields(0)).unwrap();
    let consumer = queue.consumer("g", "c").max_deliveries(2);
    assert_eq!(consumer.read().unwrap().unwrap().deliveries, 1);
    assert_eq!(consumer.reclaim(Duration::ZERO, 9).unwrap().messages[0].deliveries, 2);
    assert_eq!(consumer.reclaim(Duration::ZERO, 9).unwrap().dead, 1);
    assert_eq!(queue.dead_letters(9).unwrap()[0].message.deliveries, 2);
}

/// A queue with a message that consumer `c` of group `g` holds.
fn held(client: &Client) -> (ShuffleQueue, ShuffleConsumer, Message) {
    let queue = client.shuffle_queue("q").streams(4).streams_per_shard(1);
    queue.write("t", fields(0)).unwrap();
    let consumer = queue.consumer("g", "c");
    let message = consumer.read().unwrap().unwrap();
    (queue, consumer, message)
}

#[test]
fn a_rejected_message_is_a_dead_letter_with_its_reason() {
    let (client, clock) = client();
    let (queue, consumer, message) = held(&client);
    assert_eq!(queue.consumer("g", "other").reject([&message], "no").unwrap(), 0, "not its own");
    assert_eq!(queue.consumer("h", "c").reject([&message], "no").unwrap(), 0, "nor its group's");
    let day = Duration::from_secs(86_400);
    let kept = queue.clone().dead_ttl(day).consumer("g", "c");
    assert_eq!(kept.reject([&message, &message], "rejected: no image").unwrap(), 1);
    assert_eq!((queue.len().unwrap(), queue.pending_count("g").unwrap()), (0, 0));
    let letters = queue.dead_letters(9).unwrap();
    assert_eq!((letters.len(), letters[0].reason.as_str()), (1, "rejected: no image"));
    assert_eq!(letters[0].message, message);
    assert_eq!((&*letters[0].group, &*letters[0].consumer), (&b"g"[..], &b"c"[..]));
    assert_eq!(consumer.ack([&message]).unwrap(), 0);
    clock.advance(day);
    assert_eq!(queue.dead_letters(9).unwrap(), []);

    // Where another group has joined, the message stays for that.
    let (queue, consumer, message) = held(&client);
    let other = queue.consumer("other", "c");
    assert_eq!(other.read().unwrap().as_ref(), Some(&message));
    assert_eq!(consumer.reject([&message], "no").unwrap(), 1);
    assert_eq!((queue.len().unwrap(), queue.pending_count("other").unwrap()), (1, 1));
    // One that another group deleted cannot be rejected, and is done.
    let (queue, consumer, message) = held(&client);
    let other = queue.consumer("other", "c");
    other.ack_and_delete([&other.read_many(9).unwrap().pop().unwrap()]).unwrap();
    assert_eq!(consumer.reject([&message], "no").unwrap(), 0);
    assert_eq!(queue.pending_count("g").unwrap(), 0);

    let long = "x".repeat(REASON_BYTES_MAX);
    assert_eq!(consumer.reject([&message], &long).unwrap(), 0);
    for (reason, says) in [
        (String::new(), "shuffle.reject: the reason is empty"),
        (long + "x", "shuffle.reject: the reason has 4097 bytes; 4096 are allowed"),
    ] {
        assert_eq!(consumer.reject([&message], reason).unwrap_err().to_string(), says);
    }
}

#[test]
fn a_released_message_is_reclaimed_at_once_or_after_a_delay_and_is_not_counted() {
    let (client, clock) = client();
    clock.advance(Duration::from_secs(3_600));
    let (queue, consumer, message) = held(&client);
    let other = queue.consumer("g", "other").max_deliveries(1);
    let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
    assert_eq!(other.release([&message], minute, second).unwrap(), 0, "not its own");
    assert_eq!(other.reclaim(minute, 9).unwrap(), Reclaimed::default());
    assert_eq!(consumer.release([&message], minute, Duration::ZERO).unwrap(), 1);
    assert_eq!(other.reclaim(minute, 9).unwrap().messages, std::slice::from_ref(&message));
    assert_eq!(consumer.release([&message], minute, Duration::ZERO).unwrap(), 0, "it is another's");

    assert_eq!(other.release([&message], minute, second).unwrap(), 1);
    clock.advance(second - Duration::from_millis(1));
    assert_eq!(consumer.reclaim(minute, 9).unwrap(), Reclaimed::default());
    clock.advance(Duration::from_millis(1));
    assert_eq!(consumer.reclaim(minute, 9).unwrap().messages, std::slice::from_ref(&message));

    // Without it the second delivery is one too many.
    clock.advance(minute);
    assert_eq!(other.reclaim(minute, 9).unwrap().dead, 1);
    assert_eq!(consumer.release([&message], minute, Duration::ZERO).unwrap(), 0);
    let error = consumer.release([&message], second, minute).unwrap_err();
    assert_eq!(
        error.to_string(),
        "shuffle.release: the delay is 60s; a reclaim takes the messages over after 1s anyway"
    );
}

/// There is no name of one that holds nothing, which a server has to be told to forget.
#[test]
fn the_embedded_engine_has_no_idle_consumers() {
    let client = crate::connect("memory:").unwrap();
    let (queue, consumer, message) = held(&client);
    assert_eq!(queue.remove_idle_consumers(Duration::ZERO).unwrap(), 0);
    assert_eq!(consumer.ack([&message]).unwrap(), 1);
    assert_eq!(queue.remove_idle_consumers(Duration::ZERO).unwrap(), 0);
    let error = queue.remove_idle_consumers(TTL_MAX * 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn an_ack_of_each_says_which_messages_were_waiting() {
    let client = crate::connect("memory:").unwrap();
    let queue = client.shuffle_queue("q");
    queue.write_many((0..30).map(|i| (i.to_string(), fields(i)))).unwrap();
    let consumer = queue.consumer("g", "c");
    let mut messages = consumer.read_many(30).unwrap();
    messages.sort_by_key(|message| std::cmp::Reverse((message.id, message.stream)));
    let odd = messages.iter().skip(1).step_by(2);
    assert_eq!(consumer.ack_each(odd).unwrap(), [true; 15]);
    let expected = Vec::from_iter((0..30).map(|i| i % 2 == 0));
    assert_eq!(consumer.ack_and_delete_each(&messages).unwrap(), expected);
    assert_eq!(consumer.ack_each([&messages[0], &messages[0]]).unwrap(), [false, false]);
    assert_eq!((queue.len().unwrap(), queue.pending_count("g").unwrap()), (0, 0));
}

#[test]
fn redriven_letters_are_new_messages_of_their_streams() {
    let client = crate::connect("memory:").unwrap();
    let (queue, consumer, message) = held(&client);
    let consumer = consumer.max_deliveries(1);
    assert_eq!(consumer.reclaim(Duration::ZERO, 9).unwrap().dead, 1);
    let letters = queue.dead_letters(9).unwrap();
    assert_eq!(letters[0].reason, "exhausted: max_deliveries");
    let ids = [MessageId::default(), letters[0].id, letters[0].id];
    let receipts = queue.redrive(ids).unwrap();
    let receipt = receipts[1].unwrap();
    assert_eq!((receipts[0], receipts[2]), (None, None));
    assert_eq!(receipt.stream, message.stream);
    assert_eq!(queue.dead_letters(9).unwrap(), []);
    let again = consumer.read().unwrap().unwrap();
    assert_eq!((again.deliveries, &again.fields), (1, &message.fields));
    assert_eq!(Receipt::from(&again), receipt);

    // Back into a queue that has fewer streams by now.
    assert_eq!(consumer.reject([&again], "no").unwrap(), 1);
    assert_eq!(queue.resize(1).unwrap(), 1);
    let letters = queue.dead_letters(9).unwrap();
    let receipt = queue.redrive(&letters).unwrap()[0].unwrap();
    assert_eq!(receipt.stream, Stream::Number(0));
    assert_eq!(numbers(&consumer.read_many(9).unwrap()), [0]);
    assert_eq!(queue.redrive([] as [MessageId; 0]).unwrap(), []);
}

/// What is known of the queue may expire before its dead letters do.
#[test]
fn letters_go_back_into_a_queue_that_has_expired() {
    let (client, clock) = client();
    let queue = client.shuffle_queue("q").streams(64).ttl(Duration::from_secs(10));
    queue.write_many((0..40).map(|i| (i.to_string(), fields(i)))).unwrap();
    let consumer = queue.consumer("g", "c");
    consumer.reject(consumer.read_many(100).unwrap().iter(), "no").unwrap();
    clock.advance(Duration::from_secs(10));
    assert!(queue.stats("g").unwrap().streams.len() == 1, "it has expired");
    let letters = queue.dead_letters(100).unwrap();
    let plain = client.shuffle_queue("q");
    assert!(plain.redrive(&letters).unwrap().iter().all(Option::is_some));
    let mut all = numbers(&plain.consumer("g", "c").read_many(100).unwrap());
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..40), "readers find all of them");
}

#[test]
fn dead_letters_come_in_pages() {
    let (client, _) = client();
    let queue = client.shuffle_queue("q");
    queue.write_many((0..25).map(|i| ("t", fields(i)))).unwrap();
    let consumer = queue.consumer("g", "c");
    consumer.reject(consumer.read_many(100).unwrap().iter(), "no").unwrap();
    let mut paged = queue.dead_letters(10).unwrap();
    let mut page = paged.clone();
    while let Some(last) = page.last() {
        // One that is gone is as good a place.
        queue.delete_dead_letters([last]).unwrap();
        page = queue.dead_letters_after(10, last).unwrap();
        paged.extend(page.clone());
    }
    let numbers = paged.iter().map(|letter| numbers(std::slice::from_ref(&letter.message))[0]);
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    assert_eq!(numbers, Vec::from_iter(0..25));
}

#[test]
fn what_a_silent_consumer_left_is_taken_over_and_dies_in_the_end() {
    let (client, clock) = client();
    let queue = client.shuffle_queue("q").streams(3).streams_per_shard(1);
    queue.write_many((0..6).map(|i| (i.to_string(), fields(i)))).unwrap();
    let silent = queue.consumer("g", "silent");
    let taken = silent.read_many(6).unwrap();
    let minute = Duration::from_secs(60);
    clock.advance(minute);
    assert_eq!(silent.renew([&taken[0]]).unwrap(), 1);
    let other = queue.consumer("g", "other").max_deliveries(3);
    assert_eq!(other.reclaim(minute, 2).unwrap().messages.len(), 2);
    let rest = other.reclaim(minute, 100).unwrap();
    assert_eq!((rest.messages.len(), rest.dead), (3, 0), "one is worked on");
    assert!(rest.messages.iter().all(|message| message.deliveries == 2));
    assert_eq!(silent.renew(&taken).unwrap(), 1, "the others are not its own any more");
    clock.advance(minute);
    let end = other.max_deliveries(2).reclaim(minute, 100).unwrap();
    assert_eq!((end.messages.len(), end.dead), (1, 5));
    let letters = queue.dead_letters(100).unwrap();
    assert_eq!(letters.len(), 5);
    assert!(letters.iter().all(|letter| letter.deliveries == 2 && letter.consumer == b"other"));
    assert!(taken.iter().any(|message| message.id == letters[0].message.id), "{letters:?}");
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
fn a_journal_is_read_back_after_a_snapshot_and_without_one() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Options::file(directory.path()).sync(crate::SyncMode::Never).connect().unwrap();
    for round in 0..3 {
        let client = open();
        let queue = client.shuffle_queue("q").streams(3);
        if round > 0 {
            let error = client.shuffle_queue("q").streams(2).write("t", fields(0)).unwrap_err();
            assert!(error.message().starts_with("the queue has 3 streams, and"), "{error}");
        }
        assert_eq!(queue.len().unwrap(), round * 5);
        assert_eq!(queue.pending_count("g").unwrap(), round);
        queue.write_many((0..6).map(|i| (i.to_string(), fields(i)))).unwrap();
        let messages = queue.consumer("g", "c").read_many(2).unwrap();
        queue.consumer("g", "c").ack_and_delete([&messages[0]]).unwrap();
    }
}

#[test]
fn dead_letters_and_what_was_redriven_are_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Options::file(directory.path()).sync(crate::SyncMode::Never).connect().unwrap();
    let client = open();
    let queue = client.shuffle_queue("q");
    queue.write_many((0..3).map(|i| ("t", fields(i)))).unwrap();
    let consumer = queue.consumer("g", "c");
    consumer.reject(&consumer.read_many(9).unwrap(), "rejected").unwrap();
    let letters = queue.dead_letters(9).unwrap();
    let receipts = queue.redrive(&letters[..2]).unwrap();
    drop((consumer, queue, client));
    for _ in 0..2 {
        let client = open();
        let queue = client.shuffle_queue("q");
        assert_eq!(queue.dead_letters(9).unwrap(), letters[2..]);
        assert_eq!(queue.len().unwrap(), 2);
    }
    let client = open();
    let read = client.shuffle_queue("q").consumer("g", "c").read_many(9).unwrap();
    let mut read: Vec<_> = read.iter().map(|message| Some(Receipt::from(message))).collect();
    read.sort();
    let mut receipts = receipts;
    receipts.sort();
    assert_eq!(read, receipts);
}

#[test]
fn a_queue_that_gets_smaller_goes_on_with_that_after_it_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Options::file(directory.path()).sync(crate::SyncMode::Never).connect().unwrap();
    let key = (0..).map(|i| i.to_string()).find(|key| shard(8, 1, key).unwrap() == [7]).unwrap();
    let client = open();
    let queue = client.shuffle_queue("q").streams(8).streams_per_shard(1);
    queue.write(key, fields(0)).unwrap();
    assert_eq!(queue.resize(2).unwrap(), 8);
    drop((queue, client));
    for _ in 0..2 {
        let client = open();
        let queue = client.shuffle_queue("q").streams_per_shard(1);
        let numbers = (0..20).map(|i| queue.write(i.to_string(), fields(1)).unwrap().stream);
        assert!(numbers.max() < Some(Stream::Number(2)));
        assert_eq!(queue.stats("g").unwrap().streams.len(), 8);
    }
}

/// A queue with this many messages, numbered from 0, and a worker of it.
fn worker_of(count: usize) -> (ShuffleQueue, Worker) {
    let queue = crate::connect("memory:").unwrap().shuffle_queue("jobs");
    for number in 0..count {
        queue.write("tenant", [("n", number.to_string())]).unwrap();
    }
    let worker = queue.consumer("group", "ann").max_deliveries(2).worker().delete(true);
    (queue, worker)
}

#[test]
fn a_worker_ends_messages_as_its_handler_says() {
    let (queue, worker) = worker_of(4);
    let worker = worker.backoff(Duration::ZERO);
    let mut seen = Vec::new();
    let drained = worker.drain(|job| {
        let number = String::from_utf8(job.message().fields[0].1.clone()).unwrap();
        seen.push((number.clone(), job.message().deliveries));
        match number.as_str() {
            "0" => Ok(()),
            "1" => Err(Failure::Reject("bad".into())),
            "2" => Err(Failure::Error("broken".into())),
            _ => Err(Failure::Move("other".into(), "why".into())),
        }
    });
    assert_eq!(drained.unwrap(), JobCounts { done: 1, retried: 2, dead: 3, others: 0 });
    seen.sort();
    let expected = [("0", 1), ("1", 1), ("2", 1), ("2", 2), ("3", 1), ("3", 2)];
    assert_eq!(seen, expected.map(|(number, deliveries)| (number.to_owned(), deliveries)));
    let mut reasons: Vec<_> =
        queue.dead_letters(9).unwrap().into_iter().map(|letter| letter.reason).collect();
    reasons.sort();
    assert!(reasons[0].starts_with("exhausted: a message of a shuffle queue cannot be moved"));
    assert_eq!(reasons[1], "exhausted: broken");
    assert_eq!(reasons[2], "rejected: bad");
    assert_eq!(queue.backlog().unwrap(), 0);
}

#[test]
fn a_worker_takes_over_what_another_left_and_keeps_what_it_works_on() {
    let (queue, worker) = worker_of(1);
    let left = queue.consumer("group", "gone").read().unwrap().unwrap();
    let lease = Duration::from_millis(500);
    let worker = worker.lease(lease);
    let other = queue.consumer("group", "bob").worker().lease(lease);
    let stop = worker.clone();
    worker
        .run(|job| {
            assert_eq!(job.message().id, left.id);
            let end = std::time::Instant::now() + lease * 3 / 2;
            while std::time::Instant::now() < end {
                let drained = other.drain(|_| -> () { panic!("it is worked on") }).unwrap();
                assert_eq!(drained, JobCounts::default());
            }
            assert!(!job.is_lost());
            stop.stop(Duration::MAX);
        })
        .unwrap();
    assert_eq!(queue.backlog().unwrap(), 0);
}

/// The leases of others are over when the engine's clock says so, and so is the time of a retry.
#[test]
fn a_worker_that_waits_takes_over_when_its_clock_is_moved() {
    const LEASE: Duration = Duration::from_secs(3_600);
    let (client, clock) = client();
    let queue = client.shuffle_queue("q");
    queue.write("t", fields(0)).unwrap();
    let left = queue.consumer("g", "gone").read().unwrap().unwrap();
    let worker = queue.consumer("g", "c").worker().lease(LEASE).backoff(LEASE).backoff_max(LEASE);
    let (taken, takes) = std::sync::mpsc::channel();
    let stop = worker.clone();
    let run = std::thread::spawn(move || {
        worker.run(|job| match job.message().deliveries {
            2 => {
                taken.send(job.message().id).unwrap();
                Err(Failure::Error("not yet".into()))
            }
            _ => {
                stop.stop(Duration::from_secs(10));
                Ok(())
            }
        })
    });
    std::thread::sleep(Duration::from_millis(50));
    clock.advance(LEASE / 2);
    let none = takes.recv_timeout(Duration::from_millis(50));
    assert!(none.is_err(), "the lease of the other one is not over");
    clock.advance(LEASE / 2);
    assert_eq!(takes.recv_timeout(Duration::from_secs(10)).unwrap(), left.id);
    while !run.is_finished() {
        clock.advance(LEASE);
        std::thread::sleep(Duration::from_millis(10));
    }
    run.join().unwrap().unwrap();
    assert_eq!(queue.backlog().unwrap(), 0);
}

#[test]
fn what_a_stopped_worker_gives_back_is_there_at_once_and_was_no_delivery() {
    let (queue, worker) = worker_of(5);
    let stop = worker.clone();
    worker
        .prefetch(4)
        .run(|job| {
            stop.stop(Duration::ZERO);
            assert!(job.is_lost());
        })
        .unwrap();
    let next = queue.consumer("group", "bob").max_deliveries(2).worker();
    let mut deliveries = Vec::new();
    next.drain(|job| deliveries.push(job.message().deliveries)).unwrap();
    assert_eq!(deliveries, [1; 5]);
}

#[test]
fn a_lease_that_nobody_can_keep_is_refused() {
    let (_, worker) = worker_of(1);
    let error = worker.lease(Duration::from_micros(999)).drain(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
