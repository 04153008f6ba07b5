//! What one thread at a time may use, such as a loop that listens for work.

use std::sync::{Mutex, PoisonError, TryLockError};

use millpond::Result;

use crate::caller::invalid;

/// What one thread at a time may use.
pub(crate) struct Exclusive<T> {
    /// There until this is dropped. On the heap, or every handle of whatever kind would take as
    /// much room.
    thing: Mutex<Option<Box<T>>>,
    process: u32,
}

impl<T> Exclusive<T> {
    pub(crate) fn new(thing: T) -> Self {
        Self { thing: Mutex::new(Some(Box::new(thing))), process: std::process::id() }
    }

    /// Uses it; fails with `busy` while another thread does. Never waits: whoever has it may be
    /// waiting for work, for ever.
    pub(crate) fn run<R>(&self, busy: &str, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut thing = match self.thing.try_lock() {
            Ok(thing) => thing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(invalid(busy)),
        };
        body(thing.as_mut().expect("it is there until this is dropped"))
    }
}

impl<T> Drop for Exclusive<T> {
    /// The child of a fork leaves its parent's listener alone: it could wait for a lock that a
    /// thread had which the child does not have.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let thing = self.thing.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(thing.take());
        }
    }
}
