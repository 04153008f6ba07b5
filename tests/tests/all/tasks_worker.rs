//! What a worker of tasks promises: many jobs at once, ends that are gathered, stops within a deadline, and runs
//! that go on through a server that is away.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use millpond::tasks::{
    Failure, Filter, Job, JobCounts, Modification, NewTask, TaskQuery, TaskStore, Worker,
};
use millpond::{Async, Client, ErrorKind, Mode, ReportKind, RunEvent};
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::Redis;
use tokio::sync::Barrier;

/// Longer than anything here takes, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

const LEASE: Duration = Duration::from_secs(600);

fn on_both(test: impl Fn(Client)) {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        test(connect(url));
    }
}

fn connect(url: &str) -> Client {
    millpond::connect(url).expect("the address is one")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let within = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.expect("it needs nothing").block_on(within).expect("it does not hang")
}

fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it does not come to pass");
        thread::sleep(Duration::from_millis(2));
    }
}

fn insert(store: &TaskStore, count: usize) {
    let inserts = (0..count).fold(Modification::new(), |all, _| all.insert(NewTask::new("q")));
    store.modify(inserts).expect("the store is there");
}

/// The number of tasks in each queue.
fn queues(store: &TaskStore) -> Vec<(String, u64)> {
    let queues = store.queues(Filter::new()).expect("the store is there");
    queues.into_iter().map(|(queue, size)| (queue.to_string(), size)).collect()
}

fn available(store: &TaskStore) -> u64 {
    let stats = store.queue_stats(Filter::new().exact("q")).expect("the store is there");
    stats.first().map_or(0, |of| of.available)
}

/// What a worker reports.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(ReportKind, String)>>>);

impl Told {
    fn listen<M: Mode>(&self, worker: Worker<M>) -> Worker<M> {
        let told = self.0.clone();
        worker.tell_all(true).on_report(move |report| {
            told.lock().expect("nothing panics").push((report.kind, report.message.clone()));
        })
    }

    fn all(&self) -> Vec<(ReportKind, String)> {
        self.0.lock().expect("nothing panics").clone()
    }

    fn count(&self, kind: ReportKind) -> usize {
        self.all().iter().filter(|(of, _)| *of == kind).count()
    }
}

/// Stops a worker however a test ends, which would wait for it otherwise.
struct Stops<'a>(&'a Worker);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.stop(Duration::ZERO);
    }
}

#[test]
fn threads_work_at_once() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 8);
        let worker = store.worker(["q"]).concurrency(4);
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let run = worker.run(|_| {
            // The first four go on only together.
            begun.fetch_add(1, Ordering::AcqRel);
            wait_until(|| begun.load(Ordering::Acquire) >= 4);
            if done.fetch_add(1, Ordering::AcqRel) == 7 {
                worker.stop(PATIENCE);
            }
        });
        run.expect("the store is there");
        assert_eq!((done.into_inner(), queues(&store)), (8, vec![]));
    });
}

/// And a hundred ends at a time go out in a few steps.
#[test]
fn futures_work_at_once_and_their_ends_are_gathered() {
    let server = Redis::start();
    let store = connect(&server.url()).tasks("s");
    insert(&store, 200);
    let barrier = Barrier::new(100);
    let before = server.calls_of("evalsha").unwrap_or_default();
    let drained = block_on(async {
        let client = millpond::aio::connect(&server.url()).expect("the address is one");
        let worker = client.tasks("s").worker(["q"]).concurrency(100).lease(LEASE);
        worker.drain(async |_: &Job<Async>| _ = barrier.wait().await).await
    });
    assert_eq!(
        drained.expect("the server is there"),
        JobCounts { done: 200, ..JobCounts::default() }
    );
    let steps = server.calls_of("evalsha").unwrap_or_default() - before;
    assert!(steps < 30, "200 jobs took {steps} steps");
}

#[test]
fn a_stop_gives_back_what_is_held_ready_and_waits_for_what_runs() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 10);
        let worker = store.worker(["q"]).prefetch(5).max_crashes(1);
        let (begun, goes_on) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let _stops = Stops(&worker);
            let run = scope.spawn(|| {
                worker.run(|_| {
                    begun.store(true, Ordering::Release);
                    wait_until(|| goes_on.load(Ordering::Acquire));
                })
            });
            wait_until(|| begun.load(Ordering::Acquire));
            assert!(available(&store) < 9, "some are held ready");
            worker.stop(PATIENCE);
            wait_until(|| available(&store) == 9);
            assert!(!run.is_finished());
            goes_on.store(true, Ordering::Release);
            run.join().expect("nothing panics").expect("the store is there");
        });
        assert_eq!(queues(&store), [("q".to_owned(), 9)]);
        let left = store.worker(["q"]).max_crashes(1).drain(|_| ()).expect("the store is there");
        assert_eq!((left.done, left.dead), (9, 0), "none counts as claimed without an end");
    });
}

#[test]
fn after_the_deadline_of_a_stop_a_job_is_given_back_and_its_end_has_no_effect() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 1);
        let told = Told::default();
        let worker = told.listen(store.worker(["q"]).lease(LEASE));
        let run = worker.run(|job| {
            worker.stop(Duration::from_millis(50));
            wait_until(|| job.is_lost());
            wait_until(|| store.claim(["q"], LEASE).expect("the store is there").is_some());
            job.delete().insert(NewTask::new("out"))
        });
        run.expect("the store is there");
        assert_eq!(
            told.all().iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [ReportKind::Released]
        );
        let left = store.list("q", TaskQuery::new()).expect("the store is there").tasks;
        assert_eq!((left.len(), left[0].attempt, left[0].claims), (1, 0, 2));
        assert_eq!(queues(&store).len(), 1, "nothing came of the late end");
    });
}

#[test]
fn after_the_deadline_of_a_stop_a_future_is_dropped() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 3);
        block_on(async {
            let worker = client.to_async().tasks("s").worker(["q"]).concurrency(3).lease(LEASE);
            let begun = AtomicUsize::new(0);
            let run = worker.run(async |_: &Job<Async>| {
                if begun.fetch_add(1, Ordering::AcqRel) == 2 {
                    worker.stop(Duration::from_millis(50));
                }
                pending::<()>().await;
            });
            run.await.expect("the store is there");
        });
        assert_eq!(available(&store), 3);
    });
}

/// A second stop shortens the first, and a stop ends a wait for tasks.
#[test]
fn a_stop_can_be_shortened_and_ends_a_wait() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 1);
        let worker = store.worker(["q"]).lease(LEASE);
        let run = worker.run(|job| {
            worker.stop(PATIENCE);
            worker.stop(Duration::ZERO);
            wait_until(|| job.is_lost());
        });
        run.expect("the store is there");

        let idle = store.worker(["none"]).concurrency(3);
        let start = Instant::now();
        thread::scope(|scope| {
            let run = scope.spawn(|| idle.run(|_| ()));
            thread::sleep(Duration::from_millis(50));
            idle.stop(PATIENCE);
            run.join().expect("nothing panics").expect("the store is there");
        });
        block_on(async {
            let idle = client.to_async().tasks("s").worker(["none"]);
            let stop = idle.clone();
            let stopping = thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                stop.stop(PATIENCE);
            });
            idle.run(async |_: &Job<Async>| ()).await.expect("the store is there");
            stopping.join().expect("nothing panics");
        });
        assert!(start.elapsed() < PATIENCE / 6, "it took {:?}", start.elapsed());
    });
}

#[test]
fn a_worker_that_was_stopped_begins_nothing() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 1);
        let worker = store.worker(["q"]);
        worker.stop(Duration::ZERO);
        worker.run(|_| -> () { unreachable!("it is stopped") }).expect("it ends");
        let left = store.list("q", TaskQuery::new()).expect("the store is there").tasks;
        assert_eq!((left.len(), left[0].claims), (1, 0));
    });
}

/// What runs ends when the server is there again. What was claimed as it went away, by a step whose reply never
/// came, comes again after its lease.
#[test]
fn a_run_goes_on_when_the_server_was_away() {
    // Enough is left when the first outage is over.
    const TASKS: usize = 4_000;
    let server = Redis::builder().appendonly_always().start();
    let store = connect(&server.url()).tasks("s");
    insert(&store, TASKS);
    let told = Told::default();
    let worker = store.worker(["q"]).concurrency(4).prefetch(8).lease(Duration::from_secs(8));
    let worker = told.listen(worker);
    let runs = AtomicUsize::new(0);
    thread::scope(|scope| {
        let _stops = Stops(&worker);
        let run = scope.spawn(|| {
            worker.run(|job| {
                runs.fetch_add(1, Ordering::AcqRel);
                thread::sleep(Duration::from_millis(2));
                job.delete().insert(NewTask::new("out"))
            })
        });
        for away in [TASKS / 40, TASKS / 20] {
            wait_until(|| runs.load(Ordering::Acquire) >= away);
            // An outage is over when what failed in it was sent again.
            wait_until(|| told.count(ReportKind::Away) == told.count(ReportKind::Back));
            let (seen_away, seen_back) =
                (told.count(ReportKind::Away), told.count(ReportKind::Back));
            server.kill();
            wait_until(|| told.count(ReportKind::Away) > seen_away);
            thread::sleep(Duration::from_millis(700));
            assert_eq!(told.count(ReportKind::Back), seen_back);
            server.restart();
        }
        wait_until(|| told.count(ReportKind::Done) == TASKS);
        worker.stop(PATIENCE);
        run.join().expect("nothing panics").expect("it went on");
    });
    assert_eq!(queues(&store), [("out".to_owned(), TASKS as u64)]);
    assert_eq!(runs.into_inner(), TASKS, "nothing ran twice");
    let counts =
        [ReportKind::Away, ReportKind::Back, ReportKind::Done].map(|kind| told.count(kind));
    assert_eq!(counts, [2, 2, TASKS], "{:?}", told.all());
}

/// A stop does not wait for a server that is away.
#[test]
fn a_stop_within_an_outage_has_its_deadline() {
    let server = Redis::builder().appendonly_always().start();
    let store = connect(&format!("{}?retries=0", server.url())).tasks("s");
    insert(&store, 2);
    let told = Told::default();
    let worker = told.listen(store.worker(["q"]).prefetch(1).lease(LEASE));
    let start = Instant::now();
    let run = worker.run(|_| {
        server.kill();
        worker.stop(Duration::from_millis(300));
    });
    run.expect("it is no error");
    assert!(start.elapsed() < PATIENCE / 3, "it took {:?}", start.elapsed());
    assert_eq!(told.count(ReportKind::Lost), 2, "{:?}", told.all());
}

/// What a stop gives back while the server is away is available as soon as it is back, not when leases are over.
#[test]
fn a_stop_within_an_outage_gives_back_what_is_held_ready() {
    let server = Redis::builder().appendonly_always().start();
    let store = connect(&format!("{}?retries=0", server.url())).tasks("s");
    insert(&store, 6);
    let told = Told::default();
    let worker = told.listen(store.worker(["q"]).prefetch(5).lease(LEASE));
    let run = worker.run(|_| {
        server.kill();
        worker.stop(PATIENCE);
        // The first tries are in vain.
        thread::sleep(Duration::from_millis(200));
        server.restart();
    });
    run.expect("it is no error");
    let counts =
        [ReportKind::Done, ReportKind::Released, ReportKind::Lost].map(|kind| told.count(kind));
    assert_eq!(counts, [1, 5, 0], "{:?}", told.all());
    assert_eq!((available(&store), queues(&store)), (5, vec![("q".to_owned(), 5)]));
}

#[test]
fn an_error_that_does_not_heal_ends_a_run() {
    let server = Redis::builder().requirepass("right").start();
    let url = server.url().replace("right", "wrong");
    let (blocking, waiting) = (connect(&url), connect(&url).to_async());
    let error = blocking.tasks("s").worker(["q"]).concurrency(3).run(|_| ());
    let other =
        block_on(async { waiting.tasks("s").worker(["q"]).run(async |_: &Job<Async>| ()).await });
    assert_eq!(error.expect_err("it is refused").kind(), other.expect_err("it is refused").kind());
}

/// The server did it, and the client does not know: it is done once, and reported as done.
#[test]
fn an_end_whose_reply_is_lost_is_done_once() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let store = connect(&proxy.url()).tasks("s");
    let end = |outcome: fn(&Job) -> Result<Modification, Failure>| {
        insert(&store, 1);
        // One at a time, without any held ready, nothing is sent before a job has ended.
        let worker =
            store.worker(["q"]).lease(LEASE).backoff(LEASE).backoff_max(LEASE).max_attempts(2);
        let lost = proxy.swallowed();
        let drained = worker.drain(|job| {
            proxy.lose_next_reply();
            outcome(job)
        });
        assert_eq!(proxy.swallowed(), lost + 1);
        drained.expect("the server is there")
    };
    let done = end(|job| Ok(job.delete().insert(NewTask::new("out"))));
    assert_eq!(done, JobCounts { done: 1, ..JobCounts::default() });
    assert_eq!(queues(&store), [("out".to_owned(), 1)]);
    let retried = end(|_| Err(Failure::Retry("no paper".to_owned())));
    assert_eq!(retried, JobCounts { retried: 1, ..JobCounts::default() });
    let left = store.list("q", TaskQuery::new()).expect("the server is there").tasks;
    assert_eq!((left.len(), left[0].attempt, &*left[0].err), (1, 1, "no paper"));
    let dead = end(|_| Err(Failure::Reject("no such customer".to_owned())));
    assert_eq!(dead, JobCounts { dead: 1, ..JobCounts::default() });
}

/// So are those that went out together.
#[test]
fn ends_whose_reply_is_lost_are_each_done_once() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let store = connect(&server.url()).tasks("s");
    insert(&store, 20);
    let told = Told::default();
    let (barrier, ended) = (Barrier::new(20), AtomicUsize::new(0));
    block_on(async {
        let client = millpond::aio::connect(&proxy.url()).expect("the address is one");
        let worker = told.listen(client.tasks("s").worker(["q"]).concurrency(20).lease(LEASE));
        let stop = worker.clone();
        let told = told.clone();
        let stopping = thread::spawn(move || {
            wait_until(|| told.count(ReportKind::Done) == 20);
            stop.stop(PATIENCE);
        });
        let run = worker.run(async |job: &Job<Async>| {
            barrier.wait().await;
            if ended.fetch_add(1, Ordering::AcqRel) == 0 {
                proxy.lose_next_reply();
            }
            job.delete().insert(NewTask::new("out"))
        });
        run.await.expect("it goes on");
        stopping.join().expect("nothing panics");
    });
    assert_eq!(proxy.swallowed(), 1);
    assert_eq!(queues(&store), [("out".to_owned(), 20)]);
    let trouble = told.all().into_iter().filter(|(kind, _)| *kind != ReportKind::Done);
    let trouble: Vec<_> =
        trouble.filter(|(kind, _)| !matches!(kind, ReportKind::Away | ReportKind::Back)).collect();
    assert_eq!((told.count(ReportKind::Done), trouble), (20, vec![]));
}

#[test]
fn a_future_that_takes_too_long_is_dropped_and_has_failed() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 1);
        let told = Told::default();
        block_on(async {
            let worker =
                client.to_async().tasks("s").worker(["q"]).timeout(Duration::from_millis(30));
            let drained =
                told.listen(worker).drain(async |_: &Job<Async>| pending::<()>().await).await;
            assert_eq!(drained.expect("the store is there").retried, 1);
        });
        let left = store.list("q", TaskQuery::new()).expect("the store is there").tasks;
        assert_eq!((left[0].attempt, &*left[0].err), (1, "timeout: it took longer than 30ms"));
        assert!(told.all()[0].1.ends_with("it took longer than 30ms"), "{:?}", told.all());
    });
}

#[test]
fn the_future_of_a_job_whose_lease_is_lost_is_dropped() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 1);
        let told = Told::default();
        block_on(async {
            let worker =
                client.to_async().tasks("s").worker(["q"]).lease(Duration::from_millis(300));
            let worker = told.listen(worker);
            let drained = worker.drain(async |job: &Job<Async>| {
                // Nobody else can take it, but the claimant itself.
                let thief = store.clone().claimant(&job.task().claimant);
                while thief.modify(job.delete()).is_err() {}
                pending::<()>().await;
            });
            let drained = drained.await.expect("the store is there");
            assert_eq!(drained, JobCounts { others: 1, ..JobCounts::default() });
        });
        assert_eq!(told.count(ReportKind::Lost), 1, "{:?}", told.all());
    });
}

#[test]
fn a_handler_that_panics_ends_the_run_and_leaves_its_job_leased() {
    on_both(|client| {
        let store = client.tasks("s");
        insert(&store, 3);
        let worker = store.worker(["q"]).concurrency(2).prefetch(1).lease(LEASE);
        let both = std::sync::Barrier::new(2);
        let runs = AtomicUsize::new(0);
        let run = catch_unwind(AssertUnwindSafe(|| {
            worker.run(|job| {
                let number = runs.fetch_add(1, Ordering::AcqRel);
                both.wait();
                match number {
                    0 => panic!("this handler panics"),
                    _ => wait_until(|| job.is_lost()),
                }
            })
        }));
        assert!(run.is_err());
        wait_until(|| available(&store) == 2);
        assert_eq!(runs.into_inner(), 2);
    });
}

#[test]
fn a_run_is_its_process_s() {
    let server = Redis::start();
    let store = connect(&server.url()).tasks("s");
    insert(&store, 2);
    let worker = store.worker(["q"]);
    let run = worker.start();
    let Ok(Some(RunEvent::Job(job))) = run.next() else { panic!("there is a job") };
    // SAFETY: the child touches nothing that another thread might have locked, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let is_forked = |error: millpond::Error| error.kind() == ErrorKind::Forked;
        let refused = [run.next().err(), run.end(&job, Ok(None)).err()];
        let all = refused.into_iter().all(|error| error.is_some_and(is_forked));
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(if all { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: it is the child, and the place for its status is there.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    run.end(&job, Ok(None)).expect("the job is here");
    worker.stop(PATIENCE);
    drop(job);
    assert!(run.next().expect("the server is there").is_none());
    assert_eq!(queues(&store), [("q".to_owned(), 1)]);
}
