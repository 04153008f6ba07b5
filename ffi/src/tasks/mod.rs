//! Tasks.

/// What the core says of structures.
pub mod generated;

pub mod doc;
pub mod headers;
pub mod task;

pub mod store;

/// Calls that only convert.
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

/// Workers as of all queues.
pub mod generated_worker;

pub(crate) use self::{generated::*, generated_calls::*, generated_worker::*, result::*, task::*};
pub(crate) use crate::lists::*;
