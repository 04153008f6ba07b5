//! Fork is normal: gunicorn, Puma, Unicorn, Resque and php-fpm fork after they have loaded us.
//!
//! What has threads, sockets or locks is kept per process. A child that finds its parent's leaves
//! it alone for good, since dropping it would touch the parent's connections or wait for threads
//! that the child does not have, and makes its own.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwapOption;

use crate::error::{Error, ErrorKind, Result};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Says that this process is the child of a fork. The bindings call it from `pthread_atfork`, so
/// that every embedded engine of the parent fails with `FORKED` in the child. A Rust program that
/// forks without exec and uses an embedded engine calls it first thing in the child.
///
/// Redis clients need no such call: they compare the process id. Recruiters do, so that the child keeps a pace of its own.
pub fn after_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// The number of forks between the first process and this one, as far as it was told.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Refuses what is not the process's own, with what to do in the child of the fork.
pub(crate) fn check(is_own: bool, advice: &str) -> Result<()> {
    match is_own {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Forked, advice)),
    }
}

/// A value that every process makes for itself.
pub(crate) struct PerProcess<T> {
    slot: ArcSwapOption<Owned<T>>,
}

struct Owned<T> {
    process: u32,
    value: Arc<T>,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { slot: ArcSwapOption::const_empty() }
    }

    /// See [`get_or_try_make`](Self::get_or_try_make).
    pub(crate) fn get_or_make(
        &self,
        make: impl FnOnce() -> Arc<T>,
        start: impl FnOnce(&Arc<T>),
    ) -> Arc<T> {
        let made: Result<_, Infallible> = self.get_or_try_make(|| Ok(make()), start);
        match made {
            Ok(value) => value,
        }
    }

    /// This process's value. `make` may run in several threads at once; `start` then runs once,
    /// with the value that was taken. No lock is held, since one that is held during a fork stays
    /// so in the child.
    pub(crate) fn get_or_try_make<E>(
        &self,
        make: impl FnOnce() -> Result<Arc<T>, E>,
        start: impl FnOnce(&Arc<T>),
    ) -> Result<Arc<T>, E> {
        let process = std::process::id();
        let current = self.slot.load();
        if let Some(owned) = current.as_ref().filter(|owned| owned.process == process) {
            return Ok(owned.value.clone());
        }
        let made = Arc::new(Owned { process, value: make()? });
        let before = self.slot.compare_and_swap(&current, Some(made.clone()));
        let unchanged = match (&*before, &*current) {
            (None, None) => true,
            (Some(before), Some(current)) => Arc::ptr_eq(before, current),
            _ => false,
        };
        if unchanged {
            std::mem::forget(arc_swap::Guard::into_inner(before));
            start(&made.value);
            return Ok(made.value.clone());
        }
        Ok(match &*before {
            Some(owned) if owned.process == process => owned.value.clone(),
            _ => made.value.clone(),
        })
    }

    /// This process's value, if it has been made.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        let process = std::process::id();
        let current = self.slot.load();
        current.as_ref().filter(|owned| owned.process == process).map(|owned| owned.value.clone())
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if let Some(owned) = self.slot.swap(None)
            && owned.process != std::process::id()
        {
            std::mem::forget(owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_made_and_started_once() {
        let slot = PerProcess::<u32>::new();
        assert_eq!(slot.get(), None);
        let mut started = 0;
        let first = slot.get_or_make(|| Arc::new(1), |_| started += 1);
        let second = slot.get_or_make(|| Arc::new(2), |_| started += 1);
        assert_eq!((*first, *second, started), (1, 1, 1));
    }
}
