//! The limits of events. Checked before anything is sent.

use std::collections::HashSet;
use std::time::Duration;

use super::id::EventId;
use crate::error::{Result, ensure};
use crate::step::{Timestamp, When};

/// The most partitions of a queue.
pub const PARTITIONS_MAX: u16 = 1_024;

/// The highest rate, in events a second, and burst, in events.
pub const RATE_MAX: u64 = 1_000_000_000;

/// The highest `events_max` and `dedup_ids_max` of a partition and `concurrency` of a queue: 2^53 - 1.
pub const COUNT_MAX: u64 = (1 << 53) - 1;

/// The most bytes of a key.
pub const KEY_BYTES_MAX: usize = 256;

/// The most bytes of a deduplication id.
pub const DEDUP_ID_BYTES_MAX: usize = 128;

/// The most bytes of a payload.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// The most events of one step; a call with more takes several steps.
pub const STEP_EVENTS_MAX: usize = 1_000;

/// The most events that are published with the end of a delivery, by
/// [`ack_with`](super::EventQueue::ack_with).
pub const FOLLOWING_EVENTS_MAX: usize = 100;

/// The most bytes of the events that one step publishes or returns, unless it is one event.
pub const STEP_BYTES_MAX: usize = 8 << 20;

/// The most bytes that are kept of an error text: the last ones.
pub const ERR_BYTES_MAX: usize = 1 << 10;

/// The longest delay, backoff, lease, time to live and retention: 100 years.
pub const DELAY_MAX: Duration = Duration::from_secs(3_155_760_000);

/// The most events of one receive.
pub const RECEIVE_EVENTS_MAX: usize = 1_000;

/// The most events of a page.
pub const PAGE_MAX: usize = 1_000;

/// The number of events of a page by default.
pub const PAGE_DEFAULT: usize = 100;

/// How many cancelled events a partition remembers, each for ten minutes.
pub const CANCELLED_MAX: usize = 100_000;

/// The latest time of an event, in milliseconds since the Unix epoch: the end of the year 2199. In microseconds, later
/// times are not exact in a script.
pub const TIME_MS_MAX: u64 = 7_258_118_399_999;

/// After all times, in microseconds: numbers in scripts are exact up to here.
pub(super) const TIME_US_MAX: Timestamp = (1 << 53) - 1;

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

/// Checks how many events a step has.
pub(super) fn step(events: usize) -> Result<()> {
    ensure!(events > 0, "there are no events");
    ensure!(events <= STEP_EVENTS_MAX, "a step has {events} events; {STEP_EVENTS_MAX} are allowed");
    Ok(())
}

/// Refuses a step that has an event twice.
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
            ensure!(ms <= TIME_MS_MAX, "the time {ms} ms is after the year 2199");
            Ok(())
        }
        When::After(length) => delay("delay", length),
        When::Now => Ok(()),
    }
}
