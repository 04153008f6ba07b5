//! Waiting for messages: one is picked up at once, after a broken connection and from other writers
//! too. Between processes: `shuffle_processes.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond::{Client, ErrorKind};
use millpond_tests::block_on;
use millpond_tests::servers::Redis;

/// Waits that are never over by themselves while a test runs: a message that is only found when
/// one ends was lost.
const LONG: Duration = Duration::from_secs(600);

/// How long the last messages may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Threads of one client that wait, and a number of messages, each written when all wait again;
/// returns the mean and the longest time from a write to its pick-up.
fn pick_up(client: &Client, waiters: usize, count: u64) -> (Duration, Duration) {
    let (picked, sum, longest) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for waiter in 0..waiters {
            let (picked, sum, longest) = (&picked, &sum, &longest);
            let consumer = client.shuffle_queue("q").consumer("g", waiter.to_string());
            scope.spawn(move || {
                for batch in consumer.messages(1 + waiter % 3).wait(LONG) {
                    let batch = match batch {
                        Err(error) if error.kind() == ErrorKind::Closed => break,
                        batch => batch.expect("the server is there"),
                    };
                    let now = began.elapsed().as_micros() as u64;
                    for message in &batch {
                        let at = message.field("at").expect("it was written");
                        let at: u64 = String::from_utf8_lossy(at).parse().expect("a number");
                        sum.fetch_add(now - at, Ordering::Relaxed);
                        longest.fetch_max(now - at, Ordering::Relaxed);
                    }
                    consumer.ack_and_delete(&batch).expect("the server is there");
                    picked.fetch_add(batch.len() as u64, Ordering::Relaxed);
                }
            });
        }
        let queue = client.shuffle_queue("q").streams(8);
        for i in 0..count {
            std::thread::sleep(Duration::from_millis(5));
            let at = began.elapsed().as_micros().to_string();
            queue.write((i % 7).to_string(), [("at", at)]).expect("the server is there");
        }
        let written = Instant::now();
        while picked.load(Ordering::Relaxed) < count && written.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        client.close().expect("closing writes nothing here");
    });
    assert_eq!(picked.load(Ordering::Relaxed), count, "messages were not picked up");
    let sum = sum.load(Ordering::Relaxed);
    (Duration::from_micros(sum / count), Duration::from_micros(longest.load(Ordering::Relaxed)))
}

#[test]
fn a_message_on_an_idle_queue_is_picked_up_at_once() {
    let server = Redis::start();
    for url in [server.url(), "memory:".to_owned()] {
        let client = millpond::connect(&url).expect("the url is the harness' own");
        let (mean, longest) = pick_up(&client, 8, 200);
        println!("{url}: mean {mean:?}, longest {longest:?}");
        // Below 2 ms on an idle machine, which the benchmark says; here others may be at work.
        assert!(mean < Duration::from_millis(500), "{url}: {mean:?}");
    }
}

#[test]
fn a_broken_connection_loses_no_message() {
    let server = Redis::builder().appendonly_always().start();
    let client = millpond::connect(&server.url()).expect("the url is the harness' own");
    let consumer = client.shuffle_queue("q").consumer("g", "c");
    let waiter = std::thread::spawn(move || {
        let mut messages = consumer.messages(1).wait(LONG);
        loop {
            match messages.next() {
                // The server is starting again.
                Some(Err(error)) if error.kind() != ErrorKind::Closed => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return other.is_some_and(|batch| batch.is_ok()),
            }
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    server.restart();
    let other = millpond::connect(&server.url()).expect("the url is the harness' own");
    other.shuffle_queue("q").write("t", [("f", "v")]).expect("the server is there");
    let began = Instant::now();
    assert!(waiter.join().expect("no panic"));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

#[test]
fn the_notifications_of_other_writers_count() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).expect("the url is the harness' own");
    let consumer = client.to_async().shuffle_queue("q").consumer("g", "c");
    let waiter = std::thread::spawn(move || {
        let mut messages = consumer.messages(10).wait(LONG);
        block_on(messages.next()).is_some_and(|batch| batch.is_ok_and(|batch| batch.len() == 1))
    });
    std::thread::sleep(Duration::from_millis(200));
    // As the package writes that introduced these queues.
    server.cli(&["XADD", "q:s0", "*", "f", "v"]);
    server.cli(&["XADD", "q:notifications", "MAXLEN", "1", "*", "s", "0"]);
    assert!(waiter.join().expect("no panic"));
}
