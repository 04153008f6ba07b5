//! Ids, tokens and seeds drawn at random.

use std::sync::Arc;

use crate::runtime::random;

/// 16 hexadecimal digits: unique, no secret.
pub(crate) fn unique_id() -> Arc<str> {
    format!("{:016x}", random::quick()).into()
}

/// The seed of what a step leaves to chance.
pub(crate) fn seed() -> u32 {
    random::quick() as u32
}
