//! Queues of events as programs use them: over partitions, by waiting consumers and workers, on a server, a cluster and
//! both embedded engines, also when a reply is lost and when the server loses the queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millpond::events::{
    Config, ConfigChange, DeadReason, Delete, Event, EventPage, EventPosition, EventQuery,
    EventQueue, EventState, Failure, Held, IfExists, Job, NewEvent, Open, Partition, PurgeFilter,
    RedriveFilter, Redriven, Settled, Status, Worker,
};
use millpond::step::Operation;
use millpond::{Client, ErrorKind};
use millpond_tests::block_on;
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::{Cluster, Redis, Reply};

/// Waits that are never over by themselves while a test runs.
const LONG: Duration = Duration::from_secs(600);

/// A waiter on a server polls this often even if it is not woken: what takes longer was not woken.
const LOOK: Duration = Duration::from_secs(5);

fn connect(url: &str) -> Client {
    millpond::connect(url).expect("the server is there")
}

fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

fn payload(event: &Event) -> String {
    String::from_utf8(event.payload.to_vec()).expect("a test's payload is text")
}

/// Workers on several partitions: each event once, and those of a key in their order.
fn keys_stay_in_order(client: &Client) {
    let queue = client.events("orders");
    queue.configure(config(|config| config.partitions = 4)).expect("it is new");
    let events = (0..300).map(|number| {
        let event = NewEvent::new(number.to_string());
        if number % 3 == 0 { event } else { event.key(format!("key-{}", number % 10)) }
    });
    let published = queue.publish_many(events).expect("there is room");
    assert!(published.iter().all(|event| event.status == Status::Created));
    assert_eq!(queue.stats().expect("it is there").events, 300);

    let seen: Mutex<HashMap<Vec<u8>, Vec<u32>>> = Mutex::default();
    let failed = Mutex::new(0);
    let worker = queue.worker().concurrency(8);
    worker
        .run(|job: &Job| {
            let event = job.event();
            let number: u32 = payload(event).parse().expect("a number");
            if number % 50 == 7 && event.attempts == 1 {
                *failed.lock().expect("nobody panics") += 1;
                return Err(Failure::RetryAfter("not yet".to_owned(), Duration::from_millis(20)));
            }
            assert_eq!(event.attempts > 1, !event.err.is_empty(), "{event:?}");
            let mut seen = seen.lock().expect("nobody panics");
            seen.entry(event.key.to_vec()).or_default().push(number);
            if seen.values().map(Vec::len).sum::<usize>() == 300 {
                worker.stop(LONG);
            }
            Ok(())
        })
        .expect("the server is there");
    assert_eq!(failed.into_inner().expect("nobody panics"), 6);
    for (key, numbers) in seen.into_inner().expect("nobody panics") {
        assert!(key.is_empty() || numbers.is_sorted(), "{key:?}: {numbers:?}");
    }
    assert_eq!(queue.stats().expect("it is there").events, 0);
}

/// A handler that ends its event by itself and fails then: nothing is tried again, and nothing says so.
#[test]
fn a_handler_that_fails_after_its_event_has_ended() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let queue = connect(url).events("orders");
        queue.publish(NewEvent::new("paid")).expect("there is room");
        let reports = Arc::new(Mutex::new(Vec::new()));
        let told = reports.clone();
        let worker = queue.worker().on_report(move |report| {
            let said = (report.kind.name(), report.message.contains("had ended already"));
            told.lock().expect("nobody panics").push(said);
        });
        let drained = worker.drain(|job: &Job| {
            let next = NewEvent::new("ship").delay(LONG);
            queue.ack_with(job.event(), [next.clone()]).expect("it is held");
            let again = queue.ack_with(job.event(), [next]).expect_err("it has ended");
            assert_eq!(again.kind(), ErrorKind::LeaseLost);
            Err(Failure::Error("no ship".to_owned()))
        });
        assert_eq!(drained.expect("the server is there").others, 1);
        assert_eq!(*reports.lock().expect("nobody panics"), [("lost", true)]);
        let stats = queue.stats().expect("it is there");
        assert_eq!((stats.events, stats.scheduled), (1, 1));
    }
}

#[test]
fn keys_stay_in_order_on_all_engines() {
    keys_stay_in_order(&connect("memory:"));
    let directory = tempfile::tempdir().expect("there is room");
    keys_stay_in_order(&connect(&format!("file:{}", directory.path().display())));
    keys_stay_in_order(&connect(&Redis::start().url()));
    keys_stay_in_order(&connect(&Cluster::start().url()));
}

/// A consumer that waits is woken by what becomes ready, however it does.
fn waits_end(client: &Client, other: &Client) {
    let (waiting, queue) = (client.events("orders"), other.events("orders"));
    queue.configure(config(|config| config.partitions = 2)).expect("it is new");
    queue.publish(NewEvent::new("redriven")).expect("there is room");
    queue.dead_letter(&queue.receive(1).expect("there is one")[0], "").expect("it is held");
    let (send, received) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for batch in waiting.deliveries().wait(LONG) {
                let event = batch.expect("the server is there").remove(0);
                if payload(&event) == "fails" && event.attempts == 1 {
                    let after = Duration::from_millis(50);
                    waiting.nack(&event, "no", after).expect("it is held");
                    continue;
                }
                waiting.ack(&event).expect("it is held");
                let is_last = payload(&event) == "last";
                send.send(payload(&event)).expect("somebody listens");
                if is_last {
                    break;
                }
            }
        });
        let is_woken = |payload: &str, publish: &dyn Fn(&EventQueue)| {
            std::thread::sleep(Duration::from_millis(50));
            let began = Instant::now();
            publish(&queue);
            assert_eq!(received.recv_timeout(LONG).expect("it comes"), payload);
            let took = began.elapsed();
            assert!(took < LOOK / 2, "{payload} took {took:?}");
        };
        let event = |payload: &str| NewEvent::new(payload);
        let add = |queue: &EventQueue, event| queue.publish(event).expect("there is room");
        for number in 0..4 {
            let key = format!("key-{number}");
            is_woken("now", &|queue| _ = add(queue, event("now").key(&key)));
        }
        let delay = Duration::from_millis(100);
        is_woken("due", &|queue| _ = add(queue, event("due").delay(delay)));
        is_woken("fails", &|queue| _ = add(queue, event("fails")));
        is_woken("sooner", &|queue| {
            add(queue, event("later").delay(LONG));
            _ = add(queue, event("sooner").delay(delay));
        });
        is_woken("moved", &|queue| {
            let moved = add(queue, event("moved").delay(LONG));
            queue.reschedule([moved.id], delay).expect("it waits");
        });
        is_woken("redriven", &|queue| _ = queue.redrive_all(RedriveFilter::new()).expect("one"));
        is_woken("resumed", &|queue| {
            queue.pause().expect("the server is there");
            add(queue, event("resumed"));
            std::thread::sleep(delay);
            assert!(received.try_recv().is_err(), "it is paused");
            queue.resume().expect("the server is there");
        });
        is_woken("last", &|queue| _ = add(queue, event("last")));
    });
}

#[test]
fn waits_end_when_events_become_ready() {
    let memory = connect("memory:");
    waits_end(&memory, &memory);
    let server = Redis::start();
    waits_end(&connect(&server.url()), &connect(&server.url()));
    let cluster = Cluster::start();
    waits_end(&connect(&cluster.url()), &connect(&cluster.url()));
}

#[test]
fn a_lost_reply_neither_adds_nor_leases_twice() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let queue = connect(&proxy.url()).events("orders");
    queue.publish(NewEvent::new("first")).expect("the server is there");
    proxy.lose_next_reply();
    queue.publish(NewEvent::new("second")).expect("it is sent again");
    assert_eq!(queue.stats().expect("it is there").events, 2);
    proxy.lose_next_reply();
    let events = queue.receive(1).expect("it is sent again");
    assert_eq!(events.iter().map(payload).collect::<Vec<_>>(), ["first"]);
    assert_eq!(events[0].attempts, 1);
    proxy.lose_next_reply();
    queue.ack(&events[0]).expect("it is sent again");
    let stats = queue.stats().expect("it is there");
    assert_eq!((stats.events, stats.ready, stats.leased), (1, 1, 0));
    assert_eq!(proxy.swallowed(), 3);
}

#[test]
fn e12_a_queue_that_the_server_has_lost_is_made_again() {
    let server = Redis::start();
    let queue = connect(&server.url()).events("orders");
    queue.configure(config(|config| config.partitions = 3)).expect("it is new");
    let keys = || (0..20).map(|key| NewEvent::new("x").key(key.to_string()));
    queue.publish_many(keys()).expect("the server is there");
    let held = queue.receive(1).expect("there is one");
    server.cli(&["FLUSHALL"]);
    queue.publish_many(keys()).expect("it is made again");
    let stats = queue.stats().expect("it is there");
    assert_eq!((stats.events, stats.ready), (20, 20));
    assert_eq!(queue.config().expect("it is there"), Some(Config::default()));
    assert_eq!(queue.ack_many(&held).expect("it is there"), [Settled::Gone]);
    // One that is lost apart from the others is made as the map has it.
    let queue = connect(&server.url()).events("parts");
    let parts = config(|config| (config.partitions, config.max_attempts) = (3, 7));
    queue.configure(parts.clone()).expect("it is new");
    server.cli(&["DEL", "{parts/0002}:events-part"]);
    let published = queue.publish_many(keys()).expect("it is made again");
    assert_eq!((published.len(), queue.stats().expect("it is there").events), (20, 20));
    assert_eq!(queue.config().expect("it is there"), Some(parts));
}

#[test]
fn a_deduplication_id_may_come_twice_in_a_call() {
    let queue = connect("memory:").events("orders");
    let event = |payload: &str| NewEvent::new(payload).dedup_id("one").key("k");
    let other = || NewEvent::new("other").key("k");
    let events =
        [event("a"), other(), event("b"), other(), event("c").if_exists(IfExists::Replace)];
    let published = queue.publish_many(events).expect("there is room");
    let statuses: Vec<_> = published.iter().map(|event| event.status).collect();
    use Status::{Created, Duplicate, Replaced};
    assert_eq!(statuses, [Created, Created, Duplicate, Created, Replaced]);
    assert_eq!(published[2].id, published[0].id);
    let mut received = Vec::new();
    for event in queue.deliveries().flat_map(|batch| batch.expect("it is there")) {
        queue.ack(&event).expect("it is held");
        received.push(payload(&event));
    }
    assert_eq!(received, ["other", "other", "c"]);
    let refused = queue.publish(event("d").if_exists(IfExists::Error)).expect_err("it is taken");
    assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
    assert_eq!(queue.publish_many([]).expect("there is nothing to do"), []);
}

/// What follows from an event is published with its end, and once however often the event is delivered.
#[test]
fn e14_what_follows_is_published_with_the_end() {
    let cluster = Cluster::start();
    for url in ["memory:".to_owned(), cluster.url()] {
        let queue = connect(&url).events("orders");
        queue.configure(config(|config| config.partitions = 4)).expect("it is new");
        let follows = || (0..20).map(|key| NewEvent::new("ship").key(key.to_string()));
        queue.publish(NewEvent::new("paid")).expect("there is room");
        let first = queue.receive(1).expect("there is one");
        queue.release(&first[0], None).expect("it is held");
        let paid = queue.receive(1).expect("there is one");
        // Only what belongs to other partitions was published by the end that came late.
        let late = queue.ack_with(&first[0], follows()).expect_err("another has it");
        assert_eq!(late.kind(), ErrorKind::LeaseLost);
        let elsewhere = queue.stats().expect("it is there").ready;
        assert!((1..20).contains(&elsewhere), "{elsewhere}");
        let published = queue.ack_with(&paid[0], follows()).expect("it is held");
        let count = |status| published.iter().filter(|event| event.status == status).count() as u64;
        assert_eq!((count(Status::Duplicate), count(Status::Created)), (elsewhere, 20 - elsewhere));
        let stats = queue.stats().expect("it is there");
        assert_eq!((stats.events, stats.ready, stats.leased), (20, 20, 0));
        let many = (0..101).map(|_| NewEvent::new("x"));
        let refused = queue.ack_with(&paid[0], many).expect_err("too many");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn deliveries_end_in_each_way() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = connect(&url).events("orders");
        queue.publish_many((0..4).map(|number| NewEvent::new(number.to_string()))).expect("room");
        let events = queue.receive(10).expect("there are four");
        assert_eq!(events.iter().map(payload).collect::<Vec<_>>(), ["0", "1", "2", "3"]);
        assert_eq!(queue.renew(&events, LONG).expect("they are held"), [Held::Held; 4]);
        queue.ack(&events[0]).expect("it is held");
        queue.ack(&events[0]).expect("it has been done");
        queue.nack(&events[1], "no", LONG).expect("it is held");
        assert_eq!(queue.ack(&events[1]).expect_err("it failed").kind(), ErrorKind::LeaseLost);
        queue.release(&events[2], None).expect("it is held");
        queue.dead_letter(&events[3], "never").expect("it is held");
        let again = queue.receive(10).expect("there is one");
        assert_eq!(again.iter().map(|event| event.attempts).collect::<Vec<_>>(), [1]);
        assert_eq!(queue.ack(&events[2]).expect_err("another has it").kind(), ErrorKind::LeaseLost);
        let stats = queue.stats().expect("it is there");
        assert_eq!((stats.events, stats.retry, stats.leased, stats.dead), (3, 1, 1, 1));
    }
}

#[test]
fn an_async_client_does_the_same() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = millpond::aio::connect(&url).expect("the server is there").events("orders");
        block_on(async {
            queue.configure(config(|config| config.partitions = 3)).await.expect("it is new");
            let events = (0..50).map(|key| NewEvent::new("x").key(key.to_string()));
            queue.publish_many(events).await.expect("there is room");
            let drained = queue.worker().concurrency(10).drain(async |_: &Job<_>| {}).await;
            assert_eq!(drained.expect("the server is there").done, 50);
            let key = "k".repeat(300);
            let refused = queue.publish(NewEvent::new("x").key(&key)).await.expect_err("too long");
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        });
    }
}

/// A drain takes all that is ready, however long the rate holds it up, and waits for nothing else.
#[test]
fn a_drain_waits_for_the_rate_alone() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let client = millpond::connect(&url).expect("the server is there");
        let queue = client.events("orders");
        let limit = |rate, burst, concurrency| {
            let limits = config(|config| {
                config.partitions = 2;
                (config.rate, config.burst, config.concurrency) = (rate, burst, concurrency);
            });
            queue.configure(limits).expect("it is there");
        };
        let publish = |count: u64| {
            let events = (0..count).map(|key| NewEvent::new("x").key(key.to_string()));
            queue.publish_many(events).expect("there is room");
        };
        let drain = |worker: &Worker| worker.drain(|_: &Job| ()).expect("the server is there").done;
        limit(100, 2, 0);
        publish(20);
        assert_eq!(drain(&queue.worker()), 20);
        let aio = millpond::aio::connect(&url).expect("the server is there");
        if url != "memory:" {
            publish(20);
            let worker = aio.events("orders").worker().concurrency(4);
            let drained = block_on(worker.drain(async |_: &Job<_>| {}));
            assert_eq!(drained.expect("the server is there").done, 20);
        }

        // Its time and a stop end the wait.
        limit(1, 1, 0);
        publish(20);
        queue.receive(10).expect("the server is there");
        let began = Instant::now();
        let few = drain(&queue.worker().budget(Duration::from_millis(100)));
        let worker = queue.worker();
        let stop = || {
            std::thread::sleep(Duration::from_millis(100));
            worker.stop(LONG);
        };
        let more = std::thread::scope(|scope| {
            scope.spawn(stop);
            drain(&worker)
        });
        assert!(few + more < 15 && began.elapsed() < LONG / 10, "{few} and {more}");

        // Nothing is waited for where others hold all leases, and while the queue is paused.
        limit(1_000, 1_000, 2);
        queue.receive(10).expect("the server is there");
        limit(1, 1, 2);
        assert_eq!(drain(&queue.worker()), 0);
        limit(1_000, 1_000, 0);
        queue.pause().expect("it is there");
        assert_eq!(drain(&queue.worker()), 0);
        client.close().expect("nothing is left to write");
        server.cli(&["FLUSHALL"]);
    }
}

/// What operators do with a queue over partitions.
fn operators(client: &Client) {
    let queue = client.events("orders");
    queue.configure(config(|config| config.partitions = 4)).expect("it is new");
    let events =
        (0..50).map(|number| NewEvent::new(number.to_string()).key(format!("key-{number}")));
    let mut events: Vec<_> = events.collect();
    events.extend((0..20).map(|_| NewEvent::new("later").key("key-7").delay(LONG)));
    events.extend((0..3).map(|number| NewEvent::new(format!("behind {number}")).key("key-7")));
    let published = queue.publish_many(events).expect("there is room");
    let ids: Vec<_> = published.iter().map(|event| event.id).collect();

    // Pages over all partitions make one order.
    let pages = |state: EventState, query: &EventQuery| {
        let (mut all, mut next): (_, Option<EventPosition>) = (Vec::new(), None);
        loop {
            let query = query.clone().limit(7);
            let query = match next {
                Some(next) => query.after(next),
                None => query,
            };
            let page: EventPage = queue.list(state, query).expect("it is there");
            assert!(page.events.len() <= 7 && page.events.iter().all(|event| event.state == state));
            all.extend(page.events);
            next = page.next;
            if next.is_none() {
                return all;
            }
        }
    };
    let ready = pages(EventState::Ready, &EventQuery::new());
    assert_eq!(ready.len(), 50);
    assert!(ready.is_sorted_by_key(EventPosition::from), "{ready:?}");
    assert_eq!(pages(EventState::Scheduled, &EventQuery::new()).len(), 20);
    let behind = pages(EventState::Behind, &EventQuery::new().key("key-7"));
    let payloads: Vec<_> = behind.iter().map(payload).collect();
    assert_eq!(payloads, ["behind 0", "behind 1", "behind 2"]);
    let fetched = queue.fetch(&ids).expect("they are there");
    assert!(fetched.iter().zip(&ids).all(|(event, id)| event.as_ref().expect("it is").id == *id));

    let mut held = Vec::new();
    while held.len() < 50 {
        held.extend(queue.receive(50).expect("there are some"));
    }
    for event in &held {
        queue.dead_letter(event, "no use").expect("it is held");
    }
    assert_eq!(pages(EventState::Dead, &EventQuery::new()).len(), 50);
    let again = queue.redrive(&ids[..3]).expect("it is there");
    assert_eq!(again, [Redriven::Redriven; 3]);
    let crashed = RedriveFilter::new().reason(DeadReason::Crashed);
    assert_eq!(queue.redrive_all(crashed).expect("it is there"), 0);
    assert_eq!(queue.redrive_all(RedriveFilter::new().max(30)).expect("it is there"), 30);
    assert_eq!(queue.purge(EventState::Dead, PurgeFilter::new()).expect("it is there"), 17);
    let stats = queue.stats().expect("it is there");
    assert_eq!((stats.dead, stats.scheduled, stats.events), (0, 20, 56));

    queue.delete().expect("it is there");
    assert_eq!(queue.config().expect("the server is there"), None);
    assert_eq!(queue.fetch(&ids).expect("the server is there"), vec![None; ids.len()]);
    assert_eq!(
        queue.list(EventState::Ready, EventQuery::new()).expect("none"),
        EventPage::default()
    );
    assert_eq!(queue.redrive_all(RedriveFilter::new()).expect("none"), 0);
    assert_eq!(queue.purge(EventState::Ready, PurgeFilter::new()).expect("none"), 0);
    assert_eq!(queue.config().expect("the server is there"), None, "nothing made it again");
}

#[test]
fn operators_see_one_queue_on_all_engines() {
    operators(&connect("memory:"));
    let directory = tempfile::tempdir().expect("there is room");
    operators(&connect(&format!("file:{}", directory.path().display())));
    operators(&connect(&Redis::start().url()));
    operators(&connect(&Cluster::start().url()));
}

#[test]
fn steps_of_operators_are_bounded_and_calls_are_not() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = connect(&url).events("orders");
        let body = |bytes: usize| NewEvent::new(vec![b'x'; bytes]);
        let large = queue.publish_many((0..5).map(|_| body(3 << 20))).expect("there is room");
        let ids: Vec<_> = large.iter().map(|event| event.id).collect();
        let fetched = queue.fetch(&ids).expect("they are there");
        let bytes = |event: &Option<Event>| event.as_ref().map_or(0, |event| event.payload.len());
        assert_eq!(fetched.iter().map(bytes).collect::<Vec<_>>(), [3 << 20; 5]);
        let page = queue.list(EventState::Ready, EventQuery::new()).expect("it is there");
        assert_eq!((page.events.len(), page.next.map(|next| next.id)), (3, Some(ids[2])));

        let events =
            (0..2_500).map(|number| NewEvent::new("x").key(format!("key-{}", number % 1_250)));
        queue.publish_many(events).expect("there is room");
        assert_eq!(queue.stats().expect("it is there").behind, 1_250);
        assert_eq!(queue.purge(EventState::Ready, PurgeFilter::new()).expect("there are"), 1_255);
        let mut held = Vec::new();
        while held.len() < 1_250 {
            held.extend(queue.receive(1_000).expect("there are some"));
        }
        let end = |event: &Event| millpond::events::Settlement {
            receipt: event.into(),
            end: millpond::events::End::Dead(String::new()),
        };
        queue.settle_many(held.iter().map(end)).expect("they are held");
        assert_eq!(queue.redrive_all(RedriveFilter::new()).expect("there are"), 1_250);
        queue
            .publish_many((0..1_250).map(|number| NewEvent::new("x").key(format!("key-{number}"))))
            .expect("there is room");
        queue.delete().expect("it is there");
        assert_eq!(queue.stats().expect("the server is there").events, 0);
    }
    for key in server.cli(&["KEYS", "*"]).array() {
        is_deleted(&server, &key.text());
    }
}

#[test]
fn a_lost_reply_redrives_once() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let queue = connect(&proxy.url()).events("orders");
    queue.publish(NewEvent::new("a")).expect("the server is there");
    let event = queue.receive(1).expect("there is one").remove(0);
    queue.dead_letter(&event, "").expect("it is held");
    proxy.lose_next_reply();
    assert_eq!(queue.redrive([event.id]).expect("it is sent again"), [Redriven::Redriven]);
    assert_eq!(queue.redrive([event.id]).expect("it is there"), [Redriven::NotDead]);
    assert_eq!(queue.receive(1).expect("there is one")[0].redriven, 1);
    assert_eq!(proxy.swallowed(), 1);
}

/// Of a partition that was deleted the generation stays for ten minutes, and nothing else.
fn is_deleted(server: &Redis, part: &str) {
    let fields = server.cli(&["HKEYS", part]);
    assert_eq!(fields.array().iter().map(Reply::text).collect::<Vec<_>>(), ["generation"]);
    assert!((1..=600).contains(&server.cli(&["TTL", part]).integer()));
}

#[test]
fn clients_of_a_queue_that_was_deleted_use_the_new_one() {
    let server = Redis::start();
    let queue = connect(&server.url()).events("orders");
    let other = connect(&server.url()).events("orders");
    let keys = || (0..20).map(|key| NewEvent::new("x").key(key.to_string()));
    // All in one second, or nearly: a client that knows another number of partitions finds out.
    for partitions in [4, 2, 3, 1, 4] {
        queue.configure(config(|config| config.partitions = partitions)).expect("it is new");
        let published = other.publish_many(keys()).expect("it finds out");
        let page = queue.list(EventState::Ready, EventQuery::new()).expect("it is there");
        assert_eq!(page.events.len(), 20);
        let fetched = queue.fetch(published.iter().map(|event| event.id)).expect("it is there");
        assert!(fetched.iter().all(Option::is_some), "they are where they belong");
        queue.delete().expect("it is there");
    }
    queue.publish_many(keys()).expect("it is made again");
    let held = other.receive(1).expect("there is one");
    queue.delete().expect("it is there");
    assert_eq!(other.ack_many(&held).expect("it is made again"), [Settled::Gone]);
    other.delete().expect("it is there");

    const PART: &str = "{orders/0001}:events-part";
    // A deletion that was cut off is completed by the next call that uses the queue or deletes it too.
    let cut_off = || {
        queue.configure(config(|config| config.partitions = 2)).expect("it is new");
        queue.publish_many(keys()).expect("there is room");
        let begin = Delete::begin(Partition::new("orders", 0, 0).expect("a right name"));
        connect(&server.url()).run(Ok(begin)).expect("it is there");
    };
    cut_off();
    other.delete().expect("it goes on");
    is_deleted(&server, PART);
    cut_off();
    other.publish_many(keys()).expect("it is a new one");
    assert_eq!(queue.stats().expect("it is there").events, 20);
    assert_eq!(queue.config().expect("it is there"), Some(Config::default()));
    is_deleted(&server, PART);

    // A call that has read the map before does not make it again, or others would publish into it for nobody.
    let generation = server.cli(&["HGET", PART, "generation"]).text();
    let root = Partition::new("orders", 0, 0).expect("a right name");
    let open = Open::create(root, 1, Config::default()).expect("they are right").invocation();
    let (source, none) = (open.script.source(), "{orders/0001}:events-part:none");
    let words = ["EVAL", source, "2", PART, none, &generation, "8000-ffff", "1", "", ""];
    let refused = server.cli(&words);
    assert!(matches!(&refused, Reply::Error(error) if error.starts_with("STALE")), "{refused:?}");
    is_deleted(&server, PART);

    // A partition of an earlier queue makes way for one of the new queue.
    queue.delete().expect("it is there");
    queue.configure(config(|config| config.partitions = 3)).expect("it is new");
    queue.publish_many(keys()).expect("there is room");
    for key in server.cli(&["KEYS", "{orders}:*"]).array() {
        server.cli(&["DEL", &key.text()]);
    }
    server.cli(&["HSET", "{orders}:events", "now", "4000000000000000"]);
    queue.configure(config(|config| config.partitions = 3)).expect("it is new");
    assert_eq!(queue.publish_many(keys()).expect("there is room").len(), 20);
    let listed = queue.list(EventState::Ready, EventQuery::new()).expect("it is there");
    assert_eq!(listed.events.len(), 20);
}

#[test]
fn what_is_cancelled_in_a_long_lane_is_neither_read_nor_counted() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = connect(&url).events("orders");
        let events = (0..1_102).map(|number| NewEvent::new(number.to_string()).key("k"));
        let published = queue.publish_many(events).expect("there is room");
        let ids: Vec<_> = published[500..510].iter().map(|event| event.id).collect();
        queue.cancel(&ids, false, false).expect("they wait");
        let (mut listed, mut query) = (Vec::new(), EventQuery::new().key("k").limit(1_000));
        loop {
            let page = queue.list(EventState::Behind, query.clone()).expect("it is there");
            listed.extend(page.events.iter().map(payload));
            let Some(next) = page.next else { break };
            query = query.after(next);
        }
        let right: Vec<_> = (1..500).chain(510..1_102).map(|number| number.to_string()).collect();
        assert_eq!(listed, right);
        assert_eq!(queue.fetch(&ids).expect("it is there"), vec![None; 10]);
        assert_eq!(queue.redrive(&ids).expect("it is there"), vec![Redriven::Gone; 10]);
        let behind = PurgeFilter::new().key("k");
        assert_eq!(queue.purge(EventState::Behind, behind).expect("it is there"), 1_091);
        assert_eq!(queue.stats().expect("it is there").events, 1);
    }
}

/// Consumers of parts of the key space, by a client and by another one that reshards the queue.
fn key_ranges(client: &Client, other: &Client) {
    let (queue, others) = (client.events("orders"), other.events("orders"));
    let taken = |range: &str| -> millpond::Result<Vec<String>> {
        let batches = queue.deliveries().max(7).key_range(range);
        let mut taken = Vec::new();
        for batch in batches {
            let batch = batch?;
            queue.ack_many(&batch)?;
            taken.extend(batch.iter().map(payload));
        }
        taken.sort_unstable();
        Ok(taken)
    };
    let refused = |range: &str, owned: &str| {
        let error = taken(range).expect_err("a partition has a part of it");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(owned), "{error}");
    };
    let publish = || {
        let events =
            (0..200).map(|number| NewEvent::new(number.to_string()).key(number.to_string()));
        queue.publish_many(events).expect("there is room");
    };
    publish();
    refused("-80", "partition 0 owns -");
    // This client does not know of it yet.
    others.reshard(4).expect("it is there");
    let lower = taken("-80").expect("two partitions own it");
    let parts = [taken("80-c0"), taken("c0-")].map(|part| part.expect("a partition owns it"));
    let upper = parts.concat();
    assert!((60..140).contains(&lower.len()), "{lower:?}");
    assert_eq!((parts[0].is_empty(), lower.len() + upper.len()), (false, 200));
    assert_eq!(queue.stats().expect("it is there").events, 0);

    // Partitions of the same numbers own other parts now.
    publish();
    others.reshard(3).expect("it is there");
    refused("-80", "partition ");
    for partitions in [1, 2] {
        others.reshard(partitions).expect("it is there");
    }
    assert_eq!(taken("-80").expect("a partition owns it"), lower);
    let drained = queue.worker().key_range("80-").concurrency(3).drain(|_: &Job| ());
    assert_eq!(drained.expect("a partition owns it").done, upper.len() as u64);
    let error = queue.worker().key_range("-4").drain(|_: &Job| ()).expect_err("no range");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);

    // Only what belongs to it wakes one that waits.
    let waits = |range| queue.deliveries().key_range(range).wait(Duration::from_secs(30));
    let key_of = |part: &[String]| NewEvent::new("x").key(part[0].clone());
    std::thread::scope(|threads| {
        let waiting = threads.spawn(move || waits("80-").next().expect("one comes"));
        std::thread::sleep(Duration::from_millis(50));
        others.publish(key_of(&lower)).expect("there is room");
        others.publish(key_of(&upper)).expect("there is room");
        let found = waiting.join().expect("it ends").expect("it is there");
        assert_eq!(*found[0].key, *upper[0].as_bytes());
    });
    assert_eq!(waits("-80").next().expect("one waits").expect("it is there").len(), 1);
}

#[test]
fn key_range_whole_partitions() {
    let memory = connect("memory:");
    key_ranges(&memory, &memory);
    let server = Redis::start();
    key_ranges(&connect(&server.url()), &connect(&server.url()));
    let cluster = Cluster::start();
    key_ranges(&connect(&cluster.url()), &connect(&cluster.url()));
}

#[test]
fn e13_statistics_show_the_largest_partition() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let queue = connect(url).events("orders");
        let largest = || queue.stats().expect("it is there").largest_partition;
        let keeps = config(|config| {
            (config.partitions, config.retention) = (2, LONG);
        });
        queue.configure(keeps).expect("it is new");
        assert_eq!(largest(), 0);
        let events = ["a", "a", "a", "e"].map(|key| NewEvent::new("x").key(key));
        queue.publish_many(events).expect("there is room");
        assert_eq!(largest(), 3);
        let received = queue.receive(1).expect("it is there");
        queue.ack(&received[0]).expect("it is held");
        queue.publish(NewEvent::new("x").key("e")).expect("there is room");
        assert_eq!(largest(), 3);
        assert_eq!(queue.stats().expect("it is there").events, 4);
    }
}

/// However dead letters are spread over partitions, all of them are redriven at the rate.
#[test]
fn a_rate_of_redriving_is_that_of_the_queue() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let queue = connect(url).events("orders");
        queue.configure(config(|config| config.partitions = 8)).expect("it is new");
        // Most of one customer, and some of others.
        let key =
            |number: usize| if number < 30 { "broken".to_owned() } else { number.to_string() };
        let events = (0..50).map(|number| NewEvent::new("x").key(key(number)));
        queue.publish_many(events).expect("there is room");
        let reject = |_: &Job| Err::<(), _>(Failure::Reject("not now".to_owned()));
        assert_eq!(queue.worker().drain(reject).expect("it is there").dead, 50);
        let redriven = queue.redrive_all(RedriveFilter::new().per_second(4)).expect("it is there");
        assert_eq!(redriven, 50);
        let query = EventQuery::new().limit(50);
        let waiting = queue.list(EventState::Scheduled, query).expect("it is there").events;
        let mut times: Vec<_> = waiting.iter().map(|event| event.fire_at_us).collect();
        times.sort_unstable();
        // The first one fires now, and a step of a partition may be a moment after the one before.
        assert_eq!(times.len(), 49);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 250_000));
        let of_one =
            waiting.iter().filter(|event| &*event.key == b"broken").map(|event| event.fire_at_us);
        let of_one: Vec<_> = of_one.collect();
        assert!(of_one.windows(2).all(|pair| (pair[1] - pair[0]) % 250_000 == 0), "{of_one:?}");
    }
}

/// Statistics show what is due while nobody receives.
#[test]
fn what_is_due_waits_although_nobody_receives() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let queue = connect(url).events("orders");
        let since = || queue.stats().expect("it is there").ready_since_us;
        let soon = Duration::from_millis(1);
        let published = queue.publish(NewEvent::new("x").delay(soon)).expect("there is room");
        queue.publish(NewEvent::new("later").delay(LONG)).expect("there is room");
        std::thread::sleep(soon);
        assert_eq!(since(), Some(published.fire_at_us));
        let received = queue.receive(10).expect("it is there");
        assert_eq!((received.len(), since()), (1, None));
        queue.renew(&received, Some(soon)).expect("it is held");
        let until = queue.fetch([&received[0].id]).expect("it is there")[0]
            .as_ref()
            .map(|event| event.state_at_us);
        std::thread::sleep(soon);
        assert_eq!(since(), until);
    }
}

/// Calls that configure change what they name, also in each partition and beside each other.
#[test]
fn configure_keeps_the_rest() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let client = connect(&url);
        let queue = client.events("orders");
        let start = ConfigChange::new().partitions(3).max_attempts(4);
        queue.configure(start.clone()).expect("it is new");
        queue.configure(ConfigChange::new().rate(10)).expect("it is there");
        let is = |known: &dyn Fn(&Config) -> bool| {
            known(&queue.config().expect("it is there").expect("it is there"))
        };
        assert!(is(&|known| (known.max_attempts, known.rate) == (4, 10)));
        queue.pause().expect("it is there");
        queue.configure(start).expect("as at each start");
        queue.configure(config(|config| config.max_crashes = 2)).expect("all of it");
        assert!(is(&|known| known.paused && known.partitions == 3));
        assert!(is(&|known| (known.max_attempts, known.max_crashes, known.rate) == (20, 2, 0)));
        queue.configure(ConfigChange::new().paused(false)).expect("it resumes");
        assert!(is(&|known| !known.paused));

        std::thread::scope(|scope| {
            let set = |change: fn(u16) -> ConfigChange| {
                let queue = client.events("orders");
                scope.spawn(move || {
                    for value in 1..=20 {
                        while queue.configure(change(value)).is_err() {}
                    }
                });
            };
            set(|value| ConfigChange::new().max_attempts(value));
            set(|value| ConfigChange::new().rate(value.into()));
        });
        assert!(is(&|known| (known.max_attempts, known.rate) == (20, 20)));
        let refused = queue.configure(ConfigChange::new().concurrency(2)).expect_err("too few");
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    }
}
