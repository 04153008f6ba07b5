//! What a listener is woken through.

use std::sync::Weak;
use std::task::Waker;

use super::Topic;
use super::locks::{Condvar, Mutex, lock};

/// Wakes one listener, once, from a thread or from a task.
#[derive(Default)]
pub(super) struct Signal {
    pub(super) state: Mutex<SignalState>,
    pub(super) woken: Condvar,
}

#[derive(Default)]
pub(super) struct SignalState {
    pub(super) woken: bool,
    /// The topics that it was woken for, each a wake-up that somebody has to use; none if it was
    /// woken only to poll.
    pub(super) by: Vec<Topic>,
    /// Set when the listener is gone: a wake-up has to go to another one.
    pub(super) is_gone: bool,
    pub(super) waker: Option<Waker>,
}

impl Signal {
    /// Wakes the listener for a topic, or to poll. Returns false if it is gone, or if it is awake
    /// already and there may be one that is not.
    pub(super) fn wake(&self, topic: Option<&Topic>, even_if_awake: bool) -> bool {
        let mut state = lock(&self.state);
        if state.is_gone || state.woken && !even_if_awake {
            return false;
        }
        state.woken = true;
        if let Some(topic) = topic
            && !state.by.contains(topic)
        {
            state.by.push(topic.clone());
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

/// Wakes one listener, which may be gone.
#[derive(Clone)]
pub(crate) struct Handle(pub(super) Weak<Signal>);

impl Handle {
    /// Whether the listener is there.
    pub(crate) fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Whether both wake the same listener.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Wakes the listener, to poll.
    pub(crate) fn wake(&self) {
        if let Some(signal) = self.0.upgrade() {
            signal.wake(None, true);
        }
    }
}
