//! The context in which a step runs on the embedded engine.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::{Journal, State, StateEffects, States};
use crate::error::Result;

/// Microseconds since the Unix epoch.
pub type Timestamp = u64;

/// What one step works with on the embedded engine: the time at which it runs, the states of other queues, and where
/// its effects are recorded.
pub struct StepContext<'a> {
    now: Timestamp,
    states: &'a dyn States,
    journal: Option<&'a dyn Journal>,
    others: Vec<StateEffects>,
    /// Whether any listener waits.
    is_awaited: &'a dyn Fn() -> bool,
    wakes: Vec<Wake>,
    visited: Vec<(u8, Arc<[u8]>)>,
    is_evictable: bool,
}

/// A wake-up to send when a step is done.
pub(crate) enum Wake {
    /// Up to this many listeners for a topic, now.
    Now(Arc<[u8]>, usize),
    /// One listener for a topic, after this time.
    After(Arc<[u8]>, Duration),
}

/// What remains to be done when a step has released its locks.
pub(crate) struct Finished {
    /// The wake-ups to send.
    pub(crate) wakes: Vec<Wake>,
    /// Other queues that were used, by kind and name.
    pub(crate) visited: Vec<(u8, Arc<[u8]>)>,
}

impl<'a> StepContext<'a> {
    pub(crate) fn new(
        now: Timestamp,
        states: &'a dyn States,
        journal: Option<&'a dyn Journal>,
        is_awaited: &'a dyn Fn() -> bool,
    ) -> Self {
        let (others, wakes, visited) = (Vec::new(), Vec::new(), Vec::new());
        Self { now, states, journal, others, is_awaited, wakes, visited, is_evictable: false }
    }

    /// The time of the step, read once.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether effects must be recorded at all.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Another queue's state, for a step that spans several. A step that locks more than one does so
    /// in the order of their kinds, from the highest to the lowest, and holds all of them until
    /// everything is recorded.
    pub(crate) fn state<S: State>(&mut self, name: &Arc<[u8]>) -> Result<Arc<S>> {
        let state: Arc<dyn Any + Send + Sync> = self.states.state_of_kind(S::kind(), name)?;
        self.visited.push((S::kind(), name.clone()));
        Ok(state.downcast().expect("a kind's number belongs to one type of state"))
    }

    /// The names of all queues of a kind.
    pub(crate) fn names<S: State>(&self) -> Vec<Box<[u8]>> {
        self.states.names_of_kind(S::kind())
    }

    /// Adds what the step did to another queue's state to what it will [record](Self::record).
    pub(crate) fn record_other<S: State>(&mut self, name: &Arc<[u8]>, effects: Vec<u8>) {
        if self.journal.is_some() && !effects.is_empty() {
            self.others.push(StateEffects { kind: S::kind(), name: name.clone(), effects });
        }
    }

    /// Records everything the step did, as one record; called while the step still holds its locks, so that the
    /// journal has the steps of a queue in the order in which they happened.
    pub fn record(&mut self, effects: &[u8]) {
        let others = std::mem::take(&mut self.others);
        if let Some(journal) = self.journal
            && !(effects.is_empty() && others.is_empty())
        {
            journal.append(effects, &others);
        }
    }

    /// Wakes up to `count` listeners for the topic when the step is done. Called while the step holds its locks,
    /// since this is where it checks whether there are listeners.
    pub(crate) fn wake(&mut self, topic: impl FnOnce() -> Arc<[u8]>, count: usize) {
        if count > 0 && (self.is_awaited)() {
            self.wakes.push(Wake::Now(topic(), count));
        }
    }

    /// Wakes one listener for the topic after `delay_ms`; called like [`wake`](Self::wake).
    pub(crate) fn wake_in(&mut self, topic: impl FnOnce() -> Arc<[u8]>, delay_ms: u64) {
        if (self.is_awaited)() {
            self.wakes.push(Wake::After(topic(), Duration::from_millis(delay_ms)));
        }
    }

    /// Makes the engine check, when the step is done, whether it can evict the queue's state, since the queue may be
    /// as if it had never been used.
    pub fn mark_evictable(&mut self) {
        self.is_evictable = true;
    }

    pub(crate) fn is_evictable(&self) -> bool {
        self.is_evictable
    }

    /// The wake-ups to send, and the other states that were used.
    pub(crate) fn finish(self) -> Finished {
        Finished { wakes: self.wakes, visited: self.visited }
    }
}
