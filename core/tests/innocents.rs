//! Jobs that end their processes, beside others that do not: of the three queues with workers, with processes that are
//! simulated, in virtual time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use millpond::{
    Async, Client, Error, ManualClock, Options, Report, ReportKind, RunEvent, events, shuffle,
    tasks,
};

const LEASE: Duration = Duration::from_secs(60);
const CONCURRENCY: usize = 8;
const PREFETCH: usize = 8;
const JOBS: usize = 61;

/// A process that dies is simply forgotten, and its leases are real time's to renew, which a test does not take.
trait Process {
    type Job;

    fn start(client: &Client<Async>, max_crashes: u32) -> Self;
    fn poll_next(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<RunEvent<Self::Job>>, Error>>;
    fn number(job: &Self::Job) -> usize;
    fn done(&self, job: &Self::Job);
}

macro_rules! process {
    ($name:ident, $module:ident, $worker:expr, $number:expr, $done:expr) => {
        struct $name($module::Run<Async>);

        impl Process for $name {
            type Job = $module::Job<Async>;

            fn start(client: &Client<Async>, max_crashes: u32) -> Self {
                let worker = $worker(client, max_crashes);
                Self(worker.concurrency(CONCURRENCY).prefetch(PREFETCH).start_drain())
            }

            fn poll_next(
                &self,
                context: &mut Context<'_>,
            ) -> Poll<Result<Option<RunEvent<Self::Job>>, Error>> {
                self.0.poll_next(context)
            }

            fn number(job: &Self::Job) -> usize {
                let text: String = $number(job);
                text.parse().expect("a number")
            }

            fn done(&self, job: &Self::Job) {
                self.0.end(job, Ok($done)).expect("it is this run's");
            }
        }
    };
}

process!(
    Tasks,
    tasks,
    |client: &Client<Async>, max_crashes| client.tasks("s").worker(["q"]).max_crashes(max_crashes),
    |job: &tasks::Job<Async>| job.task().value.as_deref().expect("a value").to_owned(),
    None
);
process!(
    Events,
    events,
    |client: &Client<Async>, _| client.events("q").worker(),
    |job: &events::Job<Async>| String::from_utf8_lossy(&job.event().payload).into_owned(),
    ()
);
process!(
    Messages,
    shuffle,
    |client: &Client<Async>, max_crashes| {
        let consumer = client.shuffle_queue("q").consumer("g", "c");
        consumer.max_deliveries(u64::from(max_crashes)).worker()
    },
    |job: &shuffle::Job<Async>| {
        String::from_utf8_lossy(job.message().field("n").expect("a field")).into_owned()
    },
    ()
);

/// How many processes died of the jobs that end them, and which jobs were done.
struct Ended {
    deaths: usize,
    done: BTreeSet<usize>,
    /// How many other jobs ran when a process died, each time.
    beside: Vec<usize>,
}

/// Works on all jobs with one process after the other, until all are done or dead.
fn work<P: Process>(
    (client, clock): &(Client, Arc<ManualClock>),
    max_crashes: u32,
    poison: &BTreeSet<usize>,
    dead: impl Fn() -> usize,
) -> Ended {
    let client = client.to_async();
    let mut ended = Ended { deaths: 0, done: BTreeSet::new(), beside: Vec::new() };
    for _ in 0..200 {
        let process = P::start(&client, max_crashes);
        if !runs_to_its_end(&process, poison, &mut ended) {
            ended.deaths += 1;
            std::mem::forget(process);
        }
        clock.advance(LEASE + Duration::from_secs(1));
        if ended.done.len() + dead() == JOBS {
            return ended;
        }
    }
    panic!("{} were done and {} are dead", ended.done.len(), dead());
}

/// Lets a process work until it finds nothing more; or until it dies, as a job ends it when nothing more begins.
fn runs_to_its_end<P: Process>(process: &P, poison: &BTreeSet<usize>, ended: &mut Ended) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let mut held: Vec<P::Job> = Vec::new();
    for _ in 0..100_000 {
        let is_full = held.len() == CONCURRENCY;
        match if is_full { Poll::Pending } else { process.poll_next(&mut context) } {
            Poll::Ready(next) => match next.expect("the engine is there") {
                None => return true,
                Some(RunEvent::Job(job)) => held.push(job),
                Some(RunEvent::Report(Report { kind, message, .. })) => {
                    assert!(matches!(kind, ReportKind::Done | ReportKind::Dead), "{message}");
                }
            },
            Poll::Pending if held.iter().any(|job| poison.contains(&P::number(job))) => {
                ended.beside.push(held.len() - 1);
                // Its leases run out, for which real time would have to pass for those that are renewed.
                std::mem::forget(held);
                return false;
            }
            Poll::Pending => {
                if !held.is_empty() {
                    let job = held.remove(0);
                    process.done(&job);
                    assert!(ended.done.insert(P::number(&job)), "it was done before");
                }
            }
        }
    }
    panic!("a run that holds nothing and finds nothing is over");
}

fn client() -> (Client, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(1_790_000_000_000_000));
    let options = Options::parse("memory:").expect("it is right").clock(clock.clone());
    (options.connect().expect("it opens"), clock)
}

/// One, at the front, in the middle and at the end; and several, which are in one batch or not.
fn poisons() -> Vec<BTreeSet<usize>> {
    let some: [&[usize]; 6] =
        [&[0], &[30], &[60], &[3, 4], &[5, 25, 45], &[0, 7, 8, 30, 31, 59, 60]];
    some.map(|some| some.iter().copied().collect()).into()
}

fn check(ended: &Ended, poison: &BTreeSet<usize>, deaths_max: usize, name: &str) {
    let innocents: BTreeSet<_> = (0..JOBS).filter(|number| !poison.contains(number)).collect();
    let Ended { deaths, done, beside } = ended;
    let aside: Vec<_> = innocents.difference(done).collect();
    assert!(
        aside.is_empty(),
        "{name}: put aside beside {poison:?}: {aside:?}, {deaths} deaths, {beside:?}"
    );
    assert!(*deaths <= deaths_max, "{name}: {deaths} deaths of {poison:?}, {beside:?}");
    let alone = beside.iter().filter(|others| **others == 0).count();
    assert!(alone >= poison.len(), "{name}: the last time each is alone, {beside:?}");
}

#[test]
fn tasks_beside_one_that_ends_its_process_are_not_put_aside() {
    for poison in poisons() {
        for max_crashes in [2, 3, 5] {
            let setup = client();
            let store = setup.0.tasks("s");
            for number in 0..JOBS {
                store.insert("q", number.to_string()).expect("it is there");
            }
            let dead = || store.list("q/err", tasks::TaskQuery::new()).expect("it is there").tasks;
            let ended = work::<Tasks>(&setup, max_crashes, &poison, || dead().len());
            check(&ended, &poison, poison.len() * max_crashes as usize, "tasks");
            let err = format!("crashed: claimed {max_crashes} times without an end");
            assert!(dead().iter().all(|task| *task.err == err), "{:?}", dead());
        }
    }
}

#[test]
fn events_beside_one_that_ends_its_process_are_not_dead() {
    for poison in poisons() {
        for max_crashes in [2, 3, 5] {
            let setup = client();
            let queue = setup.0.events("q");
            let mut config = events::Config::default();
            (config.max_crashes, config.lease, config.partitions) = (max_crashes, LEASE, 2);
            (config.backoff_min, config.backoff_max) = (Duration::ZERO, Duration::ZERO);
            queue.configure(config).expect("it is there");
            let all = (0..JOBS).map(|number| events::NewEvent::new(number.to_string()));
            queue.publish_many(all).expect("it is there");
            let dead = || queue.stats().expect("it is there").dead as usize;
            let ended = work::<Events>(&setup, u32::from(max_crashes), &poison, dead);
            check(&ended, &poison, poison.len() * usize::from(max_crashes), "events");
        }
    }
}

#[test]
fn messages_beside_one_that_ends_its_process_are_not_dead() {
    for poison in poisons() {
        for max_crashes in [2, 3, 5] {
            let setup = client();
            let queue = setup.0.shuffle_queue("q");
            let all = (0..JOBS).map(|number| (number.to_string(), [("n", number.to_string())]));
            queue.write_many(all).expect("it is there");
            let dead = || queue.dead_letters(100).expect("it is there").len();
            let ended = work::<Messages>(&setup, max_crashes, &poison, dead);
            check(&ended, &poison, poison.len() * max_crashes as usize, "messages");
        }
    }
}

#[test]
fn a_suspect_waits_for_what_its_worker_has_and_a_stop_gives_it_back() {
    let (client, clock) = client();
    let store = client.tasks("s");
    let mut context = Context::from_waker(Waker::noop());
    let mut next = |run: &tasks::Run<Async>| match run.poll_next(&mut context) {
        Poll::Ready(next) => match next.expect("the engine is there") {
            Some(RunEvent::Job(job)) => Some(job),
            Some(RunEvent::Report(report)) => panic!("{}", report.message),
            None => None,
        },
        Poll::Pending => None,
    };
    let insert = |value: &str| {
        clock.advance(Duration::from_secs(1));
        store.insert("q", value).expect("the engine is there");
    };
    let leave_twice = || {
        for _ in 0..2 {
            clock.advance(Duration::from_secs(1));
            let left = store.claim(["q"], Duration::ZERO).expect("the engine is there");
            assert!(left.is_some());
        }
    };
    let counts = || {
        let stats =
            store.queue_stats(tasks::Filter::new().exact("q")).expect("the engine is there");
        (stats[0].claimed, stats[0].available)
    };
    let value = |job: &tasks::Job<Async>| job.task().value.clone();

    let aio = client.to_async();
    let worker = aio.tasks("s").worker(["q"]).concurrency(8);
    insert("1");
    leave_twice();
    // Not before: a run that waits may take the first one as soon as it is there.
    let run = worker.start();
    let suspect = next(&run).expect("it is there");
    assert_eq!(value(&suspect).as_deref(), Some("1"));
    // Not before: a claim takes one of the first tasks at random.
    insert("2");
    assert!(next(&run).is_none(), "nothing begins beside it");
    assert_eq!(counts(), (1, 1), "and nothing is taken");
    run.end(&suspect, Ok(None)).expect("it is this run's");
    let other = next(&run).expect("it is over");
    assert_eq!(value(&other).as_deref(), Some("2"));

    insert("3");
    leave_twice();
    assert!(next(&run).is_none(), "it does not begin beside another one");
    assert_eq!(counts(), (2, 0), "but it is held");
    worker.stop(Duration::MAX);
    assert_eq!(counts(), (1, 1), "it is given back");
    run.end(&other, Ok(None)).expect("it is this run's");
    assert!(next(&run).is_none());
    let left = store.claim(["q"], LEASE).expect("the engine is there").expect("it is available");
    assert_eq!(left.value.as_deref(), Some("3"));
}
