//! The time of a step, by a clock that may be set back.

use super::Timestamp;

/// By how many microseconds the latest time may be ahead of the clock; time then stands still until the clock has
/// caught up. A time that is further ahead was wrong.
pub(crate) const CLOCK_AHEAD_MAX: u64 = 60_000_000;

/// Whether a clock with this time was ahead when it gave the latest time, and has been set back.
pub(crate) fn is_set_back(latest: Timestamp, clock: Timestamp) -> bool {
    latest > clock.saturating_add(CLOCK_AHEAD_MAX)
}

/// The time of the clock, but not before the latest time, unless that was wrong.
pub(crate) fn steady(latest: Timestamp, clock: Timestamp) -> Timestamp {
    if is_set_back(latest, clock) { clock } else { clock.max(latest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_still_for_a_minute() {
        let latest = 1_000 * CLOCK_AHEAD_MAX;
        let cases = [(1, 1), (0, 0), (-1, 0), (-60_000_000, 0), (-60_000_001, -60_000_001)];
        for (clock, time) in cases {
            let at = |offset: i64| latest.checked_add_signed(offset).expect("it is late enough");
            assert_eq!(steady(latest, at(clock)), at(time), "{clock}");
        }
    }
}
