//! A server without memory left, for each step of each queue: what adds is refused, and what makes room, or is needed for
//! that, is done.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use millpond::events::{
    Config, EventQuery, EventQueue, EventState, HandOn, NewEvent, Open, Partition, PurgeFilter,
    RedriveFilter, Schedule,
};
use millpond::ick::{self, Set};
use millpond::recruiter::{NewJob, Recruit, Report};
use millpond::shuffle::MessageId;
use millpond::tasks::{
    Begin, Dependency, DocQuery, Filter, LEASE_DEFAULT, Modification, Modify, ModifyMany, NewDoc,
    NewTask, TaskFilter, TaskId, TaskQuery,
};
use millpond::volatile::{FieldQuery, ReadDue};
use millpond::{Client, ErrorKind, Result};
use millpond_tests::servers::{Redis, Reply};

/// What a step does on a full server.
#[derive(Debug, PartialEq)]
enum Way {
    Done,
    /// Nothing has changed.
    Refused,
    /// But something has changed: what has expired was removed.
    RefusedOnceCleaned,
}
use Way::{Done, Refused, RefusedOnceCleaned};

/// A step, by its name and what is done in it, and what it does on a full server: prepared while there is room.
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
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

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

/// A task whose id stays taken after its end.
fn once() -> NewTask {
    NewTask::new("q").id("once").priority(9).dedup_window(LEASE_DEFAULT)
}

/// A store with such a task, which is claimed.
fn claimed_once(client: &Client) -> (millpond::tasks::TaskStore, millpond::tasks::Task) {
    let store = store(client);
    store.modify(Modification::new().insert(once())).unwrap();
    let task = store.claim(["q"], LEASE_DEFAULT).unwrap().unwrap();
    assert_eq!(&*task.id, "once");
    (store, task)
}

/// The id of that task is taken.
fn check_taken(store: &millpond::tasks::TaskStore) {
    let error = store.modify(Modification::new().insert(once())).unwrap_err();
    assert!(error.dependency().is_some_and(Dependency::has_collisions), "{error:?}");
}

/// Moves some of the events to a new partition, in the six steps of a move, and receives them all.
fn resharded(queue: &EventQueue) -> Result<()> {
    queue.reshard(3)?;
    let received = queue.receive(9)?;
    assert_eq!(received.len(), 4);
    Ok(())
}

/// A queue with a tracked message whose deadline is over.
fn overdue(client: &Client) -> millpond::shuffle::ShuffleQueue {
    let queue = queue(client);
    queue.write_tracked("t", [("id", "x")], "id", Some(1)).unwrap();
    queue
}

/// The same, after the deadline was noticed.
fn cordoned(client: &Client) -> millpond::shuffle::ShuffleQueue {
    let queue = overdue(client);
    assert_eq!(queue.cordon_deadline_exceeded(CENTURY).unwrap().len(), 1);
    queue
}

/// Deletes the messages whose deadlines are over.
fn collect(queue: &millpond::shuffle::ShuffleQueue) -> Result<u64> {
    let mut garbage = queue.gc();
    while garbage.next().transpose()?.is_some() {}
    Ok(garbage.deleted())
}

/// A store with a document.
fn store_with_doc(client: &Client) -> (millpond::tasks::TaskStore, millpond::tasks::Doc) {
    let store = store(client);
    let doc = store.put_doc(NewDoc::new("n", "k").content("1")).unwrap();
    (store, doc)
}

/// A queue of four events of keys of their own.
fn orders(client: &Client) -> EventQueue {
    let queue = client.events("e");
    let event = |number: u32| NewEvent::new(number.to_string()).key(number.to_string());
    queue.publish_many((0..4).map(event)).unwrap();
    queue
}

/// The same, of which two are leased.
fn received(client: &Client) -> (EventQueue, Vec<millpond::events::Event>) {
    let queue = orders(client);
    let held = queue.receive(2).unwrap();
    assert_eq!(held.len(), 2);
    (queue, held)
}

/// The same, both of which are dead letters.
fn given_up(client: &Client) -> (EventQueue, Vec<millpond::events::EventId>) {
    let (queue, held) = received(client);
    held.iter().for_each(|event| queue.dead_letter(event, "no").unwrap());
    (queue, held.iter().map(|event| event.id).collect())
}

/// A queue with two partitions in its map, of which the first was made.
fn half_made(client: &Client) -> EventQueue {
    let mut config = Config::default();
    config.partitions = 2;
    let root = Partition::new("e", 0, 0);
    client.run(root.and_then(|root| Open::create(root, 1, config))).unwrap();
    client.events("e")
}

fn hourly() -> Schedule {
    Schedule::new("s").every(Duration::from_secs(3_600)).payload("report")
}

fn scheduled(client: &Client) -> EventQueue {
    let queue = client.events("e");
    queue.put_schedule(hourly()).unwrap();
    queue
}

/// All that the server holds.
fn contents(server: &Redis) -> Vec<(String, Reply)> {
    let mut keys: Vec<_> = server.cli(&["KEYS", "*"]).array().iter().map(Reply::text).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| (key.clone(), server.cli(&["DUMP", &key]))).collect()
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
        case!("ick.acquire", Done, |client| let ick = ick(client); ick.lease(LEASE_DEFAULT)),
        case!("ick.stats", Done, |client| let ick = ick(client); ick.stats()),
        case!("ick.peek", Done, |client| let ick = ick(client); ick.peek(Set::Producer, 9)),
        case!("ick.delete", Done, |client| let ick = ick(client); ick.delete()),
        case!("shuffle.write", Refused, |client| let queue = queue(client); queue.write("t", [("n", "7")])),
        case!("shuffle.read", Done, |client| let held = held(client); held.0.read_many(2)),
        case!("shuffle.ack", Done, |client| let held = held(client); held.0.ack(&held.1)),
        case!("shuffle.ack with a delete", Done, |client| let held = held(client); held.0.ack_and_delete(&held.1)),
        case!("shuffle.renew", Done, |client| let held = held(client); held.0.renew(&held.1)),
        case!("shuffle.release", Done, |client| let held = held(client); held.0.release(&held.1, LEASE_DEFAULT, IDLE)),
        case!("shuffle.reclaim", Done, |client| let held = held(client); held.0.reclaim(IDLE, 5)),
        case!("shuffle.reclaim with dead letters", Done, |client| let held = held(client);
            held.0.max_deliveries(1).reclaim(IDLE, 5).inspect(|reclaimed| assert_eq!(reclaimed.dead, 3))),
        case!("shuffle.reject", Done, |client| let held = held(client); held.0.reject(&held.1, "no")),
        case!("shuffle.dead_letters", Done, |client| let dead = dead(client); dead.0.dead_letters(9)),
        case!("shuffle.redrive", Done, |client| let dead = dead(client);
            dead.0.redrive(dead.1.clone())),
        case!("shuffle.delete_dead_letters", Done, |client| let dead = dead(client);
            dead.0.delete_dead_letters(dead.1.clone())),
        case!("shuffle.delete_tracked", Done, |client| let queue = {
                let queue = queue(client);
                queue.write_tracked("t", [("id", "x")], "id", None).unwrap();
                queue
            }; queue.delete_tracked("x").inspect(|found| assert!(found.is_some()))),
        case!("shuffle.remove_idle_consumers", Done, |client| let queue = queue(client); queue.remove_idle_consumers(IDLE)),
        case!("shuffle.stats", Done, |client| let queue = queue(client); queue.stats("g")),
        case!("tasks.modify with a task", Refused, |client| let store = store(client); store.insert("q", "3")),
        case!("tasks.claim", Done, |client| let store = store(client); store.claim(["q"], LEASE_DEFAULT)),
        case!("tasks.renew", Done, |client| let claimed = claimed(client);
            claimed.0.renew([TaskId::from(&claimed.1)], [], LEASE_DEFAULT)),
        case!("tasks.modify with a delete", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().delete(&claimed.1))),
        case!("tasks.modify with a delete and a task", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().delete(&claimed.1).insert(NewTask::new("next")))),
        case!("tasks.modify with a delete whose id stays taken", Done, |client| let claimed = claimed_once(client);
            claimed.0.modify(Modification::new().delete(&claimed.1)).inspect(|_| check_taken(&claimed.0))),
        case!("tasks.modify_many whose ids stay taken", Done, |client| let claimed = claimed_once(client); {
            let end = Modification::new().delete(&claimed.1);
            client.run(Modify::new("s", claimed.0.claimant_id(), end).and_then(|end| ModifyMany::new(vec![end])))
                .inspect(|_| check_taken(&claimed.0))
        }),
        case!("tasks.cancel by force whose id stays taken", Done, |client| let claimed = claimed_once(client);
            claimed.0.cancel_force([&*claimed.1.id]).inspect(|_| check_taken(&claimed.0))),
        case!("tasks.sweep to purge what stays taken", Done, |client| let claimed = claimed_once(client);
            claimed.0.purge("q", TaskFilter::new()).inspect(|_| check_taken(&claimed.0))),
        case!("tasks.modify with a task where ids are forgotten", Refused, |client| let store = {
                let store = store(client);
                let short = once().dedup_window(Duration::from_millis(1));
                let task = store.modify(Modification::new().insert(short)).unwrap().inserted.remove(0);
                store.modify(Modification::new().delete(&task)).unwrap();
                std::thread::sleep(Duration::from_millis(2));
                store
            }; store.insert("q", "3")),
        case!("tasks.modify with a change", Done, |client| let claimed = claimed(client);
            claimed.0.modify(Modification::new().change(claimed.1.change().err("later")))),
        case!("tasks.modify with a document", Refused, |client| let store = store(client);
            store.modify(Modification::new().insert_doc(NewDoc::new("n", "k").content("1")))),
        case!("tasks.begin", Done, |client| let task = claimed(client).1;
            client.run(Begin::new("s", &task.claimant, &task.id, 2)).inspect(|is_held| assert!(is_held))),
        case!("tasks.cancel", Done, |client| let claimed = claimed(client); claimed.0.cancel([&*claimed.1.id])),
        case!("tasks.sweep to purge", Done, |client| let store = store(client); store.purge("q", TaskFilter::new())),
        case!("tasks.sweep to move", Done, |client| let store = store(client); store.move_tasks("q", "p", TaskFilter::new())),
        case!("tasks.list", Done, |client| let store = store(client); store.list("q", TaskQuery::new())),
        case!("volatile.set", Refused, |client| let hash = live_hash(client); hash.set("b", "1", LEASE_DEFAULT)),
        case!("volatile.set and release", Refused, |client| let hash = live_hash(client);
            hash.set_and_release("a", "me", "2", LEASE_DEFAULT)),
        case!("volatile.set with room to make", RefusedOnceCleaned, |client| let hash = expired_hash(client);
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
        case!("ick.release", Done, |client| let lease = ick(client).lease(LEASE_DEFAULT).unwrap().unwrap(); lease.release()),
        case!("ick.renew", Done, |client| let lease = ick(client).lease(LEASE_DEFAULT).unwrap().unwrap();
            client.run(ick::Renew::new("k", lease.token(), LEASE_DEFAULT)).inspect(|is_held| assert!(is_held))),
        case!("shuffle.read of a new group", Done, |client| let queue = queue(client);
            queue.consumer("new", "c").read_many(6).inspect(|messages| assert_eq!(messages.len(), 6))),
        case!("shuffle.ack_each", Done, |client| let held = held(client); held.0.ack_each(&held.1)),
        case!("shuffle.len", Done, |client| let queue = queue(client); queue.len()),
        case!("shuffle.backlog", Done, |client| let queue = queue(client); queue.backlog()),
        case!("shuffle.resize", Done, |client| let queue = queue(client);
            queue.resize(8).inspect(|streams| assert_eq!(*streams, 8))),
        case!("shuffle.resize to fewer", Done, |client| let queue = queue(client); queue.resize(1)),
        case!(
            "shuffle.resize of a new queue",
            Refused,
            |client| {},
            client.shuffle_queue("new").resize(8)
        ),
        case!("shuffle.cordon", Done, |client| let queue = overdue(client); queue.cordon_deadline_exceeded(CENTURY)
            .inspect(|values| assert_eq!(values.len(), 1))),
        case!("shuffle.scan_expired", Done, |client| let queue = cordoned(client); collect(&queue)),
        case!("shuffle.forget_expired", Done, |client| let queue = cordoned(client);
            collect(&queue).inspect(|deleted| assert_eq!(*deleted, 1))),
        case!("tasks.claim_docs", Done, |client| let stored = store_with_doc(client);
            stored.0.claim_docs("n", ["k"], LEASE_DEFAULT).inspect(|docs| assert_eq!(docs.len(), 1))),
        case!("tasks.fetch_docs", Done, |client| let stored = store_with_doc(client); stored.0.fetch_docs("n", [&stored.1.id])),
        case!("tasks.list_docs", Done, |client| let stored = store_with_doc(client); stored.0.list_docs("n", DocQuery::new())),
        case!("tasks.namespace_stats", Done, |client| let stored = store_with_doc(client);
            stored.0.namespace_stats(Filter::default())),
        case!("tasks.fetch", Done, |client| let claimed = claimed(client); claimed.0.fetch([&*claimed.1.id])),
        case!(
            "tasks.list_stores",
            Done,
            |client| {
                store(client);
            },
            client.task_stores()
        ),
        case!("tasks.modify_many", Done, |client| let claimed = claimed(client); {
            let end = Modification::new().delete(&claimed.1);
            client.run(Modify::new("s", claimed.0.claimant_id(), end).and_then(|end| ModifyMany::new(vec![end])))
        }),
        case!("tasks.pause", Done, |client| let store = store(client); store.pause("q")),
        case!("tasks.pause to resume", Done, |client| let store = { let store = store(client); store.pause("q").unwrap(); store };
            store.resume("q")),
        case!("tasks.sweep to redrive", Done, |client| let store = store(client); store.redrive("q", "p", TaskFilter::new())),
        case!("tasks.time", Done, |client| let store = store(client); store.time()),
        case!(
            "volatile.due",
            Done,
            |client| {
                hash_of_family(client);
            },
            client.run(ReadDue::new("f", 0, 5))
        ),
        case!("volatile.fields", Done, |client| let hash = live_hash(client); hash.fields(FieldQuery::new())),
        case!("volatile.get_or_acquire", Refused, |client| let hash = live_hash(client);
            hash.get_or_acquire("b", "me", LEASE_DEFAULT)),
        case!("volatile.get_or_acquire of a value", Done, |client| let hash = live_hash(client);
            hash.get_or_acquire("a", "me", LEASE_DEFAULT)),
        case!("volatile.holder", Done, |client| let hash = live_hash(client); hash.holder("a")),
        case!("volatile.stats", Done, |client| let hash = live_hash(client); hash.stats()),
        case!("volatile.ttl", Done, |client| let hash = live_hash(client); hash.ttl("a")),
        case!("events.publish", Refused, |client| let queue = orders(client); queue.publish(NewEvent::new("new"))),
        case!("events.receive", Done, |client| let queue = orders(client);
            queue.receive(9).inspect(|events| assert_eq!(events.len(), 4))),
        case!("events.settle", Done, |client| let held = received(client); held.0.ack(&held.1[0])),
        case!("events.settle to try again", Done, |client| let held = received(client); held.0.nack(&held.1[0], "no", None)),
        case!("events.settle to give back", Done, |client| let held = received(client); held.0.release(&held.1[0], None)),
        case!("events.settle to give up", Done, |client| let held = received(client); held.0.dead_letter(&held.1[0], "no")),
        case!("events.settle with an event", Done, |client| let held = received(client);
            held.0.ack_with(&held.1[0], [NewEvent::new("follows").key("0")])),
        case!("events.renew", Done, |client| let held = received(client); held.0.renew(&held.1, LEASE_DEFAULT)),
        case!("events.cancel", Done, |client| let held = received(client); held.0.cancel([held.1[0].id], true, false)),
        case!("events.cancel with force", Done, |client| let held = received(client); held.0.cancel([held.1[0].id], false, true)),
        case!("events.reschedule", Done, |client| let found = {
                let queue = orders(client);
                let later = queue.publish(NewEvent::new("later").delay(LEASE_DEFAULT)).unwrap().id;
                (queue, later)
            }; found.0.reschedule([found.1], IDLE)),
        case!("events.redrive", Done, |client| let dead = given_up(client); dead.0.redrive(&dead.1)),
        case!("events.redrive_all", Done, |client| let dead = given_up(client);
            dead.0.redrive_all(RedriveFilter::new()).inspect(|redriven| assert_eq!(*redriven, 2))),
        case!("events.purge", Done, |client| let dead = given_up(client);
            dead.0.purge(EventState::Dead, PurgeFilter::new()).inspect(|purged| assert_eq!(*purged, 2))),
        case!("events.delete", Done, |client| let queue = orders(client); queue.delete()),
        case!("events.fetch", Done, |client| let dead = given_up(client); dead.0.fetch(&dead.1)),
        case!("events.list", Done, |client| let queue = orders(client); queue.list(EventState::Ready, EventQuery::new())),
        case!("events.stats", Done, |client| let queue = orders(client); queue.stats()),
        case!("events.hand_on", Done, |client| let partition = {
                let partition = Partition::new("e", 0, 7).unwrap();
                client.run(Open::create(partition.clone(), 1, Config::default())).unwrap();
                partition
            }; client.run(Ok(HandOn::new(partition, "p".into())))),
        case!("events.open to configure", Done, |client| let queue = orders(client); {
            let mut config = Config::default();
            config.max_attempts = 7;
            queue.configure(config)
        }),
        case!("events.open to pause", Done, |client| let queue = orders(client); queue.pause()),
        case!("events.open to resume", Done, |client| let queue = { let queue = orders(client); queue.pause().unwrap(); queue };
            queue.resume().and_then(|()| queue.receive(9)).inspect(|events| assert_eq!(events.len(), 4))),
        case!("events.open of a partition", Done, |client| let queue = half_made(client); queue.pause()),
        case!("events.open of a new queue", Refused, |client| {}, client.events("new").receive(1)),
        case!("events.put_schedule", Refused, |client| let queue = orders(client); queue.put_schedule(hourly())),
        case!("events.put_schedule with more", Refused, |client| let queue = scheduled(client);
            queue.put_schedule(hourly().payload("a longer report"))),
        case!("events.put_schedule with less", Done, |client| let queue = scheduled(client);
            queue.put_schedule(hourly().payload("no"))),
        case!("events.put_schedule to pause", Done, |client| let queue = scheduled(client);
            queue.pause_schedule("s").inspect(|is_there| assert!(is_there))),
        case!("events.put_schedule to resume", Done, |client| let queue = {
                let queue = scheduled(client);
                queue.pause_schedule("s").unwrap();
                queue
            }; queue.resume_schedule("s").inspect(|is_there| assert!(is_there))),
        case!("events.read_schedules", Done, |client| let queue = scheduled(client); queue.list_schedules()),
        case!("events.remove_schedule", Done, |client| let queue = scheduled(client);
            queue.remove_schedule("s").inspect(|is_there| assert!(is_there))),
        case!("events.trigger", Refused, |client| let queue = scheduled(client); queue.trigger_schedule("s")),
        case!("events.remap", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("events.leave", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("events.arrive", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("events.export", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("events.import", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("events.thaw", Done, |client| let queue = orders(client); resharded(&queue)),
        case!("tasks.queue_stats", Done, |client| let store = store(client); store.queue_stats(Filter::default())),
    ];
    let steps: BTreeSet<_> =
        millpond::kinds().iter().flat_map(millpond::Kind::scripts).map(|(name, _)| name).collect();
    let step_of = |name: &'static str| name.split(' ').next().unwrap();
    let tried: BTreeSet<_> = cases.iter().map(|(name, ..)| step_of(name)).collect();
    assert_eq!(tried, steps, "each step has a row, and each row a step");
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let mut wrong = Vec::new();
    for (name, expected, prepare) in cases {
        let step = prepare(&client);
        let before = contents(&server);
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        let result = step();
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        let way = match result {
            Ok(()) => Done,
            Err(error) if error.kind() != ErrorKind::OutOfMemory => panic!("{name}: {error:?}"),
            Err(_) if contents(&server) == before => Refused,
            Err(_) => RefusedOnceCleaned,
        };
        server.cli(&["FLUSHALL"]);
        if way != expected {
            wrong.push((name, way));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
