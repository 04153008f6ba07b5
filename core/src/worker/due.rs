//! The periodic work of a loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::step::time::is_set_back;

/// When something is due; the first time is immediately. Times are those of [`Client::time`](crate::Client::time).
#[derive(Default)]
pub(crate) struct Due {
    next_ms: AtomicU64,
    /// When that was set. If the clock has been set back since, the work is due.
    set_us: AtomicU64,
}

impl Due {
    pub(crate) fn is_due(&self, now: Duration) -> bool {
        self.left(now).is_zero()
    }

    pub(crate) fn left(&self, now: Duration) -> Duration {
        let next = Duration::from_millis(self.next_ms.load(Ordering::Acquire));
        match is_set_back(self.set_us.load(Ordering::Relaxed), now.as_micros() as u64) {
            true => Duration::ZERO,
            false => next.saturating_sub(now),
        }
    }

    /// Makes it due after this time.
    pub(crate) fn put_off(&self, now: Duration, delay: Duration) {
        self.set_us.store(now.as_micros() as u64, Ordering::Relaxed);
        self.next_ms.store(after(now, delay), Ordering::Release);
    }

    /// Makes it due after this time, if not earlier.
    pub(crate) fn bring_forward(&self, now: Duration, delay: Duration) {
        self.next_ms.fetch_min(after(now, delay), Ordering::AcqRel);
    }
}

fn after(now: Duration, delay: Duration) -> u64 {
    // Not before the server's time, which is in whole milliseconds.
    let rest = u64::from(!delay.is_zero());
    (now + delay).as_millis() as u64 + rest
}
