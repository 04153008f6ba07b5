//! The locks of waiters: the crate's, or those of shuttle, which goes through the schedules of threads, in tests that are
//! built with `--cfg shuttle`.

#[cfg(not(all(test, shuttle)))]
pub(super) use {
    crate::runtime::sync::{lock, wait_until},
    std::sync::{Condvar, Mutex},
};
#[cfg(all(test, shuttle))]
pub(super) use {
    in_schedules::{lock, wait_until},
    shuttle::sync::{Condvar, Mutex},
};

#[cfg(all(test, shuttle))]
mod in_schedules {
    use std::time::Instant;

    use shuttle::sync::{Condvar, Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().expect("no thread panics under a lock")
    }

    /// Schedules know no time: what has an end is woken, or the test fails.
    pub(crate) fn wait_until<'a, T>(
        condition: &Condvar,
        guard: MutexGuard<'a, T>,
        _: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        condition.wait(guard).expect("no thread panics under a lock")
    }
}
