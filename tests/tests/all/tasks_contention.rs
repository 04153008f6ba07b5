//! Jobs that need the same documents exclude each other, and waiting does not count as a failed attempt.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use millpond::tasks::{Failure, Job, Modification, NewDoc, NewTask, TaskId, TaskStore};
use millpond::{Async, Client, ErrorKind, ReportKind};
use millpond_tests::block_on;
use millpond_tests::servers::Redis;

/// Far longer than the work takes on any machine: who waits for one to end is late.
const LEASE: Duration = Duration::from_secs(300);
const WORK: Duration = Duration::from_millis(10);
const TASKS: u64 = 40;

/// The tasks of one document, which each add 1 to its content.
fn fill(store: &TaskStore) {
    let inserts = (0..TASKS).fold(Modification::new(), |all, _| all.insert(NewTask::new("q")));
    store
        .modify(inserts.insert_doc(NewDoc::new("n", "k").id("d").content("0")))
        .expect("the store is there");
}

fn work(job: &Job, wait: Duration) -> Result<Modification, Failure> {
    let docs = job.claim_docs_within("n", ["k"], wait)?;
    let count: u64 = docs[0].content.as_deref().unwrap_or_default().parse()?;
    std::thread::sleep(WORK);
    Ok(job.delete().change_doc(docs[0].change().content((count + 1).to_string())))
}

/// Runs a worker for each of these stores; returns how long that took, and how often their handlers ran.
fn run(stores: &[TaskStore; 2], wait: Duration) -> (Duration, u64) {
    let runs = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for store in stores {
            scope.spawn(|| {
                let worker = store.worker(["q"]).lease(LEASE).max_attempts(1).max_crashes(1);
                let run = worker.drain(|job| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    work(job, wait)
                });
                run.expect("the store is there");
            });
        }
    });
    (start.elapsed(), runs.into_inner())
}

/// Without exclusion it takes a lease at least.
fn trap(client: &Client, has_own_stores: bool, wait: Duration) {
    let name = format!("{has_own_stores} {wait:?}");
    let store = client.tasks(&name);
    fill(&store);
    let other = if has_own_stores { client.tasks(&name) } else { store.clone() };
    let (took, runs) = run(&[store.clone(), other], wait);
    assert_eq!(
        store.queues(Default::default()).expect("the store is there"),
        [],
        "nothing is put aside or left"
    );
    let docs = store.fetch_docs("n", ["d"]).expect("the store is there");
    assert_eq!(docs[0].content.as_deref(), Some(&*TASKS.to_string()));
    assert!(wait.is_zero() || runs == TASKS, "those that wait run once: {runs}");
    assert!(took < LEASE, "it took {took:?}, and {runs} runs");
}

fn traps(url: &str) {
    let client = millpond::connect(url).expect("the store is there");
    for has_own_stores in [false, true] {
        for wait in [Duration::ZERO, LEASE] {
            trap(&client, has_own_stores, wait);
        }
    }
}

#[test]
fn jobs_of_one_document_are_done_one_after_the_other_in_memory() {
    traps("memory:");
}

#[test]
fn jobs_of_one_document_are_done_one_after_the_other_on_redis() {
    traps(&Redis::start().url());
}

/// The task is released soon and without a counted attempt, whichever job holds the document; other
/// errors are failed attempts.
#[test]
fn a_taken_document_is_no_failed_attempt() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let store = millpond::connect(url).expect("the store is there").tasks("shop");
        let holder = store.clone().claimant("somebody");
        store
            .modify(Modification::new().insert_doc(NewDoc::new("n", "k").id("d")))
            .expect("the store is there");
        store.insert("q", "1").expect("the store is there");
        let held = holder.claim_docs("n", ["k"], LEASE).expect("the store is there");
        let runs = AtomicU32::new(0);
        let worker = store.worker(["q"]).lease(LEASE).max_attempts(2).max_crashes(1);
        worker
            .drain(|job| {
                match runs.fetch_add(1, Ordering::Relaxed) {
                    0..8 => {}
                    8 => drop(
                        holder
                            .renew([], [held[0].handle()], Duration::ZERO)
                            .expect("the store is there"),
                    ),
                    run => panic!("run {run}"),
                }
                job.claim_docs("n", ["k"])?;
                assert_eq!((job.task().attempt, &*job.task().err), (0, ""));
                Ok::<_, Failure>(())
            })
            .expect("the store is there");
        assert_eq!(runs.into_inner(), 9);

        store.insert("q", "1").expect("the store is there");
        holder.claim_docs("n", ["k"], LEASE).expect("the store is there");
        let job = worker.jobs().next().expect("it is not over").expect("the store is there");
        assert_eq!(
            job.claim_docs("n", ["k"]).expect_err("it is held").kind(),
            ErrorKind::Dependency
        );
        job.fail("no paper").expect("the store is there");
        assert_eq!(
            store.fetch([&job.task().id]).expect("the store is there")[0].attempt,
            1,
            "{url}"
        );
    }
}

/// A wait for documents ends as they come free, at its time, and with the job's lease.
#[test]
fn a_job_waits_for_documents() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let client = millpond::connect(url).expect("the store is there");
        let store = client.tasks("shop");
        store
            .modify(Modification::new().insert_doc(NewDoc::new("n", "k").id("d")))
            .expect("the store is there");
        for _ in 0..3 {
            store.insert("q", "1").expect("the store is there");
        }
        let holder =
            store.worker(["q"]).jobs().next().expect("it is not over").expect("the store is there");
        holder.claim_docs("n", ["k"]).expect("the store is there");

        let job =
            store.worker(["q"]).jobs().next().expect("it is not over").expect("the store is there");
        let start = Instant::now();
        let error =
            job.claim_docs_within("n", ["k"], Duration::from_millis(150)).expect_err("it is held");
        assert_eq!(error.dependency().expect("the store is there").doc_claims.len(), 1);
        assert!(start.elapsed() >= Duration::from_millis(150));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                job.claim_docs_within("n", ["k"], Duration::MAX).expect("the store is there")
            });
            std::thread::sleep(Duration::from_millis(30));
            holder.done().expect("the store is there");
            assert_eq!(waiting.join().expect("the store is there").len(), 1);
        });
        block_on(waits_async(&client.to_async(), &job));
    }
}

async fn waits_async(client: &Client<Async>, holder: &Job) {
    let worker = client.tasks("shop").worker(["q"]);
    let job = worker.jobs().next().await.expect("it is not over").expect("the store is there");
    let short = job.claim_docs_within("n", ["k"], Duration::from_millis(50)).await;
    assert_eq!(short.expect_err("it is held").kind(), ErrorKind::Dependency);
    let waiting = job.claim_docs_within("n", ["k"], LEASE);
    holder.done().expect("the store is there");
    assert_eq!(waiting.await.expect("the store is there").len(), 1);
    // Nothing polls any more for those whose future is dropped, or for a job that is over.
    job.done().await.expect("the store is there");
}

/// What a wait gets when its job has ended is released: nothing else would renew or release it.
#[test]
fn a_wait_that_outlives_its_job_holds_nothing() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let client = millpond::connect(url).expect("the store is there").to_async();
        block_on(async {
            let store = client.tasks("shop");
            let doc = Modification::new().insert_doc(NewDoc::new("n", "k"));
            store.modify(doc).await.expect("the store is there");
            for _ in 0..20 {
                let worker = store.worker(["q"]);
                let mut jobs = Vec::new();
                for _ in 0..2 {
                    store.insert("q", "1").await.expect("the store is there");
                    let job = worker.jobs().next().await.expect("there is one");
                    jobs.push(job.expect("the store is there"));
                }
                let [holder, ended] = &jobs[..] else { unreachable!("there are two") };
                holder.claim_docs("n", ["k"]).await.expect("it is free");
                let waiting = ended.claim_docs_within("n", ["k"], LEASE);
                // Time for the first attempt; the next one comes after both jobs.
                ended.claim_docs("n", ["k"]).await.expect_err("it is held");
                ended.done().await.expect("the store is there");
                holder.done().await.expect("the store is there");
                let kind = waiting.await.expect_err("the job has ended").kind();
                assert_eq!(kind, ErrorKind::LeaseLost);
                let held = store.get_doc("n", "k").await.expect("the store is there");
                assert_eq!(&*held.expect("it is there").claimant, "", "{url}");
                let late = ended.claim_docs("n", ["k"]).await.expect_err("the job has ended");
                assert_eq!(late.kind(), ErrorKind::LeaseLost);
            }
        });
    }
}

/// The task is available again, as a failed attempt, and it is reported.
#[test]
fn a_refused_end_releases_the_task_and_is_reported() {
    let server = Redis::start();
    for url in ["memory:", &server.url()] {
        let store = millpond::connect(url).expect("the store is there").tasks("shop");
        let docs = Modification::new().insert_doc(NewDoc::new("n", "k").id("d"));
        store
            .modify(docs.insert_doc(NewDoc::new("n", "other").id("there")))
            .expect("the store is there");
        store.insert("q", "1").expect("the store is there");
        let told = std::sync::Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        let none = Duration::ZERO;
        let worker = store.worker(["q"]).lease(LEASE).backoff(none).max_attempts(2);
        worker
            .on_report(move |report| {
                let (job, error) = (report.job.as_ref(), report.error.as_ref());
                let (job, error) = (job.expect("it is of a job"), error.expect("it says why"));
                let told = (report.kind, job.task().attempt, error.kind(), job.is_ended());
                tell.lock().expect("the store is there").push(told);
            })
            .drain(|job| -> Result<_, Failure> {
                // It holds documents of its own, which are free again as well.
                job.claim_docs("n", ["k"])?;
                let again = NewDoc::new("n", "other").id("there");
                let none = TaskId::new("none", 7);
                Ok(job.delete().insert(NewTask::new("out")).insert_doc(again).depend(none))
            })
            .expect("the store is there");
        let all = [
            (ReportKind::Refused, 0, ErrorKind::Dependency, true),
            (ReportKind::Dead, 1, ErrorKind::DeadLetter, true),
        ];
        assert_eq!(*told.lock().expect("the store is there"), all, "{url}");
        let task =
            store.claim(["q/err"], LEASE).expect("it is not over").expect("the store is there");
        assert!(task.err.contains("document n/there exists already"), "{}", task.err);
        assert_eq!(store.claim_docs("n", ["k"], LEASE).expect("the store is there").len(), 1);
    }
}
