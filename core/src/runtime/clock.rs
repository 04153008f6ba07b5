//! The embedded engine's clock, which tests can replace.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::step::Timestamp;

/// Tells the embedded engine the time.
pub trait Clock: Send + Sync {
    /// Microseconds since the Unix epoch. At most a millisecond less than anything it said before.
    fn now(&self) -> Timestamp;
}

/// The system's time, which stands still, to the millisecond, while the system's clock is set back.
#[derive(Debug, Default)]
pub struct SystemClock {
    /// The time, at most [`STEP`] ago. All threads read this, so it is seldom written.
    latest: AtomicU64,
}

/// Microseconds.
const STEP: u64 = 1_000;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = elapsed.as_micros() as u64;
        let latest = self.latest.load(Ordering::Relaxed);
        match now < latest + STEP {
            true => now.max(latest),
            false => now.max(self.latest.fetch_max(now, Ordering::Relaxed)),
        }
    }
}

/// A clock that moves when it is told to.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use millpond::{ManualClock, Options};
///
/// let clock = Arc::new(ManualClock::at(1_000_000));
/// let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
/// let ick = client.ick("files");
/// ick.add([(None, "a.txt")])?;
/// clock.advance(Duration::from_millis(500));
/// ick.add([(None, "b.txt")])?;
/// assert_eq!(ick.reserve(2)?.iter().map(|entry| entry.score).collect::<Vec<_>>(), [1.0, 1.5]);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at this time, in microseconds since the Unix epoch.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicU64::new(now))
    }

    /// Moves the clock forward.
    pub fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.0.load(Ordering::Relaxed)
    }
}
