//! The public worker of any queue.

#![allow(
    private_bounds,
    private_interfaces,
    reason = "queues are those of this crate: what they give is not public"
)]

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::failure::Outcome;
use super::job::Job;
use super::queue::Queue;
use super::report::{JobCounts, Report};
use super::run::Run;
use super::settings::Settings;
use crate::client::{Async, Blocking, Mode};
use crate::error::Result;

/// Runs a handler for the jobs of a queue: [`run`](Self::run) works until it is stopped, on `concurrency` jobs at a time,
/// and [`drain`](Self::drain) until nothing is available.
#[derive(Clone)]
#[must_use]
pub struct Worker<Q: Queue<Mode = M>, M: Mode> {
    pub(crate) queue: Q,
    pub(crate) options: Q::Options,
    pub(crate) settings: Settings<Job<Q>>,
}

impl<Q: Queue<Mode = M>, M: Mode> fmt::Debug for Worker<Q, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl<Q: Queue<Mode = M>, M: Mode> Worker<Q, M> {
    pub(crate) fn new(queue: Q, options: Q::Options) -> Self {
        Self { queue, options, settings: Settings::default() }
    }

    /// How many jobs [`run`](Self::run) works on at a time, 1 or more; 1 by default. A blocking worker uses that many
    /// threads.
    pub fn concurrency(mut self, jobs: usize) -> Self {
        self.settings.concurrency = jobs;
        self
    }

    /// Sets how long a [`drain`](Self::drain) takes jobs: after this time it begins no more jobs, and returns when the
    /// running ones have ended. In a slice of a recruiter, pass the time that the slice has left. By default a drain
    /// continues until nothing is available, and waits for events that only the `rate` of their queue delays. It has no
    /// effect on [`run`](Self::run).
    pub fn budget(mut self, budget: Duration) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// How many more jobs [`run`](Self::run) leases ahead, so that one step leases several; 0, the default, for none. A
    /// stop gives back those that have not begun.
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.settings.prefetch = jobs;
        self
    }

    /// How long a handler may run; without limit by default. After that the job has failed, and is tried again or put
    /// aside. The future of an async handler is dropped. A handler on a thread cannot be ended, but can check
    /// [`Job::is_lost`] or [`Job::time_left`]; its lease is no longer renewed, its late end is refused and reported as
    /// lost, and it counts towards the worker's `concurrency` until it returns.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Also reports jobs that are done, given back or moved. For metrics.
    pub fn tell_all(mut self, tell_all: bool) -> Self {
        self.settings.tell_all = tell_all;
        self
    }

    /// Receives the reports of [`run`](Self::run): on jobs that failed, were put aside or lost, or could not end as the
    /// handler asked, and on a server that becomes unreachable and responds again; with [`tell_all`](Self::tell_all),
    /// all reports. By default these reports go to standard error, one line each.
    pub fn on_report(mut self, hook: impl Fn(&Report<Job<Q>>) + Send + Sync + 'static) -> Self {
        self.settings.on_report = Some(Arc::new(hook));
        self
    }

    /// Starts a run, for a loop of your own that ends the jobs itself; [`run`](Self::run) is built on this. See
    /// [`Run`].
    pub fn start(&self) -> Run<Q, M> {
        self.begin(false)
    }

    /// [`start`](Self::start), but the run is over when nothing is available; [`drain`](Self::drain) is built on this.
    /// Everything is reported.
    pub fn start_drain(&self) -> Run<Q, M> {
        self.begin(true)
    }

    fn begin(&self, drains: bool) -> Run<Q, M> {
        let plan = self.settings.plan(Q::lease_length(&self.options), drains);
        Run::begin(self.queue.clone(), &self.options, plan, &self.settings.stop)
    }

    /// Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still running
    /// after this time is given back and available immediately, and its handler is told that the job is lost. With zero,
    /// this happens immediately. A second stop changes the time. A stopped worker stays stopped.
    ///
    /// Can be called from any thread.
    ///
    /// # Rust
    /// Do not call it from a signal handler, which must not wait for a lock.
    pub fn stop(&self, within: Duration) {
        self.settings.stop.stop(within);
    }
}

impl<Q: Queue<Mode = Blocking>> Worker<Q, Blocking> {
    /// Works until it is [stopped](Self::stop), on `concurrency` threads, including this one. The handler gets a
    /// [`Job`], and its result says how the job ends: see [`Run::end`]. A job that the handler has already ended is
    /// left as it is.
    ///
    /// If the server is unreachable, the run keeps trying until it responds. Returns what the run did.
    ///
    /// # Errors
    /// A non-retryable error, such as `WRONG_TYPE` or `INVALID_ARGUMENT`; running jobs have ended by then.
    ///
    /// # Delivery
    /// At least once. The job of a handler that panics is delivered again when its lease expires.
    pub fn run<R: Outcome<Q::Done>>(
        &self,
        handler: impl Fn(&Job<Q>) -> R + Sync,
    ) -> Result<JobCounts> {
        let run = self.start();
        self.settings.run(|| run.next(), |job| run.work(job, &handler))?;
        Ok(run.counts())
    }

    /// Works on this thread until nothing is available, and returns what it did. For tests, and for programs that cron
    /// starts. It waits for events that are ready and that only the `rate` of their queue delays.
    ///
    /// # Errors
    /// Those of `run`, and of the connection.
    pub fn drain<R: Outcome<Q::Done>>(
        &self,
        mut handler: impl FnMut(&Job<Q>) -> R,
    ) -> Result<JobCounts> {
        let run = self.start_drain();
        self.settings.drain(|| run.next(), |job| run.work(job, &mut handler))?;
        Ok(run.counts())
    }
}

impl<Q: Queue<Mode = Async>> Worker<Q, Async> {
    /// Works until it is [stopped](Self::stop), on up to `concurrency` jobs at a time; otherwise like `run` of a blocking
    /// worker. When the lease of a job is lost, the future of its handler is dropped.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = millpond::aio::connect("memory:")?.tasks("shop");
    /// store.insert("inbox", "7").await?;
    /// let worker = store.worker(["inbox"]).concurrency(10);
    /// worker.run(async |job| {
    ///     assert_eq!(job.task().value.as_deref(), Some("7"));
    ///     worker.stop(Duration::MAX);
    /// }).await?;
    /// assert!(store.queues(Default::default()).await?.is_empty());
    /// # Ok::<(), millpond::Error>(()) })?;
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `run` of a blocking worker.
    ///
    /// # Delivery
    /// The jobs of a run whose future is dropped are delivered again when their leases expire.
    pub async fn run<R: Outcome<Q::Done>>(
        &self,
        handler: impl AsyncFn(&Job<Q>) -> R,
    ) -> Result<JobCounts> {
        let run = self.start();
        let work = async |job| run.work(job, &handler).await;
        self.settings.run_async(|context| run.poll_next(context), work).await?;
        Ok(run.counts())
    }

    /// Works until nothing is available, on `concurrency` jobs at a time, and returns what it did. It waits for events
    /// that are ready and that only the `rate` of their queue delays.
    ///
    /// # Errors
    /// Those of `run`, and of the connection.
    pub async fn drain<R: Outcome<Q::Done>>(
        &self,
        handler: impl AsyncFn(&Job<Q>) -> R,
    ) -> Result<JobCounts> {
        let run = self.start_drain();
        let work = async |job| run.work(job, &handler).await;
        self.settings.drain_async(|context| run.poll_next(context), work).await?;
        Ok(run.counts())
    }
}
