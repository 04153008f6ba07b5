//! What one thread at a time may use, such as a loop that listens for work.

use std::sync::{Mutex, PoisonError, TryLockError};

use millpond::Result;

use crate::caller::invalid;
use crate::handle::Kind;

/// What one thread at a time may use.
pub(crate) struct Exclusive<T> {
    /// There until this is dropped. Boxed, or every handle of any kind would take as much
    /// memory.
    resource: Mutex<Option<Box<T>>>,
    process: u32,
}

impl<T> From<T> for Exclusive<T> {
    fn from(resource: T) -> Self {
        Self { resource: Mutex::new(Some(Box::new(resource))), process: std::process::id() }
    }
}

impl<T> Exclusive<T>
where
    Self: Kind,
{
    /// Uses it; fails while another thread does. Never waits: the thread that uses it may wait for work
    /// without limit.
    pub(crate) fn run<R>(&self, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut resource = match self.resource.try_lock() {
            Ok(resource) => resource,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(invalid(format!(
                    "another thread is using this {}; each thread needs one of its own",
                    Self::NAME
                )));
            }
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
