//! The limits of one call, regardless of the number of steps that it is split into, and those that queues share.

use std::time::Duration;

use crate::error::{Result, invalid};

/// The most members or messages of one call. An iterator may be endless; input that is too long is refused while it
/// is read, before anything is sent.
pub const CALL_ITEMS_MAX: usize = 1_000_000;

/// The most bytes of all strings of one call in total: 1 GiB. A server accepts no longer command.
pub const CALL_BYTES_MAX: usize = 1 << 30;

/// The longest deduplication window of a task or an event: 7 days.
pub const DEDUP_WINDOW_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The longest delay of a job that is given back untried.
pub(crate) const RELEASE_DELAY: Duration = Duration::from_millis(100);

/// Up to this number, a script's numbers, which are doubles, are exact integers.
pub(crate) const INTEGER_MAX: u64 = 1 << 53;

/// How much of a call has been read.
#[derive(Debug, Default)]
pub(crate) struct CallSize {
    items: usize,
    bytes: usize,
}

impl CallSize {
    /// Counts one more item of this many `bytes`; `items` names them in the error.
    pub(crate) fn add(&mut self, items: &str, bytes: usize) -> Result<()> {
        self.items += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.items > CALL_ITEMS_MAX {
            return Err(invalid(format!("a call takes at most {CALL_ITEMS_MAX} {items}")));
        }
        match self.bytes > CALL_BYTES_MAX {
            true => Err(invalid(format!("the {items} have more than {CALL_BYTES_MAX} bytes"))),
            false => Ok(()),
        }
    }
}

/// The first items of an iterator: one more than `max` if there are more, which is then refused.
pub(crate) fn first_of<T>(
    items: impl IntoIterator<Item = T>,
    max: usize,
) -> impl Iterator<Item = T> {
    items.into_iter().take(max + 1)
}
