//! A server without memory left: what adds is refused, and what makes room, or is needed for that, is done.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use millpond::ick::Set;
use millpond::recruiter::{NewJob, Recruit, Report};
use millpond::shuffle::MessageId;
use millpond::tasks::{
    Begin, Filter, LEASE_DEFAULT, Modification, NewDoc, NewTask, TaskFilter, TaskId, TaskQuery,
};
use millpond::{Client, ErrorKind, Result};
use millpond_tests::servers::Redis;

/// What a step does on a full server.
#[derive(Debug, PartialEq)]
enum Way {
    Done,
    Refused,
}
use Way::{Done, Refused};

/// A step, and what it does on a full server: prepared while there is room.
type Case = (&'static str, Way, fn(&Client) -> Box<dyn FnOnce() -> Result<()> + '_>);

macro_rules! case {
    ($name:literal, $way:ident, |$client:ident| $prepare:block, $step:expr) => {
        ($name, $way, |$client| {
            $prepare
            Box::new(move || $step.map(drop))
        })
    };
    ($name:literal, $way:ident, |$client:ident| let $made:ident = $prepare:expr; $step:expr) => {
        ($name, $way, |$client| {
            let $made = $prepare;
            Box::new(move || $step.map(drop))
        })
    };
}

const IDLE: Duration = Duration::ZERO;

fn queue(client: &Client) -> millpond::shuffle::ShuffleQueue {
    let queue = client.shuffle_queue("q").streams(4).streams_per_shard(2);
    for number in 0..6 {
        queue.write("t", [("n", number.to_string())]).unwrap();
    }
    queue
}

/// A consumer that holds messages, and they.
fn held(client: &Client) -> (millpond::shuffle::ShuffleConsumer, Vec<millpond::shuffle::Message>) {
    let consumer = queue(client).consumer("g", "c");
    let messages = consumer.read_many(3).unwrap();
    assert_eq!(messages.len(), 3);
    (consumer, messages)
}

fn dead(client: &Client) -> (millpond::shuffle::ShuffleQueue, Vec<MessageId>) {
    let (consumer, messages) = held(client);
    consumer.reject(&messages, "no").unwrap();
    let queue = queue(client);
    let letters = queue.dead_letters(10).unwrap().iter().map(MessageId::from).collect();
    (queue, letters)
}

fn ick(client: &Client) -> millpond::ick::Ick {
    let ick = client.ick("k");
    ick.add([(1.0, "a"), (2.0, "b"), (3.0, "c")]).unwrap();
    ick
}

/// Asks for a slice, of which there is one each millisecond.
fn offer() -> Result<Recruit> {
    Recruit::new("r", [NewJob::new("a").per_second(1_000.0).max_running(2)])
}

fn store(client: &Client) -> millpond::tasks::TaskStore {
    let store = client.tasks("s");
    store.insert("q", "1").unwrap();
    store.insert("q", "2").unwrap();
    store
}

fn tracker(client: &Client) -> millpond::tracker::QueueTracker {
    let tracker = client.queue_tracker("t");
    tracker.add(["a", "b"]).unwrap();
    tracker
}

fn sampled(client: &Client) -> (millpond::tracker::QueueTracker, millpond::tracker::Sample) {
    let tracker = tracker(client);
    let sample = tracker.sample(2).unwrap();
    (tracker, sample)
}

/// A volatile hash with a field that has expired.
fn expired_hash(client: &Client) -> millpond::volatile::VolatileHash {
    let hash = client.volatile_hash("h");
    hash.set("old", "1", Duration::from_millis(1)).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    hash
}

/// A hash of a family with a field and its lock.
fn hash_of_family(client: &Client) -> millpond::volatile::VolatileHash {
    let hash = client.volatile_hashes("f", 1).hash("bob");
    hash.set("a", "1", LEASE_DEFAULT).unwrap();
    hash.acquire("a", "me", LEASE_DEFAULT).unwrap();
    hash
}

/// A volatile hash with a field and its lock.
fn live_hash(client: &Client) -> millpond::volatile::VolatileHash {
    let hash = client.volatile_hash("h");
    hash.set("a", "1", LEASE_DEFAULT).unwrap();
    hash.acquire("a", "me", LEASE_DEFAULT).unwrap();
    hash
}

fn claimed(client: &Client) -> (millpond::tasks::TaskStore, millpond::tasks::Task) {
    let store = store(client);
    let task = store.claim(["q"], LEASE_DEFAULT).unwrap().unwrap();
    (store, task)
}

#[test]
fn what_makes_room_is_done() {
    let cases: Vec<Case> = vec![
        case!("ick.add", Refused, |client| let ick = ick(client); ick.add([(1.0, "d")])),
        case!("ick.reserve", Done, |client| let ick = ick(client); ick.reserve(2)),
        case!("ick.commit", Done, |client| let ick = { let ick = ick(client); ick.reserve(2).unwrap(); ick };
            ick.commit(["a"])),
        case!("ick.exchange", Done, |client| let ick = { let ick = ick(client); ick.reserve(2).unwrap(); ick };
            ick.exchange(2, ["a"])),
        case!("ick.lease", Done, |client| let ick = ick(client); ick.lease(LEASE_DEFAULT)),
        case!("ick.stats", Done, |client| let ick = ick(client); ick.stats()),
        case!("ick.peek", Done, |client| let ick = ick(client); ick.peek(Set::Producer, 9)),
        case!("ick.delete", Done, |client| let ick = ick(client); ick.delete()),
        case!("shuffle.write", Refused, |client| let queue = queue(client); queue.write("t", [("n", "7")])),
        case!("shuffle.read", Done, |client| let held = held(client); held.0.read_many(2)),
        case!("shuffle.ack", Done, |client| let held = held(client); held.0.ack(&held.1)),
        case!("shuffle.ack_and_delete", Done, |client| let held = held(client); held.0.ack_and_delete(&held.1)),
        case!("shuffle.extend", Done, |client| let held = held(client); held.0.extend(&held.1)),
        case!("shuffle.release", Done, |client| let held = held(client); held.0.release(&held.1, LEASE_DEFAULT, IDLE)),
        case!("shuffle.reclaim", Done, |client| let held = held(client); held.0.reclaim(IDLE, 5)),
        case!("shuffle.reclaim with dead letters", Done, |client| let held = held(client);
            held.0.max_deliveries(1).reclaim(IDLE, 5).inspect(|reclaimed| assert_eq!(reclaimed.dead, 3))),
        case!("shuffle.reject", Done, |client| let held = held(client); held.0.reject(&held.1, "no")),
        case!("shuffle.dead_letters", Done, |client| let dead = dead(client); dead.0.dead_letters(9)),
        case!("shuffle.requeue_dead_letters", Done, |client| let dead = dead(client);
            dead.0.requeue_dead_letters(dead.1.clone())),
        case!("shuffle.delete_dead_letters", Done, |client| let dead = dead(client);
            dead.0.delete_dead_letters(dead.1.clone())),
        case!("shuffle.delete_tracked", Done, |client| let queue = {
                let queue = queue(client);
                queue.write_tracked("t", [("id", "x")], "id", None).unwrap();
                queue
            }; queue.delete_tracked("x").inspect(|found| assert!(found.is_some()))),
        case!("shuffle.remove_idle_consumers", Done, |client| let queue = queue(client); queue.remove_idle_consumers(IDLE)),
        case!("shuffle.stats", Done, |client| let queue = queue(client); queue.stats("g")),
        case!("tasks.insert", Refused, |client| let store = store(client); store.insert("q", "3")),
        case!("tasks.claim", Done, |client| let store = store(client); store.claim(["q"], LEASE_DEFAULT)),
        case!("tasks.renew", Done, |client| let claimed = claimed(client);
            claimed.0.renew([TaskId::from(&claimed.1)], [], LEASE_DEFAULT)),
        case!("tasks.delete", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().delete(&claimed.1))),
        case!("tasks.delete and insert", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().delete(&claimed.1).insert(NewTask::new("next")))),
        case!("tasks.change", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().change(claimed.1.change().err("later")))),
        case!("tasks.insert_doc", Refused, |client| let store = store(client);
            store.modify(Modification::new().insert_doc(NewDoc::new("n", "k").content("1")))),
        case!("tasks.begin", Done, |client| let task = claimed(client).1;
            client.run(Begin::new("s", &task.claimant, &task.id, 2)).inspect(|is_held| assert!(is_held))),
        case!("tasks.cancel", Done, |client| let claimed = claimed(client); claimed.0.cancel([&*claimed.1.id])),
        case!("tasks.purge", Done, |client| let store = store(client); store.purge("q", TaskFilter::new())),
        case!("tasks.move", Done, |client| let store = store(client); store.move_tasks("q", "p", TaskFilter::new())),
        case!("tasks.list", Done, |client| let store = store(client); store.list("q", TaskQuery::new())),
        case!("volatile.set", Refused, |client| let hash = live_hash(client); hash.set("b", "1", LEASE_DEFAULT)),
        case!("volatile.set_and_release", Refused, |client| let hash = live_hash(client);
            hash.set_and_release("a", "me", "2", LEASE_DEFAULT)),
        case!("volatile.set with room to make", Refused, |client| let hash = expired_hash(client);
            hash.set("b", "1", LEASE_DEFAULT).inspect_err(|_| assert_eq!(hash.stats().unwrap().expired, 0))),
        case!("volatile.touch in a family", Done, |client| let hash = hash_of_family(client); hash.touch("a", LEASE_DEFAULT)),
        case!("volatile.renew in a family", Done, |client| let hash = hash_of_family(client);
            hash.renew("a", "me", LEASE_DEFAULT).inspect(|is_held| assert!(is_held))),
        case!("volatile.reap in a family", Done, |client| let hashes = {
                client.volatile_hashes("f", 1).hash("ann").set("old", "1", Duration::from_millis(1)).unwrap();
                std::thread::sleep(Duration::from_millis(2));
                client.volatile_hashes("f", 1)
            }; hashes.reap(5).inspect(|reaped| assert_eq!(reaped.fields, 1))),
        case!("volatile.get", Done, |client| let hash = live_hash(client); hash.get("a")),
        case!("volatile.touch", Done, |client| let hash = live_hash(client); hash.touch("a", LEASE_DEFAULT)),
        case!("volatile.delete", Done, |client| let hash = live_hash(client); hash.delete(["a"])),
        case!("volatile.clear", Done, |client| let hash = live_hash(client); hash.clear()),
        case!("volatile.reap", Done, |client| let hash = expired_hash(client);
            hash.reap(5).inspect(|reaped| assert_eq!(reaped.fields, 1))),
        case!("volatile.acquire", Refused, |client| let hash = live_hash(client); hash.acquire("b", "me", LEASE_DEFAULT)),
        case!("volatile.acquire again", Done, |client| let hash = live_hash(client); hash.acquire("a", "me", LEASE_DEFAULT)),
        case!("volatile.renew", Done, |client| let hash = live_hash(client);
            hash.renew("a", "me", LEASE_DEFAULT).inspect(|is_held| assert!(is_held))),
        case!("volatile.release", Done, |client| let hash = live_hash(client);
            hash.release("a", "me").inspect(|is_held| assert!(is_held))),
        case!(
            "recruiter.recruit",
            Done,
            |client| {
                client.run(offer()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            },
            client.run(offer()).inspect(|recruited| assert!(recruited.granted.is_some()))
        ),
        case!("recruiter.report", Done, |client| let fence = client.run(offer()).unwrap().granted.unwrap().fence;
            client.run(Report::end("r", "a", fence)).inspect(|is_ended| assert!(is_ended))),
        case!(
            "recruiter.stats",
            Done,
            |client| {
                client.run(offer()).unwrap();
            },
            client.recruiter("r").stats()
        ),
        case!("tracker.add", Refused, |client| let tracker = tracker(client); tracker.add(["c"])),
        case!("tracker.advance", Refused, |client| let tracker = tracker(client);
            tracker.advance("", ["1"], ["c"], 1, LEASE_DEFAULT)),
        case!("tracker.advance without ids", Done, |client| let tracker = tracker(client);
            tracker.advance("", ["1"], [""], 1, LEASE_DEFAULT)),
        case!("tracker.sample", Done, |client| let tracker = tracker(client); tracker.sample(1)),
        case!("tracker.remove", Done, |client| let sampled = sampled(client);
            sampled.0.remove(&sampled.1.ids, &sampled.1.ids, sampled.1.stamp)
                .inspect(|pruned| assert_eq!(pruned.removed, 2))),
        case!("tracker.contains", Done, |client| let tracker = tracker(client); tracker.is_queued("a")),
        case!("tracker.ids", Done, |client| let tracker = tracker(client); tracker.ids(0, 1)),
        case!("tracker.stats", Done, |client| let tracker = tracker(client); tracker.stats()),
        case!("tracker.clear", Done, |client| let tracker = tracker(client); tracker.clear()),
        case!("tasks.queue_stats", Done, |client| let store = store(client); store.queue_stats(Filter::default())),
    ];
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let mut wrong = Vec::new();
    for (name, expected, prepare) in cases {
        let step = prepare(&client);
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        let way = match step() {
            Ok(()) => Done,
            Err(error) if error.kind() == ErrorKind::OutOfMemory => Refused,
            Err(error) => panic!("{name}: {error:?}"),
        };
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        server.cli(&["FLUSHALL"]);
        if way != expected {
            wrong.push((name, way));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
