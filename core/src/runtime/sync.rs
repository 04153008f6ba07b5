//! The locks of the crate: the standard library's, with poisoning ignored.
//!
//! On Linux such a lock is a futex word inside the value that it guards. The locks of parking_lot
//! were rejected: they queue blocked threads in a table of the whole process, and a fork while
//! another thread holds a lock of that table leaves it locked for ever in the child, under every lock.
//!
//! Poisoning is ignored, since a panic under one of these locks leaves nothing half done: what they
//! guard is whole between any two lines.

use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Instant;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks until the condition is notified or `until` has come; for ever if that is `None`. May also
/// return for no reason.
pub(crate) fn wait_until<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<Instant>,
) -> MutexGuard<'a, T> {
    match until {
        None => condition.wait(guard).unwrap_or_else(PoisonError::into_inner),
        Some(until) => {
            let left = until.saturating_duration_since(Instant::now());
            condition.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0
        }
    }
}
