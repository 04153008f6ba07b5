//! Queues of events.

/// What the core says of structures.
pub mod generated;

/// Calls that only convert.
pub mod generated_calls;

pub mod result;

pub mod job;
pub mod worker;

/// Workers as of all queues.
pub mod generated_worker;

pub(crate) use self::{generated::*, generated_calls::*, generated_worker::*, result::*};
pub(crate) use crate::lists::*;
