//! What one thread at a time may use, such as a loop that listens for work.

use std::sync::{Mutex, PoisonError, TryLockError};

use millpond::Result;

use crate::caller::invalid;

/// What one thread at a time may use.
pub(crate) struct Exclusive<T> {
    /// There until this is dropped. Boxed, or every handle of any kind would take as much
    /// memory.
    resource: Mutex<Option<Box<T>>>,
    process: u32,
}

impl<T> Exclusive<T> {
    pub(crate) fn new(resource: T) -> Self {
        Self { resource: Mutex::new(Some(Box::new(resource))), process: std::process::id() }
    }

    /// Uses it; fails with `busy` while another thread does. Never waits: the thread that uses
    /// it may wait for work without limit.
    pub(crate) fn run<R>(&self, busy: &str, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut resource = match self.resource.try_lock() {
            Ok(resource) => resource,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(invalid(busy)),
        };
        body(resource.as_mut().expect("it is there until this is dropped"))
    }
}

impl<T> Drop for Exclusive<T> {
    /// The child of a fork does not touch its parent's listener: its lock may be held by a
    /// thread that does not exist in the child.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let resource = self.resource.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(resource.take());
        }
    }
}
