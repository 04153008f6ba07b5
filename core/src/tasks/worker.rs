//! A worker: jobs one after the other, and what becomes of those that fail.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::claims::ClaimSource;
use super::{DELAY_MAX, Job, Jobs, LEASE_DEFAULT, Modification, Task, TaskChange, TaskStore};
use crate::client::{Async, Blocking, Mode};
use crate::error::{Error, Result, invalid};
use crate::runtime::backoff::Backoff;

/// How long a task that failed for the first time is put off by default.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// The longest that a task that failed is put off by default.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

/// How long a task that is given back is put off at most by default.
pub const RELEASE_DELAY_DEFAULT: Duration = Duration::from_millis(100);

/// What is leased for less cannot be renewed.
const LEASE_MIN: Duration = Duration::from_millis(1);

/// Says how tasks are worked on; made by [`TaskStore::worker`]. [`jobs`](Self::jobs) or
/// [`run`](Self::run) begin the work; run several for several tasks at a time.
///
/// ```
/// use millpond::tasks::{Failure, Job, Modification, NewTask};
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// store.insert("inbox", "7")?;
/// store.worker(["inbox"]).max_attempts(3).run(|job: &Job| -> Result<Modification, Failure> {
///     let value: u32 = job.task().value.as_deref().unwrap_or("0").parse()?; // else tried again
///     Ok(job.delete().insert(NewTask::new("outbox").value((value * 6).to_string())))
/// })?;
/// assert_eq!(store.list("outbox", Default::default())?.tasks[0].value.as_deref(), Some("42"));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Worker<M: Mode = Blocking> {
    store: TaskStore<M>,
    queues: Result<Vec<Arc<str>>, Arc<str>>,
    policy: Policy,
    wait: Option<Duration>,
    on_error: Option<OnError<M>>,
}

/// Is told of a job that could not end as its handler said.
struct OnError<M: Mode>(Arc<Hook<M>>);

type Hook<M> = dyn Fn(&Job<M>, &Error) + Send + Sync;

impl<M: Mode> Clone for OnError<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Mode> fmt::Debug for OnError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnError")
    }
}

/// What becomes of tasks that fail.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) lease: Duration,
    backoff: Backoff,
    max_attempts: u32,
    pub(super) max_claims: u32,
    error_queue: Option<Arc<str>>,
}

/// Why a task was not done, for [`Worker::run`]. Any error becomes an [`Error`](Self::Error).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// This went wrong: what [`Job::fail`] does.
    Error(String),
    /// Try again later, for this reason.
    Retry(String),
    /// Try again after this time, for this reason.
    RetryAfter(String, Duration),
    /// Move it to this queue, for this reason.
    Move(String, String),
    /// Give it back untried, for another worker, after a short random time.
    Release,
    /// Give it back untried, for another worker, after this time.
    ReleaseAfter(Duration),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Error(error.to_string())
    }
}

impl<M: Mode> Worker<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>) -> Self {
        let policy = Policy {
            lease: LEASE_DEFAULT,
            backoff: Backoff { first: BACKOFF_DEFAULT, most: BACKOFF_MAX_DEFAULT },
            max_attempts: 0,
            max_claims: 0,
            error_queue: None,
        };
        let queues = queues.map_err(|error| error.message().into());
        Self { store, queues, policy, wait: None, on_error: None }
    }

    /// How long a task is leased; [`LEASE_DEFAULT`] by default. A native thread renews it three times a
    /// lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// How long a task is put off that failed: `first`, then twice as long each time up to `most`, and
    /// each time at random up to half of it less. [`BACKOFF_DEFAULT`] and [`BACKOFF_MAX_DEFAULT`] by
    /// default.
    pub fn backoff(mut self, first: Duration, most: Duration) -> Self {
        self.policy.backoff = Backoff { first, most };
        self
    }

    /// After this many attempts a task goes to the error queue; 0, the default, for never.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts;
        self
    }

    /// A task that was claimed more often than this since it was last inserted, changed or released goes to
    /// the error queue and to no handler, as it may be what ends the workers; 0, the default, for never. So
    /// only leases that ran out count: every end of a job, a retry and a release too, begins anew, and so
    /// does a task that is moved back from the error queue.
    pub fn max_claims(mut self, claims: u32) -> Self {
        self.policy.max_claims = claims;
        self
    }

    /// Where tasks go that failed too often; the queue that each is in with `/err` behind it, by default.
    pub fn error_queue(mut self, queue: impl AsRef<str>) -> Self {
        self.policy.error_queue = Some(queue.as_ref().into());
        self
    }

    /// Waits up to `idle` for a task when none is available, in place of ending at once.
    pub fn wait(self, idle: Duration) -> Self {
        Self { wait: Some(idle), ..self }
    }

    #[cfg(test)]
    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The jobs, one after the other. See [`Jobs`].
    pub fn jobs(&self) -> Jobs<M> {
        let queues = self.queues.clone().map_err(|message| invalid(&*message));
        let queues = match self.policy.lease < LEASE_MIN {
            true => Err(invalid("a worker's lease has to be a millisecond or more")),
            false => queues,
        };
        let claims = ClaimSource::new(self.store.clone(), queues, self.policy.lease);
        Jobs::new(claims, Arc::new(self.policy.clone()), self.wait)
    }

    /// Is told of each job that [`run`](Self::run) could not end as the handler said: with the `DEPENDENCY`
    /// of a refused modification, or the `INVALID_ARGUMENT` of an invalid one. The job has been given back by
    /// then, unless its lease was lost. By default nobody is told, but the reason is in the
    /// task's `err`.
    pub fn on_error(self, hook: impl Fn(&Job<M>, &Error) + Send + Sync + 'static) -> Self {
        Self { on_error: Some(OnError(Arc::new(hook))), ..self }
    }

    fn report(&self, job: &Job<M>, refused: Option<Error>) {
        if let (Some(OnError(hook)), Some(error)) = (&self.on_error, refused) {
            hook(job, &error);
        }
    }
}

impl Worker<Blocking> {
    /// Works until there is nothing left to do and the [`wait`](Self::wait) is over. What the handler
    /// returns happens to the job in one step, with the job's own versions; a job that it does not
    /// name, such as with a modification of nothing, stays leased until its lease is over. Nothing is done
    /// to a job that the handler ended itself.
    ///
    /// A modification that is invalid, or refused because something that it depends on has changed, is a
    /// failure of the handler: the task is given back at once as [`Job::fail`] does, and
    /// [`on_error`](Self::on_error) is called. A task whose lease was lost stays with its new holder.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn run(
        &self,
        mut handler: impl FnMut(&Job) -> Result<Modification, Failure>,
    ) -> Result<()> {
        for job in self.jobs() {
            let job = job?;
            self.report(&job, job.settle(handler(&job))?);
        }
        Ok(())
    }
}

impl Worker<Async> {
    /// Works until there is nothing left to do and the [`wait`](Self::wait) is over, one job after the
    /// other; otherwise as [`run`](Worker::<Blocking>::run) of a blocking worker. Run several for several
    /// jobs at a time.
    ///
    /// ```
    /// use millpond::tasks::{Failure, Job, Modification};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = millpond::aio::connect("memory:")?.tasks("shop");
    /// store.insert("inbox", "7").await?;
    /// let work = async |job: &Job<millpond::Async>| -> Result<Modification, Failure> {
    ///     Ok(job.delete())
    /// };
    /// store.worker(["inbox"]).run(work).await?;
    /// assert!(store.fetch(["no-task"]).await?.is_empty());
    /// # Ok::<(), millpond::Error>(()) })?;
    /// # Ok::<(), millpond::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the connection.
    ///
    /// # Delivery
    /// A job whose future is dropped stays leased until its lease is over.
    pub async fn run(
        &self,
        mut handler: impl AsyncFnMut(&Job<Async>) -> Result<Modification, Failure>,
    ) -> Result<()> {
        let mut jobs = self.jobs();
        while let Some(job) = jobs.next().await {
            let job = job?;
            let refused = job.settle(handler(&job).await).await?;
            self.report(&job, refused);
        }
        Ok(())
    }
}

impl Policy {
    /// What becomes of a task that failed: another attempt later, or the error queue.
    pub(super) fn failed(&self, task: &Task, err: &str, delay: Option<Duration>) -> TaskChange {
        let queue = self.error_queue_of(task);
        let change = task.change().retry_or_quarantine(err, &queue, self.max_attempts);
        match change.queue == task.queue {
            true => change.after(delay.unwrap_or_else(|| self.delay(task.attempt))),
            false => change,
        }
    }

    pub(super) fn error_queue_of(&self, task: &Task) -> Arc<str> {
        self.error_queue.clone().unwrap_or_else(|| format!("{}/err", task.queue).into())
    }

    /// How long to put off a task that was tried this often before.
    fn delay(&self, attempts: u32) -> Duration {
        let Backoff { first, most } = self.backoff;
        Backoff { first, most: most.max(first).min(DELAY_MAX) }.delay(attempts)
    }
}
