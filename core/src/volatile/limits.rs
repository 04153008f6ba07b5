//! Limits of fields, values, times to live and tokens. Checked before anything is sent.

use std::time::Duration;

use crate::error::{Result, ensure};
use crate::step::ByteList;
use crate::step::limits::first_of;

/// The longest field, in bytes; it may be empty.
pub const FIELD_BYTES_MAX: usize = 64 << 10;

/// The longest value, in bytes; it may be empty.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// The longest token of a lock, in bytes.
pub const TOKEN_BYTES_MAX: usize = 64;

/// The most fields of one call.
pub const FIELDS_MAX: usize = 10_000;

/// The longest time to live of a field or a lock: 100 years.
pub const TTL_MAX: Duration = Duration::from_secs(3_155_760_000);

/// A time to live has to be at least this long.
pub(super) const TTL_MIN: Duration = Duration::from_millis(1);

pub(super) fn field(field: &[u8]) -> Result<()> {
    let len = field.len();
    ensure!(len <= FIELD_BYTES_MAX, "the field has {len} bytes; {FIELD_BYTES_MAX} are allowed");
    Ok(())
}

/// One to [`FIELDS_MAX`] fields.
pub(super) fn fields<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>) -> Result<ByteList> {
    let mut list = ByteList::default();
    for name in first_of(fields, FIELDS_MAX) {
        field(name.as_ref())?;
        list.push(name.as_ref());
    }
    count(list.len())?;
    Ok(list)
}

/// Refuses a call without fields, or with too many.
pub(super) fn count(fields: usize) -> Result<()> {
    ensure!(fields > 0, "the call names no field");
    ensure!(fields <= FIELDS_MAX, "a call takes at most {FIELDS_MAX} fields");
    Ok(())
}

pub(super) fn value(value: &[u8]) -> Result<()> {
    let len = value.len();
    ensure!(len <= VALUE_BYTES_MAX, "the value has {len} bytes; {VALUE_BYTES_MAX} are allowed");
    Ok(())
}

pub(super) fn token(token: &[u8]) -> Result<()> {
    let len = token.len();
    ensure!(len > 0, "the token is empty");
    ensure!(len <= TOKEN_BYTES_MAX, "the token has {len} bytes; {TOKEN_BYTES_MAX} are allowed");
    Ok(())
}

/// The time to live in whole microseconds.
pub(super) fn ttl_us(ttl: Duration) -> Result<u64> {
    ensure!(
        (TTL_MIN..=TTL_MAX).contains(&ttl),
        "the time to live is {ttl:?}; it has to be between a millisecond and 100 years"
    );
    Ok(ttl.as_micros() as u64)
}
