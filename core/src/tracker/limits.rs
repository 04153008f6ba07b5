//! Limits of ids and rows. Checked before anything is sent.

use std::time::Duration;

use crate::error::{Result, ensure, invalid};
use crate::step::ByteList;
use crate::step::limits::first_of;

/// The longest id, in bytes.
pub const ID_BYTES_MAX: usize = 512;

/// The longest row, in bytes.
pub const ROW_BYTES_MAX: usize = 1_024;

/// The most ids or rows of one call.
pub const IDS_MAX: usize = 1_000;

/// The number of rows that a scan reads, and of ids that a prune checks, by default.
pub const LIMIT_DEFAULT: usize = 25;

/// How long a round of scans lasts at least, by default.
pub const ROUND_DEFAULT: Duration = Duration::from_secs(60);

/// The longest `round_min`: 100 years.
pub const ROUND_MAX: Duration = Duration::from_secs(3_155_760_000);

/// Up to [`IDS_MAX`] ids.
pub(super) fn ids<I: AsRef<[u8]>>(ids: impl IntoIterator<Item = I>) -> Result<ByteList> {
    let mut list = ByteList::default();
    for id in first_of(ids, IDS_MAX) {
        push_id(id.as_ref(), &mut list)?;
    }
    count(list.len(), "ids")?;
    Ok(list)
}

/// The same, but at least one.
pub(super) fn some_ids<I: AsRef<[u8]>>(ids: impl IntoIterator<Item = I>) -> Result<ByteList> {
    let ids = self::ids(ids)?;
    ensure!(!ids.is_empty(), "the call names no id");
    Ok(ids)
}

pub(super) fn push_id(id: &[u8], list: &mut ByteList) -> Result<()> {
    let len = id.len();
    ensure!(
        (1..=ID_BYTES_MAX).contains(&len),
        "an id has {len} bytes; 1 to {ID_BYTES_MAX} are allowed"
    );
    list.push(id);
    Ok(())
}

/// A row is text, so that it can be compared in a query.
pub(super) fn row(row: &[u8]) -> Result<&str> {
    let len = row.len();
    ensure!(
        (1..=ROW_BYTES_MAX).contains(&len),
        "a row has {len} bytes; 1 to {ROW_BYTES_MAX} are allowed"
    );
    std::str::from_utf8(row).map_err(|_| invalid("a row is not UTF-8"))
}

pub(super) fn count(count: usize, items: &str) -> Result<()> {
    ensure!(count <= IDS_MAX, "a call takes at most {IDS_MAX} {items}");
    Ok(())
}

pub(super) fn limit(limit: usize) -> Result<usize> {
    ensure!((1..=IDS_MAX).contains(&limit), "the limit is {limit}, not 1 to {IDS_MAX}");
    Ok(limit)
}

pub(super) fn round_us(round_min: Duration) -> Result<u64> {
    ensure!(round_min <= ROUND_MAX, "a round lasts at least {round_min:?}, more than 100 years");
    Ok(round_min.as_micros() as u64)
}
