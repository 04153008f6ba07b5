//! Volatile hashes.

/// Structures that are generated from the core.
pub mod generated;

/// Calls that only convert arguments and results.
pub mod generated_calls;

pub mod lock;
pub mod pair;
pub mod result;

pub(crate) use self::{generated::*, generated_calls::*, pair::*, result::*};
pub(crate) use crate::lists::*;
