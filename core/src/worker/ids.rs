//! Ids, tokens and seeds drawn at random.

use std::sync::Arc;

use crate::runtime::random;

/// 16 hexadecimal digits: unique, no secret.
pub(crate) fn unique_id() -> Arc<str> {
    format!("{:016x}", random::quick()).into()
}

/// 32 hexadecimal digits that nobody can guess.
pub(crate) fn token() -> Arc<[u8]> {
    random::token().as_bytes().into()
}

/// The seed of what a step leaves to chance.
pub(crate) fn seed() -> u32 {
    random::quick() as u32
}

/// Eight bytes that nobody else has.
pub(crate) fn unique_bytes() -> [u8; 8] {
    random::number().to_be_bytes()
}
