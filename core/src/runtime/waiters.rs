//! Who waits for what: listeners by topic, woken one by one.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::runtime::interrupt;
use crate::runtime::sync::{lock, wait_until};
use crate::runtime::timer::{Scheduled, Timer};

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

/// Wakes one listener, once, from a thread or from a task.
#[derive(Default)]
struct Signal {
    state: Mutex<SignalState>,
    woken: Condvar,
}

#[derive(Default)]
struct SignalState {
    woken: bool,
    /// The topics that it was woken for, each a wake-up that somebody has to use; none if it was
    /// only to look for itself.
    by: Vec<Topic>,
    /// Set when the listener is gone: whoever wakes it has to wake somebody else.
    is_gone: bool,
    waker: Option<Waker>,
}

impl Signal {
    /// Wakes the listener for a topic, or to look for itself. Answers false if it is gone, or if it
    /// is awake already and there may be one that is not.
    fn wake(&self, topic: Option<&Topic>, even_if_awake: bool) -> bool {
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

/// The way to wake one listener, which may be gone.
#[derive(Clone)]
pub(crate) struct Handle(Weak<Signal>);

impl Handle {
    /// Wakes the listener, to look for itself.
    pub(crate) fn wake(&self) {
        if let Some(signal) = self.0.upgrade() {
            signal.wake(None, true);
        }
    }
}

impl Waiters {
    /// Listens for these topics until the listener is dropped.
    pub(crate) fn listen(self: &Arc<Self>, topics: Vec<Topic>) -> Listener {
        self.listen_as(Audience::default(), topics)
    }

    /// Listens as one of an audience.
    pub(crate) fn listen_as(self: &Arc<Self>, audience: Audience, topics: Vec<Topic>) -> Listener {
        let signal = Arc::new(Signal::default());
        // Whoever does something under a lock that the listener will need to look sees this, or has
        // done it before the listener looks.
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

    /// Whether anybody listens for anything.
    pub(crate) fn is_awaited(&self) -> bool {
        self.listening.load(Ordering::Acquire) > 0
    }

    /// Wakes so many listeners for this topic, or all if there are fewer.
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
    /// nobody listens there is nothing to do: whoever begins to, looks.
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
    /// already. If all are awake, one of them has this wake-up as well: should it not look, another
    /// one will. Answers whether anybody was woken who was not awake.
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

    /// Wakes every listener of this topic, to look for itself: something may have been missed.
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

/// One party that waits; made by [`Waiters::listen`].
///
/// A wake-up for a topic is like a baton. A listener that has been woken holds it until it waits
/// again, which says that it looked and found nothing, or until it says that it has
/// [used](Self::used) it. One that is dropped while it holds a baton passes it on: it found
/// something, and there may be more, or it never looked.
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

    /// The way to wake this listener and no other.
    pub(crate) fn handle(&self) -> Handle {
        Handle(Arc::downgrade(&self.signal))
    }

    /// Says that a wake-up for this topic is not to be passed on.
    pub(crate) fn used(&self, topic: &[u8]) {
        lock(&self.held).retain(|held| **held != *topic);
    }

    /// Takes in that the listener was woken, if it was.
    fn take(&self, state: &mut SignalState) -> bool {
        if std::mem::take(&mut state.woken) {
            *lock(&self.held) = std::mem::take(&mut state.by);
            return true;
        }
        false
    }

    /// Blocks until the listener is woken or the time has come, whichever is first.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Result<()> {
        lock(&self.held).clear();
        interrupt::wait_in_slices(until, |until| self.wait_once(until))
    }

    /// Answers whether the listener was woken.
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
        let signal = Arc::downgrade(&self.signal);
        let alarm = time.map(|time| {
            Timer::at(time, move || {
                if let Some(signal) = signal.upgrade() {
                    signal.wake(None, true);
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
            self.waiters.wake_one_of(&topic, &self.audience);
        }
        if let Some(done) = self.on_drop.take() {
            done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str) -> Topic {
        Arc::from(name.as_bytes())
    }

    fn is_woken(listener: &Listener) -> bool {
        listener.take(&mut lock(&listener.signal.state))
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
    fn a_wake_up_is_for_one_of_each_audience_and_stays_in_it() {
        let waiters = Arc::new(Waiters::default());
        let listen = |audience: &str| waiters.listen_as(topic(audience), vec![topic("a")]);
        let (first, second, other) = (listen("one"), listen("one"), listen("two"));
        waiters.wake_one(b"a");
        assert!(!is_woken(&second) && is_woken(&other), "whoever of another group is faster");
        drop(other);
        assert!(!is_woken(&second));
        drop(first);
        assert!(is_woken(&second));
        drop(second);
        assert!(lock(&waiters.topics).is_empty());
    }

    #[test]
    fn a_wake_up_is_passed_on_for_its_topic_alone() {
        let waiters = Arc::new(Waiters::default());
        let both = waiters.listen(vec![topic("a"), topic("b")]);
        let (a, b) = (waiters.listen(vec![topic("a")]), waiters.listen(vec![topic("b")]));
        waiters.wake_one(b"b");
        drop(both);
        assert!(!is_woken(&a) && is_woken(&b));
    }

    #[test]
    fn who_found_something_wakes_the_next_and_who_found_nothing_does_not() {
        let waiters = Arc::new(Waiters::default());
        let listen = || waiters.listen(vec![topic("a")]);
        let (first, second, third) = (listen(), listen(), listen());
        waiters.wake_one(b"a");
        first.wait(None).unwrap();
        drop(first);
        second.wait(None).unwrap();
        second.wait(Some(Instant::now())).unwrap();
        drop(second);
        assert!(!is_woken(&third));
        waiters.wake_one(b"a");
        third.wait(None).unwrap();
        third.used(b"a");
        let fourth = listen();
        drop(third);
        assert!(!is_woken(&fourth));
    }

    #[test]
    fn a_wake_up_of_those_that_are_awake_is_not_lost() {
        let waiters = Arc::new(Waiters::default());
        let both = waiters.listen(vec![topic("a"), topic("b")]);
        waiters.wake_one(b"a");
        waiters.wake_one(b"b");
        let b = waiters.listen(vec![topic("b")]);
        drop(both);
        assert!(is_woken(&b));
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
