//! Tasks.

/// Structures that are generated from the core.
pub mod generated;

pub mod doc;
pub mod headers;
pub mod task;

pub mod store;

/// Calls that only convert arguments and results.
pub mod generated_calls;

pub mod modification;

pub mod result;

pub mod claim;
pub mod renew;

pub mod list_docs;
pub mod list_stores;

pub mod dependency;

pub mod job;
pub mod worker;

/// Workers, which are the same for all queues.
pub mod generated_worker;

pub(crate) use self::{generated::*, generated_calls::*, generated_worker::*, result::*, task::*};
pub(crate) use crate::lists::*;
