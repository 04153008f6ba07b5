//! The worker of a queue of events: its options beside those of all workers.

use std::sync::Arc;
use std::time::Duration;

use super::run::Events;
use crate::client::{Blocking, Mode};
use crate::worker;

/// Runs a handler for the events of a queue; made by [`EventQueue::worker`](super::EventQueue::worker).
/// [`run`](Worker::run) works until it is stopped, on `concurrency` events at a time, and [`drain`](Worker::drain)
/// until nothing is ready.
///
/// The worker keeps the lease of an event while its handler runs: a native thread renews it three times per lease. The
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
pub type Worker<M = Blocking> = worker::handle::Worker<Events<M>, M>;

/// The jobs of a worker, for a loop of your own in place of [`Worker::run`](super::Worker::run); made by
/// [`Worker::start`](super::Worker::start). It hands out up to `concurrency` jobs at a time, to any number of threads
/// or tasks, and reports their outcomes.
///
/// ```
/// use millpond::RunEvent;
/// use millpond::events::NewEvent;
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish(NewEvent::new("paid"))?;
/// let worker = queue.worker().tell_all(true);
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
/// # Ok::<(), millpond::Error>(())
/// ```
pub type Run<M = Blocking> = worker::run::Run<Events<M>, M>;

/// The options of a worker of events.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(super) lease: Option<Duration>,
    pub(super) key_range: Option<Arc<str>>,
}

impl<M: Mode> Worker<M> {
    /// How long an event is leased; by default as long as the queue's configuration says. A native thread renews it
    /// three times per lease.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = Some(lease);
        self
    }

    /// Takes only events of this part of the key space, such as `-80`, `40-80` or `80-`, as
    /// [`deliveries`](super::EventQueue::deliveries) do. If it does not consist of whole partitions, the run ends with
    /// `INVALID_ARGUMENT`.
    pub fn key_range(mut self, range: impl AsRef<str>) -> Self {
        self.options.key_range = Some(range.as_ref().into());
        self
    }
}
