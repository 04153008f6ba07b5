//! One caller that waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Instant;

use super::locks::{Mutex, lock, wait_until};
use super::signal::{Handle, Signal, SignalState};
use super::{Audience, Topic, Waiters, Woken};
use crate::error::Result;
use crate::runtime::interrupt;
use crate::runtime::timer::{Scheduled, Timer};

/// One caller that waits; made by [`Waiters::listen`].
///
/// A listener that has been woken for a topic holds the wake-up until it waits again, which says
/// that it polled and found nothing, or until it says that it has [used](Self::used) it. One that is
/// dropped while it holds a wake-up passes it on: it found something, and there may be more, or it
/// never polled.
pub(crate) struct Listener {
    waiters: Arc<Waiters>,
    audience: Audience,
    topics: Vec<Topic>,
    signal: Arc<Signal>,
    /// The wake-ups since it last waited.
    held: Mutex<Vec<Topic>>,
    /// When to wake anyway.
    alarm: Mutex<Option<Scheduled>>,
    on_drop: Option<Box<dyn FnOnce() + Send>>,
    process: u32,
}

impl Waiters {
    /// Listens for these topics until the listener is dropped.
    pub(crate) fn listen(self: &Arc<Self>, topics: Vec<Topic>) -> Listener {
        self.listen_as(Audience::default(), topics)
    }

    /// Listens as one of an audience.
    pub(crate) fn listen_as(self: &Arc<Self>, audience: Audience, topics: Vec<Topic>) -> Listener {
        let signal = Arc::new(Signal::default());
        // A step that runs under a lock which the listener needs to poll sees this, or has ended before
        // the listener polls.
        self.listening.fetch_add(1, Ordering::AcqRel);
        let mut map = lock(&self.topics);
        for topic in &topics {
            let audiences = map.entry(topic.clone()).or_default();
            audiences.entry(audience.clone()).or_default().push_back(signal.clone());
        }
        drop(map);
        Listener {
            waiters: self.clone(),
            audience,
            topics,
            signal,
            held: Mutex::default(),
            alarm: Mutex::default(),
            on_drop: None,
            process: std::process::id(),
        }
    }
}

impl Listener {
    /// Does something more when the listener is dropped, such as giving up a subscription.
    pub(crate) fn on_drop(mut self, done: impl FnOnce() + Send + 'static) -> Self {
        self.on_drop = Some(Box::new(done));
        self
    }

    /// Wakes the listener itself.
    pub(crate) fn wake(&self) {
        self.signal.wake(None, true);
    }

    /// Wakes this listener and no other.
    pub(crate) fn handle(&self) -> Handle {
        Handle(Arc::downgrade(&self.signal))
    }

    /// Says that a wake-up for this topic is not to be passed on.
    pub(crate) fn used(&self, topic: &[u8]) {
        lock(&self.held).retain(|held| **held != *topic);
    }

    /// Takes the wake-up, if there is one.
    fn take(&self, state: &mut SignalState) -> bool {
        if std::mem::take(&mut state.woken) {
            *lock(&self.held) = std::mem::take(&mut state.by);
            return true;
        }
        false
    }

    #[cfg(test)]
    pub(super) fn take_wake_up(&self) -> bool {
        self.take(&mut lock(&self.signal.state))
    }

    /// Blocks until the listener is woken or the time has come, whichever is first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<()> {
        lock(&self.held).clear();
        interrupt::wait_in_slices(until, |until| self.wait_once(until))
    }

    /// Returns whether the listener was woken.
    fn wait_once(&self, until: Option<Instant>) -> bool {
        // Lock order: the signal's state before what is held.
        let mut state = lock(&self.signal.state);
        while !self.take(&mut state) {
            if until.is_some_and(|until| until <= Instant::now()) {
                return false;
            }
            state = wait_until(&self.signal.woken, state, until);
        }
        true
    }

    /// Ready once the listener has been woken, which it then forgets.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.signal.state);
        if self.take(&mut state) {
            return Poll::Ready(());
        }
        lock(&self.held).clear();
        let before = state.waker.replace(context.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Wakes the listener when this time has come, and no longer when an earlier call said; for
    /// tasks, which have no clock of their own.
    pub(crate) fn wake_at(&self, time: Option<Instant>) {
        let handle = self.handle();
        let alarm = time.map(|time| Timer::at(time, move || handle.wake()));
        let before = std::mem::replace(&mut *lock(&self.alarm), alarm);
        drop(before);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // In a forked child these are the parent's locks, which may be held for ever.
        if self.process != std::process::id() {
            std::mem::forget(self.on_drop.take());
            return;
        }
        let mut unused = std::mem::take(&mut *lock(&self.held));
        let mut state = lock(&self.signal.state);
        state.is_gone = true;
        unused.append(&mut state.by);
        drop(state);
        let mut alarms = Vec::new();
        let mut map = lock(&self.waiters.topics);
        for topic in &self.topics {
            if let Some(audiences) = map.get_mut(topic) {
                if let Some(listeners) = audiences.get_mut(&self.audience) {
                    listeners.retain(|signal| !Arc::ptr_eq(signal, &self.signal));
                }
                audiences.retain(|_, listeners| !listeners.is_empty());
                if audiences.is_empty() {
                    map.remove(topic);
                    alarms.extend(lock(&self.waiters.alarms).remove(topic));
                }
            }
        }
        drop(map);
        drop(alarms);
        self.waiters.listening.fetch_sub(1, Ordering::AcqRel);
        for topic in unused {
            if self.waiters.wake_one_of(&topic, &self.audience) == Woken::Nobody {
                self.waiters.unheard(&topic);
            }
        }
        if let Some(done) = self.on_drop.take() {
            done();
        }
    }
}
