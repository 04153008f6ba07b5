//! Limits of names, values and times. Checked before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Result, ensure};
use crate::step::limits::DEDUP_WINDOW_MAX;
use crate::step::{When, check_name, check_not_reserved};

/// The most characters of a task's id, of a claimant and of a namespace.
pub const ID_CHARS_MAX: usize = 64;

/// The most characters of a document's key.
pub const KEY_CHARS_MAX: usize = 256;

/// The most characters of a document's id: enough for every id that is derived from keys, in which a character of the
/// primary key may take up three.
pub const DOC_ID_CHARS_MAX: usize = 4 * KEY_CHARS_MAX + 1;

/// The most bytes of a value or a content.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// The most bytes of a task's `err`. [`TaskChange::retry`](super::TaskChange::retry) drops the oldest
/// lines of a longer one.
pub const ERR_BYTES_MAX: usize = 64 << 10;

/// The highest priority.
pub const PRIORITY_MAX: u8 = 9;

/// The longest delay, lease and time to live: 100 years.
pub const DELAY_MAX: Duration = Duration::from_secs(3_155_760_000);

/// The most ids of ended tasks that are taken in a store. Beyond that, the one that would be free first is free.
pub const DEDUP_IDS_MAX: usize = 1_000_000;

/// The latest time of a task or a document, in milliseconds since the Unix epoch: the end of the year 9999.
pub const TIME_MS_MAX: u64 = 253_402_300_799_999;

pub(super) fn id(id: &str) -> Result<()> {
    name("id", id, ID_CHARS_MAX)
}

pub(super) fn doc_id(id: &str) -> Result<()> {
    name("document's id", id, DOC_ID_CHARS_MAX)
}

pub(super) fn namespace(namespace: &str) -> Result<()> {
    name("namespace", namespace, ID_CHARS_MAX)?;
    check_not_reserved("the namespace", namespace.as_bytes())
}

/// A claimant without a name could not hold anything.
pub(super) fn claimant(claimant: &str) -> Result<()> {
    name("claimant", claimant, ID_CHARS_MAX)
}

pub(super) fn position(position: &super::Position) -> Result<()> {
    time(position.at_ms)?;
    id(&position.id)
}

/// A time of the clock, in milliseconds.
pub(super) fn time(ms: u64) -> Result<()> {
    ensure!(ms <= TIME_MS_MAX, "the time {ms} ms is behind the year 9999");
    Ok(())
}

pub(super) fn queue(queue: &str) -> Result<()> {
    check_name("the queue's name", queue.as_bytes())
}

pub(super) fn doc_key(what: &str, key: &str) -> Result<()> {
    text(what, key, KEY_CHARS_MAX)
}

pub(super) fn err(err: &str) -> Result<()> {
    let len = err.len();
    ensure!(len <= ERR_BYTES_MAX, "err has {len} bytes; {ERR_BYTES_MAX} are allowed");
    Ok(())
}

pub(super) fn priority(priority: u8) -> Result<()> {
    let is_allowed = priority <= PRIORITY_MAX;
    ensure!(is_allowed, "the priority is {priority}; it goes from 0 to {PRIORITY_MAX}");
    Ok(())
}

pub(super) fn ttl(ttl: Duration) -> Result<()> {
    let is_allowed = ttl >= Duration::from_millis(1);
    ensure!(is_allowed, "the time to live has to be a millisecond or more");
    delay("time to live", ttl)
}

pub(super) fn dedup_window(window: Duration) -> Result<()> {
    let most = DEDUP_WINDOW_MAX;
    ensure!(window <= most, "the deduplication window is {window:?}; {most:?} are allowed");
    Ok(())
}

pub(super) fn when(when: When) -> Result<()> {
    when.check_unit()?;
    match when {
        When::At(ms) => time(ms),
        When::After(length) => delay("delay", length),
        When::Now => Ok(()),
    }
}

pub(super) fn delay(what: &str, delay: Duration) -> Result<()> {
    ensure!(delay <= DELAY_MAX, "the {what} is {delay:?}; 100 years are allowed");
    Ok(())
}

/// Two descriptions of what went wrong, one after the other; if they are too long, the end is kept.
pub(super) fn joined(before: &str, err: &str) -> Arc<str> {
    let all = match (before.is_empty(), err.is_empty()) {
        (true, _) => err.to_owned(),
        (_, true) => before.to_owned(),
        _ => format!("{before}\n{err}"),
    };
    let mut start = all.len().saturating_sub(ERR_BYTES_MAX);
    while !all.is_char_boundary(start) {
        start += 1;
    }
    all[start..].into()
}

fn name(what: &str, name: &str, chars_max: usize) -> Result<()> {
    ensure!(!name.is_empty(), "the {what} is empty");
    text(what, name, chars_max)
}

fn text(what: &str, text: &str, chars_max: usize) -> Result<()> {
    let chars = text.chars().count();
    ensure!(chars <= chars_max, "the {what} has {chars} characters; {chars_max} are allowed");
    ensure!(!text.contains('\0'), "the {what} holds a NUL character");
    Ok(())
}
