//! A worker: processes jobs, and decides what becomes of those that fail.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::claims::ClaimSource;
use super::jobs::Takes;
use super::{DELAY_MAX, Job, Jobs, LEASE_DEFAULT, Modification, Run, Task, TaskChange, TaskStore};
use crate::client::{Async, Blocking, Mode};
use crate::error::{Result, invalid};
use crate::runtime::backoff::Backoff;
use crate::worker::failure::Failure;
use crate::worker::lease::check_length;
use crate::worker::report::{JobCounts, Report};
use crate::worker::settings::{Settings, check_concurrency, suspects_from};

/// The default delay before a task is tried again after its first failure.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// The default longest delay before a failed task is tried again.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

/// After how many attempts a task goes to the error queue, by default.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 20;

/// After how many expired leases in a row a task goes to the error queue, by default.
pub const MAX_CRASHES_DEFAULT: u32 = 3;

/// The default longest delay before a task that was given back is available again.
pub const RELEASE_DELAY_DEFAULT: Duration = Duration::from_millis(100);

/// Runs a handler for the tasks of some queues; made by [`TaskStore::worker`]. [`run`](Self::run) works until it is
/// stopped, on `concurrency` jobs at a time, and [`drain`](Self::drain) until nothing is available.
///
/// ```
/// use millpond::tasks::{Failure, Job, Modification, NewTask};
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// store.insert("inbox", "7")?;
/// store.worker(["inbox"]).max_attempts(3).drain(|job: &Job| -> Result<Modification, Failure> {
///     let value: u32 = job.task().value.as_deref().unwrap_or("0").parse()?; // else tried again
///     Ok(job.delete().insert(NewTask::new("outbox").value((value * 6).to_string())))
/// })?;
/// assert_eq!(store.list("outbox", Default::default())?.tasks[0].value.as_deref(), Some("42"));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Worker<M: Mode = Blocking> {
    store: TaskStore<M>,
    queues: Result<Vec<Arc<str>>, Arc<str>>,
    policy: Policy,
    wait: Option<Duration>,
    settings: Settings<Job<M>>,
}

impl<M: Mode> fmt::Debug for Worker<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Worker");
        all.field("queues", &self.queues).finish_non_exhaustive()
    }
}

/// What becomes of tasks that fail.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) lease: Duration,
    backoff: Backoff,
    max_attempts: u32,
    pub(super) max_crashes: u32,
    error_queue: Option<Arc<str>>,
    pub(super) timeout: Option<Duration>,
}

/// What a handler may return: nothing or a [`Modification`], either of them also in an [`Option`], or in a [`Result`]
/// whose error is a [`Failure`] or converts to one.
pub trait Outcome {
    /// How the job ends.
    fn outcome(self) -> Result<Option<Modification>, Failure>;
}

impl Outcome for () {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        Ok(None)
    }
}

impl Outcome for Modification {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        Ok(Some(self))
    }
}

impl<T: Outcome> Outcome for Option<T> {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        self.map_or(Ok(None), Outcome::outcome)
    }
}

impl<T: Outcome, E: Into<Failure>> Outcome for Result<T, E> {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        self.map_err(Into::into)?.outcome()
    }
}

impl<M: Mode> Worker<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>) -> Self {
        let policy = Policy {
            lease: LEASE_DEFAULT,
            backoff: Backoff { first: BACKOFF_DEFAULT, most: BACKOFF_MAX_DEFAULT },
            max_attempts: MAX_ATTEMPTS_DEFAULT,
            max_crashes: MAX_CRASHES_DEFAULT,
            error_queue: None,
            timeout: None,
        };
        let queues = queues.map_err(|error| error.message().into());
        Self { store, queues, policy, wait: None, settings: Settings::default() }
    }

    /// How long a task is leased; [`LEASE_DEFAULT`] by default. A native thread renews it three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// How long a failed task waits before it is tried again: `first`, then twice as long each time up to `most`,
    /// each time shortened at random by up to half. [`BACKOFF_DEFAULT`] and [`BACKOFF_MAX_DEFAULT`] by default.
    pub fn backoff(mut self, first: Duration, most: Duration) -> Self {
        self.policy.backoff = Backoff { first, most };
        self
    }

    /// After this many attempts a task goes to the error queue; [`MAX_ATTEMPTS_DEFAULT`] by default; 0 means never.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts;
        self
    }

    /// After how many expired leases a task goes to the error queue and not to a handler, since it may be what
    /// crashes the workers; [`MAX_CRASHES_DEFAULT`] by default; 0 means never. Every end of a job resets the count,
    /// including a retry and a release. So does every change of the task, such as a move back from the error queue.
    ///
    /// A process that ends takes all that it works on with it. So a task that was left twice in a row, or once if the
    /// next time would be the last, runs alone: the worker lets the jobs that it has end first, and works on nothing
    /// beside it. Until it begins, its lease does not count. So what was beside a task that crashes the workers is not
    /// put aside with it; with 1 it is. After one end, the task runs beside others again.
    pub fn max_crashes(mut self, leases: u32) -> Self {
        self.policy.max_crashes = leases;
        self
    }

    /// The queue for tasks that failed too often; by default, the name of the task's own queue followed by `/err`.
    pub fn error_queue(mut self, queue: impl AsRef<str>) -> Self {
        self.policy.error_queue = Some(queue.as_ref().into());
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

    /// How many more jobs [`run`](Self::run) leases ahead, so that one step leases several; 0, the default, for none.
    /// A stop gives back those that have not begun.
    pub fn prefetch(mut self, jobs: usize) -> Self {
        self.settings.prefetch = jobs;
        self
    }

    /// How long a handler may run; without limit by default. After that the job has failed, and is tried again or put
    /// aside. The future of an async handler is dropped. A handler on a thread cannot be ended: it finds that
    /// [`Job::is_lost`], which it can check, or [`Job::time_left`]; its lease is no longer renewed, its late end is
    /// refused and reported as lost, and it keeps its place of the worker's `concurrency` until it returns.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.policy.timeout = Some(timeout);
        self
    }

    /// How long [`jobs`](Self::jobs) waits for a task when none is available, instead of ending immediately.
    pub fn wait(self, idle: Duration) -> Self {
        Self { wait: Some(idle), ..self }
    }

    /// Also reports what went well: jobs that are done, given back or moved. For metrics.
    pub fn tell_all(mut self, tell_all: bool) -> Self {
        self.settings.tell_all = tell_all;
        self
    }

    /// Receives reports on what becomes of jobs in [`run`](Self::run): those that failed, were put aside or lost, or
    /// could not end as the handler asked, and when the server becomes unreachable and responds again; with
    /// [`tell_all`](Self::tell_all), all reports. By default these reports go to standard error, one line each.
    pub fn on_report(mut self, hook: impl Fn(&Report<Job<M>>) + Send + Sync + 'static) -> Self {
        self.settings.on_report = Some(Arc::new(hook));
        self
    }

    #[cfg(test)]
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The jobs, one at a time, for a loop that ends each by one of the job's methods. See [`Jobs`].
    pub fn jobs(&self) -> Jobs<M> {
        Jobs::new(self.takes(self.wait))
    }

    /// Starts a run, for a loop of your own that says how jobs end; [`run`](Self::run) is built on this. See [`Run`].
    pub fn start(&self) -> Run<M> {
        self.begin(false)
    }

    /// [`start`](Self::start), but the run is over when nothing is available; [`drain`](Self::drain) is built on
    /// this. Everything is reported.
    pub fn start_drain(&self) -> Run<M> {
        self.begin(true)
    }

    fn begin(&self, drains: bool) -> Run<M> {
        let plan = self.settings.plan(self.policy.lease, drains);
        Run::begin(self.store.client.clone(), self.takes(None), plan, &self.settings.stop)
    }

    /// Stops the worker's runs: they take no more jobs and wait for those that are running. A job that is still
    /// running after this time is given back and available immediately, and its handler is told that the job is lost.
    /// With zero, this happens immediately. A second stop changes the time. A stopped worker stays stopped.
    ///
    /// Can be called from any thread.
    ///
    /// # Rust
    /// Do not call it from a signal handler, which must not wait for a lock.
    pub fn stop(&self, within: Duration) {
        self.settings.stop.stop(within);
    }

    fn takes(&self, wait: Option<Duration>) -> Takes<M> {
        let queues = self.queues.clone().map_err(|message| invalid(&*message));
        let queues = check_length(self.policy.lease).and(queues);
        // A run checks it as well; `jobs` has none.
        let queues = check_concurrency(self.settings.concurrency).and(queues);
        let queues = check_backoff(self.policy.backoff).and(queues);
        let claims = ClaimSource::new(self.store.clone(), queues, self.policy.lease);
        Takes::new(claims, Arc::new(self.policy.clone()), wait)
    }
}

impl Worker<Blocking> {
    /// Works until it is [stopped](Self::stop), on `concurrency` threads, including this one. The handler gets a
    /// [`Job`] and says how it ends: see [`Run::end`]. A job that the handler has already ended is left as it is.
    ///
    /// If the server is unreachable, the run keeps trying until it responds. Returns what the run did.
    ///
    /// # Errors
    /// A non-retryable error, such as `WRONG_TYPE` or `INVALID_ARGUMENT`; running jobs have ended by then.
    ///
    /// # Delivery
    /// At least once. The job of a handler that panics stays leased until the lease expires.
    pub fn run<R: Outcome>(&self, handler: impl Fn(&Job) -> R + Sync) -> Result<JobCounts> {
        let run = self.start();
        self.settings.run(|| run.next(), |job| run.work(job, &handler))?;
        Ok(run.counts())
    }

    /// Works on this thread until nothing is available, and returns what it did. For tests, and for programs that
    /// cron starts.
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
    /// As [`run`](Worker::<Blocking>::run) of a blocking worker.
    ///
    /// # Delivery
    /// The jobs of a run whose future is dropped stay leased until the lease expires.
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

/// Refuses a first delay above the longest.
fn check_backoff(Backoff { first, most }: Backoff) -> Result<()> {
    match first > most {
        true => {
            Err(invalid(format!("the backoff is {first:?}, which is above the most, {most:?}")))
        }
        false => Ok(()),
    }
}

impl Policy {
    /// What becomes of a task that failed: another attempt later, or the error queue.
    pub(super) fn failed(
        &self,
        task: &Task,
        err: &str,
        delay: Option<Duration>,
        draw: u64,
    ) -> TaskChange {
        match self.is_last(task) {
            true => {
                task.change().quarantine(&format!("exhausted: {err}"), &self.error_queue_of(task))
            }
            false => {
                let delay = delay.unwrap_or_else(|| self.delay(task.attempt, draw));
                task.change().retry(err).after(delay)
            }
        }
    }

    /// Whether another failure is the last.
    pub(super) fn is_last(&self, task: &Task) -> bool {
        self.max_attempts != 0 && task.attempt.saturating_add(1) >= self.max_attempts
    }

    /// What becomes of a task that another attempt would not help.
    pub(super) fn rejected(&self, task: &Task, err: &str) -> TaskChange {
        task.change().quarantine(&format!("rejected: {err}"), &self.error_queue_of(task))
    }

    /// Whether a handler may see a task that was claimed this often without being ended.
    pub(super) fn may_claim(&self, unended: u32) -> bool {
        self.max_crashes == 0 || unended <= self.max_crashes
    }

    /// From how many expired leases in a row on a task runs alone: it was left twice, or the next time would be the last.
    pub(super) fn suspects_from(&self) -> u32 {
        suspects_from(self.max_crashes)
    }

    pub(super) fn error_queue_of(&self, task: &Task) -> Arc<str> {
        self.error_queue.clone().unwrap_or_else(|| format!("{}/err", task.queue).into())
    }

    /// How long to postpone a task that was tried this often before.
    pub(super) fn delay(&self, attempts: u32, draw: u64) -> Duration {
        let Backoff { first, most } = self.backoff;
        Backoff { first, most: most.max(first).min(DELAY_MAX) }.delay(attempts, draw)
    }
}
