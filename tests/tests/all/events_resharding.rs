//! A queue of events that is resharded all the time, while programs with maps of their own publish and work: each event
//! once, those of a key in their order, and no deduplication id taken twice. `core/src/events/reshard/model.rs` has the
//! same with losses, callers that die and clocks that differ.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millpond::events::{Event, EventQueue, Failure, Job, NewEvent, Schedule, Status};
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
