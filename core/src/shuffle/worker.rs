//! The worker of a consumer: what it can be set to, beside what all workers have.

use std::time::Duration;

use super::run::Messages;
use crate::client::{Blocking, Mode};
use crate::runtime::backoff::Backoff;
use crate::worker;

/// How long other consumers do not reclaim a worker's message, by default.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(60);

/// The default delay before a failed message is tried again.
pub const BACKOFF_DEFAULT: Duration = Duration::from_secs(30);

/// How long an idle consumer that holds no message is kept, by default.
pub const KEEP_CONSUMERS_DEFAULT: Duration = Duration::from_secs(3_600);

/// Runs a handler for the messages of a consumer; made by [`ShuffleConsumer::worker`](super::ShuffleConsumer::worker). [`run`](Worker::run) works until
/// it is stopped, on `concurrency` messages at a time, and [`drain`](Worker::drain) until nothing is left.
///
/// The worker keeps a message while it is worked on: a native thread renews it three times per lease. Twice per lease
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
pub type Worker<M = Blocking> = worker::handle::Worker<Messages<M>, M>;

/// The jobs of a worker, for a loop of your own in place of [`Worker::run`](super::Worker::run); made by
/// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of
/// threads or tasks, and reports what became of them.
///
/// ```
/// use millpond::RunEvent;
///
/// let queue = millpond::connect("memory:")?.shuffle_queue("jobs");
/// queue.write("tenant-7", [("image", "a.png")])?;
/// let worker = queue.consumer("workers", "worker-1").worker().tell_all(true);
/// let run = worker.start();
/// while let Some(event) = run.next()? {
///     match event {
///         RunEvent::Job(job) => run.end(&job, Ok(()))?,
///         RunEvent::Report(report) => {
///             assert_eq!(report.kind.name(), "done");
///             worker.stop(std::time::Duration::ZERO);
///         }
///     }
/// }
/// assert_eq!(queue.backlog()?, 0);
/// # Ok::<(), millpond::Error>(())
/// ```
pub type Run<M = Blocking> = worker::run::Run<Messages<M>, M>;

/// What becomes of messages.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(super) lease: Duration,
    pub(super) backoff: Backoff,
    pub(super) delete: bool,
    pub(super) keep_consumers: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease: LEASE_DEFAULT,
            // Never more than the lease.
            backoff: Backoff { first: BACKOFF_DEFAULT, most: Duration::MAX },
            delete: false,
            keep_consumers: KEEP_CONSUMERS_DEFAULT,
        }
    }
}

impl<M: Mode> Worker<M> {
    /// How long other consumers do not reclaim a message; [`LEASE_DEFAULT`] by default. A native thread renews it
    /// three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// How long a message waits after its first failure; [`BACKOFF_DEFAULT`] by default. Then it waits twice as long
    /// with each delivery, up to [`backoff_max`](Self::backoff_max), each time shortened at random by up to half.
    pub fn backoff(mut self, delay: Duration) -> Self {
        self.options.backoff.first = delay;
        self
    }

    /// How long a failed message waits at most; by default, and never more than, the lease, after which the message is
    /// taken over anyway.
    pub fn backoff_max(mut self, delay: Duration) -> Self {
        self.options.backoff.most = delay;
        self
    }

    /// Whether messages that are done are deleted for all groups, which suits a queue with one group. By default they
    /// are only acknowledged.
    pub fn delete(mut self, delete: bool) -> Self {
        self.options.delete = delete;
        self
    }

    /// How long an idle consumer of the group that holds no message is kept; [`KEEP_CONSUMERS_DEFAULT`] by default.
    pub fn keep_consumers(mut self, time: Duration) -> Self {
        self.options.keep_consumers = time;
        self
    }
}
