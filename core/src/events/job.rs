//! A job: an event that is being worked on, extended until it ends.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::calls::{Calls, is_stale};
use super::partition::Partition;
use super::receive::Receipt;
use super::run::Deliveries;
use super::{Event, EventQueue, Extend, Held};
use crate::client::{Async, Blocking, Client, Mode};
use crate::error::{Error, Result};
use crate::runtime::sync::lock;
use crate::worker::failure::Failure;
use crate::worker::lease::{self, Lease};
use crate::worker::run::Place;
use crate::worker::settings::TimeLimit;

/// An event that is being worked on; made by a [`Run`](super::Run), which ends it.
///
/// A native thread extends its lease three times per lease, so a busy handler keeps it. A job belongs to its process:
/// in the child of a fork, [`Run::end`](super::Run::end) fails with `FORKED`.
pub struct Job<M: Mode = Blocking> {
    pub(super) core: Arc<JobCore<M>>,
    /// Its place in a run.
    pub(super) place: Option<Place<Deliveries<M>>>,
    limit: TimeLimit,
}

/// An event that is held.
pub(super) struct JobCore<M: Mode> {
    pub(super) event: Event,
    pub(super) lease: Arc<Lease<M, HeldEvent>>,
    pub(super) timeout: Option<Duration>,
    /// Whether a failure is the last, by the configuration when it was received.
    is_last: bool,
}

impl<M: Mode> JobCore<M> {
    /// What holds an event that was received for so long by a step sent at this time.
    pub(super) fn new(
        queue: &EventQueue<M>,
        partition: Partition,
        event: Event,
        (length, taken_at): (Duration, Instant),
        timeout: Option<Duration>,
        is_last: bool,
    ) -> Self {
        let (name, partition) = (queue.name().unwrap_or_default(), Arc::new(Mutex::new(partition)));
        let held = HeldEvent { name, partition, receipt: (&event).into(), is_cancelled: false };
        let lease = Lease::begin(queue.client.downgrade(), held, length, taken_at);
        Self { event, lease, timeout, is_last }
    }
}

/// What a job holds.
#[derive(Clone)]
pub(super) struct HeldEvent {
    /// The queue's.
    name: Arc<[u8]>,
    /// Where the event is: another one when its part of the key space has moved.
    partition: Arc<Mutex<Partition>>,
    receipt: Receipt,
    pub(super) is_cancelled: bool,
}

impl lease::Held for HeldEvent {
    type Renew = Extend;

    fn renew(&self, length: Duration) -> Result<Extend> {
        Extend::new(lock(&self.partition).clone(), vec![self.receipt], Some(length))
    }

    fn renewed(&mut self, extended: super::Extended) -> bool {
        self.is_cancelled |= extended.held.contains(&Held::Cancelled);
        !extended.held.contains(&Held::Lost)
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    fn has_moved(error: &Error) -> bool {
        is_stale(error)
    }

    fn failed<M: Mode>(&self, client: &Client<M>, error: &Error) {
        if !is_stale(error) {
            return;
        }
        let calls = Calls::new(&client.to_async().events(&self.name));
        let (id, partition) = (self.receipt.id, self.partition.clone());
        // The next renewal finds it.
        drop(Async::call(async move {
            let home = calls?.home_of(id).await?;
            *lock(&partition) = home;
            Ok(())
        }));
    }
}

impl<M: Mode> Job<M> {
    pub(super) fn new(core: Arc<JobCore<M>>, place: Option<Place<Deliveries<M>>>) -> Self {
        let limit = TimeLimit::begin(core.timeout);
        Self { core, place, limit }
    }

    /// The event, as it was received.
    pub fn event(&self) -> &Event {
        &self.core.event
    }

    /// Whether the lease is lost, because another consumer has the event, because no extension has succeeded for a whole
    /// lease, or because the job has ended after its `timeout`. If so, stop working: ending the job has no effect.
    pub fn is_lost(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_overdue) || self.core.lease.is_lost()
    }

    /// Whether this is the last attempt that the queue's `max_attempts` allowed when the event was received: a failure
    /// makes it a dead letter.
    pub fn is_last_attempt(&self) -> bool {
        self.core.is_last
    }

    /// How long the handler may still run, by the worker's `timeout`; `None` if there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.limit.left()
    }

    /// Whether the event was [cancelled](super::EventQueue::cancel), as of the last extension. If so, stop working: a
    /// handler that fails now ends the job, and the event is deleted. Always false in the child of a fork.
    pub fn is_cancelled(&self) -> bool {
        self.core.lease.is_own() && self.core.lease.lock().held.is_cancelled
    }

    /// Calls `then` when the lease is lost or the event is [cancelled](Self::is_cancelled), to tell the work to stop;
    /// immediately if that has already happened. If the job has ended, or is dropped, before that, `then` is dropped
    /// and not called. It is called on a thread that renewals wait for, so it should hand over and return. In the child
    /// of a fork it is never called.
    pub fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.core.lease.on_lost(then);
    }

    /// Refuses the child of a fork: the parent has the job and extends it.
    pub(super) fn check_process(&self) -> Result<()> {
        self.core
            .lease
            .check_process("a job belongs to the process that took it; begin a run in the child")
    }
}

impl Job<Async> {
    /// The output of the handler's future, or how the job ends if it took too long or was lost before, which drops the
    /// future.
    pub(super) async fn within<T>(&self, handler: impl Future<Output = T>) -> Result<T, Failure> {
        self.limit.within(handler, |lost| self.on_lost(lost)).await
    }
}

impl<M: Mode> Drop for JobCore<M> {
    fn drop(&mut self) {
        self.lease.stop();
    }
}

impl<M: Mode> fmt::Debug for Job<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("event", &self.core.event.id).finish_non_exhaustive()
    }
}
