//! The term of a lease, as its holder knows it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a lease lasts, and the earliest time at which it can have begun. Nothing here is behind a lock, so that its
/// readers never wait, not even in the child of a fork.
pub(super) struct Term {
    pub(super) length: Duration,
    pub(super) taken: Instant,
    /// When the last renewal that succeeded was sent, in milliseconds from `taken`: the term began at that time or
    /// later.
    renewed_ms: AtomicU64,
    /// A renewal was refused.
    is_refused: AtomicBool,
    /// The holder gives the lease back.
    is_revoked: AtomicBool,
}

impl Term {
    /// The term of a lease that was taken at this time.
    pub(super) fn new(length: Duration, taken: Instant) -> Self {
        let (is_refused, is_revoked) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { length, taken, renewed_ms: AtomicU64::new(0), is_refused, is_revoked }
    }

    /// Whether the lease is lost to its holder, because another holder may have it or because it is given back.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.is_revoked.load(Ordering::Acquire) || self.is_gone(now)
    }

    /// Whether another holder may have it, because a renewal was refused or because none has succeeded for a whole
    /// term.
    pub(super) fn is_gone(&self, now: Instant) -> bool {
        self.is_refused.load(Ordering::Acquire) || now >= self.end()
    }

    /// When the term is over, unless the lease is renewed before then.
    pub(super) fn end(&self) -> Instant {
        self.taken + Duration::from_millis(self.renewed_ms.load(Ordering::Acquire)) + self.length
    }

    /// A renewal succeeded that was sent at this time.
    pub(super) fn renewed(&self, sent: Instant) {
        let ms = sent.saturating_duration_since(self.taken).as_millis();
        self.renewed_ms.store(ms as u64, Ordering::Release);
    }

    /// A renewal was refused.
    pub(super) fn refused(&self) {
        self.is_refused.store(true, Ordering::Release);
    }

    /// The holder gives the lease back.
    pub(super) fn revoked(&self) {
        self.is_revoked.store(true, Ordering::Release);
    }
}
