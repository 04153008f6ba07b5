//! One clock for all processes of a run.

use crate::ledger::Nanos;

/// The system's monotonic clock, which reads the same in every process.
pub(crate) fn now() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of the type that the call fills.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(told, 0, "every Linux has a monotonic clock");
    time.tv_sec as Nanos * 1_000_000_000 + time.tv_nsec as Nanos
}
