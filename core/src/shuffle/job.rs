//! A job: a message that is being worked on, extended until it ends.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::name::Name;
use super::run::Messages;
use super::worker::Policy;
use super::{Extend, Message, Receipt, ShuffleConsumer};
use crate::client::{Async, Blocking, Mode};
use crate::error::Result;
use crate::worker::failure::Failure;
use crate::worker::lease::{Held, Lease};
use crate::worker::run::Place;
use crate::worker::settings::TimeLimit;

/// A message that is being worked on; made by a [`Run`](super::Run), which ends it.
///
/// A native thread extends it three times per lease, so a busy handler keeps it. A job belongs to its process: in the
/// child of a fork, [`Run::end`](super::Run::end) fails with `FORKED`.
pub struct Job<M: Mode = Blocking> {
    pub(super) core: Arc<JobCore<M>>,
    /// Its place in a run.
    pub(super) place: Option<Place<Messages<M>>>,
    limit: TimeLimit,
}

/// A message that is held.
pub(super) struct JobCore<M: Mode> {
    pub(super) consumer: ShuffleConsumer<M>,
    pub(super) message: Message,
    pub(super) policy: Arc<Policy>,
    pub(super) lease: Arc<Lease<M, HeldMessage>>,
    /// Whether the message is a suspect.
    pub(super) is_suspect: bool,
    /// Whether it is no suspect, or the work on it has begun.
    pub(super) is_counted: AtomicBool,
}

impl<M: Mode> JobCore<M> {
    /// What holds a message that was taken by a step sent at this time.
    pub(super) fn new(
        consumer: ShuffleConsumer<M>,
        holder: &Arc<Holder>,
        message: Message,
        policy: Arc<Policy>,
        taken_at: Instant,
        is_suspect: bool,
    ) -> Self {
        let held = HeldMessage { holder: holder.clone(), receipt: (&message).into() };
        let lease = Lease::begin(consumer.client().downgrade(), held, policy.lease, taken_at);
        let is_counted = AtomicBool::new(!is_suspect);
        Self { consumer, message, policy, lease, is_suspect, is_counted }
    }
}

/// Who holds messages.
pub(super) struct Holder {
    pub(super) name: Name,
    pub(super) group: Vec<u8>,
    pub(super) consumer: Vec<u8>,
}

/// What a job holds.
#[derive(Clone)]
pub(super) struct HeldMessage {
    pub(super) holder: Arc<Holder>,
    pub(super) receipt: Receipt,
}

impl Held for HeldMessage {
    type Renew = Extend;

    fn renew(&self, _: Duration) -> Result<Extend> {
        let Holder { name, group, consumer } = &*self.holder;
        Extend::of(name.clone(), group, consumer, vec![self.receipt])
    }

    fn renewed(&mut self, extended: u64) -> bool {
        extended == 1
    }
}

impl<M: Mode> JobCore<M> {
    /// Notes that the work on a suspect begins.
    pub(super) fn begin_step(&self) -> Result<Extend> {
        let held = self.lease.lock().held.clone();
        Ok(held.renew(self.policy.lease)?.begins(self.message.deliveries))
    }
}

impl<M: Mode> Job<M> {
    pub(super) fn new(core: Arc<JobCore<M>>, place: Option<Place<Messages<M>>>) -> Self {
        let limit = TimeLimit::begin(core.policy.timeout);
        Self { core, place, limit }
    }

    /// The message, as it was taken.
    pub fn message(&self) -> &Message {
        &self.core.message
    }

    /// Whether the lease is lost, because another consumer has the message, because no extension has succeeded for a
    /// whole lease, or because the job has ended after its `timeout`. If so, stop working: ending the job has no effect.
    pub fn is_lost(&self) -> bool {
        self.place.as_ref().is_some_and(Place::is_overdue) || self.core.lease.is_lost()
    }

    /// Whether this is the last delivery that the consumer's `max_deliveries` allows: a failure makes the message a dead
    /// letter.
    pub fn is_last_attempt(&self) -> bool {
        self.core.is_last()
    }

    /// How long the handler may still run, by the worker's `timeout`; `None` if there is no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.limit.left()
    }

    /// Calls `then` when the lease is lost, to tell the work to stop; immediately if it is already lost. If the job has
    /// ended, or is dropped, before that, `then` is dropped and not called. It is called on a thread that renewals wait
    /// for, so it should hand over and return. In the child of a fork it is never called.
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
        f.debug_struct("Job").field("message", &self.core.message.id).finish_non_exhaustive()
    }
}
