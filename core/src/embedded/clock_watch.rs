//! Wakes those who wait for a time of the engine's clock, however that clock comes to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::runtime::clock::Clock;
use crate::runtime::timer::Timer;
use crate::runtime::waiters::Waiters;
use crate::step::Timestamp;

/// How late somebody is woken whose time was jumped over, and how often the clock is read meanwhile.
const INTERVAL: Duration = Duration::from_secs(1);

/// By how many microseconds a clock may be behind one reading at the next, as threads read it at different times.
const SET_BACK_MIN: u64 = 1_000;

/// How far the clock may be ahead of the time that has passed before those who wait are woken.
const AHEAD_MAX: Duration = Duration::from_millis(100);

/// Alarms for listeners, and a look at the clock as long as there are any.
///
/// An alarm rings when a span of time has passed. A clock that is set forward, or a machine that was
/// suspended, comes to the time sooner, so all are woken then, and set new alarms; also if the clock is set back, as a
/// step may have something to do sooner. A `timerfd` that
/// is cancelled by such a jump was rejected: only Linux has it, and one look a second, by a process
/// in which somebody waits for a time, costs nothing that could be measured.
pub(super) struct ClockWatch {
    clock: Arc<dyn Clock>,
    waiters: Arc<Waiters>,
    is_watching: AtomicBool,
}

impl ClockWatch {
    pub(super) fn new(clock: Arc<dyn Clock>, waiters: Arc<Waiters>) -> Arc<Self> {
        Arc::new(Self { clock, waiters, is_watching: AtomicBool::new(false) })
    }

    /// Wakes a listener for this topic after this time, or when the clock has jumped.
    pub(super) fn wake_after(self: &Arc<Self>, topic: &[u8], delay: Duration) {
        self.waiters.wake_after(topic, delay);
        if delay > INTERVAL {
            self.watch();
        }
    }

    fn watch(self: &Arc<Self>) {
        if self.waiters.has_alarms() && !self.is_watching.swap(true, Ordering::AcqRel) {
            self.look_after((self.clock.now(), Instant::now()));
        }
    }

    /// Looks at the clock after the interval, against a reading of before.
    fn look_after(self: &Arc<Self>, before: (Timestamp, Instant)) {
        let watch = Arc::downgrade(self);
        Timer::detached(INTERVAL, move || {
            if let Some(watch) = watch.upgrade() {
                watch.look(before);
            }
        });
    }

    fn look(self: &Arc<Self>, before: (Timestamp, Instant)) {
        let (now, instant) = (self.clock.now(), Instant::now());
        let moved = Duration::from_micros(now.saturating_sub(before.0));
        // Those who wait were told times of a clock that was ahead.
        let is_set_back = now + SET_BACK_MIN < before.0;
        let has_jumped = is_set_back || moved > instant - before.1 + AHEAD_MAX;
        if has_jumped {
            self.waiters.wake_everyone();
        }
        if self.waiters.has_alarms() {
            // Against the first reading, so that many small steps are noticed as well.
            return self.look_after(if has_jumped { (now, instant) } else { before });
        }
        self.is_watching.store(false, Ordering::Release);
        // An alarm may have been set in between.
        self.watch();
    }
}
