//! A worker: jobs one after the other, and what becomes of those that fail.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;

use super::{
    Claims, DELAY_MAX, Job, LEASE_DEFAULT, Modification, Modified, Task, TaskChange, TaskStore,
};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{ErrorKind, Result, invalid};
use crate::random;

/// How long a task that failed for the first time is put off if nobody says.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// The longest that a task that failed is put off if nobody says.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

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
}

/// What becomes of tasks that fail.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) lease: Duration,
    backoff: Duration,
    backoff_max: Duration,
    max_attempts: u32,
    max_claims: u32,
    error_queue: Option<Arc<str>>,
}

/// Why a task was not done, for [`Worker::run`]. Any error becomes a [`Retry`](Self::Retry).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Try again later, for this reason.
    Retry(String),
    /// Try again after this time, for this reason.
    RetryAfter(String, Duration),
    /// Move it to this queue, for this reason.
    Move(String, String),
    /// Give it back untried, for another worker.
    Release,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Retry(error.to_string())
    }
}

impl<M: Mode> Worker<M> {
    pub(super) fn new(store: TaskStore<M>, queues: Result<Vec<Arc<str>>>) -> Self {
        let policy = Policy {
            lease: LEASE_DEFAULT,
            backoff: BACKOFF_DEFAULT,
            backoff_max: BACKOFF_MAX_DEFAULT,
            max_attempts: 0,
            max_claims: 0,
            error_queue: None,
        };
        let queues = queues.map_err(|error| error.message().into());
        Self { store, queues, policy, wait: None }
    }

    /// How long a task is leased; [`LEASE_DEFAULT`] if not said. A native thread renews it twice a lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.policy.lease = lease;
        self
    }

    /// How long a task is put off that failed: `first`, then twice as long each time up to `most`, and
    /// each time by chance up to half of it less. [`BACKOFF_DEFAULT`] and [`BACKOFF_MAX_DEFAULT`] if not
    /// said.
    pub fn backoff(mut self, first: Duration, most: Duration) -> Self {
        (self.policy.backoff, self.policy.backoff_max) = (first, most);
        self
    }

    /// After so many attempts a task goes to the error queue; 0, if not said, for never.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.policy.max_attempts = attempts;
        self
    }

    /// A task that was claimed more often than this, attempts that ended in order not counted, goes to the
    /// error queue and to no handler, as it may be what ends the workers; 0, if not said, for never. Claims
    /// stay counted: to give it back, delete it and insert it anew, in one modification.
    pub fn max_claims(mut self, claims: u32) -> Self {
        self.policy.max_claims = claims;
        self
    }

    /// Where tasks go that failed too often; the queue that each is in with `/err` behind it, if not said.
    pub fn error_queue(mut self, queue: impl AsRef<str>) -> Self {
        self.policy.error_queue = Some(queue.as_ref().into());
        self
    }

    /// Waits up to `idle` for a task when none is available, in place of ending at once.
    pub fn wait(mut self, idle: Duration) -> Self {
        self.wait = Some(idle);
        self
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
        let mut claims = self.store.claims_of(queues).lease(self.policy.lease);
        if let Some(wait) = self.wait {
            claims = claims.wait(wait);
        }
        let policy = Arc::new(self.policy.clone());
        Jobs { store: self.store.clone(), claims, policy, putting_aside: None }
    }
}

impl Worker<Blocking> {
    /// Works until there is nothing left to do and the [`wait`](Self::wait) is over. What the handler
    /// answers happens to the job in one step, with the job's own versions; a job that it does not
    /// name, such as with a modification of nothing, stays leased until its lease is over. A job
    /// whose lease was lost, or with a modification that the store refuses, is left to whoever has it
    /// now.
    ///
    /// A modification that no store could do is a failure as well, and tried again later.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn run(
        &self,
        mut handler: impl FnMut(&Job) -> Result<Modification, Failure>,
    ) -> Result<()> {
        for job in self.jobs() {
            let job = job?;
            let ended = match handler(&job) {
                Ok(modification) => job.finish(modification).or_else(|error| match error.kind() {
                    // What no store could do is the handler's failure, and no reason to stop.
                    ErrorKind::InvalidArgument => job.retry(&error.to_string()),
                    _ => Err(error),
                }),
                Err(Failure::Retry(err)) => job.retry(&err),
                Err(Failure::RetryAfter(err, delay)) => job.retry_after(&err, delay),
                Err(Failure::Move(queue, err)) => job.move_to(&queue, &err),
                Err(Failure::Release) => job.release(),
            };
            match ended {
                Err(error) if error.kind() != ErrorKind::Dependency => return Err(error),
                _ => {}
            }
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

    fn error_queue_of(&self, task: &Task) -> Arc<str> {
        self.error_queue.clone().unwrap_or_else(|| format!("{}/err", task.queue).into())
    }

    /// How long to put off a task that was tried so often before.
    fn delay(&self, attempts: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(2_u32.saturating_pow(attempts));
        let most = doubled.min(self.backoff_max.max(self.backoff)).min(DELAY_MAX);
        let less = (random::quick() >> 11) as f64 / (1_u64 << 53) as f64 / 2.0;
        most.mul_f64(1.0 - less)
    }
}

/// The jobs of a [`Worker`]: an iterator for a blocking client, a [`Stream`] for an async one. It ends
/// as [`Claims`] do.
pub struct Jobs<M: Mode = Blocking> {
    store: TaskStore<M>,
    claims: Claims<M>,
    policy: Arc<Policy>,
    putting_aside: Option<Pending<Modified>>,
}

/// What to do with a task that was claimed.
enum Next<M: Mode> {
    Work(Job<M>),
    PutAside(Modification),
}

impl<M: Mode> Jobs<M> {
    /// Stops listening for tasks until the next job is asked for; see [`Claims::stop_waiting`].
    pub fn stop_waiting(&mut self) {
        self.claims.stop_waiting();
    }

    fn next_of(&self, task: Task) -> Next<M> {
        let policy = &self.policy;
        let queue = policy.error_queue_of(&task);
        let unended = task.claims.saturating_sub(task.attempt);
        // A worker of the error queue itself is there to see it.
        if policy.max_claims == 0 || unended <= policy.max_claims || queue == task.queue {
            let claimed = self.claims.sent();
            return Next::Work(Job::new(self.store.clone(), task, policy.clone(), claimed));
        }
        let err = format!("claimed {} times without an end", unended - 1);
        Next::PutAside(Modification::new().change(task.change().quarantine(&err, &queue)))
    }
}

/// A task that somebody changed meanwhile need not be put aside any more.
fn put_aside(answer: Result<Modified>) -> Result<()> {
    match answer {
        Err(error) if error.kind() != ErrorKind::Dependency => Err(error),
        _ => Ok(()),
    }
}

impl Iterator for Jobs<Blocking> {
    type Item = Result<Job>;

    fn next(&mut self) -> Option<Result<Job>> {
        loop {
            let task = match self.claims.next()? {
                Ok(tasks) => tasks.into_iter().next()?,
                Err(error) => return Some(Err(error)),
            };
            match self.next_of(task) {
                Next::Work(job) => return Some(Ok(job)),
                Next::PutAside(modification) => {
                    if let Err(error) = put_aside(self.store.modify(modification)) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }
}

impl Stream for Jobs<Async> {
    type Item = Result<Job<Async>>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Job<Async>>>> {
        let this = self.get_mut();
        loop {
            if let Some(pending) = &mut this.putting_aside {
                let answer = std::task::ready!(Pin::new(pending).poll(context));
                this.putting_aside = None;
                if let Err(error) = put_aside(answer) {
                    return Poll::Ready(Some(Err(error)));
                }
            }
            let task = match std::task::ready!(Pin::new(&mut this.claims).poll_next(context)) {
                Some(Ok(tasks)) => tasks.into_iter().next(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => None,
            };
            let Some(task) = task else { return Poll::Ready(None) };
            match this.next_of(task) {
                Next::Work(job) => return Poll::Ready(Some(Ok(job))),
                Next::PutAside(modification) => {
                    this.putting_aside = Some(this.store.modify(modification));
                }
            }
        }
    }
}

impl Jobs<Async> {
    /// The next job, or `None` when the loop is over; what the [`Stream`] yields.
    ///
    /// # Errors
    /// As [`TaskStore::claim`].
    pub async fn next(&mut self) -> Option<Result<Job<Async>>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<M: Mode> fmt::Debug for Jobs<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("claims", &self.claims).finish_non_exhaustive()
    }
}
