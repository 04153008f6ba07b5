//! Who waits for what: listeners by topic, woken one by one.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::error::Result;
use crate::interrupt;
use crate::sync::lock;
use crate::timer::{Scheduled, Timer};

/// The name of something that can be waited for, such as the key of a set.
pub(crate) type Topic = Arc<[u8]>;

/// The listeners of one client's backend.
#[derive(Default)]
pub(crate) struct Waiters {
    topics: Mutex<HashMap<Topic, VecDeque<Arc<Signal>>>>,
}

/// Wakes one listener, once, from a thread or from a task.
#[derive(Default)]
struct Signal {
    state: Mutex<SignalState>,
    woken: Condvar,
}

#[derive(Default)]
struct SignalState {
    woken: bool,
    waker: Option<Waker>,
}

impl Signal {
    /// Answers false if it had been woken already.
    fn wake(&self) -> bool {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.woken, true) {
            return false;
        }
        self.woken.notify_all();
        let waker = state.waker.take();
        // An executor may drop the task at once, and with it the listener, which takes locks.
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

impl Waiters {
    /// Listens for these topics until the listener is dropped.
    pub(crate) fn listen(self: &Arc<Self>, topics: Vec<Topic>) -> Listener {
        let signal = Arc::new(Signal::default());
        let mut map = lock(&self.topics);
        for topic in &topics {
            map.entry(topic.clone()).or_default().push_back(signal.clone());
        }
        drop(map);
        Listener {
            waiters: self.clone(),
            topics,
            signal,
            alarm: Mutex::default(),
            on_drop: None,
            process: std::process::id(),
        }
    }

    /// Wakes the listener of this topic that has waited longest and is not awake already.
    pub(crate) fn wake_one(&self, topic: &[u8]) {
        let candidates = lock(&self.topics).get(topic).map_or(0, VecDeque::len);
        for _ in 0..candidates {
            let mut map = lock(&self.topics);
            let Some(listeners) = map.get_mut(topic) else { return };
            let Some(signal) = listeners.pop_front() else { return };
            listeners.push_back(signal.clone());
            drop(map);
            if signal.wake() {
                return;
            }
        }
    }

    /// Wakes every listener of this topic, to look for itself: something may have been missed.
    pub(crate) fn wake_all(&self, topic: &[u8]) {
        let listeners = lock(&self.topics).get(topic).cloned();
        for signal in listeners.into_iter().flatten() {
            signal.wake();
        }
    }

    /// Wakes every listener of every topic, to find out that the client is closed.
    pub(crate) fn wake_everyone(&self) {
        let all: Vec<_> = lock(&self.topics).values().flatten().cloned().collect();
        for signal in all {
            signal.wake();
        }
    }
}

/// One party that waits; made by [`Waiters::listen`].
pub(crate) struct Listener {
    waiters: Arc<Waiters>,
    topics: Vec<Topic>,
    signal: Arc<Signal>,
    /// When to wake anyway.
    alarm: Mutex<Option<Scheduled>>,
    on_drop: Option<Box<dyn FnOnce() + Send>>,
    process: u32,
}

impl Listener {
    /// Does something more when the listener is dropped, such as giving up a subscription.
    pub(crate) fn on_drop(mut self, done: impl FnOnce() + Send + 'static) -> Self {
        self.on_drop = Some(Box::new(done));
        self
    }

    /// Wakes the listener itself.
    pub(crate) fn wake(&self) {
        self.signal.wake();
    }

    /// Blocks until the listener is woken or the time has come, whichever is first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<()> {
        interrupt::wait_in_slices(until, |until| self.wait_once(until))
    }

    /// Answers whether the listener was woken.
    fn wait_once(&self, until: Option<Instant>) -> bool {
        let mut state = lock(&self.signal.state);
        while !state.woken {
            state = match until {
                None => self.signal.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let waited = self.signal.woken.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            }
        }
        state.woken = false;
        true
    }

    /// Ready once the listener has been woken, which it then forgets.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.signal.state);
        if std::mem::replace(&mut state.woken, false) {
            return Poll::Ready(());
        }
        let before = state.waker.replace(context.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Wakes the listener when this time has come, and no longer when an earlier call said; for
    /// tasks, which have no clock of their own.
    pub(crate) fn wake_at(&self, time: Option<Instant>) {
        let signal = Arc::downgrade(&self.signal);
        let alarm = time.map(|time| {
            Timer::at(time, move || {
                if let Some(signal) = signal.upgrade() {
                    signal.wake();
                }
            })
        });
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
        let unused = lock(&self.signal.state).woken;
        let mut map = lock(&self.waiters.topics);
        for topic in &self.topics {
            if let Some(listeners) = map.get_mut(topic) {
                listeners.retain(|signal| !Arc::ptr_eq(signal, &self.signal));
                if listeners.is_empty() {
                    map.remove(topic);
                }
            }
        }
        drop(map);
        // A wake-up that came and was not used is somebody else's.
        if unused {
            for topic in &self.topics {
                self.waiters.wake_one(topic);
            }
        }
        if let Some(done) = self.on_drop.take() {
            done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn topic(name: &str) -> Topic {
        Arc::from(name.as_bytes())
    }

    fn is_woken(listener: &Listener) -> bool {
        let mut state = lock(&listener.signal.state);
        std::mem::replace(&mut state.woken, false)
    }

    #[test]
    fn wakes_one_in_turn_and_only_its_topic() {
        let waiters = Arc::new(Waiters::default());
        let first = waiters.listen(vec![topic("a")]);
        let second = waiters.listen(vec![topic("a"), topic("b")]);
        waiters.wake_one(b"a");
        assert!(is_woken(&first) && !is_woken(&second));
        waiters.wake_one(b"b");
        assert!(!is_woken(&first) && is_woken(&second));
        waiters.wake_one(b"c");
        assert!(!is_woken(&first) && !is_woken(&second));
    }

    #[test]
    fn an_unused_wake_up_is_passed_on() {
        let waiters = Arc::new(Waiters::default());
        let first = waiters.listen(vec![topic("a")]);
        let second = waiters.listen(vec![topic("a")]);
        waiters.wake_one(b"a");
        drop(first);
        assert!(is_woken(&second));
        drop(second);
        assert!(lock(&waiters.topics).is_empty());
    }

    #[test]
    fn a_wake_up_before_the_wait_is_not_lost() {
        let waiters = Arc::new(Waiters::default());
        let listener = waiters.listen(vec![topic("a")]);
        waiters.wake_one(b"a");
        listener.wait(None).unwrap();
        listener.wait(Some(Instant::now() + Duration::from_millis(1))).unwrap();
    }
}
