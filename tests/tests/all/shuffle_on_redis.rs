//! Shuffle queues on every kind of Redis, and their scripts with arguments that no step of ours
//! would send.

use millpond::shuffle::{self, Receipt, Stream};
use millpond::{
    Client, ErrorKind,
    step::{Operation, Script},
};
use millpond_tests::block_on;
use millpond_tests::servers::{Cluster, Redis, Reply};

type Result = std::result::Result<(), millpond::Error>;

/// One walk through every step, to be taken on every kind of server.
fn walk(client: &Client, name: &str) -> Result {
    let queue = client.shuffle_queue(name).streams(8).streams_per_shard(2);
    assert_eq!(queue.len()?, 0);
    let messages = (0..20).map(|i| (format!("tenant-{}", i % 3), [("i", i.to_string())]));
    assert_eq!(queue.write_many(messages)?.len(), 20);
    queue.write("tenant-0", [("i", "20"), ("i", "twice"), ("\0\r\n", "")])?;
    assert_eq!((queue.len()?, queue.backlog()?), (21, 21));
    let consumer = queue.consumer("g", "c");
    let first = consumer.read()?.expect("a message");
    let mut all = consumer.read_many(100)?;
    assert!(consumer.read()?.is_none());
    all.push(first);
    assert_eq!(all.len(), 21);
    assert_eq!(queue.pending_count("g")?, 21);
    let odd = all.iter().find(|message| message.fields.len() == 3).expect("it was read");
    assert_eq!(odd.fields[2], (b"\0\r\n".to_vec(), Vec::new()));
    let stats = queue.stats("g")?;
    assert_eq!((stats.streams.len(), stats.len(), stats.lag()), (8, 21, 0));
    assert!(stats.streams.iter().any(|stream| stream.oldest_idle.is_some()));
    assert_eq!(consumer.renew(&all)?, 21);
    let other = queue.consumer("g", "other").max_deliveries(3);
    assert_eq!(other.reclaim(std::time::Duration::from_secs(60), 100)?.messages.len(), 0);
    let reclaimed = other.reclaim(std::time::Duration::ZERO, 5)?;
    assert!(reclaimed.messages.iter().all(|message| message.deliveries == 2));
    assert_eq!((reclaimed.messages.len(), consumer.renew(&all)?), (5, 16));
    let other = other.max_deliveries(2);
    let reclaimed = other.reclaim(std::time::Duration::ZERO, 100)?;
    assert_eq!((reclaimed.messages.len(), reclaimed.dead), (1, 5), "for the last time, so alone");
    let letters = queue.dead_letters(100)?;
    let is_dead = |message: &shuffle::Message| {
        letters.iter().any(|letter| Receipt::from(&letter.message) == Receipt::from(message))
    };
    assert!(letters.iter().all(|letter| letter.deliveries == 2 && letter.message.deliveries == 2));
    all.retain(|message| !is_dead(message));
    assert_eq!((letters.len(), all.len(), queue.len()?), (5, 16, 16));
    assert_eq!(consumer.ack(&all[..10])?, 10);
    assert_eq!(consumer.ack_and_delete(&all)?, 6);
    assert_eq!((queue.len()?, queue.backlog()?), (0, 0));

    let receipts = queue.redrive(&letters)?;
    assert_eq!((receipts.iter().flatten().count(), queue.backlog()?), (5, 5));
    let again = consumer.read_many(9)?;
    assert_eq!(consumer.release(&again[..2], MINUTE, std::time::Duration::ZERO)?, 2);
    let reclaimed = other.reclaim(MINUTE, 9)?.messages;
    assert!(reclaimed.len() == 2 && reclaimed.iter().all(|message| message.deliveries == 1));
    assert_eq!(consumer.reject(&again, "rejected")?, 3);
    assert_eq!(other.ack_and_delete_each(&again)?.iter().filter(|is_done| **is_done).count(), 2);
    let letters = queue.dead_letters(1)?;
    assert_eq!(letters[0].reason, "rejected");
    assert_eq!(queue.dead_letters_after(9, &letters[0])?.len(), 2);
    assert_eq!(queue.remove_idle_consumers(MINUTE)?, 0);
    Ok(())
}

#[test]
fn one_server() -> Result {
    let server = Redis::start();
    walk(&millpond::connect(&server.url())?, "q")
}

#[test]
fn a_cluster_needs_a_tag() -> Result {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url())?;
    for i in 0..8 {
        walk(&client, &format!("{{queue-{i}}}"))?;
    }
    walk(&client, "jobs{eu}:1")?;
    for name in ["q", "{}q", "q{", "}q{"] {
        let error = client.shuffle_queue(name).len().expect_err("its keys lie in several slots");
        assert_eq!(error.kind(), ErrorKind::CrossSlot, "{name}: {error}");
    }
    Ok(())
}

#[test]
fn a_message_has_as_many_fields_as_it_likes() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(1);
    let consumer = queue.consumer("g", "c");
    for count in [3_498, 3_499, 3_500, 3_501, 3_999, 4_001, 8_000, shuffle::FIELDS_MAX] {
        let fields: Vec<_> = (0..count).map(|i| (format!("f{i}"), format!("v{i}"))).collect();
        queue.write("t", fields.iter().map(|(field, value)| (field, value)))?;
        let message = consumer.read()?.expect("it was written");
        let expected = fields.iter().map(|(f, v)| (f.as_bytes().to_vec(), v.as_bytes().to_vec()));
        assert!(message.fields.iter().cloned().eq(expected), "{count}");
        consumer.ack_and_delete([&message])?;
    }
    Ok(())
}

#[test]
fn a_write_that_meets_another_type_changes_nothing() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(2).streams_per_shard(1);
    for key in ["q:meta", "q:notifications", "q:s0", "q:s1"] {
        server.cli(&["FLUSHALL"]);
        server.cli(&["SET", key, "x"]);
        let messages = (0..20).map(|i| (format!("t{i}"), [("i", "x")]));
        let error = queue.write_many(messages).expect_err("a key is no stream");
        assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
        assert!(error.message().contains(key), "{error}");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 1, "{key}");
    }
    Ok(())
}

#[test]
fn a_stream_of_another_type_ends_a_batch_and_loses_nothing() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(3).streams_per_shard(1);
    let key = |number| {
        let keys = (0..).map(|i: u32| i.to_string());
        keys.into_iter().find(|key| shuffle::shard(3, 1, key).is_ok_and(|s| s == [number]))
    };
    for number in [0, 0, 2, 2] {
        queue.write(key(number).expect("there is one"), [("s", number.to_string())])?;
    }
    server.cli(&["SET", "q:s1", "x"]);
    let consumer = queue.consumer("g", "c");
    let streams = |batch: &[shuffle::Message]| batch.iter().map(|m| m.stream).collect::<Vec<_>>();
    assert_eq!(streams(&consumer.read_many(10)?), [Stream::Number(0)]);
    for _ in 0..2 {
        let error = consumer.read_many(10).expect_err("stream 1 is next");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert!(error.message().contains("q:s1"), "{error}");
    }
    server.cli(&["DEL", "q:s1"]);
    let rest = [Stream::Number(2), Stream::Number(0), Stream::Number(2)];
    assert_eq!(streams(&consumer.read_many(10)?), rest);
    Ok(())
}

#[test]
fn a_plain_stream_becomes_a_sharded_queue() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    for i in 0..3 {
        server.cli(&["XADD", "q", "*", "old", &i.to_string()]);
    }
    // Its consumers were a group of the stream's own name, and one message is done.
    server.cli(&["XGROUP", "CREATE", "q", "q", "0"]);
    server.cli(&["XREADGROUP", "GROUP", "q", "x", "COUNT", "1", "STREAMS", "q", ">"]);
    let queue = client.shuffle_queue("q").streams(2).streams_per_shard(1);
    for i in 0..4 {
        queue.write(format!("t{i}"), [("new", i.to_string())])?;
    }
    let plain = queue.consumer("g", "plain");
    let consumer = queue.consumer("g", "c").default_stream(true);
    let mut all = consumer.read_many(4)?;
    let old = |batch: &[shuffle::Message]| {
        batch.iter().filter(|message| message.stream == Stream::Default).count()
    };
    assert!(old(&all) >= 1, "it has its turn: {all:?}");
    all.extend(consumer.read_many(9)?);
    assert_eq!((all.len(), old(&all)), (6, 2));
    assert!(plain.read()?.is_none());
    assert_eq!(consumer.ack_and_delete(&all)?, 6);
    assert_eq!(server.cli(&["XLEN", "q"]).integer(), 1);
    // Where there is no such stream, none is made.
    let consumer = client.shuffle_queue("other").consumer("g", "c").default_stream(true);
    assert!(consumer.read()?.is_none());
    assert_eq!(server.cli(&["EXISTS", "other"]).integer(), 0);
    Ok(())
}

/// A batch ends where single reads would end: what it has read before it returns, and it reads
/// nothing that it cannot return.
#[test]
fn a_default_stream_of_another_type_loses_nothing() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    for offset in 0..4 {
        server.cli(&["FLUSHALL"]);
        server.cli(&["SET", "q", "x"]);
        let queue = client.shuffle_queue("q").streams(3).streams_per_shard(1);
        queue.write_many((0..20).map(|i| (i.to_string(), [("i", i.to_string())])))?;
        server.cli(&["HSET", "q:meta", "offset", &offset.to_string()]);
        let batch = queue.consumer("g", "c").default_stream(true).read_many(100);
        let taken = batch.as_ref().map_or(0, Vec::len) as u64;
        assert_eq!(queue.pending_count("g")?, taken, "offset {offset}: {batch:?}");
        if let Err(error) = batch {
            assert_eq!(error.kind(), ErrorKind::WrongType);
        }
    }
    Ok(())
}

#[test]
fn no_wait_for_notifications_that_cannot_come() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    server.cli(&["SET", "q:notifications", "x"]);
    let consumer = client.shuffle_queue("q").consumer("g", "c");
    let mut messages = consumer.messages(1).wait(std::time::Duration::from_secs(60));
    let error = messages.next().expect("an error").expect_err("it holds a string");
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert!(error.to_string().contains("q:notifications"), "{error}");
    Ok(())
}

const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

fn call(server: &Redis, script: &Script, args: &[&str]) -> Reply {
    let mut words = vec!["EVAL", script.source(), "4", "q", "q:meta", "q:notifications", "q:dead"];
    words.extend(args);
    server.cli(&words)
}

#[test]
fn malformed_arguments_are_refused_and_change_nothing() -> Result {
    let server = Redis::start();
    let write = shuffle::Write::new("q", 1, 1, None)?.invocation().script;
    let read = shuffle::Read::new("q", "g", "c", 1)?.invocation().script;
    let receipts: [Receipt; 0] = [];
    let ack = shuffle::Ack::new("q", "g", receipts)?.invocation().script;
    let stats = shuffle::ReadStats::new("q", "g")?.invocation().script;
    let reclaim = shuffle::Reclaim::new("q", "g", "c", std::time::Duration::ZERO, 1)?;
    let reclaim = reclaim.invocation().script;
    let renew = shuffle::Renew::new("q", "g", "c", [] as [Receipt; 0])?.invocation().script;
    let release = shuffle::Release::new("q", "g", "c", [] as [Receipt; 0], MINUTE, MINUTE)?;
    let release = release.invocation().script;
    let reject = shuffle::Reject::new("q", "g", "c", [] as [Receipt; 0], "no")?.invocation().script;
    let ack_each = shuffle::AckEach::new("q", "g", [] as [Receipt; 0])?.invocation().script;
    let no_ids = [] as [shuffle::MessageId; 0];
    let redrive = shuffle::Redrive::new("q", no_ids, 1, None)?.invocation().script;
    let remove_idle = shuffle::RemoveIdleConsumers::new("q", MINUTE)?.invocation().script;
    let dead_letters = shuffle::ReadDeadLetters::new("q", 1)?.invocation().script;
    let resize = shuffle::Resize::new("q", 1, None)?.invocation().script;
    let delete_dead = shuffle::DeleteDeadLetters::new("q", [] as [shuffle::MessageId; 0])?;
    let delete_dead = delete_dead.invocation().script;
    for (script, args) in [
        (write, vec![]),
        (write, vec!["999", "1", "1", "", "", "0", "1", "f", "v"]),
        (write, vec!["-5", "1", "1", "", "", "0", "1", "f", "v"]),
        (write, vec!["99999999999999999", "1", "1", "", "", "0", "1", "f", "v"]),
        (write, vec!["1000", "0", "1", "", "", "0", "1", "f", "v"]),
        (write, vec!["1000", "2.5", "1", "", "", "0", "1", "f", "v"]),
        (write, vec!["1000", "2", "3", "", "", "0", "1", "1", "f", "v"]),
        (write, vec!["1000", "2", "1", "", "", "2", "1", "f", "v"]),
        (write, vec!["1000", "2", "1", "", "", "-0", "1", "f", "v"]),
        (write, vec!["1000", "2", "1", "", "", "0x1", "1", "f", "v"]),
        (write, vec!["1000", "2", "1", "", "", "01", "1", "f", "v"]),
        (write, vec!["1000", "2", "1", "", "", "1", "0"]),
        (write, vec!["1000", "2", "1", "", "", "1", "2", "f", "v", "f"]),
        (write, vec!["1000", "2", "1", "", "", "1", "1", "f", "v", "1", "1", "f"]),
        (write, vec!["1000", "2", "1", "id", "", "1", "1", "f", "v"]),
        (read, vec![]),
        (read, vec!["g", "c", "0", "1000", "", "0"]),
        (read, vec!["g", "c", "x", "1000", "", "0"]),
        (read, vec!["g", "c", "1", "1", "", "0"]),
        (ack, vec![]),
        (ack, vec!["g", "0", "x", "1", "1-1"]),
        (ack, vec!["g", "0", "0", "2", "1-1"]),
        (ack, vec!["g", "0", "0", "1", "1"]),
        (ack, vec!["g", "0", "0", "1", "*"]),
        (ack, vec!["g", "0", "0", "1", "99999999999999999999-1"]),
        (ack, vec!["g", "0", "0", "1", "1-18446744073709551616"]),
        (stats, vec![]),
        (reclaim, vec![]),
        (reclaim, vec!["g", "c", "-1", "1", "0", "1000", "0", "r"]),
        (reclaim, vec!["g", "c", "0", "0", "0", "1000", "0", "r"]),
        (reclaim, vec!["g", "c", "0", "1", "x", "1000", "0", "r"]),
        (reclaim, vec!["g", "c", "0", "1", "0", "1", "0", "r"]),
        (reclaim, vec!["g", "c", "0", "1", "0", "1000", "0"]),
        (ack_each, vec![]),
        (ack_each, vec!["g"]),
        (ack_each, vec!["g", "0", "0", "2", "1-1"]),
        (release, vec![]),
        (release, vec!["g", "c"]),
        (release, vec!["g", "c", "-1", "0", "1", "1-1"]),
        (release, vec!["g", "c", "1", "0", "1", "x"]),
        (reject, vec![]),
        (reject, vec!["g", "c", "no", "1"]),
        (reject, vec!["g", "c", "no", "0", "0", "1", "x"]),
        (redrive, vec![]),
        (redrive, vec!["1", "1", "1-1"]),
        (redrive, vec!["0", "0", "1-1"]),
        (redrive, vec!["0", "65537", "1-1"]),
        (redrive, vec!["0", "1", "x"]),
        (remove_idle, vec![]),
        (remove_idle, vec!["-1"]),
        (dead_letters, vec!["1"]),
        (dead_letters, vec!["1", "x"]),
        (dead_letters, vec!["0", ""]),
        (renew, vec![]),
        (renew, vec!["g"]),
        (renew, vec!["g", "c", "0", "1", "x"]),
        (resize, vec![]),
        (resize, vec!["0", "0"]),
        (resize, vec!["0", "65537"]),
        (resize, vec!["999", "1"]),
        (delete_dead, vec!["1"]),
        (delete_dead, vec!["1-1", "1-18446744073709551616"]),
    ] {
        let reply = call(&server, script, &args);
        let error = reply.error().unwrap_or_else(|| panic!("{args:?} gave {reply:?}"));
        assert!(error.starts_with("INVALID_ARGUMENT"), "{args:?}: {error}");
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 0, "{args:?} left something behind");
    }
    Ok(())
}

#[test]
fn a_meta_hash_without_a_number_is_an_error() -> Result {
    let server = Redis::start();
    let queue = millpond::connect(&server.url())?.shuffle_queue("q");
    for streams in ["abc", "1.5", "1e9", "nan"] {
        server.cli(&["HSET", "q:meta", "streams", streams]);
        let error = queue.len().expect_err("it is no number of streams");
        assert_eq!(error.kind(), ErrorKind::WrongType, "{streams}: {error}");
        let error = queue.write("t", [("f", "v")]).expect_err("as above");
        assert_eq!(error.kind(), ErrorKind::WrongType, "{streams}: {error}");
    }
    Ok(())
}

/// Streams that have more make up for those that have less.
#[test]
fn a_reclaim_takes_one_of_each_in_turn_up_to_its_number() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(3).streams_per_shard(1);
    let key = |number| {
        (0..)
            .map(|i| i.to_string())
            .find(|key| shuffle::shard(3, 1, key).is_ok_and(|s| s == [number]))
    };
    for (number, count) in [(0, 50), (1, 3), (2, 7)] {
        let tenant = key(number).expect("some key has this shard");
        queue.write_many((0..count).map(|i| (tenant.clone(), [("i", i.to_string())])))?;
    }
    for (max, expected) in [(1, [1, 0, 0]), (8, [3, 3, 2]), (20, [10, 3, 7]), (100, [50, 3, 7])] {
        let group = format!("g{max}");
        assert_eq!(queue.consumer(&group, "gone").read_many(100)?.len(), 60);
        let consumer = queue.consumer(&group, "other");
        let messages = consumer.reclaim(std::time::Duration::ZERO, max)?.messages;
        let of = |number| {
            let of = messages.iter().filter(|m| m.stream == Stream::Number(number));
            of.count()
        };
        assert_eq!([of(0), of(1), of(2)], expected, "{max}");
    }
    Ok(())
}

fn ttl(server: &Redis, key: &str) -> i64 {
    server.cli(&["PTTL", key]).integer()
}

/// What is written without a time to live never expires, whatever readers set; a time to live that is
/// set holds, and that of the dead letters is separate.
#[test]
fn only_what_was_given_a_ttl_expires() -> Result {
    const FOR_EVER: i64 = -1;
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(2).streams_per_shard(2);
    let minute = std::time::Duration::from_secs(60);
    let brief = client.shuffle_queue("q").ttl(minute);
    queue.write_many((0..4).map(|i| (i.to_string(), [("i", i.to_string())])))?;
    let keys = ["q:meta", "q:s0", "q:s1", "q:notifications"];
    for key in keys {
        assert_eq!(ttl(&server, key), FOR_EVER, "{key}");
    }
    assert_eq!(brief.consumer("g", "c").read_many(9)?.len(), 4);
    for key in keys {
        assert_eq!(ttl(&server, key), FOR_EVER, "{key} after a reader with a ttl");
    }
    // A queue of the original's writers: each of its writes sets the time of what it touches.
    for key in keys {
        server.cli(&["EXPIRE", key, "3600"]);
    }
    let receipt = queue.write("t", [("i", "5")])?;
    let Stream::Number(number) = receipt.stream else { panic!("{receipt:?}") };
    let (own, other) = (format!("q:s{number}"), format!("q:s{}", 1 - number));
    assert_eq!([ttl(&server, "q:meta"), ttl(&server, &own)], [FOR_EVER, FOR_EVER]);
    assert!((1..=3_600_000).contains(&ttl(&server, &other)), "nobody else's time is changed");

    server.cli(&["DEL", "q:s0", "q:s1"]);
    assert!(queue.consumer("g", "c").read()?.is_none());
    assert!((1..=86_400_000).contains(&ttl(&server, &own)), "what holds nothing does not stay");
    brief.write("t", [("i", "6")])?;
    assert!((1..=60_000).contains(&ttl(&server, &own)));
    assert_eq!(ttl(&server, "q:meta"), FOR_EVER);

    let die = |queue: &shuffle::ShuffleQueue| {
        let consumer = queue.consumer("g", "c").max_deliveries(1);
        queue.write("t", [("i", "7")])?;
        consumer.read_many(9)?;
        consumer.reclaim(std::time::Duration::ZERO, 9)
    };
    die(&brief)?;
    assert_eq!(ttl(&server, "q:dead"), FOR_EVER);
    // A letter from long ago is as old as its id says.
    server.cli(&["DEL", "q:dead"]);
    let old = ["XADD", "q:dead", "1000-0", "dead:stream", "0", "dead:id", "1-1", "dead:group", "g"];
    server.cli(&[&old[..], &["dead:consumer", "c", "dead:deliveries", "1", "i", "0"]].concat());
    die(&queue)?;
    assert_eq!((queue.dead_letters(9)?.len(), ttl(&server, "q:dead")), (2, FOR_EVER));
    die(&queue.clone().dead_ttl(minute))?;
    let letters = queue.dead_letters(9)?;
    assert_eq!(letters.len(), 2, "the old one is deleted");
    assert!((1..=60_000).contains(&ttl(&server, "q:dead")));
    assert_eq!(queue.delete_dead_letters(&letters)?, 2);
    assert_eq!(queue.delete_dead_letters(&letters)?, 0);
    assert!(queue.dead_letters(9)?.is_empty());
    Ok(())
}

/// A queue of the original keeps the size that it got there, whichever client of ours writes to it.
#[test]
fn a_writer_takes_the_size_of_a_queue_or_is_refused() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    // The original writes the number only if it is not 1.
    for streams in [1u32, 2, 64] {
        server.cli(&["FLUSHALL"]);
        server.cli(&["XADD", "q:s0", "*", "f", "v"]);
        if streams > 1 {
            server.cli(&["HSET", "q:meta", "streams", &streams.to_string()]);
        }
        server.cli(&["XTRIM", "q:s0", "MAXLEN", "0"]);
        for wrong in [streams + 1, 16, 65_536] {
            let before = server.cli(&["XINFO", "STREAM", "q:s0"]);
            let error = client.shuffle_queue("q").streams(wrong).write("t", [("f", "v")]);
            let error = error.expect_err("the queue is idle and of another size");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            let numbers = format!("has {streams} streams, and this writer was given {wrong}:");
            assert!(error.message().contains(&numbers), "{error}");
            assert_eq!(
                format!("{:?}", server.cli(&["XINFO", "STREAM", "q:s0"])),
                format!("{before:?}")
            );
            assert_eq!(server.cli(&["EXISTS", "q:notifications"]).integer(), 0);
        }
        // With a new handle it takes two calls, and then one.
        let queue = client.shuffle_queue("q");
        let calls = || {
            let stats = server.cli(&["INFO", "commandstats"]).text();
            let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
            line.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        for expected in [2, 1, 1] {
            let before = calls();
            let receipt = queue.write("tenant", [("f", "v")])?;
            let shard = shuffle::shard(streams, streams.min(2), "tenant")?;
            assert!(shard.iter().any(|n| receipt.stream == Stream::Number(*n)), "{receipt:?}");
            assert_eq!(calls() - before, expected, "{streams}");
        }
        assert_eq!(queue.stats("g")?.streams.len(), streams as usize);
    }
    Ok(())
}

/// Async steps are sent again on their way.
#[test]
fn an_async_writer_takes_the_size_of_a_queue() -> Result {
    let server = Redis::start();
    server.cli(&["HSET", "q:meta", "streams", "3"]);
    block_on(async {
        let client = millpond::aio::connect(&server.url())?;
        let queue = client.shuffle_queue("q");
        let writes: Vec<_> = (0..50).map(|i| queue.write(i.to_string(), [("f", "v")])).collect();
        for write in writes {
            assert!(write.await?.stream < Stream::Number(3));
        }
        assert_eq!(queue.resize(7).await?, 7);
        let receipts = queue.write_many((0..200).map(|i| (i.to_string(), [("f", "v")]))).await?;
        assert!(receipts.iter().any(|receipt| receipt.stream == Stream::Number(6)));
        let error = queue.clone().streams(3).write("t", [("f", "v")]).await.expect_err("it has 7");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        Ok(())
    })
}

/// Letters of any size, more of them than a step takes, and some that another program left.
#[test]
fn dead_letters_go_back_with_the_settings_of_the_queue() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(4).ttl(MINUTE);
    let long: Vec<_> = (0..9_000).map(|i| (format!("f{i}"), "v".repeat(i % 7))).collect();
    queue.write("long", long.iter().map(|(f, v)| (f, v)))?;
    queue.write_many((0..25_000).map(|i| (i.to_string(), [("i", i.to_string())])))?;
    let consumer = queue.consumer("g", "c");
    let mut written = 0;
    loop {
        let messages = consumer.read_many(10_000)?;
        if messages.is_empty() {
            break;
        }
        written += consumer.reject(&messages, "rejected")?;
    }
    assert_eq!((written, queue.len()?), (25_001, 0));
    server.cli(&["XADD", "q:dead", "*", "another", "program's"]);

    // What is known of the queue expires, and its dead letters do not.
    server.cli(&["DEL", "q:meta", "q:notifications", "q:s0", "q:s1", "q:s2", "q:s3"]);
    let mut page = queue.dead_letters(10_000)?;
    let mut letters = Vec::new();
    while let Some(last) = page.last() {
        let next = queue.dead_letters_after(10_000, last)?;
        letters.append(&mut page);
        page = next;
    }
    assert_eq!(letters.len(), 25_001);
    let foreign =
        server.cli(&["XREVRANGE", "q:dead", "+", "-", "COUNT", "1"]).array()[0].array()[0].text();
    let ids = letters.iter().map(|letter| letter.id).chain([foreign.parse()?]);
    let receipts = queue.redrive(ids)?;
    assert_eq!(receipts.len(), 25_002);
    assert_eq!(receipts.last(), Some(&None), "it is no message of the queue");
    for (letter, receipt) in letters.iter().zip(&receipts) {
        assert_eq!(receipt.map(|receipt| receipt.stream), Some(letter.message.stream));
    }
    assert_eq!(server.cli(&["XLEN", "q:dead"]).integer(), 1);
    assert_eq!(server.cli(&["XLEN", "q:notifications"]).integer(), 1);
    for key in ["q:meta", "q:s0", "q:s1", "q:s2", "q:s3", "q:notifications"] {
        let ttl = server.cli(&["PTTL", key]).integer();
        assert!((1..=60_000).contains(&ttl), "{key}: {ttl}");
    }
    let mut read = 0;
    loop {
        let messages = consumer.read_many(10_000)?;
        if messages.is_empty() {
            break;
        }
        read += messages.len();
        for message in messages.iter().filter(|message| message.fields.len() > 1) {
            let fields = long.iter().map(|(f, v)| (f.clone().into(), v.clone().into()));
            assert_eq!(message.fields, Vec::from_iter(fields));
        }
        consumer.ack_and_delete(&messages)?;
    }
    assert_eq!(read, 25_001);

    server.cli(&["SET", "q:notifications", "x"]);
    let error = queue.redrive([letters[0].id]).expect_err("it holds a string");
    assert_eq!(error.kind(), ErrorKind::WrongType);
    server.cli(&["DEL", "q:notifications", "q:dead", "q:s1"]);
    queue.write("t", [("i", "1")])?;
    let messages = consumer.read_many(9)?;
    server.cli(&["SET", "q:dead", "x"]);
    let error = consumer.reject(&messages, "no").expect_err("it holds a string");
    assert!(error.to_string().contains("key q:dead holds a string"), "{error}");
    assert_eq!(queue.pending_count("g")?, 1, "nothing is lost");
    Ok(())
}

/// The names that consumers leave behind, of which a server keeps one for each stream and group.
#[test]
fn idle_consumers_that_hold_nothing_are_removed() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(4).streams_per_shard(1);
    queue.write_many((0..40).map(|i| (i.to_string(), [("i", i.to_string())])))?;
    let consumers = |group| {
        let keys = ["q:s0", "q:s1", "q:s2", "q:s3"];
        let known =
            keys.map(|key| server.cli(&["XINFO", "CONSUMERS", key, group]).array().to_vec());
        let name = |consumer: &Reply| consumer.array()[1].text().to_owned();
        known.concat().iter().map(name).collect::<std::collections::BTreeSet<_>>()
    };
    for (group, name) in [("g", "done"), ("g", "busy"), ("h", "done"), ("g", "done, too")] {
        let consumer = queue.consumer(group, name);
        let messages = consumer.read_many(12)?;
        consumer.ack(&messages[usize::from(name == "busy")..])?;
    }
    queue.consumer("g", "rest").read_many(100)?;
    let all = ["busy", "done", "done, too", "rest"].map(str::to_owned).into();
    assert_eq!(queue.remove_idle_consumers(MINUTE)?, 0, "nobody is idle for so long");
    assert_eq!((consumers("g"), consumers("h").len()), (all, 1));
    assert_eq!(queue.remove_idle_consumers(std::time::Duration::ZERO)?, 3);
    assert_eq!(queue.remove_idle_consumers(std::time::Duration::ZERO)?, 0);
    let busy = ["busy", "rest"].map(str::to_owned).into();
    assert_eq!((consumers("g"), consumers("h").len()), (busy, 0));
    // One that comes again is there again.
    assert_eq!(queue.consumer("h", "done").read_many(100)?.len(), 28);
    server.cli(&["SET", "q:s3", "x"]);
    let error = queue.remove_idle_consumers(MINUTE).expect_err("it holds a string");
    assert!(error.to_string().contains("key q:s3 holds a string"), "{error}");
    Ok(())
}

/// The stream at the queue's own name is another program's, where consumers have the same steps.
#[test]
fn messages_of_the_default_stream_are_rejected_and_released() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(2);
    queue.write("t", [("i", "0")])?;
    for i in ["1", "2", "3"] {
        server.cli(&["XADD", "q", "*", "i", i]);
    }
    let consumer = queue.consumer("g", "c").default_stream(true);
    let messages = consumer.read_many(9)?;
    assert_eq!(messages.len(), 4);
    assert_eq!(consumer.release(&messages, MINUTE, std::time::Duration::ZERO)?, 4);
    let other = queue.consumer("g", "other").default_stream(true);
    let reclaimed = other.reclaim(MINUTE, 9)?.messages;
    assert_eq!(reclaimed.len(), 4);
    assert!(reclaimed.iter().all(|message| message.deliveries == 1));
    assert_eq!(other.ack_each(&reclaimed[..1])?, [true]);
    assert_eq!(other.reject(&reclaimed, "no")?, 3);
    assert_eq!(server.cli(&["XLEN", "q"]).integer() + queue.len()? as i64, 1);
    let letters = queue.dead_letters(9)?;
    let receipts = queue.redrive(&letters)?;
    assert!(receipts.iter().flatten().all(|receipt| receipt.stream != Stream::Default));
    assert_eq!(queue.consumer("g", "c").read_many(9)?.len(), 3, "readers of the queue find them");
    Ok(())
}

/// What a worker gives back while the server is away is there as soon as it is back, and was no delivery.
#[test]
fn a_stop_within_an_outage_gives_back_what_is_held_ready() -> Result {
    let server = Redis::builder().appendonly_always().start();
    let queue = millpond::connect(&format!("{}?retries=0", server.url()))?.shuffle_queue("q");
    queue.write_many((0..5).map(|i| ("t", [("i", i.to_string())])))?;
    let worker = queue.consumer("g", "c").worker().prefetch(4).lease(MINUTE);
    worker.run(|_| {
        server.kill();
        worker.stop(MINUTE);
        // The first tries are in vain.
        std::thread::sleep(std::time::Duration::from_millis(200));
        server.restart();
    })?;
    let messages = queue.consumer("g", "other").reclaim(MINUTE, 9)?.messages;
    assert_eq!(messages.len(), 4);
    assert!(messages.iter().all(|message| message.deliveries == 1));
    Ok(())
}
