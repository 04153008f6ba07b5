//! Waiting for events: one that is published, due or free again is received at once, by one of those that wait, and
//! waiting costs next to nothing. Named after the rules of the specification, which
//! `conformance/cases/events/README.md` lists.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use millpond::Client;
use millpond::events::{Config, EventQueue, NewEvent};
use millpond_tests::servers::{Cluster, Redis, Reply, wait_until};

/// Waits that are never over by themselves while a test runs.
const LONG: Duration = Duration::from_secs(600);

/// A waiter on a server polls this often even if it is not woken: what takes longer was not woken.
const LOOK: Duration = Duration::from_secs(5);

const SOON: Duration = Duration::from_millis(200);

fn connect(url: &str) -> Client {
    millpond::connect(url).expect("it is there")
}

/// A consumer in a thread of its own, which ends with the client: what it received and acknowledged.
fn consumer(client: &Client) -> Receiver<String> {
    let (send, received) = channel();
    let queue = client.events("orders");
    std::thread::spawn(move || {
        for batch in queue.deliveries().wait(LONG) {
            let Ok(batch) = batch else { return };
            for event in &batch {
                queue.ack(event).expect("it is held");
                // The test may be over.
                let _ = send.send(String::from_utf8_lossy(&event.payload).into_owned());
            }
        }
    });
    received
}

/// Does something, and expects this event long before a look would find it.
fn wakes(received: &Receiver<String>, payload: &str, act: impl FnOnce()) {
    std::thread::sleep(Duration::from_millis(50));
    let began = Instant::now();
    act();
    assert_eq!(received.recv_timeout(LONG / 10).expect("it comes"), payload);
    let took = began.elapsed();
    assert!(took < LOOK / 2, "{payload} took {took:?}");
}

/// Holds a rule on both engines, with a client that waits and another one.
fn on_both(rule: impl Fn(&Client, &EventQueue)) {
    on_both_with("", rule);
}

/// The same, where the client that waits never looks by itself: what it receives then it was woken for.
fn on_both_unasked(rule: impl Fn(&Client, &EventQueue)) {
    on_both_with("?poll=never", rule);
}

fn on_both_with(options: &str, rule: impl Fn(&Client, &EventQueue)) {
    let server = Redis::start();
    let memory = connect("memory:");
    let waits = connect(&format!("{}{options}", server.url()));
    for (client, other) in [(waits, connect(&server.url())), (memory.clone(), memory)] {
        rule(&client, &other.events("orders"));
        client.close().expect("nothing is left to write");
    }
}

fn publish(queue: &EventQueue, event: NewEvent) {
    queue.publish(event).expect("there is room");
}

#[test]
fn wake_on_publish() {
    on_both(|client, queue| {
        let received = consumer(client);
        for number in 0..20 {
            let payload = number.to_string();
            wakes(&received, &payload, || publish(queue, NewEvent::new(payload.as_bytes())));
        }
    });
}

#[test]
fn wake_on_due() {
    on_both(|client, queue| {
        let received = consumer(client);
        for number in 0..5 {
            let payload = number.to_string();
            let event = NewEvent::new(payload.as_bytes()).delay(SOON);
            wakes(&received, &payload, || publish(queue, event));
        }
        // What is published before anybody waits, and what waits for long.
        publish(queue, NewEvent::new("last").delay(LONG));
        publish(queue, NewEvent::new("first").delay(4 * SOON));
        assert_eq!(received.recv_timeout(LOOK / 2).expect("it comes"), "first");
    });
}

#[test]
fn wake_on_lease_over() {
    on_both(|client, queue| {
        let mut config = Config::default();
        (config.backoff_min, config.backoff_max) = (Duration::ZERO, Duration::ZERO);
        config.lease = 2 * SOON;
        queue.configure(config).expect("it is new");
        publish(queue, NewEvent::new("leased"));
        queue.receive(1).expect("there is one");
        let received = consumer(client);
        wakes(&received, "leased", || {});
    });
}

#[test]
fn earlier_event_rearms() {
    on_both(|client, queue| {
        publish(queue, NewEvent::new("last").delay(LONG));
        let received = consumer(client);
        for delay in [10 * SOON, SOON] {
            publish(queue, NewEvent::new("later").delay(delay));
        }
        let earliest = NewEvent::new("earliest").delay(SOON / 4);
        wakes(&received, "earliest", || publish(queue, earliest));
        assert_eq!(received.recv_timeout(LOOK / 2).expect("it comes"), "later");
        assert_eq!(received.recv_timeout(LOOK / 2).expect("it comes"), "later");
    });
}

/// Where nobody looks, what is due later than a look would find it is announced too.
#[test]
fn wake_on_due_after_more_than_a_look() {
    let client = connect("memory:");
    let received = consumer(&client);
    std::thread::sleep(SOON);
    let event = NewEvent::new("late").delay(LOOK + 2 * LOOK / 5);
    publish(&client.events("orders"), event);
    assert_eq!(received.recv_timeout(LONG / 10).expect("it comes"), "late");
    client.close().expect("nothing is left to write");
}

/// A step ends 100 leases that are over, and none of these events is ready before its backoff is.
#[test]
fn wake_on_more_leases_over_than_a_step_ends() {
    on_both_unasked(|client, queue| {
        let mut config = Config::default();
        (config.backoff_min, config.backoff_max) = (SOON, SOON);
        config.lease = 2 * SOON;
        queue.configure(config).expect("it is new");
        let published =
            queue.publish_many((0..250).map(|number| NewEvent::new(number.to_string())));
        assert_eq!(published.expect("there is room").len(), 250);
        assert_eq!(queue.receive(250).expect("they are ready").len(), 250);
        let received = consumer(client);
        for _ in 0..250 {
            received.recv_timeout(LONG / 10).expect("it comes");
        }
    });
}

/// A step makes 1,000 events due, and none of these is ready while another one of their key is leased.
#[test]
fn wake_behind_more_events_than_a_step_makes_due() {
    on_both_unasked(|client, queue| {
        publish(queue, NewEvent::new("busy").key("k"));
        queue.receive(1).expect("it is ready");
        let at = 3 * SOON;
        let behind = (0..2_500).map(|_| NewEvent::new("behind").key("k").delay(at));
        queue.publish_many(behind).expect("there is room");
        publish(queue, NewEvent::new("free").delay(at + SOON));
        let received = consumer(client);
        assert_eq!(received.recv_timeout(LONG / 10).expect("it comes"), "free");
    });
}

/// How many steps the server has done.
fn steps(server: &Redis) -> u64 {
    server.calls_of("evalsha").unwrap_or(0)
}

/// Waits until all that wait have asked and nobody asks any more.
fn settle(server: &Redis) {
    let mut before = steps(server);
    wait_until("nobody asks", || {
        std::thread::sleep(SOON);
        let last = std::mem::replace(&mut before, steps(server));
        before == last
    });
}

/// How many steps sixteen waiters of a process send in twelve seconds and a half in which nothing happens.
fn idle_steps(partitions: u16) -> u64 {
    let server = Redis::start();
    let (client, other) = (connect(&server.url()), connect(&server.url()));
    let mut config = Config::default();
    config.partitions = partitions;
    other.events("orders").configure(config).expect("it is new");
    publish(&other.events("orders"), NewEvent::new("last").delay(LONG));
    let received: Vec<_> = (0..16).map(|_| consumer(&client)).collect();
    settle(&server);
    let before = steps(&server);
    std::thread::sleep(2 * LOOK + LOOK / 2);
    let sent = steps(&server) - before;
    client.close().expect("there is nothing to write");
    drop(received);
    sent
}

#[test]
fn idle_1_command_5_s() {
    let sent = idle_steps(1);
    assert!((1..=3).contains(&sent), "{sent} steps");
}

/// Several partitions are asked together.
#[test]
fn idle_1_command_5_s_of_a_partition() {
    let sent = idle_steps(8);
    assert!((8..=24).contains(&sent), "{sent} steps");
}

/// One event wakes one of the waiters of a process.
#[test]
fn one_of_100_waiters_of_a_process_asks() {
    let server = Redis::start();
    let (client, other) = (connect(&server.url()), connect(&server.url()));
    let received: Vec<_> = (0..100).map(|_| consumer(&client)).collect();
    let queue = other.events("orders");
    publish(&queue, NewEvent::new("first"));
    wait_until("it is done", || queue.stats().expect("it is there").events == 0);
    settle(&server);
    let before = steps(&server);
    for delay in [Duration::ZERO, SOON] {
        for _ in 0..20 {
            publish(&queue, NewEvent::new("x").delay(delay));
            std::thread::sleep(SOON / 5);
        }
    }
    settle(&server);
    let sent = steps(&server) - before;
    // Published, received, acknowledged; nothing is left, and nothing came before the waiter listened again.
    assert!(sent <= 40 * 5 + 4, "{sent} steps for 40 events");
    let count = received.iter().map(|received| received.try_iter().count()).sum::<usize>();
    assert_eq!(count, 41);
    client.close().expect("there is nothing to write");
}

/// How many processes wait.
fn waiting(server: &Redis) -> i64 {
    match server.cli(&["ZCARD", "{orders}:events:waiting:default"]) {
        Reply::Integer(waiting) => waiting,
        other => panic!("{other:?} is no number"),
    }
}

/// A fleet of processes that wait, which each have a connection of their own.
struct Fleet {
    server: Redis,
    clients: Vec<Client>,
    received: Vec<Receiver<String>>,
}

impl Fleet {
    fn start(processes: usize) -> Self {
        let server = Redis::start();
        let clients: Vec<_> = (0..processes).map(|_| connect(&server.url())).collect();
        let received = clients.iter().map(consumer).collect();
        let fleet = Self { server, clients, received };
        wait_until("all wait", || waiting(&fleet.server) == processes as i64);
        fleet
    }

    fn count(&self) -> usize {
        self.received.iter().map(|received| received.try_iter().count()).sum()
    }
}

/// An event wakes one process of all that wait, and one that is due those alone that have an eye on it.
#[test]
fn e5_e6_one_of_100_processes_asks() {
    const PROCESSES: usize = 100;
    const EVENTS: usize = 40;
    let fleet = Fleet::start(PROCESSES);
    let queue = connect(&fleet.server.url()).events("orders");
    let (began, before) = (Instant::now(), steps(&fleet.server));
    for number in 0..EVENTS {
        let delay = if number % 2 == 0 { Duration::ZERO } else { SOON };
        publish(&queue, NewEvent::new("x").delay(delay));
        std::thread::sleep(SOON / 5);
    }
    let mut count = 0;
    wait_until("all are received", || {
        count += fleet.count();
        count == EVENTS
    });
    let took = began.elapsed();
    let sent = steps(&fleet.server) - before;
    // Published, received, acknowledged, twice not received before it waits again; and two more that had an eye on it.
    // Each process looks every five seconds, and may look once more before it settles.
    let looks = PROCESSES as u64 * (2 + took.as_secs() / LOOK.as_secs());
    assert!(sent <= EVENTS as u64 * 7 + looks, "{sent} steps for {EVENTS} events in {took:?}");
    for client in &fleet.clients {
        client.close().expect("there is nothing to write");
    }
}

/// A server of a cluster does not know who hears it.
#[test]
fn e6_on_a_cluster_one_that_waits_is_told() {
    let cluster = Cluster::start();
    let clients: Vec<_> = (0..3).map(|_| connect(&cluster.url())).collect();
    let queue = clients[0].events("orders");
    let mut config = Config::default();
    config.partitions = 4;
    queue.configure(config).expect("it is new");
    let received: Vec<_> = clients[1..].iter().map(consumer).collect();
    std::thread::sleep(5 * SOON);
    for number in 0..12 {
        let (began, key) = (Instant::now(), number.to_string());
        publish(&queue, NewEvent::new("x").key(key.as_bytes()).delay(SOON * (number % 2)));
        wait_until("it is received", || received.iter().any(|of| of.try_recv().is_ok()));
        let took = began.elapsed();
        assert!(took < LOOK / 2, "event {number} took {took:?}");
    }
    for client in &clients {
        client.close().expect("there is nothing to write");
    }
}

/// Who has gone without a word is passed over, and who is told and waits no more tells the next.
#[test]
fn e6_the_next_is_told_when_the_first_is_gone() {
    let fleet = Fleet::start(8);
    let queue = connect(&fleet.server.url()).events("orders");
    let heard = || fleet.server.cli(&["PUBSUB", "CHANNELS", "*:at:default:*"]).array().len();
    let before = heard();
    for client in &fleet.clients[..4] {
        client.close().expect("there is nothing to write");
    }
    // Until then the server tells those that have gone.
    wait_until("their subscriptions are gone", || heard() + 4 == before);
    for number in 0..8 {
        let began = Instant::now();
        publish(&queue, NewEvent::new("x").delay(SOON * (number % 2)));
        wait_until("it is received", || fleet.count() == 1);
        let took = began.elapsed();
        assert!(took < LOOK / 2, "event {number} took {took:?}");
    }
    for client in &fleet.clients[4..] {
        client.close().expect("there is nothing to write");
    }
}

/// A process that stops waiting is told for a while yet: it hands on what it is told.
#[test]
fn e6_who_waits_no_more_hands_on() {
    let server = Redis::start();
    let (leaver, stayer) = (connect(&server.url()), connect(&server.url()));
    let queue = connect(&server.url()).events("orders");
    let received = consumer(&stayer);
    for number in 0..3 {
        wait_until("both wait", || {
            let found = leaver.events("orders").deliveries().wait(SOON).next();
            assert!(found.is_none(), "{found:?}");
            waiting(&server) == 2
        });
        // Whoever looked last is told of the second, so one of them is for the one that has left.
        for _ in 0..2 {
            wakes(&received, "x", || {
                publish(&queue, NewEvent::new("x").delay(SOON * (number % 2)))
            });
        }
    }
    for client in [leaver, stayer] {
        client.close().expect("there is nothing to write");
    }
}

#[test]
fn subscription_back_looks() {
    let server = Redis::start();
    let (client, other) = (connect(&server.url()), connect(&server.url()));
    let (received, queue) = (consumer(&client), other.events("orders"));
    // Each time the pause before it connects again is longer.
    for number in 0..2 {
        let payload = number.to_string();
        wakes(&received, &payload, || {
            // Nobody hears of the event.
            server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]);
            publish(&queue, NewEvent::new(payload.as_bytes()));
        });
    }
    client.close().expect("there is nothing to write");
}

#[test]
fn flush_scripts_between_calls() {
    let server = Redis::start();
    let queue = connect(&server.url()).events("orders");
    let flush = || server.cli(&["SCRIPT", "FLUSH"]);
    let event = || NewEvent::new("x").key("k").dedup_id("d");
    flush();
    let id = queue.publish(event()).expect("there is room").id;
    flush();
    let held = queue.receive(10).expect("there is one");
    assert_eq!(held.iter().map(|event| event.id).collect::<Vec<_>>(), [id]);
    flush();
    queue.renew(&held, None).expect("it is held");
    flush();
    queue.nack(&held[0], "no", Duration::ZERO).expect("it is held");
    flush();
    let held = queue.receive(10).expect("there is one");
    flush();
    queue.ack_with(&held[0], [NewEvent::new("next").delay(LONG)]).expect("it is held");
    flush();
    let stats = queue.stats().expect("it is there");
    assert_eq!((stats.events, stats.scheduled), (1, 1));
    flush();
    queue.pause().expect("it is there");
    flush();
    queue.delete().expect("it is there");
    assert_eq!(queue.config().expect("it is gone"), None);
}
