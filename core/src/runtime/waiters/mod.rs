//! Who waits for what: listeners by topic, woken one by one.

mod listener;
mod signal;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) use listener::Listener;
#[cfg(feature = "redis")]
pub(crate) use signal::Handle;

use crate::runtime::sync::lock;
use crate::runtime::timer::{Scheduled, Timer};
use signal::Signal;

/// The name of something that can be waited for, such as the key of a set.
pub(crate) type Topic = Arc<[u8]>;

/// Who can take what another of them would have found: those of one consumer group. A wake-up goes to
/// one listener of each audience.
pub(crate) type Audience = Arc<[u8]>;

/// The listeners of one client's backend.
#[derive(Default)]
pub(crate) struct Waiters {
    topics: Mutex<Topics>,
    /// How many listeners there are.
    listening: AtomicUsize,
    /// When to wake a listener of a topic anyway.
    // Lock order: topics before alarms.
    alarms: Mutex<HashMap<Topic, (Instant, Scheduled)>>,
}

type Topics = HashMap<Topic, HashMap<Audience, VecDeque<Arc<Signal>>>>;

impl Waiters {
    /// Whether anybody listens for anything.
    pub(crate) fn is_awaited(&self) -> bool {
        self.listening.load(Ordering::Acquire) > 0
    }

    /// Wakes up to `count` listeners for this topic.
    pub(crate) fn wake(&self, topic: &[u8], count: usize) {
        let listeners =
            |audiences: &HashMap<_, VecDeque<_>>| audiences.values().map(VecDeque::len).max();
        let most = lock(&self.topics).get(topic).and_then(listeners).unwrap_or(0);
        for _ in 0..count.min(most) {
            // Where all are awake, one of them passes on what it does not use.
            if !self.wake_one(topic) {
                break;
            }
        }
    }

    /// Wakes one listener for this topic after this time, or before if that is known already. Where
    /// nobody listens there is nothing to do: a new listener polls first.
    pub(crate) fn wake_after(self: &Arc<Self>, topic: &[u8], delay: Duration) {
        let Some(time) = Instant::now().checked_add(delay) else { return };
        let topics = lock(&self.topics);
        let Some((topic, _)) = topics.get_key_value(topic) else { return };
        let mut alarms = lock(&self.alarms);
        if alarms.get(topic).is_some_and(|(known, _)| *known <= time) {
            return;
        }
        let (waiters, of) = (Arc::downgrade(self), topic.clone());
        let scheduled = Timer::at(time, move || {
            if let Some(waiters) = waiters.upgrade() {
                let alarm = lock(&waiters.alarms).remove(&of);
                drop(alarm);
                waiters.wake_one(&of);
            }
        });
        let before = alarms.insert(topic.clone(), (time, scheduled));
        drop((alarms, topics));
        drop(before);
    }

    /// Wakes of each audience of this topic the listener that has waited longest and is not awake
    /// already. If all are awake, one of them has this wake-up as well: should it not poll, another
    /// one will. Returns whether a listener was woken that was not awake.
    pub(crate) fn wake_one(&self, topic: &[u8]) -> bool {
        let audiences: Vec<_> =
            lock(&self.topics).get(topic).into_iter().flat_map(HashMap::keys).cloned().collect();
        let mut any = false;
        for audience in &audiences {
            any |= self.wake_one_of(topic, audience);
        }
        any
    }

    fn wake_one_of(&self, topic: &[u8], audience: &Audience) -> bool {
        let listeners = |topics: &Topics| Some(topics.get(topic)?.get(audience)?.len());
        let candidates = listeners(&lock(&self.topics)).unwrap_or(0);
        for even_if_awake in [false, true] {
            for _ in 0..candidates {
                let mut map = lock(&self.topics);
                let Some((topic, _)) = map.get_key_value(topic) else { return false };
                let topic = topic.clone();
                let Some(listeners) = map.get_mut(&topic).and_then(|a| a.get_mut(audience)) else {
                    return false;
                };
                let Some(signal) = listeners.pop_front() else { return false };
                listeners.push_back(signal.clone());
                drop(map);
                if signal.wake(Some(&topic), even_if_awake) {
                    return !even_if_awake;
                }
            }
        }
        false
    }

    /// Wakes every listener of this topic, to poll: something may have been missed.
    pub(crate) fn wake_all(&self, topic: &[u8]) {
        let listeners = lock(&self.topics).get(topic).cloned();
        for signal in listeners.into_iter().flat_map(HashMap::into_values).flatten() {
            signal.wake(None, true);
        }
    }

    /// Wakes every listener of every topic, to find out that the client is closed.
    pub(crate) fn wake_everyone(&self) {
        let all: Vec<_> =
            lock(&self.topics).values().flat_map(HashMap::values).flatten().cloned().collect();
        for signal in all {
            signal.wake(None, true);
        }
    }
}
