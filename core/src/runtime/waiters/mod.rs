//! Who waits for what: listeners by topic, woken one by one.

mod listener;
mod locks;
#[cfg(all(test, shuttle))]
mod model;
mod signal;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) use listener::Listener;
pub(crate) use signal::Handle;

use crate::runtime::timer::{Scheduled, Timer};
use locks::{Mutex, lock};
use signal::Signal;

/// The name of something that can be waited for, such as the key of a set.
pub(crate) type Topic = Arc<[u8]>;

/// Who can take what another of them would have found: those of one consumer group. A wake-up goes to
/// one listener of each audience.
pub(crate) type Audience = Arc<[u8]>;

/// A topic that nothing is published for.
const SLEEPERS: &[u8] = b"";

/// The listeners of one client's backend.
#[derive(Default)]
pub(crate) struct Waiters {
    topics: Mutex<Topics>,
    /// How many listeners there are.
    listening: AtomicUsize,
    /// What to do when a wake-up for a topic comes and nobody listens any more.
    unheard: Mutex<HashMap<Topic, Unheard>>,
    /// When to wake a listener of a topic anyway.
    // Lock order: topics before alarms.
    alarms: Mutex<HashMap<Topic, (Instant, Scheduled)>>,
}

/// What is done with a wake-up that nobody hears.
pub(crate) type Unheard = Arc<dyn Fn() + Send + Sync>;

/// What a wake-up did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Woken {
    /// Nobody listens.
    Nobody,
    /// All that listen were awake already, and one of them has it as well.
    AllAwake,
    /// A listener that was not awake.
    One,
}

type Topics = HashMap<Topic, HashMap<Audience, VecDeque<Arc<Signal>>>>;

impl Waiters {
    /// Whether anybody listens for anything.
    pub(crate) fn is_awaited(&self) -> bool {
        self.listening.load(Ordering::Acquire) > 0
    }

    /// Wakes up to `count` listeners for this topic.
    pub(crate) fn wake(&self, topic: &[u8], count: usize) {
        for _ in 0..count {
            match self.wake_one(topic) {
                Woken::One => {}
                // One of them passes on what it does not use.
                Woken::AllAwake => return,
                Woken::Nobody => return self.unheard(topic),
            }
        }
    }

    /// Does this from now on when a wake-up for this topic comes and nobody listens any more.
    pub(crate) fn on_unheard(&self, topic: &Topic, unheard: Unheard) {
        lock(&self.unheard).insert(topic.clone(), unheard);
    }

    pub(crate) fn forget_unheard(&self, topic: &[u8]) {
        let before = lock(&self.unheard).remove(topic);
        drop(before);
    }

    /// Whether anybody listens for this topic.
    pub(crate) fn is_heard(&self, topic: &[u8]) -> bool {
        lock(&self.topics).contains_key(topic)
    }

    /// Tells that a wake-up has come for which nobody listens.
    pub(crate) fn unheard(&self, topic: &[u8]) {
        let unheard = lock(&self.unheard).get(topic).cloned();
        if let Some(unheard) = unheard {
            unheard();
        }
    }

    /// Whether a listener is to be woken at some time.
    pub(crate) fn has_alarms(&self) -> bool {
        !lock(&self.alarms).is_empty()
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
    /// one will.
    pub(crate) fn wake_one(&self, topic: &[u8]) -> Woken {
        let audiences: Vec<_> =
            lock(&self.topics).get(topic).into_iter().flat_map(HashMap::keys).cloned().collect();
        audiences
            .iter()
            .map(|audience| self.wake_one_of(topic, audience))
            .max()
            .unwrap_or(Woken::Nobody)
    }

    fn wake_one_of(&self, topic: &[u8], audience: &Audience) -> Woken {
        let of = |topics: &Topics| {
            let (topic, audiences) = topics.get_key_value(topic)?;
            Some((topic.clone(), audiences.get(audience)?.clone()))
        };
        // Who begins to listen from now on polls first.
        let Some((topic, listeners)) = of(&lock(&self.topics)) else { return Woken::Nobody };
        for (even_if_awake, woken) in [(false, Woken::One), (true, Woken::AllAwake)] {
            for signal in &listeners {
                if signal.wake(Some(&topic), even_if_awake) {
                    self.has_been_woken(&topic, audience, signal);
                    return woken;
                }
            }
        }
        Woken::Nobody
    }

    /// The next wake-up is for those that have waited longer.
    fn has_been_woken(&self, topic: &Topic, audience: &Audience, signal: &Arc<Signal>) {
        let mut topics = lock(&self.topics);
        let listeners = topics.get_mut(topic).and_then(|audiences| audiences.get_mut(audience));
        if let Some(listeners) = listeners
            && let Some(place) = listeners.iter().position(|other| Arc::ptr_eq(other, signal))
            && let Some(signal) = listeners.remove(place)
        {
            listeners.push_back(signal);
        }
    }

    /// Wakes every listener of this topic, to poll: something may have been missed.
    pub(crate) fn wake_all(&self, topic: &[u8]) {
        let listeners = lock(&self.topics).get(topic).cloned();
        for signal in listeners.into_iter().flat_map(HashMap::into_values).flatten() {
            signal.wake(None, true);
        }
    }

    /// A listener that only [`wake_everyone`](Self::wake_everyone) and its handle wake.
    pub(crate) fn sleeper(self: &Arc<Self>) -> Listener {
        self.listen(vec![SLEEPERS.into()])
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
