//! What belongs to one process, and what one thread at a time may use.

use std::ops::Deref;
use std::sync::{Mutex, TryLockError};

use millpond::Result;

use crate::caller::invalid;
use crate::handle::Kind;

/// What belongs to the process that made it. The child of a fork does not drop it: its locks may be held by
/// threads that do not exist there.
pub(crate) struct Own<T> {
    /// Lives until this is dropped. Boxed, because otherwise every handle of any kind would
    /// take this much memory.
    resource: Option<Box<T>>,
    process: u32,
}

impl<T> From<T> for Own<T> {
    fn from(resource: T) -> Self {
        Self { resource: Some(Box::new(resource)), process: std::process::id() }
    }
}

impl<T> Own<T> {
    /// Whether this process made it.
    pub(crate) fn is_own(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.resource.as_ref().expect("it is there until this is dropped")
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !self.is_own() {
            std::mem::forget(self.resource.take());
        }
    }
}

/// What one thread at a time may use, such as a loop that listens for work.
pub(crate) struct Exclusive<T>(Own<Mutex<T>>);

impl<T> From<T> for Exclusive<T> {
    fn from(resource: T) -> Self {
        Self(Mutex::new(resource).into())
    }
}

impl<T> Exclusive<T>
where
    Self: Kind,
{
    /// Uses it; fails while another thread uses it. Never waits, because that other thread may wait
    /// for work without limit.
    pub(crate) fn run<R>(&self, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut resource = match self.0.try_lock() {
            Ok(resource) => resource,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(invalid(format!(
                    "another thread is using this {}; each thread needs one of its own",
                    Self::NAME
                )));
            }
        };
        body(&mut resource)
    }
}
