//! Ids and tokens drawn at random.

use std::sync::Arc;

use crate::runtime::random;

/// 16 hexadecimal digits: unique, but not secret.
pub(crate) fn unique_id() -> Arc<str> {
    format!("{:016x}", random::quick()).into()
}

/// 32 hexadecimal digits that cannot be guessed.
pub(crate) fn token() -> Arc<[u8]> {
    random::token().as_bytes().into()
}

/// Eight unique bytes.
pub(crate) fn unique_bytes() -> [u8; 8] {
    random::number().to_be_bytes()
}
