//! Queues of events.

/// Structures that are generated from the core.
pub mod generated;

/// Calls that only convert arguments and results.
pub mod generated_calls;

pub mod result;

pub mod job;
pub mod worker;

/// Workers, which are the same for all queues.
pub mod generated_worker;

pub(crate) use self::{generated::*, generated_calls::*, generated_worker::*, result::*};
pub(crate) use crate::lists::*;
