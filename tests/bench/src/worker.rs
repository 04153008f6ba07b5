//! Jobs per second through an async worker from Rust.

use std::cell::{Cell, OnceCell};
use std::time::{Duration, Instant};

use millpond::events::NewEvent;
use millpond::tasks::{Filter, Modification, NewTask};
use millpond_tests::servers::Redis;
use tokio::runtime::Runtime;

use crate::Outcome;
use crate::measure::in_turn;
use crate::report::{Report, number, ratio};
use crate::shuffle::tenant;

const ROUNDS: usize = 5;
const CONCURRENT: usize = 100;
const BATCH: usize = 1_000;
const WAIT: Duration = Duration::from_millis(5);

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let section = report.section(
        "Workers in Rust",
        "Jobs a second of one process, on a redis-server without persistence: `run` of an async \
         worker of a task store, of a shuffle queue of 64 streams with 40 tenants and of a queue \
         of events, on tokio's \
         default runtime, with `concurrency(100)` and `prefetch(100)`. All jobs are enqueued first; \
         the time is from the start of the first until the store holds none. A handler does \
         nothing, or waits 5 ms, of which a hundred at once can be 20,000 a second: the waits \
         alone. Aim: 0.9 of these.",
        &["handler", "queue", "jobs a second", "of the waits alone"],
    );
    for (handler, wait, total) in [("no-op", None, 60_000), ("wait 5 ms", Some(WAIT), 30_000)] {
        let round = || Round { total, wait, begun: Cell::new(0), first: OnceCell::new() };
        let pair = in_turn(
            ROUNDS,
            || tasks(&server, &runtime, &round()),
            || shuffle(&server, &runtime, &round()),
        )?;
        let other = in_turn(
            ROUNDS,
            || events(&server, &runtime, &round()),
            || tasks(&server, &runtime, &round()),
        )?;
        for (queue, rate) in
            [("tasks", pair.ours), ("shuffle queue", pair.theirs), ("events", other.ours)]
        {
            let share = wait.map(|wait| rate * wait.as_secs_f64() / CONCURRENT as f64);
            let share = share.map(|share| ratio(share, Some(("aim 0.9", share >= 0.9))));
            let share = share.unwrap_or_default();
            section.row([handler.into(), queue.into(), number(rate), share]);
        }
    }
    Ok(())
}

/// Jobs that are worked on once.
struct Round {
    total: usize,
    wait: Option<Duration>,
    begun: Cell<usize>,
    first: OnceCell<Instant>,
}

impl Round {
    fn batches(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.total).step_by(BATCH).map(|from| from..from + BATCH)
    }

    /// What a handler does; that of the last job stops the worker.
    async fn handle(&self, stop: impl Fn()) {
        self.first.get_or_init(Instant::now);
        self.begun.set(self.begun.get() + 1);
        if self.begun.get() == self.total {
            stop();
        }
        if let Some(wait) = self.wait {
            tokio::time::sleep(wait).await;
        }
    }

    fn per_second(&self) -> f64 {
        let first = self.first.get().expect("a job has begun");
        self.total as f64 / first.elapsed().as_secs_f64()
    }
}

fn tasks(server: &Redis, runtime: &Runtime, round: &Round) -> Outcome<f64> {
    server.cli(&["FLUSHALL"]);
    let client = millpond::connect(&server.url())?;
    let store = client.tasks("bench");
    for numbers in round.batches() {
        let whole = numbers.fold(Modification::new(), |whole, number| {
            whole.insert(NewTask::new("q").value(number.to_string()))
        });
        store.modify(whole)?;
    }
    let worker = client.to_async().tasks("bench").worker(["q"]);
    let worker = worker.concurrency(CONCURRENT).prefetch(CONCURRENT);
    let stop = || worker.stop(Duration::MAX);
    runtime.block_on(worker.run(async |_| round.handle(stop).await))?;
    let rate = round.per_second();
    assert!(store.queues(Filter::new())?.is_empty(), "jobs are left");
    Ok(rate)
}

fn shuffle(server: &Redis, runtime: &Runtime, round: &Round) -> Outcome<f64> {
    server.cli(&["FLUSHALL"]);
    let client = millpond::connect(&server.url())?;
    let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
    for numbers in round.batches() {
        queue
            .write_many(numbers.map(|number| (tenant(number), [("number", number.to_string())])))?;
    }
    let to_async = client.to_async().shuffle_queue("q").streams(64).streams_per_shard(4);
    let worker = to_async.consumer("workers", "worker-1").worker().delete(true);
    let worker = worker.concurrency(CONCURRENT).prefetch(CONCURRENT);
    let stop = || worker.stop(Duration::MAX);
    runtime.block_on(worker.run(async |_| round.handle(stop).await))?;
    let rate = round.per_second();
    assert_eq!(queue.len()?, 0, "jobs are left");
    Ok(rate)
}

fn events(server: &Redis, runtime: &Runtime, round: &Round) -> Outcome<f64> {
    server.cli(&["FLUSHALL"]);
    let client = millpond::connect(&server.url())?;
    let queue = client.events("bench");
    for numbers in round.batches() {
        queue.publish_many(numbers.map(|number| NewEvent::new(number.to_string())))?;
    }
    let worker = client.to_async().events("bench").worker();
    let worker = worker.concurrency(CONCURRENT).prefetch(CONCURRENT);
    let stop = || worker.stop(Duration::MAX);
    runtime.block_on(worker.run(async |_| round.handle(stop).await))?;
    let rate = round.per_second();
    assert_eq!(queue.stats()?.events, 0, "jobs are left");
    Ok(rate)
}
