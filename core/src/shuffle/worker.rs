//! A worker of a consumer: takes messages, keeps them while they are worked on, and decides what becomes of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::run::Takes;
use super::{Job, Run, ShuffleConsumer};
use crate::client::{Async, Blocking, Mode};
use crate::error::Result;
use crate::runtime::backoff::Backoff;
use crate::worker::failure::Failure;
use crate::worker::report::{JobCounts, Report};
use crate::worker::settings::Settings;

/// How long other consumers do not reclaim a worker's message, by default.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(60);

/// The default delay before a failed message is tried again.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// How long an idle consumer that holds no message is kept, by default.
pub const KEEP_CONSUMERS_DEFAULT: Duration = Duration::from_secs(3_600);

/// Runs a handler for the messages of a consumer; made by [`ShuffleConsumer::worker`]. [`run`](Self::run) works until
/// it is stopped, on `concurrency` messages at a time, and [`drain`](Self::drain) until nothing is left.
///
/// The worker keeps a message while it is worked on: a native thread extends it three times per lease. Twice per lease
/// the worker takes over the messages of consumers that are gone, and it removes consumers that are gone for good. All
/// workers of a group should have the same lease.
///
/// A message that was left for the second time, or is delivered for the last time, may be what ends its consumers: the
/// worker lets the messages that it has end first, and works on nothing beside it.
///
/// ```
/// use millpond::shuffle::{Failure, Job};
///
/// let queue = millpond::connect("memory:")?.shuffle_queue("jobs");
/// queue.write_many([("a", [("image", "1.png")]), ("b", [("image", "2.txt")])])?;
/// let worker = queue.consumer("workers", "worker-1").worker().delete(true);
/// let drained = worker.drain(|job: &Job| match job.message().fields[0].1.ends_with(b".png") {
///     true => Ok(()), // acknowledged and deleted
///     false => Err(Failure::Reject("no image".to_owned())), // a dead letter
/// })?;
/// assert_eq!((drained.done, drained.dead), (1, 1));
/// assert_eq!(queue.dead_letters(10)?[0].reason, "rejected: no image");
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Worker<M: Mode = Blocking> {
    consumer: ShuffleConsumer<M>,
    policy: Policy,
    settings: Settings<Job<M>>,
}

/// What becomes of messages.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) lease: Duration,
    pub(super) backoff: Backoff,
    pub(super) delete: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) keep_consumers: Duration,
}

impl<M: Mode> fmt::Debug for Worker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// What a handler may return: nothing, or a [`Result`] whose error is a [`Failure`] or converts to one.
pub trait Outcome {
    /// How the job ends.
    fn outcome(self) -> Result<(), Failure>;
}

impl Outcome for () {
    fn outcome(self) -> Result<(), Failure> {
        Ok(())
    }
}

impl<E: Into<Failure>> Outcome for Result<(), E> {
    fn outcome(self) -> Result<(), Failure> {
        self.map_err(Into::into)
    }
}

impl<M: Mode> Worker<M> {
    pub(super) fn new(consumer: ShuffleConsumer<M>) -> Self {
        let policy = Policy {
            lease: LEASE_DEFAULT,
            backoff: Backoff { first: BACKOFF_DEFAULT, most: LEASE_DEFAULT },
            delete: false,
            timeout: None,
            keep_consumers: KEEP_CONSUMERS_DEFAULT,
        };
        Self { consumer, policy, settings: Settings::default() }
    }

    /// How long other consumers do not reclaim a message; [`LEASE_DEFAULT`] by default. A native thread extends it
    /// three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// How long a failed message waits before it is tried again: `first`, then twice as long with each delivery up to
    /// `most`, each time shortened at random by up to half. [`BACKOFF_DEFAULT`] and the lease by default, and never
    /// more than the lease, after which the message is taken over anyway.
    pub fn backoff(mut self, first: Duration, most: Duration) -> Self {
        self.policy.backoff = Backoff { first, most };
        self
    }

    /// Whether messages that are done are deleted for all groups, which suits a queue with one group. By default they
    /// are only acknowledged.
    pub fn delete(mut self, delete: bool) -> Self {
        self.policy.delete = delete;
        self
    }

    /// How long an idle consumer of the group that holds no message is kept; [`KEEP_CONSUMERS_DEFAULT`] by default.
    pub fn keep_consumers(mut self, time: Duration) -> Self {
        self.policy.keep_consumers = time;
        self
    }

    /// How many jobs [`run`](Self::run) works on at a time, 1 or more; 1 by default. A blocking worker uses that many
    /// threads.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.settings.concurrency = jobs;
        self
    }

    /// Sets how long a [`drain`](Self::drain) takes jobs: after this time it begins no other one, and returns when those
    /// that are running have ended. For a slice of a recruiter, give it the time that the slice has left. By default it
    /// goes on until nothing is available. It does not matter to [`run`](Self::run).
    pub fn budget(mut self, budget: Duration) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// How many more jobs [`run`](Self::run) takes ahead, so that one step takes several; 0, the default, for none. A
    /// stop gives back those that have not begun.
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.settings.prefetch = jobs;
        self
    }

    /// How long a handler may run; without limit by default. After that the job has failed, and is tried again or put
    /// aside. The future of an async handler is dropped. A handler on a thread cannot be ended: it finds that
    /// [`Job::is_lost`], which it can check, or [`Job::time_left`]; its lease is no longer extended, its late end is
    /// refused and reported as lost, and it keeps its place of the worker's `concurrency` until it returns.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// Also reports what went well: jobs that are done or given back. For metrics.
    pub fn tell_all(mut self, tell_all: bool) -> Self {
        self.settings.tell_all = tell_all;
        self
    }

    /// Receives reports on what becomes of jobs in [`run`](Self::run): those that failed, were put aside or lost, and
    /// when the server becomes unreachable and responds again; with [`tell_all`](Self::tell_all), all reports. By
    /// default these reports go to standard error, one line each.
    pub fn on_report(mut self, hook: impl Fn(&Report<Job<M>>) + Send + Sync + 'static) -> Self {
        self.settings.on_report = Some(Arc::new(hook));
        self
    }

    /// Starts a run, for a loop of your own that says how jobs end; [`run`](Self::run) is built on this. See [`Run`].
    pub fn start(&self) -> Run<M> {
        self.begin(false)
    }

    /// [`start`](Self::start), but the run is over when nothing is available; [`drain`](Self::drain) is built on this.
    /// Everything is reported.
    pub fn start_drain(&self) -> Run<M> {
        self.begin(true)
    }

    fn begin(&self, drains: bool) -> Run<M> {
        let takes = Takes::new(self.consumer.clone(), self.policy.clone());
        Run::begin(takes, self.settings.plan(self.policy.lease, drains), &self.settings.stop)
    }

    /// Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
    /// after this time is given back, and its handler is told that the job is lost. With zero, this happens
    /// immediately. A second stop changes the time. A stopped worker stays stopped.
    ///
    /// Can be called from any thread.
    ///
    /// # Rust
    /// Do not call it from a signal handler, which must not wait for a lock.
    pub fn stop(&self, within: Duration) {
        self.settings.stop.stop(within);
    }
}

impl Worker<Blocking> {
    /// Works until it is [stopped](Self::stop), on `concurrency` threads, including this one. The handler gets a
    /// [`Job`] and says how it ends: see [`Run::end`].
    ///
    /// If the server is unreachable, the run keeps trying until it responds. Returns what the run did.
    ///
    /// # Errors
    /// A non-retryable error, such as `WRONG_TYPE` and `INVALID_ARGUMENT`; running jobs have ended by then.
    ///
    /// # Delivery
    /// At least once. The job of a handler that panics is taken over when its lease expires.
    pub fn run<R: Outcome>(&self, handler: impl Fn(&Job) -> R + Sync) -> Result<JobCounts> {
        let run = self.start();
        self.settings.run(|| run.next(), |job| run.work(job, &handler))?;
        Ok(run.counts())
    }

    /// Works on this thread until nothing is available, and returns what it did. For tests, and for programs that cron
    /// starts.
    ///
    /// # Errors
    /// Those of the connection too.
    pub fn drain<R: Outcome>(&self, mut handler: impl FnMut(&Job) -> R) -> Result<JobCounts> {
        let run = self.start_drain();
        self.settings.drain(|| run.next(), |job| run.work(job, &mut handler))?;
        Ok(run.counts())
    }
}

impl Worker<Async> {
    /// Works until it is [stopped](Self::stop), on up to `concurrency` jobs at a time; otherwise like
    /// [`run`](Worker::<Blocking>::run) of a blocking worker. When the lease of a job is lost, the future of its
    /// handler is dropped.
    ///
    /// # Errors
    /// As [`run`](Worker::<Blocking>::run) of a blocking worker.
    ///
    /// # Delivery
    /// The jobs of a run whose future is dropped are taken over when their leases expire.
    pub async fn run<R: Outcome>(
        &self,
        handler: impl AsyncFn(&Job<Async>) -> R,
    ) -> Result<JobCounts> {
        let run = self.start();
        let work = async |job| run.work(job, &handler).await;
        self.settings.run_async(|context| run.poll_next(context), work).await?;
        Ok(run.counts())
    }

    /// Works until nothing is available, on `concurrency` jobs at a time, and returns what it did.
    ///
    /// # Errors
    /// Those of the connection too.
    pub async fn drain<R: Outcome>(
        &self,
        handler: impl AsyncFn(&Job<Async>) -> R,
    ) -> Result<JobCounts> {
        let run = self.start_drain();
        let work = async |job| run.work(job, &handler).await;
        self.settings.drain_async(|context| run.poll_next(context), work).await?;
        Ok(run.counts())
    }
}
