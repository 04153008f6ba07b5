//! Waiting for messages: no wake-up is lost, and a message is picked up at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond::{Client, ErrorKind};
use millpond_tests::block_on;
use millpond_tests::servers::Redis;

/// How many messages the large test writes; `MILLPOND_TEST_MESSAGES` says otherwise.
fn messages() -> u64 {
    let set = std::env::var("MILLPOND_TEST_MESSAGES").ok();
    set.and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

/// Waits that are never over by themselves while a test runs: a message that is only found when
/// one ends was lost.
const LONG: Duration = Duration::from_secs(600);

/// How long the last messages may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waiters on these clients, each of which stands for a process; answers the mean and the longest
/// time from a write to its pick-up.
fn pick_up(
    clients: &[Client],
    waiters: usize,
    count: u64,
    pause: impl Fn(u64) -> Duration,
) -> (Duration, Duration) {
    let (picked, sum, longest) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            for waiter in 0..waiters {
                let (picked, sum, longest) = (&picked, &sum, &longest);
                let queue = client.shuffle_queue("q");
                let consumer = queue.consumer("g", format!("{number}-{waiter}"));
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
        }
        let queue = clients[0].shuffle_queue("q").streams(8);
        let mut seed = 1u64;
        for i in 0..count {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            std::thread::sleep(pause(seed >> 33));
            let at = began.elapsed().as_micros().to_string();
            queue.write((i % 7).to_string(), [("at", at)]).expect("the server is there");
        }
        let written = Instant::now();
        while picked.load(Ordering::Relaxed) < count && written.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if picked.load(Ordering::Relaxed) < count {
            println!("{:?}", queue.stats("g"));
        }
        for client in clients {
            client.close().expect("closing writes nothing here");
        }
    });
    assert_eq!(picked.load(Ordering::Relaxed), count, "messages were not picked up");
    let sum = sum.load(Ordering::Relaxed);
    (Duration::from_micros(sum / count), Duration::from_micros(longest.load(Ordering::Relaxed)))
}

#[test]
fn no_wake_up_is_lost() {
    let server = Redis::start();
    let connect = || millpond::connect(&server.url()).expect("the url is the harness' own");
    let clients = [connect(), connect(), connect(), connect()];
    // Bursts, and pauses in which everybody falls asleep.
    let pause = |random: u64| match random % 8 {
        0 => Duration::from_micros(random % 3_000),
        1 => Duration::from_micros(random % 100),
        _ => Duration::ZERO,
    };
    let (mean, longest) = pick_up(&clients, 16, messages(), pause);
    println!("mean {mean:?}, longest {longest:?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
}

#[test]
fn a_message_on_an_idle_queue_is_picked_up_at_once() {
    let server = Redis::start();
    for url in [server.url(), "memory:".to_owned()] {
        let client = millpond::connect(&url).expect("the url is the harness' own");
        let (mean, longest) = pick_up(&[client], 8, 200, |_| Duration::from_millis(5));
        println!("{url}: mean {mean:?}, longest {longest:?}");
        assert!(mean < Duration::from_millis(2), "{url}: {mean:?}");
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
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
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
