//! The queue Ick.

/// Structures that are generated from the core.
pub mod generated;

// The header has the modules in this order.
pub mod entries;
pub mod steps;

/// Calls that only convert arguments and results.
pub mod generated_calls;
pub mod lease;

pub(crate) use self::{entries::*, generated::*, generated_calls::*, steps::*};
pub(crate) use crate::lists::*;
