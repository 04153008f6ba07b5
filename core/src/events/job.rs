//! A job: an event that is being processed. Its lease is renewed until it ends.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::calls::{Calls, is_stale};
use super::partition::Partition;
use super::receive::Receipt;
use super::run::Events;
use super::{Event, EventQueue, Held, Renew};
use crate::client::{Async, Blocking, Client, Mode};
use crate::error::{Error, Result};
use crate::runtime::sync::lock;
use crate::worker;
use crate::worker::lease::{self, Lease};

/// An event that is being processed; made by a [`Run`](super::Run), which ends it.
///
/// A native thread renews its lease three times per lease, so a busy handler keeps it. A job belongs to its process:
/// in the child of a fork, [`Run::end`](super::Run::end) fails with `FORKED`.
pub type Job<M = Blocking> = worker::job::Job<Events<M>>;

/// An event that is held.
pub(crate) struct JobCore<M: Mode> {
    pub(super) event: Event,
    pub(super) lease: Arc<Lease<M, HeldEvent>>,
    /// Whether a failure is the last, by the configuration when it was received.
    is_last: bool,
}

impl<M: Mode> JobCore<M> {
    /// Holds an event that a step sent at this time leased for this long.
    pub(super) fn new(
        queue: &EventQueue<M>,
        partition: Partition,
        event: Event,
        (length, taken_at): (Duration, Instant),
        is_last: bool,
    ) -> Self {
        let (name, partition) = (queue.name().unwrap_or_default(), Arc::new(Mutex::new(partition)));
        let held = HeldEvent { name, partition, receipt: (&event).into(), is_cancelled: false };
        let lease = Lease::begin(queue.client.downgrade(), held, length, taken_at);
        Self { event, lease, is_last }
    }
}

/// The delivery that a job holds.
#[derive(Clone)]
pub(crate) struct HeldEvent {
    /// The queue's.
    name: Arc<[u8]>,
    /// The partition that the event is in: another one after its part of the key space has moved.
    partition: Arc<Mutex<Partition>>,
    receipt: Receipt,
    pub(super) is_cancelled: bool,
}

impl lease::Held for HeldEvent {
    type Renew = Renew;

    fn renew(&self, length: Duration) -> Result<Renew> {
        Renew::new(lock(&self.partition).clone(), vec![self.receipt], Some(length))
    }

    fn renewed(&mut self, renewed: super::Renewed) -> bool {
        self.is_cancelled |= renewed.held.contains(&Held::Cancelled);
        !renewed.held.contains(&Held::Lost)
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
        // The next renewal uses it.
        drop(Async::call(async move {
            let home = calls?.home_of(id).await?;
            *lock(&partition) = home;
            Ok(())
        }));
    }
}

impl<M: Mode> Job<M> {
    /// The event, as it was received.
    pub fn event(&self) -> &Event {
        &self.core.event
    }

    /// Whether this is the last attempt that the queue's `max_attempts` allowed when the event was received: a failure
    /// makes it a dead letter.
    pub fn is_last_attempt(&self) -> bool {
        self.core.is_last
    }

    /// Whether the event was [cancelled](super::EventQueue::cancel), as of the last renewal. If so, stop working: a
    /// handler that fails now ends the job, and the event is deleted. Always false in the child of a fork.
    pub fn is_cancelled(&self) -> bool {
        self.core.lease.is_own() && self.core.lease.lock().held.is_cancelled
    }
}

impl<M: Mode> Drop for JobCore<M> {
    fn drop(&mut self) {
        self.lease.stop();
    }
}
