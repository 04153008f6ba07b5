//! What events may be. Checked before anything is sent.

use std::collections::HashSet;
use std::time::Duration;

use super::id::EventId;
use crate::error::{Result, ensure};
pub(crate) use crate::step::limits::DEDUP_WINDOW_MAX;
use crate::step::{Timestamp, When};

/// The most partitions of a queue.
pub(crate) const PARTITIONS_MAX: u16 = 1_024;

/// The highest rate, in events a second, and burst, in events.
pub(crate) const RATE_MAX: u64 = 1_000_000_000;

/// The most bytes of a key.
pub(crate) const KEY_BYTES_MAX: usize = 256;

/// The most bytes of a deduplication id.
pub(crate) const DEDUP_ID_BYTES_MAX: usize = 128;

/// The most bytes of a payload.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// The most events of one step.
pub(crate) const STEP_EVENTS_MAX: usize = 1_000;

/// The most events that are published with the end of a delivery.
pub(crate) const FOLLOWING_MAX: usize = 100;

/// The most bytes of the events of one step.
pub(crate) const STEP_BYTES_MAX: usize = 8 << 20;

/// The most bytes that are kept of what went wrong.
pub(crate) const ERR_BYTES_MAX: usize = 1 << 10;

/// The longest delay, lease and time to live: 100 years.
pub(crate) const DELAY_MAX: Duration = Duration::from_secs(3_155_760_000);

/// The most events of a page.
pub(crate) const LIST_EVENTS_MAX: usize = 1_000;

/// The events of a page by default.
pub(crate) const LIST_EVENTS_DEFAULT: usize = 100;

/// Behind all times, in microseconds: scripts count up to here.
pub(super) const TIME_US_MAX: Timestamp = (1 << 53) - 1;

/// The end of the year 2199: in microseconds, later times are not exact in a script.
pub(super) const TIME_MS_MAX: u64 = 7_258_118_400_000;

pub(super) fn key(key: &[u8]) -> Result<()> {
    let bytes = key.len();
    ensure!(bytes <= KEY_BYTES_MAX, "the key has {bytes} bytes; {KEY_BYTES_MAX} are allowed");
    Ok(())
}

pub(super) fn dedup_id(id: &str) -> Result<()> {
    let bytes = id.len();
    ensure!(bytes > 0, "the deduplication id is empty");
    ensure!(
        bytes <= DEDUP_ID_BYTES_MAX,
        "the deduplication id has {bytes} bytes; {DEDUP_ID_BYTES_MAX} are allowed"
    );
    ensure!(!id.contains('\0'), "the deduplication id holds a NUL character");
    Ok(())
}

pub(super) fn delay(what: &str, delay: Duration) -> Result<()> {
    ensure!(delay <= DELAY_MAX, "the {what} is {delay:?}; 100 years are allowed");
    Ok(())
}

pub(super) fn lease(lease: Duration) -> Result<()> {
    ensure!(lease >= Duration::from_millis(1), "the lease has to be a millisecond or more");
    delay("lease", lease)
}

/// How many events a step is about.
pub(super) fn step(events: usize) -> Result<()> {
    ensure!(events > 0, "there are no events");
    ensure!(events <= STEP_EVENTS_MAX, "a step has {events} events; {STEP_EVENTS_MAX} are allowed");
    Ok(())
}

/// Refuses a step that is about an event twice.
pub(super) fn distinct<'a>(ids: impl IntoIterator<Item = &'a EventId>) -> Result<()> {
    let mut known = HashSet::new();
    for id in ids {
        ensure!(known.insert(id), "the event {id} comes twice in one step");
    }
    Ok(())
}

/// The end of a text that is too long.
pub(super) fn end_of(text: &str) -> &str {
    let mut start = text.len().saturating_sub(ERR_BYTES_MAX);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

pub(super) fn when(when: When) -> Result<()> {
    when.check_unit()?;
    match when {
        When::At(ms) => {
            ensure!(ms < TIME_MS_MAX, "the time {ms} ms is behind the year 2199");
            Ok(())
        }
        When::After(length) => delay("delay", length),
        When::Now => Ok(()),
    }
}
