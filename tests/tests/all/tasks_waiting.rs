//! Waiting for tasks: one that is inserted, released or due is claimed at once, by one of those that
//! wait, and waiting costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond::tasks::{Filter, Modification, NewTask, Task, TaskStore};
use millpond::{Client, ErrorKind};
use millpond_tests::block_on;
use millpond_tests::servers::{Redis, wait_until};

/// A wait that ends by itself was not woken: nobody here polls, and no machine is as slow as that.
const LONG: Duration = Duration::from_secs(120);

const LEASE: Duration = Duration::from_secs(30);

fn insert(store: &TaskStore, task: NewTask) -> Task {
    let done = store.modify(Modification::new().insert(task)).expect("the server is there");
    done.inserted.into_iter().next().expect("it was inserted")
}

/// A task that is due after this many milliseconds, and holds that time.
fn due_after(queue: &str, ms: u64) -> NewTask {
    NewTask::new(queue).after(Duration::from_millis(ms)).value(ms.to_string())
}

/// How many milliseconds after its time a task was claimed.
fn late_ms(task: &Task) -> u64 {
    let delay: u64 = task.value.as_deref().unwrap_or("0").parse().expect("a number");
    task.modified_ms - (task.created_ms + delay)
}

/// One waiter, and a number of tasks, each inserted by `put` when it waits again; how late it was
/// claimed, on average and at most, by the clock of the store.
fn lateness(client: &Client, other: &Client, put: impl Fn(&TaskStore) -> Task) -> (u64, u64) {
    const COUNT: u64 = 30;
    let (sum, longest) = (AtomicU64::new(0), AtomicU64::new(0));
    let (waiting, writing) = (client.tasks("s"), other.tasks("s"));
    let (claimed, claims) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (sum, longest) = (&sum, &longest);
        scope.spawn(move || {
            let mut claims = waiting.claims(["q", "other"]).lease(LEASE).wait(LONG);
            for _ in 0..COUNT {
                let batch = claims.next().expect("it waits").expect("the server is there");
                let task = &batch[0];
                let late = late_ms(task);
                sum.fetch_add(late, Ordering::Relaxed);
                longest.fetch_max(late, Ordering::Relaxed);
                waiting.modify(Modification::new().delete(task)).expect("it is leased");
                claimed.send(()).expect("somebody listens");
            }
        });
        for _ in 0..COUNT {
            std::thread::sleep(Duration::from_millis(20));
            put(&writing);
            claims.recv_timeout(LONG).expect("it is claimed");
        }
    });
    (sum.into_inner() / COUNT, longest.into_inner())
}

#[test]
fn a_task_is_claimed_as_it_comes_and_as_its_time_comes() {
    let server = Redis::start();
    for url in [never_polling(&server), "memory:shared".to_owned()] {
        let (client, other) = (millpond::connect(&url).unwrap(), millpond::connect(&url).unwrap());
        let now = lateness(&client, &other, |store| insert(store, NewTask::new("q")));
        let soon = lateness(&client, &other, |store| insert(store, due_after("q", 40)));
        println!("{url}: ms late, mean and longest: inserted {now:?}, due {soon:?}");
    }
}

#[test]
fn a_lease_that_expires_and_a_release_wake_waiters() {
    let server = Redis::start();
    for url in [never_polling(&server), "memory:".to_owned()] {
        let client = millpond::connect(&url).unwrap();
        let (ann, bob) = (client.tasks("s").claimant("ann"), client.tasks("s").claimant("bob"));
        insert(&ann, NewTask::new("q"));
        ann.claim(["q"], Duration::from_millis(300)).unwrap().expect("there is one");
        let batch = bob.claims(["q"]).lease(LEASE).wait(LONG).next().unwrap().unwrap();
        assert_eq!(batch[0].claims, 2);

        let waiting = ann.clone();
        let waiter = std::thread::spawn(move || waiting.claims(["q"]).wait(LONG).next());
        std::thread::sleep(Duration::from_millis(200));
        bob.modify(Modification::new().change(batch[0].change())).unwrap();
        let claimed = waiter.join().expect("no panic").unwrap().unwrap();
        assert_eq!(claimed[0].claims, 3, "{url}");
    }
}

#[test]
fn many_waiters_in_two_clients_claim_everything_without_a_poll() {
    const TASKS: usize = 400;
    let server = Redis::start();
    for url in [never_polling(&server), "memory:many".to_owned()] {
        let clients = [millpond::connect(&url).unwrap(), millpond::connect(&url).unwrap()];
        let claimed = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for waiter in 0..16 {
                let claimed = &claimed;
                let store = clients[waiter % 2].tasks("s").claimant(format!("w{waiter}"));
                scope.spawn(move || {
                    for batch in store.claims(["a", "b"]).max(1 + waiter % 3).wait(LONG) {
                        let batch = match batch {
                            Err(error) if error.kind() == ErrorKind::Closed => break,
                            batch => batch.expect("the server is there"),
                        };
                        for task in &batch {
                            let end = Modification::new().delete(task);
                            store.modify(end).expect("it is leased");
                            claimed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            let store = millpond::connect(&url).unwrap().tasks("s");
            for number in 0..TASKS / 4 {
                let queue = if number % 3 == 0 { "a" } else { "b" };
                let now = (0..2).fold(Modification::new(), |m, _| m.insert(NewTask::new(queue)));
                let all =
                    now.insert(due_after(queue, number as u64 % 40)).insert(due_after(queue, 30));
                store.modify(all).expect("the server is there");
                if number % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(15));
                }
            }
            let written = Instant::now();
            while !store.are_empty(Filter::new().exact("a").exact("b")).unwrap()
                && written.elapsed() < LONG
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            clients.iter().for_each(|client| client.close().expect("nothing is left to write"));
        });
        assert_eq!(claimed.into_inner(), TASKS as u64, "{url}");
    }
}

#[test]
fn waiting_for_what_is_due_later_sends_nothing() {
    let server = Redis::start();
    let client = millpond::connect(&never_polling(&server)).unwrap();
    let store = client.tasks("s");
    let task = insert(&store, NewTask::new("q").after(Duration::from_secs(3_600)));
    let waiters: Vec<_> = (0..16)
        .map(|_| {
            let store = store.clone();
            std::thread::spawn(move || {
                store.claims(["q"]).wait(LONG).next().map(|batch| batch.is_ok())
            })
        })
        .collect();
    // Until all have asked once.
    let mut before = steps(&server);
    wait_until("nobody asks", || {
        std::thread::sleep(Duration::from_millis(300));
        let last = std::mem::replace(&mut before, steps(&server));
        before == last && before > 16
    });
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(steps(&server) - before, 0, "steps while nothing is due");
    store.modify(Modification::new().change(task.change().after(Duration::from_secs(1)))).unwrap();
    wait_until("it is claimed", || waiters.iter().any(|waiter| waiter.is_finished()));
    std::thread::sleep(Duration::from_millis(300));
    // One is told of the change and learns the time; the one that is woken then takes it, and says when the
    // next is due. Nobody else looks.
    let sent = steps(&server) - before;
    assert!(sent <= 7, "{sent} steps for one task that was due");
    let fifteen = (0..15).fold(Modification::new(), |m, _| m.insert(NewTask::new("q")));
    store.modify(fifteen).unwrap();
    assert!(waiters.into_iter().all(|waiter| waiter.join().expect("no panic") == Some(true)));
}

#[test]
fn async_waits_are_woken_and_can_be_dropped() {
    let server = Redis::start();
    for url in [never_polling(&server), "memory:".to_owned()] {
        let client = millpond::connect(&url).unwrap();
        let store = client.to_async().tasks("s");
        let mut dropped = store.claims(["q"]).wait(LONG);
        // It waits, is dropped, and the wake-up that it would have had goes to the other.
        let mut first = Box::pin(dropped.next());
        let waker = std::task::Waker::noop();
        let mut context = std::task::Context::from_waker(waker);
        let until = Instant::now() + Duration::from_millis(300);
        while Instant::now() < until {
            assert!(first.as_mut().poll(&mut context).is_pending());
            std::thread::sleep(Duration::from_millis(10));
        }
        let other = store.clone();
        let waiter = std::thread::spawn(move || {
            block_on(async { other.claims(["q"]).wait(LONG).next().await })
        });
        std::thread::sleep(Duration::from_millis(300));
        insert(&client.tasks("s"), NewTask::new("q"));
        drop(first);
        drop(dropped);
        assert!(waiter.join().expect("no panic").expect("it is woken").is_ok(), "{url}");
    }
}

#[test]
fn closing_ends_a_wait() {
    let server = Redis::start();
    for url in [never_polling(&server), "memory:".to_owned()] {
        let client = millpond::connect(&url).unwrap();
        let store = client.tasks("s");
        let waiter = std::thread::spawn(move || store.claims(["q"]).wait(LONG).next());
        std::thread::sleep(Duration::from_millis(200));
        client.close().unwrap();
        let result = waiter.join().expect("no panic").expect("it says why");
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Closed);
    }
}

/// The address of this server, for a client that looks only when it is woken.
fn never_polling(server: &Redis) -> String {
    format!("{}?poll=never", server.url())
}

/// How many steps the server has done.
fn steps(server: &Redis) -> u64 {
    server.calls_of("evalsha").expect("steps were done")
}
