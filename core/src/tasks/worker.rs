//! A worker: jobs one after the other, and what becomes of those that fail.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::{
    Claims, DELAY_MAX, Job, LEASE_DEFAULT, Modification, Modified, Modify, Task, TaskChange,
    TaskStore,
};
use crate::client::{Async, Blocking, Mode, Pending};
use crate::error::{Error, ErrorKind, Result, invalid};
use crate::runtime::random;

/// How long a task that failed for the first time is put off if nobody says.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// The longest that a task that failed is put off if nobody says.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

/// How long a task that is given back is put off at most if nobody says.
pub const RELEASE_DELAY_DEFAULT: Duration = Duration::from_millis(100);

/// How long a task whose documents are taken is put off at first, and at most.
const TAKEN_DELAY_FIRST: Duration = Duration::from_millis(16);
const TAKEN_DELAY_MAX: Duration = Duration::from_millis(128);

/// By how much later than said here a task may be available on the clock of a server.
const TAKEN_SLACK: Duration = Duration::from_millis(50);

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
    on_error: Option<OnError>,
}

/// Is told of a job that could not end as its handler said.
#[derive(Clone)]
struct OnError(Arc<Hook>);

type Hook = dyn Fn(&Job, &Error) + Send + Sync;

impl fmt::Debug for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnError")
    }
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
            backoff: BACKOFF_DEFAULT,
            backoff_max: BACKOFF_MAX_DEFAULT,
            max_attempts: 0,
            max_claims: 0,
            error_queue: None,
        };
        let queues = queues.map_err(|error| error.message().into());
        Self { store, queues, policy, wait: None, on_error: None }
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

    /// A task that was claimed more often than this since it was last inserted, changed or released goes to
    /// the error queue and to no handler, as it may be what ends the workers; 0, the default, for never. So
    /// only leases that ran out count: every end of a job, a retry and a release too, begins anew, and so
    /// does a task that is moved back from the error queue.
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
        let mut claims = self.store.claims_of(queues).lease(self.policy.lease).for_jobs();
        if let Some(wait) = self.wait {
            claims = claims.wait(wait);
        }
        let policy = Arc::new(self.policy.clone());
        let contention = Arc::new(Contention::new());
        Jobs {
            store: self.store.clone(),
            claims,
            policy,
            wait: self.wait,
            contention,
            putting_aside: None,
        }
    }
}

impl Worker<Blocking> {
    /// Is told of each job that [`run`](Self::run) could not end as the handler said: with the `DEPENDENCY`
    /// of a refused modification, or the `INVALID_ARGUMENT` of an invalid one. The job has been given back by
    /// then, unless its lease was lost. By default nobody is told, but the reason is in the
    /// task's `err`.
    pub fn on_error(mut self, hook: impl Fn(&Job, &Error) + Send + Sync + 'static) -> Self {
        self.on_error = Some(OnError(Arc::new(hook)));
        self
    }

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
            let refused = job.settle(handler(&job))?;
            if let (Some(OnError(hook)), Some(error)) = (&self.on_error, refused) {
                hook(&job, &error);
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
        let most = self.backoff_max.max(self.backoff).min(DELAY_MAX);
        backoff(self.backoff, attempts, most)
    }
}

/// A delay that doubles with the number of those before, up to a limit, and at random is up to half of it
/// less.
pub(super) fn backoff(first: Duration, before: u32, most: Duration) -> Duration {
    up_to_half_less(first.saturating_mul(2_u32.saturating_pow(before)).min(most))
}

pub(super) fn up_to_half_less(delay: Duration) -> Duration {
    let less = (random::quick() >> 11) as f64 / (1_u64 << 53) as f64 / 2.0;
    delay.mul_f64(1.0 - less)
}

/// The tasks that a loop of jobs has given back because their documents were taken. Nothing here is behind a
/// lock, for the children of forks.
pub(super) struct Contention {
    began: Instant,
    /// How many tasks one after the other.
    releases: AtomicU32,
    /// Until when the last of them is put off, in milliseconds from `began`.
    until_ms: AtomicU64,
}

impl Contention {
    fn new() -> Self {
        let (releases, until_ms) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { began: Instant::now(), releases, until_ms }
    }

    /// How long to put off another one.
    pub(super) fn delay(&self) -> Duration {
        let before = self.releases.fetch_add(1, Ordering::Relaxed);
        let delay = backoff(TAKEN_DELAY_FIRST, before, TAKEN_DELAY_MAX);
        let until = self.began.elapsed() + delay + TAKEN_SLACK;
        self.until_ms.fetch_max(until.as_millis() as u64, Ordering::Relaxed);
        delay
    }

    /// Documents were free.
    pub(super) fn is_over(&self) {
        self.releases.store(0, Ordering::Relaxed);
    }

    /// How long until all those tasks are available again, if they are not.
    fn left(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.until_ms.load(Ordering::Relaxed));
        until.checked_sub(self.began.elapsed()).filter(|left| !left.is_zero())
    }
}

/// The jobs of a [`Worker`]: an iterator for a blocking client, a [`Stream`] for an async one. It ends
/// as [`Claims`] do, but not before it has seen again the tasks that it gave back because their documents
/// were taken.
pub struct Jobs<M: Mode = Blocking> {
    store: TaskStore<M>,
    claims: Claims<M>,
    policy: Arc<Policy>,
    wait: Option<Duration>,
    contention: Arc<Contention>,
    putting_aside: Option<Pending<Modified>>,
}

/// What to do with a task that was claimed.
enum Next<M: Mode> {
    Work(Job<M>),
    PutAside(Result<Modify>),
}

impl<M: Mode> Jobs<M> {
    /// Stops listening for tasks until the next job is asked for; see [`Claims::stop_waiting`].
    pub fn stop_waiting(&mut self) {
        self.claims.stop_waiting();
    }

    fn next_of(&mut self, task: Task) -> Next<M> {
        self.claims.set_wait(self.wait);
        let (policy, unended) = (&self.policy, self.claims.unended());
        let queue = policy.error_queue_of(&task);
        // A worker of the error queue itself is there to see it.
        if policy.max_claims == 0 || unended <= policy.max_claims || queue == task.queue {
            let (policy, contention) = (policy.clone(), self.contention.clone());
            let claimed = self.claims.sent();
            return Next::Work(Job::new(self.store.clone(), task, policy, contention, claimed));
        }
        let err = format!("claimed {} times without an end", unended - 1);
        let change = task.change().quarantine(&err, &queue);
        let modification = Modification::new().change(change);
        Next::PutAside(self.store.modify_step_by(&task.claimant, modification))
    }

    /// Whether to ask again after the loop of claims has ended, as tasks were given back only for a moment.
    fn goes_on(&mut self) -> bool {
        let left = self.contention.left().filter(|_| !self.claims.is_over());
        self.claims.set_wait(left.or(self.wait));
        left.is_some()
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
            let task = match self.claims.next() {
                Some(Ok(tasks)) => tasks.into_iter().next()?,
                Some(Err(error)) => return Some(Err(error)),
                None if self.goes_on() => continue,
                None => return None,
            };
            match self.next_of(task) {
                Next::Work(job) => return Some(Ok(job)),
                Next::PutAside(step) => {
                    if let Err(error) = put_aside(self.store.client.run(step)) {
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
                None if this.goes_on() => continue,
                None => None,
            };
            let Some(task) = task else { return Poll::Ready(None) };
            match this.next_of(task) {
                Next::Work(job) => return Poll::Ready(Some(Ok(job))),
                Next::PutAside(step) => {
                    this.putting_aside = Some(this.store.client.run(step));
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
