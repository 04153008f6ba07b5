//! The term of a lease, as whoever holds it knows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a lease lasts, and since when at least. Nothing here is behind a lock, so that whoever asks
/// waits for nobody, in the child of a fork either.
pub(crate) struct Term {
    length: Duration,
    taken: Instant,
    /// When the last renewal that succeeded was sent, in milliseconds from then: the term began at that
    /// time or later.
    renewed_ms: AtomicU64,
    /// A renewal was refused.
    is_refused: AtomicBool,
    process: u32,
}

impl Term {
    /// The term of a lease that was taken at this time.
    pub(crate) fn of(length: Duration, taken: Instant) -> Self {
        Self {
            length,
            taken,
            renewed_ms: AtomicU64::new(0),
            is_refused: AtomicBool::new(false),
            process: std::process::id(),
        }
    }

    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Whether this is the process that took the lease. The copy in the child of a fork has no right to it.
    pub(crate) fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    /// Whether the lease is lost, because a renewal was refused or because none has succeeded for a whole
    /// term.
    pub(crate) fn is_over(&self) -> bool {
        let renewed = Duration::from_millis(self.renewed_ms.load(Ordering::Acquire));
        self.is_refused.load(Ordering::Acquire) || self.taken.elapsed() >= renewed + self.length
    }

    /// Takes in that a renewal succeeded which was sent at this time.
    pub(crate) fn renewed(&self, sent: Instant) {
        let ms = sent.saturating_duration_since(self.taken).as_millis();
        self.renewed_ms.store(ms as u64, Ordering::Release);
    }

    /// Takes in that a renewal was refused.
    pub(crate) fn refused(&self) {
        self.is_refused.store(true, Ordering::Release);
    }
}
