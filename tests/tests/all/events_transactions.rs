//! Events that are published in transactions of a program's own: `publish_call` on real servers.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use millpond::events::{
    Config, Delete, Event, EventId, EventQueue, EventState, IfExists, NewEvent, Open, Partition,
};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::{Cluster, Redis, Reply};

const HOUR: Duration = Duration::from_secs(3_600);

/// A waiter on a server polls this often even if it is not woken: what takes longer was not woken.
const LOOK: Duration = Duration::from_secs(5);

fn connect(server: &Redis) -> Client {
    millpond::connect(&server.url()).unwrap()
}

fn partitions(count: u16) -> Config {
    let mut config = Config::default();
    config.partitions = count;
    config
}

/// Sets a key and runs a call in a transaction; returns what the call came to.
fn transaction(server: &Redis, key: &str, call: &[Arc<[u8]>]) -> Reply {
    let mut connection = server.connect().unwrap();
    assert!(connection.call(&["MULTI"]).unwrap().is_ok());
    assert_eq!(connection.call(&["SET", key, "paid"]).unwrap().text(), "QUEUED");
    assert_eq!(connection.call(call).unwrap().text(), "QUEUED");
    let replies = connection.call(&["EXEC"]).unwrap();
    assert!(replies.array()[0].is_ok());
    replies.array()[1].clone()
}

/// The id of the event that a call published.
fn published(server: &Redis, call: &[Arc<[u8]>]) -> EventId {
    transaction(server, "{shop}order", call).text().parse().unwrap()
}

fn payload(event: &Event) -> String {
    String::from_utf8(event.payload.to_vec()).unwrap()
}

/// Receives and ends all that is ready: the payloads.
fn drain(queue: &EventQueue) -> Vec<String> {
    let mut payloads = Vec::new();
    loop {
        let events = queue.receive(1_000).unwrap();
        if events.is_empty() {
            return payloads;
        }
        payloads.extend(events.iter().map(payload));
        queue.ack_many(&events).unwrap();
    }
}

#[test]
fn e11_a_change_and_its_event_happen_together_or_not_at_all() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let call = queue.publish_call(NewEvent::new("paid").header("by", "anna")).unwrap();
    assert_eq!(&*call[0], b"EVAL");
    assert_eq!(queue.config().unwrap(), None);

    let mut connection = server.connect().unwrap();
    connection.call(&["MULTI"]).unwrap();
    connection.call(&["SET", "order", "paid"]).unwrap();
    connection.call(&call).unwrap();
    assert!(connection.call(&["DISCARD"]).unwrap().is_ok());
    assert_eq!((server.cli(&["GET", "order"]), queue.config().unwrap()), (Reply::Nil, None));

    // Redis runs nothing of a transaction that it could not queue.
    connection.call(&["MULTI"]).unwrap();
    connection.call(&call).unwrap();
    assert!(connection.call(&["SET", "order"]).unwrap().error().is_some());
    assert!(connection.call(&["EXEC"]).unwrap().error().unwrap().starts_with("EXECABORT"));
    assert_eq!(queue.config().unwrap(), None);

    server.cli(&["SCRIPT", "FLUSH"]);
    let id = published(&server, &call);
    let event = queue.receive(2).unwrap().remove(0);
    assert_eq!((event.id, payload(&event).as_str()), (id, "paid"));
    assert_eq!(event.headers.iter().collect::<Vec<_>>(), [("by", b"anna".as_slice())]);
    queue.ack(&event).unwrap();
    // It is a command as any other: each time that it runs it publishes.
    server.cli(&["SCRIPT", "FLUSH"]);
    let again = server.cli(&call).text();
    assert_ne!(again, id.to_string());
    assert_eq!(drain(&queue), ["paid"]);
}

#[test]
fn it_goes_into_a_pipeline_of_redis_rs() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let call = queue.publish_call(NewEvent::new("paid").key("7")).unwrap();
    let mut transaction = redis::pipe();
    transaction.atomic().set("order:7", "paid").ignore().cmd("EVAL").arg(&call[1..]);
    let (id,): (String,) = transaction.query(&mut connection).unwrap();
    assert_eq!(server.cli(&["GET", "order:7"]).text(), "paid");
    assert_eq!(queue.receive(1).unwrap()[0].id.to_string(), id);
}

#[test]
fn an_event_has_its_time_and_its_key() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let call = |event: NewEvent| queue.publish_call(event).unwrap();
    let later = published(&server, &call(NewEvent::new("later").delay(HOUR)));
    let at_ms = 4_102_444_800_000;
    let dated = published(&server, &call(NewEvent::new("dated").at_ms(at_ms).ttl(HOUR)));
    let first = queue.publish(NewEvent::new("first").key("7")).unwrap().id;
    let second = published(&server, &call(NewEvent::new("second").key("7")));
    let events = queue.fetch([later, dated, first, second]).unwrap();
    let events: Vec<_> = events.into_iter().flatten().collect();
    let states: Vec<_> = events.iter().map(|event| event.state).collect();
    let (scheduled, ready) = (EventState::Scheduled, EventState::Ready);
    assert_eq!(states, [scheduled, scheduled, ready, EventState::Behind]);
    assert_eq!(events[0].fire_at_us, events[0].published_at_us + 3_600_000_000);
    assert_eq!((events[1].fire_at_us, events[1].expires_at_us.unwrap()), {
        let at_us = at_ms * 1_000;
        (at_us, at_us + 3_600_000_000)
    });
    assert_eq!(drain(&queue), ["first", "second"]);
}

#[test]
fn a_deduplication_id_is_taken_once() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let named = |payload| NewEvent::new(payload).dedup_id("order-7").delay(HOUR);
    let call = queue.publish_call(named("first")).unwrap();
    let first = published(&server, &call);
    assert_eq!(published(&server, &call), first);
    assert_eq!(queue.publish(named("other")).unwrap().id, first);
    let replaces = named("second").if_exists(IfExists::Replace);
    let second = published(&server, &queue.publish_call(replaces).unwrap());
    let events = queue.fetch([first, second]).unwrap();
    assert_eq!(events.iter().flatten().map(payload).collect::<Vec<_>>(), ["second"]);
    // Nothing of it is remembered but the deduplication id.
    assert_eq!(queue.stats().unwrap().events, 1);
}

#[test]
fn what_redis_would_not_undo_is_refused_before() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let refused = |queue: &EventQueue, event| queue.publish_call(event).unwrap_err().kind();
    let error = NewEvent::new("paid").dedup_id("a").if_exists(IfExists::Error);
    assert_eq!(refused(&queue, error), ErrorKind::InvalidArgument);
    let long = NewEvent::new("paid").key([0; 257]);
    assert_eq!(refused(&queue, long), ErrorKind::InvalidArgument);
    let nameless = connect(&server).events("");
    assert_eq!(refused(&nameless, NewEvent::new("paid")), ErrorKind::InvalidArgument);
    let directory = tempfile::tempdir().unwrap();
    for url in ["memory:".to_owned(), format!("file:{}", directory.path().display())] {
        let queue = millpond::connect(&url).unwrap().events("orders");
        assert_eq!(refused(&queue, NewEvent::new("paid")), ErrorKind::InvalidArgument);
    }
    // No server is there, and none is asked.
    let cluster = millpond::connect("redis+cluster://127.0.0.1:1").unwrap();
    assert_eq!(refused(&cluster.events("orders"), NewEvent::new("paid")), ErrorKind::CrossSlot);
    assert!(cluster.events("{shop}orders").publish_call(NewEvent::new("paid")).is_ok());
}

#[test]
fn a_full_queue_and_a_full_server_take_it() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let mut config = Config::default();
    (config.events_max, config.dedup_ids_max) = (1, 1);
    queue.configure(config).unwrap();
    queue.publish(NewEvent::new("1").dedup_id("1")).unwrap();
    let error = queue.publish(NewEvent::new("2")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QueueFull);
    let call = |payload: &str| queue.publish_call(NewEvent::new(payload).dedup_id(payload));
    published(&server, &call("2").unwrap());

    // When its memory is full, Redis up to 7.0 queues nothing for a transaction; later servers do, and run it.
    let mut connection = server.connect().unwrap();
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    connection.call(&["MULTI"]).unwrap();
    let is_queued = connection.call(&call("3").unwrap()).unwrap().error().is_none();
    let done = connection.call(&["EXEC"]).unwrap();
    match done.error() {
        Some(error) => assert!(!is_queued && error.starts_with("EXECABORT"), "{error}"),
        None => assert!(is_queued),
    }
    assert_eq!(connection.call(&call("4").unwrap()).unwrap().text().len(), 20);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    let transaction = if is_queued { &["3"][..] } else { &[] };
    assert_eq!(drain(&queue), [&["1", "2"], transaction, &["4"]].concat());
}

#[test]
fn a_server_that_has_become_a_replica_does_nothing() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    let call = queue.publish_call(NewEvent::new("paid").dedup_id("a")).unwrap();
    server.cli(&call);
    server.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    let reply = server.cli(&call);
    assert!(reply.error().unwrap().contains("READONLY"), "{reply:?}");
}

#[test]
fn a_queue_that_cannot_take_it_is_an_error_in_the_transaction() {
    let server = Redis::start();
    let client = connect(&server);
    let queue = client.events("orders");
    let call = queue.publish_call(NewEvent::new("paid")).unwrap();
    queue.publish(NewEvent::new("earlier")).unwrap();
    let root = || Partition::new("orders", 0, 0);
    let begun = client.run(root().map(Delete::begin)).unwrap().unwrap();
    let reply = transaction(&server, "order", &call);
    assert!(reply.error().unwrap().starts_with("STALE"), "{reply:?}");
    assert_eq!(client.run(root().map(Delete::begin)).unwrap().unwrap(), begun);
    queue.delete().unwrap();
    published(&server, &call);
    assert_eq!(drain(&queue), ["paid"]);

    queue.delete().unwrap();
    for (key, words) in [
        ("{orders}:events:events", ["SET", "{orders}:events:events", "x"].as_slice()),
        ("{orders}:events", &["SET", "{orders}:events", "x"]),
        ("{orders}:events", &["HSET", "{orders}:events", "version", "events.v9"]),
    ] {
        server.cli(words);
        let reply = transaction(&server, "order", &call);
        let expected = if words[0] == "SET" { "WRONGTYPE" } else { "INCOMPATIBLE_VERSION" };
        assert!(reply.error().unwrap().starts_with(expected), "{reply:?}");
        server.cli(&["DEL", key]);
    }
}

#[test]
fn it_wakes_those_who_wait() {
    let server = Redis::start();
    let queue = connect(&server).events("orders");
    queue.publish(NewEvent::new("first")).unwrap();
    let waiting = connect(&server).events("orders");
    let waiter = std::thread::spawn(move || {
        let mut deliveries = waiting.deliveries().wait(Duration::from_secs(600));
        let next = |deliveries: &mut millpond::events::Deliveries| {
            let events = deliveries.next().unwrap().unwrap();
            (payload(&events[0]), Instant::now())
        };
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(next(&mut deliveries));
        }
        seen
    });
    let mut sent = Vec::new();
    for event in [NewEvent::new("second"), NewEvent::new("third").delay(Duration::from_millis(5))] {
        while drain_is_needed(&queue) {
            std::thread::yield_now();
        }
        sent.push(Instant::now());
        published(&server, &queue.publish_call(event).unwrap());
    }
    let seen = waiter.join().unwrap();
    assert_eq!([&*seen[0].0, &*seen[1].0, &*seen[2].0], ["first", "second", "third"]);
    for (sent, (_, seen)) in sent.iter().zip(&seen[1..]) {
        assert!(*seen - *sent < LOOK, "{:?}", *seen - *sent);
    }
}

/// Whether what was published before has not been received.
fn drain_is_needed(queue: &EventQueue) -> bool {
    let stats = queue.stats().unwrap();
    stats.ready + stats.scheduled > 0
}

/// Calls that were made before the queue had several partitions, and one partition after the other comes to be with
/// what belongs to it; what an earlier queue left in one is not taken for its own.
#[test]
fn a_partition_is_made_when_something_belongs_to_it() {
    let server = Redis::start();
    let client = connect(&server);
    let queue = client.events("{shop}orders");
    let calls: Vec<_> = (0..40)
        .map(|number: u32| NewEvent::new(number.to_string()).key(format!("key-{number}")))
        .map(|event| queue.publish_call(event).unwrap())
        .collect();
    let root = || Partition::new("{shop}orders", 0, 0);
    let create = || client.run(root().and_then(|root| Open::create(root, 1, partitions(4))));
    create().unwrap();
    calls.iter().for_each(|call| assert_eq!(published(&server, call).to_string().len(), 20));
    for number in 1..4 {
        assert_eq!(
            server.cli(&["EXISTS", &format!("{{shop}}orders:events/{number:04}")]).integer(),
            1
        );
    }

    // Partition 0 alone goes, and is made again.
    client.run(root().map(Delete::begin)).unwrap();
    let mut step = Partition::new("{shop}orders", 0, u32::MAX).map(Delete::new).ok();
    while let Some(part) = step {
        step = part.next(client.run(Ok(part.clone())).unwrap());
    }
    create().unwrap();
    calls.iter().for_each(|call| assert_eq!(published(&server, call).to_string().len(), 20));
    assert_eq!(drain(&queue).len(), 40);
    assert_eq!(queue.stats().unwrap().events, 0);
}

/// The queue is resharded between making the calls and running them, and each runs in another state of that.
#[test]
fn calls_follow_a_queue_that_is_resharded() {
    let server = Redis::start();
    let queue = connect(&server).events("{shop}orders");
    // What is of one key, and what is known by a deduplication id.
    let named = |number: u32| {
        NewEvent::new(format!("named {number}")).dedup_id(number.to_string()).delay(HOUR)
    };
    let calls: Vec<_> = (0..600_u32)
        .map(|number| NewEvent::new(number.to_string()).key(format!("key-{}", number % 40)))
        .map(|event| queue.publish_call(event).unwrap())
        .collect();
    let known: Vec<_> = (0..600).map(|number| queue.publish(named(number)).unwrap().id).collect();
    let mut calls = calls.iter();
    let mut turn = 0;
    let mut run = |server: &Redis| {
        for call in calls.by_ref().take(10) {
            published(server, call);
        }
        for number in turn..turn + 5 {
            let call = queue.publish_call(named(number)).unwrap();
            assert_eq!(published(server, &call), known[number as usize]);
        }
        let replaces = named(turn + 5).if_exists(IfExists::Replace);
        let other = published(server, &queue.publish_call(replaces).unwrap());
        let both = queue.fetch([known[turn as usize + 5], other]).unwrap();
        assert!(both[0].is_none() && both[1].is_some(), "{both:?}");
        turn += 6;
    };
    let map = |server: &Redis| server.cli(&["HGET", "{shop}orders:events/0000", "map"]).text();
    run(&server);
    for partitions in [4, 2, 3, 1] {
        let before = map(&server);
        let other = connect(&server).events("{shop}orders");
        while other.reshard_step(partitions).unwrap() > 0 {
            run(&server);
        }
        assert_ne!(map(&server), before);
        run(&server);
    }
    let count = calls.len();
    let payloads = drain(&queue);
    assert_eq!(payloads.len(), 600 - count);
    for key in 0..40 {
        let of_key: Vec<u32> = payloads
            .iter()
            .map(|payload| payload.parse().unwrap())
            .filter(|number| number % 40 == key)
            .collect();
        assert!(of_key.is_sorted(), "{of_key:?}");
    }
    assert_eq!(queue.stats().unwrap().events, 600);
}

/// A move of which only the map says anything, as the program died that began it.
#[test]
fn a_move_that_has_only_begun_is_gone_on_with() {
    let server = Redis::start();
    let queue = connect(&server).events("{shop}orders");
    let event = |number: u32| NewEvent::new(number.to_string()).dedup_id(number.to_string());
    let known: Vec<_> = (0..40).map(|number| queue.publish(event(number)).unwrap().id).collect();
    let root = "{shop}orders:events/0000";
    let generation: u32 = server.cli(&["HGET", root, "generation"]).text().parse().unwrap();
    let next = generation + 1;
    let map = format!("{next}:0000-7fff {next}:8000-ffff 0>1:8000-ffff");
    server.cli(&["HSET", root, "map", &map]);
    for number in 0..40 {
        let call = queue.publish_call(event(number)).unwrap();
        assert_eq!(published(&server, &call), known[number as usize]);
        published(&server, &queue.publish_call(event(number + 40)).unwrap());
    }
    for root in [root, "{shop}orders:events/0001"] {
        assert_eq!(server.cli(&["HGET", root, "frozen"]).text(), "1");
    }
    queue.reshard(2).unwrap();
    let mut payloads: Vec<u32> =
        drain(&queue).iter().map(|payload| payload.parse().unwrap()).collect();
    payloads.sort_unstable();
    assert_eq!(payloads, (0..80).collect::<Vec<_>>());
}

#[test]
fn a_cluster_has_all_of_it_in_one_slot() {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url()).unwrap();
    let queue = client.events("{shop}orders");
    queue.configure(partitions(3)).unwrap();
    let slot = cluster.slot_of("{shop}order");
    let node = &cluster.nodes()[cluster.owner(slot)];
    for number in 0..30 {
        let event = NewEvent::new("paid").key(format!("key-{number}"));
        published(node, &queue.publish_call(event).unwrap());
    }
    assert_eq!(drain(&queue).len(), 30);
    assert_eq!(node.cli(&["GET", "{shop}order"]).text(), "paid");
    let error = client.events("orders").publish_call(NewEvent::new("paid")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CrossSlot);

    // A node that does not have the slot queues nothing.
    let other = &cluster.nodes()[(cluster.owner(slot) + 1) % 3];
    let call = queue.publish_call(NewEvent::new("paid")).unwrap();
    assert!(other.cli(&call).error().unwrap().starts_with("MOVED"));
    // Neither does one that has a part of it.
    let migration = cluster.begin_migration(slot, (cluster.owner(slot) + 1) % 3);
    migration.move_keys(1);
    let reply = node.cli(&call);
    let refused = ["TRYAGAIN", "ASK"].map(|word| reply.error().unwrap().starts_with(word));
    assert!(refused.contains(&true), "{reply:?}");
    migration.finish();
    published(other, &call);
    assert_eq!(drain(&queue), ["paid"]);
}
