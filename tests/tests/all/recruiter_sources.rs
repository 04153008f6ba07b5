//! Queues that are drained by slices of a recruiter, within the time that a slice has. The names in the comments are those
//! of the rules in its specification.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use millpond::recruiter::{NewJob, Slice, Why};
use millpond::{Client, events, shuffle, tasks};
use millpond_tests::servers::Redis;

const ITEMS: u64 = 60;

/// How often each item was worked on.
type Done = Arc<Mutex<BTreeMap<String, u64>>>;

/// What a handler of a recruiter returns.
type Handled = Result<u64, Box<dyn std::error::Error + Send + Sync>>;

/// Works on what there is within the time of a slice, and returns how many items that were.
type Source = Arc<dyn Fn(&Slice, &Done) -> Handled + Send + Sync>;

fn note(done: &Done, item: &[u8]) {
    let item = String::from_utf8_lossy(item).into_owned();
    *done.lock().unwrap().entry(item).or_default() += 1;
}

/// Each kind of queue with these items, and what drains it.
fn sources(client: &Client) -> Vec<(&'static str, Source)> {
    let items = || (0..ITEMS).map(|number| format!("{number}"));
    let store = client.tasks("store");
    items().for_each(|item| drop(store.insert("q", item).unwrap()));
    let queue = client.shuffle_queue("{shuffle}");
    items().for_each(|item| _ = queue.write("a", [("item", item)]).unwrap());
    let events = client.events("events");
    items().for_each(|item| _ = events.publish(events::NewEvent::new(item)).unwrap());
    let ick = client.ick("{ick}");
    ick.add(items().map(|item| (1.0, item))).unwrap();

    let drain_tasks = move |slice: &Slice, done: &Done| {
        let worker = store.worker(["q"]).budget(slice.remaining());
        let counts = worker.drain(|job: &tasks::Job| {
            note(done, job.task().value.clone().unwrap_or_default().as_bytes());
        })?;
        Ok(counts.done)
    };
    let drain_messages = move |slice: &Slice, done: &Done| {
        // One name for all recruits: the names of a group stay.
        let worker = queue.consumer("group", "steal").worker().budget(slice.remaining());
        let counts = worker.drain(|job: &shuffle::Job| note(done, &job.message().fields[0].1))?;
        Ok(counts.done)
    };
    let drain_events = move |slice: &Slice, done: &Done| {
        let worker = events.worker().budget(slice.remaining());
        let counts = worker.drain(|job: &events::Job| note(done, &job.event().payload))?;
        Ok(counts.done)
    };
    let drain_batches = move |slice: &Slice, done: &Done| {
        // Another recruit has the lease: it does the work.
        let Some(lease) = ick.lease(Duration::from_secs(60))? else { return Ok(0) };
        let (mut items, mut batches) = (0, lease.batches(7));
        while let Some(batch) = batches.next() {
            let batch = batch?;
            batch.iter().for_each(|entry| note(done, &entry.member));
            items += batch.len() as u64;
            if slice.is_over() {
                batches.commit()?;
                break;
            }
        }
        drop(batches);
        lease.release()?;
        Ok(items)
    };
    vec![
        ("tasks", Arc::new(drain_tasks)),
        ("shuffle", Arc::new(drain_messages)),
        ("events", Arc::new(drain_events)),
        ("ick", Arc::new(drain_batches)),
    ]
}

fn on_both(check: impl Fn(&Client)) {
    check(&millpond::connect("memory:").unwrap());
    let server = Redis::start();
    check(&millpond::connect(&server.url()).unwrap());
}

/// Q1 to Q4: eight recruits work on each item once; and with nothing left, a slice finds nothing to do.
#[test]
fn recruits_drain_a_queue_and_do_each_item_once() {
    on_both(|client| {
        for (name, source) in sources(client) {
            let done = Done::default();
            let recruiters = (0..8).map(|number| {
                // Of a name of its own each, as if in a process of its own.
                let recruiter = client.recruiter(format!("{name} {number}"));
                recruiter.set_duty_max(1.0).unwrap();
                let (source, done) = (source.clone(), done.clone());
                let job = NewJob::new("drain").share(1.0).budget(Duration::from_secs(60));
                recruiter.install(job, move |slice: &Slice| source(slice, &done)).unwrap();
                recruiter
            });
            let recruiters: Vec<_> = recruiters.collect();
            thread::scope(|scope| {
                for recruiter in &recruiters {
                    let done = done.clone();
                    scope.spawn(move || {
                        while done.lock().unwrap().values().sum::<u64>() < ITEMS {
                            let why = recruiter.enlist().why;
                            assert!(matches!(why, Why::Worked | Why::Nothing), "{name}: {why:?}");
                        }
                    });
                }
            });
            let done = done.lock().unwrap();
            assert_eq!(done.len() as u64, ITEMS, "{name}");
            assert!(done.values().all(|times| *times == 1), "{name}: {done:?}");
            assert_eq!(recruiters[0].enlist().why, Why::Nothing, "{name}");
        }
    });
}

/// Q5: a drain begins nothing after its budget, and what it has not begun is there for others immediately.
#[test]
fn a_drain_ends_with_its_budget() {
    on_both(|client| {
        let store = client.tasks("store");
        for number in 0..10 {
            store.insert("q", number.to_string()).unwrap();
        }
        let drained = |budget: Duration, prefetch: usize, work: Duration| {
            let worker = store.worker(["q"]).prefetch(prefetch).budget(budget);
            worker.drain(|_: &tasks::Job| thread::sleep(work)).unwrap().done
        };
        assert_eq!(drained(Duration::ZERO, 5, Duration::ZERO), 0);
        // The first job takes longer than the budget; on a slow machine not even that one begins.
        let done = drained(Duration::from_millis(20), 5, Duration::from_millis(40));
        assert!(done <= 1, "{done}");
        assert_eq!(drained(Duration::from_secs(600), 0, Duration::ZERO), 10 - done);
    });
}
