//! What the workers of all queues promise alike: handlers on threads that take too long, outages that are reported
//! whatever the worker does, and jobs that are put aside.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use millpond::events::{ConfigChange, NewEvent};
use millpond::tasks::{Filter, Modification, NewTask};
use millpond::{Client, ErrorKind, ReportKind, RunEvent};
use millpond_tests::servers::Redis;

/// Longer than anything here takes, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

const LEASE: Duration = Duration::from_secs(600);

const TOO_LONG: Duration = Duration::from_millis(30);

type Seen = Arc<Mutex<Vec<(ReportKind, Option<ErrorKind>, String)>>>;

/// Notes what is reported.
macro_rules! hook {
    ($seen:ident) => {{
        let seen = $seen.clone();
        move |report| {
            let error = report.error.as_ref().map(millpond::Error::kind);
            seen.lock().expect("nothing panics").push((report.kind, error, report.message.clone()));
        }
    }};
}

/// Runs a test for each kind of queue on both engines. `$worker` is a worker of one job, which is told of everything.
macro_rules! for_all_queues {
    ($test:ident: |$kind:ident, $worker:ident, $seen:ident| $body:block) => {
        #[test]
        fn $test() {
            let server = Redis::start();
            for url in ["memory:", &server.url()] {
                let client = connect(url);
                {
                    let ($kind, $seen) = ("tasks", Seen::default());
                    let store = client.tasks("s");
                    store.insert("q", "1").expect("the store is there");
                    let $worker = store
                        .worker(["q"])
                        .max_attempts(1)
                        .lease(LEASE)
                        .tell_all(true)
                        .on_report(hook!($seen));
                    $body
                }
                {
                    let ($kind, $seen) = ("shuffle", Seen::default());
                    let queue = client.shuffle_queue("shuffled");
                    queue.write("t", [("i", "1")]).expect("the queue is there");
                    let consumer = queue.consumer("g", "c").max_deliveries(1);
                    let $worker =
                        consumer.worker().lease(LEASE).tell_all(true).on_report(hook!($seen));
                    $body
                }
                {
                    let ($kind, $seen) = ("events", Seen::default());
                    let queue = client.events("happened");
                    queue
                        .configure(ConfigChange::new().max_attempts(1))
                        .expect("it can be configured");
                    queue.publish(NewEvent::new("1")).expect("the queue is there");
                    let $worker =
                        queue.worker().lease(LEASE).tell_all(true).on_report(hook!($seen));
                    $body
                }
            }
        }
    };
}

fn connect(url: &str) -> Client {
    millpond::connect(url).expect("the address is one")
}

fn wait_until(is_so: impl Fn() -> bool) {
    assert!(within_patience(is_so), "it does not come to pass");
}

fn within_patience(is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

fn kinds(seen: &Seen) -> Vec<(ReportKind, Option<ErrorKind>)> {
    let seen = seen.lock().expect("nothing panics");
    seen.iter().map(|(kind, error, _)| (*kind, *error)).collect()
}

fn count(seen: &Seen, kind: ReportKind) -> usize {
    kinds(seen).into_iter().filter(|(of, _)| *of == kind).count()
}

const DEAD: (ReportKind, Option<ErrorKind>) = (ReportKind::Dead, Some(ErrorKind::DeadLetter));

for_all_queues!(a_job_that_is_put_aside_has_an_error_of_its_own: |kind, worker, seen| {
    let counts = worker.drain(|_| Err::<(), _>("no")).expect("the server is there");
    assert_eq!((counts.dead, kinds(&seen)), (1, vec![DEAD]), "{kind}");
    assert!(seen.lock().expect("nothing panics")[0].2.ends_with("exhausted: no"), "{kind}");
});

for_all_queues!(a_handler_on_a_thread_that_takes_too_long_has_failed: |kind, worker, seen| {
    let worker = worker.timeout(TOO_LONG);
    let counts = worker.drain(|job| {
        wait_until(|| job.is_lost());
        // Its end is sent while the handler still works.
        assert_eq!(job.time_left(), Some(Duration::ZERO));
    });
    assert_eq!(counts.expect("the server is there").dead, 1, "{kind}");
    let late = (ReportKind::Lost, Some(ErrorKind::LeaseLost));
    let mut told = kinds(&seen);
    told.sort_by_key(|(of, _)| *of == ReportKind::Lost);
    assert_eq!(told, [DEAD, late], "{kind}");
    let all = format!("{:?}", seen.lock().expect("nothing panics"));
    assert!(all.contains("exhausted: timeout: it took longer than 30ms"), "{kind}: {all}");
    assert!(all.contains("its handler ended after the timeout"), "{kind}: {all}");
});

for_all_queues!(a_callback_that_panics_keeps_no_job_from_its_end: |kind, worker, seen| {
    let run = worker.start();
    let Ok(Some(RunEvent::Job(job))) = run.next() else { panic!("{kind}: there is a job") };
    job.on_lost(|| panic!("as a user's may"));
    let stopped = catch_unwind(AssertUnwindSafe(|| worker.stop(Duration::ZERO)));
    assert!(stopped.is_err(), "{kind}: the caller is told");
    while let Some(event) = run.next().expect("the server is there") {
        let RunEvent::Report(report) = event else { panic!("{kind}: the worker is stopped") };
        seen.lock().expect("nothing panics").push((report.kind, None, String::new()));
    }
    assert_eq!(kinds(&seen), [(ReportKind::Released, None)], "{kind}");
});

for_all_queues!(what_a_callback_holds_is_dropped_with_no_lock: |kind, worker, seen| {
    struct Asks<F: Fn()>(F);
    impl<F: Fn()> Drop for Asks<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let run = worker.start_drain();
    let Ok(Some(RunEvent::Job(job))) = run.next() else { panic!("{kind}: there is a job") };
    let (asked, has_asked) = mpsc::channel();
    let asks = Asks({
        let run = run.clone();
        move || asked.send(run.counts().done).expect("the test waits")
    });
    job.on_lost(move || drop(asks));
    // The run has the last of the job.
    drop((job, run));
    assert_eq!(has_asked.recv_timeout(PATIENCE), Ok(0), "{kind}");
    drop(seen);
});

for_all_queues!(a_job_that_ends_in_time_is_done: |kind, worker, seen| {
    let counts = worker.timeout(LEASE).drain(|_| ()).expect("the server is there");
    assert_eq!((counts.done, kinds(&seen)), (1, vec![(ReportKind::Done, None)]), "{kind}");
});

/// A handler that hangs keeps its place of the worker's concurrency, and the others go on.
#[test]
fn a_handler_that_hangs_keeps_its_place_and_no_other_one() {
    let store = connect("memory:").tasks("s");
    store.insert("q", "0").expect("the store is there");
    let worker = store.worker(["q"]).concurrency(2).max_attempts(1).timeout(TOO_LONG).lease(LEASE);
    let worker = worker.on_report(|_| ());
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = worker.run(|job| {
        most.fetch_max(running.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
        if job.task().value.as_deref() == Some("0") {
            wait_until(|| job.is_lost());
            for _ in 0..8 {
                store.insert("q", "1").expect("the store is there");
            }
            wait_until(|| store.queues(Default::default()).is_ok_and(|queues| queues.len() == 1));
            worker.stop(PATIENCE);
        }
        running.fetch_sub(1, Ordering::AcqRel);
    });
    let counts = counts.expect("the store is there");
    assert_eq!((counts.done, counts.dead, most.into_inner()), (8, 1, 2));
}

/// Handlers that take no time end faster than the server replies; a kill would repeat all that wait for a reply.
#[test]
fn no_more_ends_wait_for_a_reply_than_the_worker_may_hold_jobs() {
    const JOBS: usize = 2_000;
    let server = Redis::start();
    let client = connect(&server.url());
    let tasks = client.tasks("s");
    tasks
        .modify((0..JOBS).fold(Modification::new(), |all, _| all.insert(NewTask::new("q"))))
        .expect("the server is there");
    let events = client.events("happened");
    events.publish_many((0..JOBS).map(|_| NewEvent::new("1"))).expect("the server is there");
    let shuffled = client.shuffle_queue("shuffled");
    for tenant in 0..JOBS {
        shuffled.write(format!("{tenant}"), [("i", "1")]).expect("the server is there");
    }
    macro_rules! check {
        ($worker:expr) => {{
            let acknowledged = Arc::new(AtomicUsize::new(0));
            let counter = acknowledged.clone();
            let worker = $worker.prefetch(1).lease(LEASE).tell_all(true).on_report(move |report| {
                assert_eq!(report.kind, ReportKind::Done, "{}", report.message);
                counter.fetch_add(1, Ordering::AcqRel);
            });
            let (ended, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            // The only thread reports what is acknowledged before it takes a job.
            let counts = worker.drain(|_| {
                let waiting = ended.load(Ordering::Acquire) - acknowledged.load(Ordering::Acquire);
                most.fetch_max(waiting, Ordering::AcqRel);
                ended.fetch_add(1, Ordering::AcqRel);
            });
            assert_eq!(counts.expect("the server is there").done as usize, JOBS);
            // One less than `concurrency + prefetch`.
            assert!(most.into_inner() <= 1);
        }};
    }
    check!(tasks.worker(["q"]));
    check!(events.worker());
    check!(shuffled.consumer("g", "c").worker());
}

/// A worker that has a job in hand and room for more waits for more; the job may begin before those come.
#[test]
fn a_job_in_hand_wakes_the_thread_that_waits_for_more() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let client = connect(url);
        let tasks = client.tasks("s");
        let events = client.events("happened");
        let shuffled = client.shuffle_queue("shuffled");
        for tenant in 0..4 {
            tasks.insert("q", "1").expect("the server is there");
            events.publish(NewEvent::new("1")).expect("the server is there");
            shuffled.write(format!("{tenant}"), [("i", "1")]).expect("the server is there");
        }
        macro_rules! check {
            ($worker:expr, $done:expr) => {{
                let worker = $worker.concurrency(2).prefetch(4).lease(LEASE);
                let run = worker.start();
                let next = || match run.next() {
                    Ok(Some(RunEvent::Job(job))) => job,
                    other => panic!("{other:?}"),
                };
                let first = next();
                let _second = next();
                thread::scope(|scope| {
                    let third = scope.spawn(next);
                    // By now it most likely waits for work. If it does not, it has nothing to be woken from.
                    thread::sleep(Duration::from_millis(100));
                    assert!(!third.is_finished(), "two jobs are running");
                    run.end(&first, $done).expect("it is a job of this run");
                    let is_stuck = !within_patience(|| third.is_finished());
                    worker.stop(Duration::ZERO);
                    assert!(!is_stuck);
                });
            }};
        }
        check!(tasks.worker(["q"]), Ok(None));
        check!(events.worker(), Ok(()));
        check!(shuffled.consumer("g", "c").worker(), Ok(()));
    }
}

/// An event waits for the end of the one before it of its key, and for a reply to other ends.
#[test]
fn the_only_thread_of_a_worker_works_on_what_it_holds() {
    const EVENTS: usize = 8;
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let queue = connect(url).events("happened");
        for _ in 0..100 {
            let key = |n| if n < 4 { "one".to_string() } else { format!("{n}") };
            queue
                .publish_many((0..EVENTS).map(|n| NewEvent::new(format!("{n}")).key(key(n))))
                .expect("the server is there");
            let worker = queue.worker().prefetch(3).lease(LEASE);
            let worked_on = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    within_patience(|| worked_on.load(Ordering::Acquire) == EVENTS);
                    worker.stop(Duration::ZERO);
                });
                worker
                    .run(|_| {
                        worked_on.fetch_add(1, Ordering::AcqRel);
                    })
                    .expect("the server is there");
            });
            assert_eq!(worked_on.into_inner(), EVENTS);
        }
    }
}

/// The end of the only job meets a server that is away: there is nothing else that the worker does.
#[test]
fn an_outage_is_reported_by_an_end_that_cannot_be_sent() {
    let server = Redis::builder().appendonly_always().start();
    let client = connect(&format!("{}?retries=0", server.url()));
    let store = client.tasks("s");
    store.insert("q", "1").expect("the store is there");
    let queue = client.events("happened");
    queue.publish(NewEvent::new("1")).expect("the queue is there");
    let shuffled = client.shuffle_queue("shuffled");
    shuffled.write("t", [("i", "1")]).expect("the queue is there");
    macro_rules! check {
        ($worker:expr) => {{
            let seen = Seen::default();
            let worker = $worker.lease(LEASE).tell_all(true).on_report(hook!(seen));
            thread::scope(|scope| {
                scope.spawn(|| {
                    wait_until(|| count(&seen, ReportKind::Away) == 1);
                    assert_eq!(count(&seen, ReportKind::Done), 0);
                    server.restart();
                    wait_until(|| count(&seen, ReportKind::Done) == 1);
                    worker.stop(PATIENCE);
                });
                worker.run(|_| server.kill()).expect("it goes on");
            });
            let told = kinds(&seen)
                .into_iter()
                .map(|(kind, _)| kind)
                .filter(|kind| *kind != ReportKind::Done);
            assert_eq!(told.collect::<Vec<_>>(), [ReportKind::Away, ReportKind::Back]);
        }};
    }
    check!(store.worker(["q"]));
    check!(queue.worker());
    check!(shuffled.consumer("g", "c").worker());
}

/// Whoever ends a job need not keep the run, nor the worker.
#[test]
fn an_end_that_meets_an_outage_is_sent_again_by_a_run_that_was_dropped() {
    let server = Redis::builder().appendonly_always().start();
    let client = connect(&format!("{}?retries=0", server.url()));
    let store = client.tasks("s");
    store.insert("q", "1").expect("the store is there");
    let queue = client.events("happened");
    queue.publish(NewEvent::new("1")).expect("the queue is there");
    macro_rules! check {
        ($worker:expr, $done:expr, $left:expr) => {{
            let run = $worker.lease(LEASE).start();
            let Ok(Some(RunEvent::Job(job))) = run.next() else { panic!("there is a job") };
            server.kill();
            run.end(&job, $done).expect("it is a job of this run");
            let told = run.next().expect("it goes on");
            assert!(matches!(told, Some(RunEvent::Report(away)) if away.kind == ReportKind::Away));
            drop((run, job));
            server.restart();
            wait_until(|| $left == 0);
        }};
    }
    let tasks = || store.queue_stats(Filter::new()).map_or(1, |stats| stats.len());
    check!(store.worker(["q"]), Ok(None), tasks());
    check!(queue.worker(), Ok(()), queue.stats().map_or(1, |stats| stats.events));
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let within = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.expect("it needs nothing").block_on(within).expect("it does not hang")
}

/// While the only job is at work, nothing is sent but renewals.
#[test]
fn an_outage_is_reported_by_a_renewal() {
    let server = Redis::builder().appendonly_always().start();
    let client = connect(&format!("{}?retries=0&renew_every=20ms", server.url()));
    client.tasks("s").insert("q", "1").expect("the store is there");
    let seen = Seen::default();
    // A renewal that failed is tried again after a tenth of the lease.
    let lease = Duration::from_secs(30);
    let worker = client.to_async().tasks("s").worker(["q"]).lease(lease).tell_all(true);
    let worker = worker.on_report(hook!(seen));
    block_on(async {
        let work = async |_: &millpond::tasks::Job<millpond::Async>| {
            server.kill();
            while count(&seen, ReportKind::Away) == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            server.restart();
            while count(&seen, ReportKind::Back) == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            worker.stop(PATIENCE);
        };
        worker.run(work).await.expect("it goes on");
    });
    let told: Vec<_> = kinds(&seen).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(told, [ReportKind::Away, ReportKind::Back, ReportKind::Done]);
}

/// A renewal that finds its event moved to another partition looks there the next time; nothing is away.
#[test]
fn a_reshard_is_no_outage() {
    let server = Redis::start();
    let client = connect(&format!("{}?renew_every=10ms", server.url()));
    let queue = client.to_async().events("happened");
    let events = (0..20).map(|key| NewEvent::new("1").key(key.to_string()));
    client.events("happened").publish_many(events).expect("the queue is there");
    let seen = Seen::default();
    let worker = queue.worker().concurrency(20).lease(Duration::from_secs(9)).tell_all(true);
    let worker = worker.on_report(hook!(seen));
    block_on(async {
        let work = async |job: &millpond::events::Job<millpond::Async>| {
            if *job.event().key == *b"7" {
                queue.reshard(8).await.expect("the server is there");
            }
            // Some of these were renewed before the move, and all are renewed after it.
            tokio::time::sleep(Duration::from_millis(300)).await;
        };
        worker.drain(work).await.expect("the server is there");
    });
    let told = kinds(&seen);
    assert!(told.iter().all(|(kind, _)| *kind != ReportKind::Away), "{told:?}");
}

/// It raised nothing, and is tried again: nothing else tells of it.
#[test]
fn a_handler_on_a_thread_that_takes_too_long_is_told_of() {
    let store = connect("memory:").tasks("s");
    store.insert("q", "1").expect("the store is there");
    let troubles = Arc::new(Mutex::new(Vec::new()));
    let seen = troubles.clone();
    let worker = store.worker(["q"]).timeout(TOO_LONG).on_report(move |report| {
        if report.is_trouble() {
            let error = report.error.as_ref().map(millpond::Error::kind);
            seen.lock().expect("nothing panics").push((report.kind, error));
        }
    });
    worker.drain(|job| wait_until(|| job.is_lost())).expect("the store is there");
    let late = (ReportKind::Retried, Some(ErrorKind::Timeout));
    let refused = (ReportKind::Lost, Some(ErrorKind::LeaseLost));
    assert_eq!(*troubles.lock().expect("nothing panics"), [late, refused]);
}
