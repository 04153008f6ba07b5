//! What names, values and times may be. Checked before anything is sent.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{Result, invalid};
use crate::step::NAME_BYTES_MAX;

/// The most characters of a task's id, of a claimant and of a namespace.
pub const ID_CHARS_MAX: usize = 64;

/// The most characters of a document's key.
pub const KEY_CHARS_MAX: usize = 256;

/// The most characters of a document's id: enough for every id that is made of keys, in which a
/// character of the primary key may take three.
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

/// The end of the year 9999.
pub(super) const TIME_MS_MAX: u64 = 253_402_300_799_999;

pub(super) fn id(id: &str) -> Result<()> {
    name("id", id, ID_CHARS_MAX)
}

pub(super) fn doc_id(id: &str) -> Result<()> {
    name("document's id", id, DOC_ID_CHARS_MAX)
}

pub(super) fn namespace(namespace: &str) -> Result<()> {
    name("namespace", namespace, ID_CHARS_MAX)
}

/// A claimant without a name could hold nothing.
pub(super) fn claimant(claimant: &str) -> Result<()> {
    name("claimant", claimant, ID_CHARS_MAX)
}

pub(super) fn queue(queue: &str) -> Result<()> {
    match queue.len() {
        0 => Err(invalid("the queue's name is empty")),
        len if len > NAME_BYTES_MAX => {
            Err(invalid(format!("the queue's name has {len} bytes; {NAME_BYTES_MAX} are allowed")))
        }
        _ => Ok(()),
    }
}

pub(super) fn doc_key(what: &str, key: &str) -> Result<()> {
    text(what, key, KEY_CHARS_MAX)
}

pub(super) fn err(err: &str) -> Result<()> {
    match err.len() > ERR_BYTES_MAX {
        true => Err(invalid(format!("err has {} bytes; {ERR_BYTES_MAX} are allowed", err.len()))),
        false => Ok(()),
    }
}

pub(super) fn priority(priority: u8) -> Result<()> {
    match priority > PRIORITY_MAX {
        true => {
            Err(invalid(format!("the priority is {priority}; it goes from 0 to {PRIORITY_MAX}")))
        }
        false => Ok(()),
    }
}

pub(super) fn ttl(ttl: Duration) -> Result<()> {
    match ttl < Duration::from_millis(1) {
        true => Err(invalid("the time to live has to be a millisecond or more")),
        false => delay("time to live", ttl),
    }
}

pub(super) fn delay(what: &str, delay: Duration) -> Result<()> {
    match delay > DELAY_MAX {
        true => Err(invalid(format!("the {what} is {delay:?}; 100 years are allowed"))),
        false => Ok(()),
    }
}

/// Two accounts of what went wrong, one behind the other; of too much the end is kept.
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
    match name.is_empty() {
        true => Err(invalid(format!("the {what} is empty"))),
        false => text(what, name, chars_max),
    }
}

fn text(what: &str, text: &str, chars_max: usize) -> Result<()> {
    let chars = text.chars().count();
    if chars > chars_max {
        return Err(invalid(format!("the {what} has {chars} characters; {chars_max} are allowed")));
    }
    match text.contains('\0') {
        true => Err(invalid(format!("the {what} holds a NUL character"))),
        false => Ok(()),
    }
}
