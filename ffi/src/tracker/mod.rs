//! Queue trackers.

/// Structures that are generated from the core.
pub mod generated;

/// Calls that only convert arguments and results.
pub mod generated_calls;

pub mod result;

pub(crate) use self::{generated::*, generated_calls::*, result::*};
pub(crate) use crate::lists::*;
