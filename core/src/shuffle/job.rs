//! A job: a message that is being worked on, renewed until it ends.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::name::Name;
use super::run::Messages;
use super::worker::Policy;
use super::{Message, Receipt, Renew, ShuffleConsumer};
use crate::client::{Blocking, Mode};
use crate::error::Result;
use crate::worker;
use crate::worker::due::Due;
use crate::worker::lease::{Held, Lease};

/// A message that is being worked on; made by a [`Run`](super::Run), which ends it.
///
/// A native thread renews it three times per lease, so a busy handler keeps it. A job belongs to its process: in the
/// child of a fork, [`Run::end`](super::Run::end) fails with `FORKED`.
pub type Job<M = Blocking> = worker::job::Job<Messages<M>>;

/// A message that is held.
pub(crate) struct JobCore<M: Mode> {
    pub(super) consumer: ShuffleConsumer<M>,
    pub(super) message: Message,
    pub(super) policy: Arc<Policy>,
    pub(super) lease: Arc<Lease<M, HeldMessage>>,
    /// Whether the message is a suspect.
    pub(super) is_suspect: bool,
    /// Whether it is no suspect, or the work on it has begun.
    pub(super) is_counted: AtomicBool,
    /// When its loop reclaims messages next.
    pub(super) reclaims: Arc<Due>,
}

impl<M: Mode> JobCore<M> {
    /// What holds a message that was taken by a step sent at this time.
    pub(super) fn new(
        consumer: ShuffleConsumer<M>,
        holder: &Arc<Holder>,
        message: Message,
        policy: Arc<Policy>,
        reclaims: Arc<Due>,
        (taken_at, is_suspect): (Instant, bool),
    ) -> Self {
        let held = HeldMessage { holder: holder.clone(), receipt: (&message).into() };
        let lease = Lease::begin(consumer.client().downgrade(), held, policy.lease, taken_at);
        let is_counted = AtomicBool::new(!is_suspect);
        Self { consumer, message, policy, lease, is_suspect, is_counted, reclaims }
    }
}

/// Who holds messages.
pub(crate) struct Holder {
    pub(super) name: Name,
    pub(super) group: Vec<u8>,
    pub(super) consumer: Vec<u8>,
}

/// What a job holds.
#[derive(Clone)]
pub(crate) struct HeldMessage {
    pub(super) holder: Arc<Holder>,
    pub(super) receipt: Receipt,
}

impl Held for HeldMessage {
    type Renew = Renew;

    fn renew(&self, _: Duration) -> Result<Renew> {
        let Holder { name, group, consumer } = &*self.holder;
        Renew::of(name.clone(), group, consumer, vec![self.receipt])
    }

    fn renewed(&mut self, renewed: u64) -> bool {
        renewed == 1
    }
}

impl<M: Mode> JobCore<M> {
    /// Notes that the work on a suspect begins.
    pub(super) fn begin_step(&self) -> Result<Renew> {
        let held = self.lease.lock().held.clone();
        Ok(held.renew(self.policy.lease)?.begins(self.message.deliveries))
    }
}

impl<M: Mode> Job<M> {
    /// The message, as it was taken.
    pub fn message(&self) -> &Message {
        &self.core.message
    }

    /// Whether this is the last delivery that the consumer's `max_deliveries` allows: a failure makes the message a dead
    /// letter.
    pub fn is_last_attempt(&self) -> bool {
        self.core.is_last()
    }
}

impl<M: Mode> Drop for JobCore<M> {
    fn drop(&mut self) {
        self.lease.stop();
    }
}
