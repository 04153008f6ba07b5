//! A queue of events that is resharded all the time, while programs with maps of their own publish and work: each event
//! once, those of a key in their order, and no deduplication id taken twice. `core/src/events/reshard/model.rs` has the
//! same with losses, callers that die and clocks that differ.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millpond::events::{
    Config, ConfigChange, Event, EventQueue, Failure, Job, NewEvent, Schedule, Settled, Status,
};
use millpond::{Error, ErrorKind};
use millpond_tests::proxy::Proxy;
use millpond_tests::random::Random;
use millpond_tests::servers::{Cluster, Redis};

/// A wait that is never over by itself while a test runs.
const LONG: Duration = Duration::from_secs(600);

const PUBLISHERS: usize = 2;
const EVENTS: u64 = 1_500;
const KEYS: u64 = 7;

fn queue(url: &str) -> EventQueue {
    millpond::connect(url).expect("the server is there").events("orders")
}

/// What publishes an event: its id, and whether it is new if that is known.
type Publish<'a> = dyn Fn(&EventQueue, NewEvent) -> (String, Option<bool>) + Sync + 'a;

fn by_itself(queue: &EventQueue, event: NewEvent) -> (String, Option<bool>) {
    let published = queue.publish(event).expect("there is room");
    (published.id.to_string(), Some(published.status == Status::Created))
}

/// In a transaction, in which a server changes a key too.
fn in_a_transaction(server: &Redis, queue: &EventQueue, event: NewEvent) -> (String, Option<bool>) {
    let call = queue.publish_call(event).expect("the server takes it");
    let mut connection = server.connect().expect("the server is there");
    connection.call(&["MULTI"]).expect("the server is there");
    connection.call(&["INCR", "{orders}changes"]).expect("the server is there");
    connection.call(&call).expect("the server is there");
    let replies = connection.call(&["EXEC"]).expect("the server is there");
    (replies.array()[1].text(), None)
}

/// Publishes the numbers of a key in their order, some of them a second time.
fn publish(queue: &EventQueue, publisher: u64, publish: &Publish<'_>) {
    let mut random = Random::named(1, &[publisher]);
    for number in 0..EVENTS {
        let key = format!("{publisher}-{}", random.below(KEYS));
        let event = NewEvent::new(format!("{number:05}")).key(key);
        let event = if number % 3 == 0 { event.dedup_id(number.to_string()) } else { event };
        let (id, is_new) = publish(queue, event.clone());
        assert!(is_new.unwrap_or(true));
        if number % 9 == 0 {
            let (again, is_new) = publish(queue, event);
            assert_eq!((again, is_new.unwrap_or(false)), (id, false));
        }
    }
}

/// Notes an event that was delivered and is done now.
fn note(seen: &mut HashMap<Vec<u8>, Vec<String>>, event: &Event) {
    let number = String::from_utf8(event.payload.to_vec()).expect("a test's payload is text");
    let of_key = seen.entry(event.key.to_vec()).or_default();
    assert!(of_key.last().is_none_or(|last| *last < number), "{number} after {of_key:?}");
    of_key.push(number);
}

fn reshard_while_it_is_used(url: &str, ways: [&Publish<'_>; PUBLISHERS]) {
    let seen: Mutex<HashMap<Vec<u8>, Vec<String>>> = Mutex::default();
    let (is_done, moved) = (AtomicBool::new(false), Mutex::new(0));
    let workers = [queue(url).worker().concurrency(3), queue(url).worker().prefetch(5)];
    let handle = |job: &Job| {
        let event = job.event();
        if event.attempts == 1 && event.payload.ends_with(b"7") {
            return Err(Failure::RetryAfter("not yet".to_owned(), Duration::from_millis(3)));
        }
        let mut seen = seen.lock().expect("nobody panics");
        note(&mut seen, event);
        if seen.values().map(Vec::len).sum::<usize>() as u64 == PUBLISHERS as u64 * EVENTS {
            is_done.store(true, Ordering::Relaxed);
            workers.iter().for_each(|worker| worker.stop(LONG));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        for (publisher, way) in (0..).zip(ways) {
            scope.spawn(move || publish(&queue(url), publisher, way));
        }
        for worker in &workers {
            scope.spawn(|| worker.run(handle).expect("the server is there"));
        }
        // Two that want different numbers, of whom one goes in the middle.
        scope.spawn(|| {
            let (one, other) = (queue(url), queue(url));
            for partitions in [3, 1, 4, 2, 5].into_iter().cycle() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                one.reshard_step(partitions % 3 + 1).expect("the server is there");
                other.reshard(partitions).expect("the server is there");
                *moved.lock().expect("nobody panics") += 1;
            }
        });
    });
    let moved = moved.into_inner().expect("nobody panics");
    println!("{url}: resharded {moved} times");
    assert!(moved > 3, "{moved}");
    let stats = queue(url).stats().expect("it is there");
    assert_eq!((stats.events, stats.dead), (0, 0), "{stats:?}");
}

#[test]
fn a_queue_is_used_while_it_is_resharded_on_redis() {
    reshard_while_it_is_used(&Redis::start().url(), [&by_itself; 2]);
}

#[test]
fn a_queue_is_used_while_it_is_resharded_by_transactions_too() {
    let server = Redis::start();
    let in_a_transaction =
        |queue: &EventQueue, event: NewEvent| in_a_transaction(&server, queue, event);
    reshard_while_it_is_used(&server.url(), [&in_a_transaction, &by_itself]);
    // A change for each event, and for each that was published a second time.
    let changes = server.cli(&["GET", "{orders}changes"]).text();
    assert_eq!(changes.parse(), Ok(EVENTS + EVENTS.div_ceil(9)));
}

#[test]
fn a_queue_is_used_while_it_is_resharded_on_a_cluster() {
    reshard_while_it_is_used(&Cluster::start().url(), [&by_itself; 2]);
}

#[test]
fn a_queue_is_used_while_it_is_resharded_on_memory() {
    reshard_while_it_is_used("memory:resharded", [&by_itself; 2]);
}

#[test]
fn schedules_and_limits_are_those_of_the_queue_after_it_was_resharded() {
    let server = Redis::start();
    for url in [server.url(), "memory:limits".to_owned()] {
        let queue = queue(&url);
        let mut config = millpond::events::Config::default();
        config.concurrency = 4;
        queue.configure(config).expect("it is new");
        let daily = |id| Schedule::new(id).every(Duration::from_secs(24 * 60 * 60)).payload(id);
        for id in ["a", "b", "c", "d", "e"] {
            queue.put_schedule(daily(id)).expect("it is new");
        }
        queue.reshard(4).expect("the server is there");
        assert_eq!(queue.list_schedules().expect("they are there").len(), 5);
        for id in ["a", "b", "c", "d", "e"] {
            queue.trigger_schedule(id).expect("it is there").expect("it is there");
        }
        // Each partition lets its share through.
        assert_eq!(queue.stats().expect("it is there").concurrency, 4);
        let error = queue.reshard(5).expect_err("more than may be leased");
        assert_eq!(error.kind(), millpond::ErrorKind::InvalidArgument);
    }
}

/// What an operator does beside a reshard.
type Beside = fn(&EventQueue) -> Result<(), Error>;

const BESIDE: [Beside; 2] = [
    |queue| {
        let mut config = Config::default();
        config.events_max = 1_000_000;
        queue.configure(config)
    },
    |queue| {
        queue.pause()?;
        assert_eq!(queue.receive(10)?.len(), 0, "nothing is received while it is paused");
        queue.resume()
    },
];

/// The events of the numbers from 0 on, each of a key of its own.
fn numbered(count: usize) -> impl Iterator<Item = NewEvent> {
    (0..count).map(|number| NewEvent::new(number.to_string()).key(number.to_string()))
}

fn drained(queue: &EventQueue) -> usize {
    let mut seen = BTreeSet::new();
    loop {
        let events = queue.receive(1_000).expect("the server is there");
        if events.is_empty() {
            return seen.len();
        }
        queue.ack_many(&events).expect("the server is there");
        seen.extend(events.into_iter().map(|event| event.payload.to_vec()));
    }
}

/// The embedded engines have the same test with the steps of the model. Here a driver loses its server with the reply of
/// each step in turn.
#[test]
fn a_configuration_after_a_driver_died_at_any_step_loses_nothing_on_redis() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the server is there");
    // From now on the server knows the scripts, so that each step is one reply.
    client.events("warm").reshard(2).expect("the server is there");
    for beside in BESIDE {
        for count in 1.. {
            let name = format!("orders-{count}");
            let queue = client.events(&name);
            queue.publish_many(numbered(200)).expect("there is room");
            let proxy = Proxy::start(server.port());
            let url = format!("{}?retries=0", proxy.url());
            let driver = millpond::connect(&url).expect("the server is there").events(&name);
            driver.config().expect("it is connected");
            proxy.lead_to(1);
            proxy.lose_reply(count);
            let is_over = driver.reshard(2).is_ok();
            beside(&queue).expect("the server is there");
            queue.reshard(2).expect("the server is there");
            for number in ["", "/1"] {
                let root = format!("{{{name}{number}}}:events");
                let doctor = include_str!("../../src/events/doctor.lua");
                let problems = server.cli(&["EVAL", doctor, "1", &root]);
                assert_eq!(problems.array().len(), 0, "{problems:?} after {count} steps");
            }
            assert_eq!(drained(&queue), 200, "the driver died after {count} steps");
            queue.delete().expect("the server is there");
            if is_over {
                assert!(count > 8, "{count}");
                break;
            }
        }
    }
}

#[test]
fn what_a_partition_does_not_take_stays_where_it_is_on_redis() {
    let server = Redis::start();
    let queue = queue(&server.url());
    queue.publish_many(numbered(200)).expect("there is room");
    // The map says that a part is on its way, and the partition that is to get it is there and waits for nothing.
    let make = "\
        local generation = redis.call('HGET', KEYS[1], 'generation') + 1\n\
        local map = generation .. ':0000-7fff ' .. generation .. ':8000-ffff'\n\
        redis.call('HSET', KEYS[1], 'map', map .. ' 0>1:8000-ffff')\n\
        for _, field in ipairs({'version', 'revision', 'config', 'clock', 'sequence', 'period'}) do\n\
          redis.call('HSET', KEYS[2], field, redis.call('HGET', KEYS[1], field))\n\
        end\n\
        redis.call('HSET', KEYS[2], 'generation', generation, 'ranges', '8000-ffff', 'map', '')";
    server.cli(&["EVAL", make, "2", "{orders}:events", "{orders/0001}:events-part"]);
    let error = queue.reshard(2).expect_err("nothing is taken");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(queue.stats().expect("it is there").events, 200);
}

#[test]
fn a_map_that_is_damaged_ends_every_call_on_redis() {
    let server = Redis::start();
    for damaged in ["", "7", "7:0000-7fff"] {
        let queue = queue(&server.url());
        queue.publish_many(numbered(3)).expect("there is room");
        server.cli(&["HSET", "{orders}:events", "map", damaged]);
        let queue = self::queue(&server.url());
        let mut connection = server.connect().expect("the server is there");
        // A map with a gap refuses the keys of the gap.
        let replies = (0..20).map(|number| {
            let event = NewEvent::new("a").key(number.to_string());
            let command = queue.publish_call(event).expect("the server takes it");
            format!("{:?}", connection.call(&command).expect("the server is there"))
        });
        let replies: Vec<_> = replies.collect();
        assert!(replies.iter().any(|reply| reply.contains("CORRUPT")), "{replies:?}");
        for end in [
            queue.publish(NewEvent::new("a")).map(drop),
            queue.receive(1).map(drop),
            queue.configure(Config::default()),
            queue.reshard(2),
        ] {
            assert_eq!(end.expect_err("its map is damaged").kind(), ErrorKind::Corrupt);
        }
        queue.delete().expect("it is deleted");
        queue.publish_many(numbered(3)).expect("it is a new one");
        assert_eq!(drained(&queue), 3);
        queue.delete().expect("it is deleted");
    }
}

#[test]
fn a_receive_looks_where_the_events_are_by_now() {
    let server = Redis::start();
    for url in [server.url(), "memory:merged".to_owned()] {
        // Each knows the partitions that there were when it looked last.
        let (consumer, other) = (queue(&url), queue(&url));
        consumer.publish_many(numbered(40)).expect("there is room");
        other.reshard(4).expect("the server is there");
        assert_eq!(drained(&consumer), 40, "{url}: they have spread");

        let upper = |range: &str| consumer.deliveries().key_range(range).max(100).next();
        consumer.publish_many(numbered(40)).expect("there is room");
        let held = upper("c0-").expect("some belong there").expect("it is a whole partition");
        assert!(!held.is_empty() && held.len() < 40);
        other.reshard(2).expect("the server is there");
        // The partition is gone, and the part belongs to one that owns more.
        let error = upper("c0-").expect("a result").expect_err("it is a part of one now");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let left = consumer.receive(100).expect("the server is there");
        assert_eq!(held.len() + left.len(), 40, "{url}");
        consumer.ack_many(held.iter().chain(&left)).expect("they are held");

        consumer.publish_many(numbered(40)).expect("there is room");
        other.reshard(1).expect("the server is there");
        assert_eq!(drained(&consumer), 40, "{url}: all but one are gone");
        consumer.delete().expect("the server is there");
    }
}

/// An event whose lease is over and that nobody has received since can still be ended; also when a reshard has moved it,
/// and wherever it waits by then.
#[test]
fn a_late_end_of_an_event_that_has_moved_removes_it() {
    const COUNT: usize = 40;
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = queue(&url);
        let change = ConfigChange::new().lease(Duration::from_millis(1)).max_crashes(0);
        let change = change.backoff_min(Duration::ZERO).backoff_max(Duration::ZERO);
        for retention in [Duration::ZERO, LONG] {
            queue.configure(change.clone().retention(retention)).expect("it is there");
            let event = |number: usize| NewEvent::new("x").key((number % COUNT).to_string());
            queue.publish_many((0..2 * COUNT).map(event)).expect("there is room");
            let held = queue.receive(COUNT).expect("the first of each key");
            queue.pause().expect("it is there");
            // A receive of a paused queue takes nothing, and makes what is left ready.
            while queue.stats().expect("it is there").leased > 0 {
                assert_eq!(queue.receive(1).expect("it is paused").len(), 0);
            }
            queue.reshard(3).expect("it is resharded");
            let ended = queue.ack_many(&held).expect("nobody has received them");
            assert_eq!(ended, [Settled::Ended; COUNT]);
            queue.resume().expect("it is there");
            let mut left = COUNT;
            while left > 0 {
                let events = queue.receive(1).expect("nothing is wrong");
                left -= events.len();
                queue.ack_many(&events).expect("they are held");
            }
            let stats = queue.stats().expect("it is there");
            assert_eq!((stats.events, queue.receive(9).expect("nothing is wrong").len()), (0, 0));
            queue.delete().expect("it is there");
        }
    }
}
