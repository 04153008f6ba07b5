//! The locks of a store: those of the standard library, or, in tests built with `--cfg shuttle`, those of shuttle,
//! which explores the schedules of threads. Such a test needs the same hashes of names in each run, and few shards,
//! so that steps contend.

use std::sync::PoisonError;

#[cfg(all(test, shuttle))]
use shuttle::sync;
#[cfg(not(all(test, shuttle)))]
use std::sync;

use sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(not(all(test, shuttle)))]
pub(super) use hashbrown::DefaultHashBuilder as Hashes;
pub(super) use sync::MutexGuard;
pub(super) use sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// Hashes of names.
#[cfg(all(test, shuttle))]
pub(super) type Hashes = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// A number that is smaller when schedules are explored.
pub(super) const fn or_in_schedules(usual: usize, there: usize) -> usize {
    if cfg!(all(test, shuttle)) { there } else { usual }
}

/// A mutex.
#[derive(Default)]
pub(super) struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Locks, even after a panic elsewhere: the data behind these locks is consistent between any two lines.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lock for one writer or many readers.
#[derive(Default)]
pub(super) struct SharedLock<T>(RwLock<T>);

impl<T> SharedLock<T> {
    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
