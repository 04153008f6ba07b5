//! The worker of a task store: what it can be set to, beside what all workers have, and what becomes of tasks that fail.

use std::sync::Arc;
use std::time::Duration;

use super::run::Tasks;
use super::{DELAY_MAX, Jobs, LEASE_DEFAULT, Modification, Task, TaskChange};
use crate::client::{Blocking, Mode};
use crate::error::{Result, invalid};
use crate::runtime::backoff::Backoff;
use crate::step::limits::RELEASE_DELAY;
use crate::worker;
use crate::worker::failure::{Failure, Outcome};
use crate::worker::settings::{check_concurrency, suspects_from};

/// The default delay before a task is tried again after its first failure.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// The default longest delay before a failed task is tried again.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

/// After how many attempts a task goes to the error queue, by default.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 20;

/// After how many expired leases in a row a task goes to the error queue, by default.
pub const MAX_CRASHES_DEFAULT: u32 = 3;

/// The default longest delay before a task that was given back is available again.
pub const RELEASE_DELAY_DEFAULT: Duration = RELEASE_DELAY;

/// Runs a handler for the tasks of some queues; made by [`TaskStore::worker`](super::TaskStore::worker). [`run`](Worker::run) works until it is
/// stopped, on `concurrency` jobs at a time, and [`drain`](Worker::drain) until nothing is available.
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
pub type Worker<M = Blocking> = worker::handle::Worker<Tasks<M>, M>;

/// The jobs of a worker, for a loop of your own instead of [`Worker::run`](super::Worker::run); made by
/// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
/// threads or tasks, and reports what became of them.
///
/// ```
/// use millpond::RunEvent;
/// use millpond::tasks::Failure;
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// store.insert("inbox", "7")?;
/// let worker = store.worker(["inbox"]).tell_all(true);
/// let run = worker.start();
/// while let Some(event) = run.next()? {
///     match event {
///         RunEvent::Job(job) => run.end(&job, Ok(None))?,
///         RunEvent::Report(report) => {
///             assert_eq!(report.kind.name(), "done");
///             worker.stop(std::time::Duration::ZERO);
///         }
///     }
/// }
/// # Ok::<(), millpond::Error>(())
/// ```
pub type Run<M = Blocking> = worker::run::Run<Tasks<M>, M>;

/// What a worker of tasks can be set to.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(super) policy: Policy,
    pub(super) wait: Option<Duration>,
}

/// What becomes of tasks that fail.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(super) lease: Duration,
    backoff: Backoff,
    max_attempts: u32,
    pub(super) max_crashes: u32,
    error_queue: Option<Arc<str>>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease: LEASE_DEFAULT,
            backoff: Backoff { first: BACKOFF_DEFAULT, most: BACKOFF_MAX_DEFAULT },
            max_attempts: MAX_ATTEMPTS_DEFAULT,
            max_crashes: MAX_CRASHES_DEFAULT,
            error_queue: None,
        }
    }
}

impl Outcome<Option<Modification>> for () {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        Ok(None)
    }
}

impl Outcome<Option<Modification>> for Modification {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        Ok(Some(self))
    }
}

impl<T: Outcome<Option<Modification>>> Outcome<Option<Modification>> for Option<T> {
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        self.map_or(Ok(None), Outcome::outcome)
    }
}

impl<T: Outcome<Option<Modification>>, E: Into<Failure>> Outcome<Option<Modification>>
    for Result<T, E>
{
    fn outcome(self) -> Result<Option<Modification>, Failure> {
        self.map_err(Into::into)?.outcome()
    }
}

impl<M: Mode> Worker<M> {
    /// How long a task is leased; [`LEASE_DEFAULT`] by default. A native thread renews it three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.policy.lease = lease;
        self
    }

    /// How long a task waits after its first failure; [`BACKOFF_DEFAULT`] by default. Then it waits twice as long each
    /// time, up to [`backoff_max`](Self::backoff_max), each time shortened at random by up to half.
    pub fn backoff(mut self, delay: Duration) -> Self {
        self.options.policy.backoff.first = delay;
        self
    }

    /// How long a failed task waits at most; [`BACKOFF_MAX_DEFAULT`] by default.
    pub fn backoff_max(mut self, delay: Duration) -> Self {
        self.options.policy.backoff.most = delay;
        self
    }

    /// After this many attempts a task goes to the error queue; [`MAX_ATTEMPTS_DEFAULT`] by default; 0 means never.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.options.policy.max_attempts = attempts;
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
        self.options.policy.max_crashes = leases;
        self
    }

    /// The queue for tasks that failed too often; by default, the name of the task's own queue followed by `/err`.
    pub fn error_queue(mut self, queue: impl AsRef<str>) -> Self {
        self.options.policy.error_queue = Some(queue.as_ref().into());
        self
    }

    /// How long [`jobs`](Self::jobs) waits for a task when none is available, instead of ending immediately.
    pub fn wait(mut self, idle: Duration) -> Self {
        self.options.wait = Some(idle);
        self
    }

    /// The jobs, one at a time, for a loop that ends each by one of the job's methods. See [`Jobs`].
    pub fn jobs(&self) -> Jobs<M> {
        // A run checks it as well.
        let checked = check_concurrency(self.settings.concurrency);
        let takes = self.queue.claims(&self.options, self.options.wait, checked);
        Jobs::new(takes, self.settings.timeout)
    }

    #[cfg(test)]
    pub(super) fn policy(&self) -> &Policy {
        &self.options.policy
    }
}

/// Refuses a first delay above the longest.
pub(super) fn check_backoff(
    Policy { backoff: Backoff { first, most }, .. }: &Policy,
) -> Result<()> {
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
