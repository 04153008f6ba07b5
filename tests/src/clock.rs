//! One clock for all processes of a test, and how long a process has worked.

use std::time::Duration;

/// Nanoseconds of the system's monotonic clock, which reads the same in every process.
///
/// # Panics
/// Never on Linux, which has that clock.
#[must_use]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of the type that the call fills.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(told, 0, "every Linux has a monotonic clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processor time that a process has used so far, in steps of 10 ms.
///
/// # Panics
/// When there is no such process.
#[must_use]
pub fn cpu_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is alive");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a name").split_whitespace().collect();
    // User and system time, in ticks of which Linux tells 100 a second.
    let ticks: u64 = fields[11..13].iter().map(|t| t.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}
