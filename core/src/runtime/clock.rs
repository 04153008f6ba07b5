//! The embedded engine's clock, which tests can replace.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::runtime::fork::PerProcess;
use crate::runtime::sync::lock;
use crate::step::Timestamp;
use crate::step::time::{is_set_back, steady};

/// Tells the embedded engine the time.
pub trait Clock: Send + Sync {
    /// Microseconds since the Unix epoch. At most a millisecond less than anything it said before, unless it was ahead and
    /// is set back.
    fn now(&self) -> Timestamp;

    /// Hands over what to call each time that the clock has been moved, as long as it is there: it wakes
    /// those who wait for a time. A clock that runs as the system's does need not call it, which is the
    /// default.
    fn on_advance(&self, advanced: Weak<dyn Fn() + Send + Sync>) {
        let _ = advanced;
    }
}

/// The system's time, which stands still, to the millisecond, while the system's clock is behind it by up to 60 seconds.
/// A clock that is set back further was ahead, and is followed.
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
        self.at(elapsed.as_micros() as u64)
    }
}

impl SystemClock {
    /// The time when the system's clock says this.
    fn at(&self, clock: Timestamp) -> Timestamp {
        let latest = self.latest.load(Ordering::Relaxed);
        if clock < latest + STEP && !is_set_back(latest, clock) {
            return clock.max(latest);
        }
        let noted = |latest| Some(steady(latest, clock));
        let latest = self.latest.fetch_update(Ordering::Relaxed, Ordering::Relaxed, noted);
        latest.map_or(clock, |latest| steady(latest, clock))
    }
}

/// A clock that stands still until it is told to move, for tests: what is due in an hour is due when the clock
/// was advanced by an hour, and whoever waits for it is woken.
///
/// It is the clock of the embedded engine that is opened with it: of times, delays and leases, as a server's is
/// of its. The rest goes by the system's time: how long a call waits, a worker's timeout, and when a lease is
/// renewed. So an advance by more than a lease ends it, as if its holder had been stopped for that long.
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
pub struct ManualClock {
    now: AtomicU64,
    /// Of the engines of this process: those of a fork's parent are not to be touched.
    advanced: PerProcess<Advanced>,
}

type Advanced = Mutex<Vec<Weak<dyn Fn() + Send + Sync>>>;

/// The last millisecond of the year 9999, in microseconds: no clock goes further.
const NOW_MAX: Timestamp = 253_402_300_799_999_000;

impl ManualClock {
    /// A clock that stands at the present time, in whole milliseconds.
    #[allow(clippy::new_without_default, reason = "no default is the same as another")]
    pub fn new() -> Self {
        let now = SystemClock::default().now();
        Self::at(now - now % 1_000)
    }

    /// A clock that stands at this time, in microseconds since the Unix epoch; one behind the year 9999 stands at
    /// its end.
    pub fn at(now: Timestamp) -> Self {
        Self { now: AtomicU64::new(now.min(NOW_MAX)), advanced: PerProcess::new() }
    }

    /// Moves the clock forward, at most to the end of the year 9999, and wakes those who wait for what is due
    /// then.
    pub fn advance(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let advance = |now: Timestamp| Some(now.saturating_add(time).min(NOW_MAX));
        let _ = self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance);
        let Some(advanced) = self.advanced.get() else { return };
        // Not under the lock, as whoever is woken may open an engine with this clock.
        let engines: Vec<_> = lock(&advanced).iter().filter_map(Weak::upgrade).collect();
        engines.iter().for_each(|advanced| advanced());
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.now.load(Ordering::Relaxed)
    }

    fn on_advance(&self, advanced: Weak<dyn Fn() + Send + Sync>) {
        let engines = self.advanced.get_or_make(Arc::default, |_| {});
        let mut engines = lock(&engines);
        engines.retain(|engine| engine.strong_count() > 0);
        engines.push(advanced);
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ManualClock").field(&self.now()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_time_follows_a_clock_that_was_ahead() {
        const SECOND: u64 = 1_000_000;
        let clock = SystemClock::default();
        let noon = 1_800_000_000 * SECOND;
        let day = 86_400 * SECOND;
        assert_eq!(clock.at(noon), noon);
        // As far as the clock is read by several threads, and set back by a little, it stands still.
        assert_eq!([noon - 500, noon - 60 * SECOND].map(|at| clock.at(at)), [noon; 2]);
        assert_eq!(clock.at(noon + day), noon + day);
        assert_eq!(clock.at(noon + SECOND), noon + SECOND);
        assert_eq!(
            [noon, noon + 2 * SECOND].map(|at| clock.at(at)),
            [noon + SECOND, noon + 2 * SECOND]
        );
    }
}
