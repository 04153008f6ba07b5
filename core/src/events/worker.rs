//! A worker: receives events, keeps them while they are worked on, and says what becomes of them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::receives::Receives;
use super::run::Takes;
use super::{Config, EventQueue, Job, Run};
use crate::client::{Async, Blocking, Mode};
use crate::error::Result;
use crate::worker::failure::Failure;
use crate::worker::report::{JobCounts, Report};
use crate::worker::settings::Settings;

/// Runs a handler for the events of a queue; made by [`EventQueue::worker`]. [`run`](Self::run) works until it is
/// stopped, on `concurrency` events at a time, and [`drain`](Self::drain) until nothing is ready.
///
/// The worker keeps an event while it is worked on: a native thread extends its lease three times per lease. The
/// queue's [`Config`](super::Config) sets the length of the lease, the number of attempts and the backoff.
///
/// ```
/// use millpond::events::{Failure, Job, NewEvent};
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish_many([NewEvent::new("paid").key("7"), NewEvent::new("?").key("8")])?;
/// let drained = queue.worker().drain(|job: &Job| match &*job.event().payload {
///     b"paid" => Ok(()), // done and deleted
///     _ => Err(Failure::Reject("no event of ours".to_owned())), // a dead letter
/// })?;
/// assert_eq!((drained.done, drained.dead), (1, 1));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Worker<M: Mode = Blocking> {
    queue: EventQueue<M>,
    lease: Option<Duration>,
    key_range: Option<Arc<str>>,
    timeout: Option<Duration>,
    settings: Settings<Job<M>>,
}

impl<M: Mode> fmt::Debug for Worker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("lease", &self.lease).finish_non_exhaustive()
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
    pub(super) fn new(queue: EventQueue<M>) -> Self {
        Self { queue, lease: None, key_range: None, timeout: None, settings: Settings::default() }
    }

    /// How long an event is leased; by default as long as the queue's configuration says. A native thread extends it
    /// three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Takes only events of this part of the key space, such as `-80`, `40-80` or `80-`, as
    /// [`deliveries`](EventQueue::deliveries) do. If it does not consist of whole partitions, the run ends with
    /// `INVALID_ARGUMENT`.
    pub fn key_range(mut self, range: impl AsRef<str>) -> Self {
        self.key_range = Some(range.as_ref().into());
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
    /// goes on until nothing is available; it waits for events that are ready as long as the queue's `rate` alone holds
    /// them up. It does not matter to [`run`](Self::run).
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
        self.timeout = Some(timeout);
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
        let mut receives = Receives::new(self.queue.clone());
        receives.lease = self.lease;
        receives.key_range.clone_from(&self.key_range);
        let takes = Takes::new(receives, self.timeout);
        // Without a word that of the queue counts, which is not known here.
        let lease = self.lease.unwrap_or_else(|| Config::default().lease);
        Run::begin(takes, self.settings.plan(lease, drains), &self.settings.stop)
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
    /// starts. Events that are ready are all worked on: where the queue's `rate` alone holds them up, it waits until the
    /// last one, or until its [`budget`](Self::budget) is over or it is stopped.
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

    /// Works until nothing is available, on `concurrency` jobs at a time, and returns what it did. It waits for the
    /// queue's `rate` as [`drain`](Worker::<Blocking>::drain) of a blocking worker.
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
