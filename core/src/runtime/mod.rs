//! Time, threads, forks and randomness: what steps and queues must not touch.

pub(crate) mod backoff;
pub(crate) mod clock;
pub(crate) mod fork;
pub(crate) mod interrupt;
pub(crate) mod patience;
pub(crate) mod random;
pub(crate) mod sync;
pub(crate) mod timer;
pub(crate) mod waiters;
