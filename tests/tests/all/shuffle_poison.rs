//! A message that ends every program which works on it becomes a dead letter, and the messages that were with it
//! do not.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use millpond::shuffle::{ShuffleConsumer, ShuffleQueue};
use millpond_tests::servers::Redis;

/// Where the processes of the tests find the server, and how many messages they work on at a time.
const URL: &str = "MILLPOND_TEST_POISON_URL";
const CONCURRENCY: &str = "MILLPOND_TEST_POISON_CONCURRENCY";

const MESSAGES: usize = 20;
const POISON: &[u8] = b"7";
const MAX_DELIVERIES: u64 = 3;
const LEASE: Duration = Duration::from_secs(3);

fn write_all(queue: &ShuffleQueue) {
    let numbers = (0..MESSAGES).map(|number| ("tenant", [("n", number.to_string())]));
    queue.write_many(numbers).expect("the queue is there");
}

/// The poison alone is a dead letter, and all else is done.
fn only_the_poison_is_dead(queue: &ShuffleQueue) {
    let dead = queue.dead_letters(100).expect("the queue is there");
    let dead: Vec<_> = dead.iter().map(|letter| letter.message.field("n").unwrap()).collect();
    assert_eq!(dead, [POISON]);
    assert_eq!((queue.len().unwrap(), queue.backlog().unwrap()), (0, 0));
}

/// Begins workers that die at the poison, one after the other, until one has done all that is left; returns how many
/// died.
fn work_until_all_is_done(concurrency: usize) -> usize {
    let server = Redis::start();
    let queue = millpond::connect(&server.url()).unwrap().shuffle_queue("jobs");
    write_all(&queue);
    let program = std::env::current_exe().expect("a test has a program");
    let mut died = 0;
    loop {
        let mut worker = Command::new(&program);
        worker.args(["--exact", "shuffle_poison::one_of_the_workers", "--ignored", "--nocapture"]);
        worker.env(URL, server.url()).env(CONCURRENCY, concurrency.to_string());
        let output = worker.output().expect("it is this program");
        match output.status.signal() {
            Some(_) => died += 1,
            None => {
                assert!(output.status.success(), "{output:?}");
                only_the_poison_is_dead(&queue);
                return died;
            }
        }
        assert!(died <= MAX_DELIVERIES as usize, "{output:?}");
    }
}

#[test]
fn one_after_the_other() {
    assert_eq!(work_until_all_is_done(1), MAX_DELIVERIES as usize);
}

#[test]
fn all_at_once() {
    assert_eq!(work_until_all_is_done(MESSAGES), MAX_DELIVERIES as usize);
}

#[test]
#[ignore = "a process of the tests above"]
fn one_of_the_workers() {
    let url = std::env::var(URL).expect("the tests above set it");
    let concurrency: usize = std::env::var(CONCURRENCY).unwrap().parse().unwrap();
    let queue = millpond::connect(&url).unwrap().shuffle_queue("jobs");
    let worker = queue
        .consumer("workers", "worker")
        .max_deliveries(MAX_DELIVERIES)
        .worker()
        .lease(LEASE)
        .delete(true)
        .concurrency(concurrency)
        .prefetch(MESSAGES - concurrency);
    let stop = worker.clone();
    std::thread::spawn(move || {
        while queue.backlog().unwrap() > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        stop.stop(Duration::from_secs(10));
    });
    worker
        .run(|job| {
            if job.message().field("n") == Some(POISON) {
                std::process::abort();
            }
            // Long enough for the poison to be met while all the others are being worked on.
            std::thread::sleep(Duration::from_millis(50));
        })
        .unwrap();
}

/// The same with calls of one's own, on each engine: what is taken and not finished is what a program leaves that dies.
#[test]
fn with_calls_of_ones_own() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = millpond::connect(&url).unwrap().shuffle_queue("jobs");
        write_all(&queue);
        let consumer = queue.consumer("workers", "worker").max_deliveries(MAX_DELIVERIES);
        let mut batch = consumer.read_many(MESSAGES).unwrap();
        let mut sizes = Vec::new();
        loop {
            sizes.push(batch.len());
            // A program dies at the poison, and loses what it had done in this batch.
            let dies = batch.iter().any(|message| message.field("n") == Some(POISON));
            if !dies {
                consumer.ack_and_delete(&batch).unwrap();
            }
            let reclaimed = consumer.reclaim(Duration::ZERO, MESSAGES).unwrap();
            if reclaimed.messages.is_empty() && reclaimed.dead == 0 {
                break;
            }
            batch = reclaimed.messages;
        }
        assert_eq!(sizes[..3], [MESSAGES, MESSAGES, 1], "{url}");
        only_the_poison_is_dead(&queue);
    }
}

/// What a consumer gave back is no sign that a program has died: it comes together, however often that was.
#[test]
fn what_is_given_back_comes_together() {
    let server = Redis::start();
    for url in ["memory:".to_owned(), server.url()] {
        let queue = millpond::connect(&url).unwrap().shuffle_queue("jobs");
        write_all(&queue);
        let consumer: ShuffleConsumer = queue.consumer("workers", "worker").max_deliveries(2);
        let mut batch = consumer.read_many(MESSAGES).unwrap();
        for _ in 0..5 {
            assert_eq!(consumer.release(&batch, LEASE, Duration::ZERO).unwrap(), MESSAGES as u64);
            // It is not the consumer's any more.
            assert_eq!(consumer.release(&batch, LEASE, Duration::ZERO).unwrap(), 0);
            batch = consumer.reclaim(LEASE, MESSAGES).unwrap().messages;
            assert_eq!(batch.len(), MESSAGES, "{url}");
        }
    }
}
