//! Recruiters: background work in small slices.

/// Structures that are generated from the core.
pub mod generated;

/// Calls that only convert arguments and results.
pub mod generated_calls;

pub mod enlist;
pub mod result;
pub mod slice;

pub(crate) use self::{enlist::*, generated::*, generated_calls::*, result::*};
pub(crate) use crate::lists::*;
