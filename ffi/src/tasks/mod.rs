//! Tasks.

/// What the core says of structures.
pub mod generated;

pub mod doc;
pub mod task;

pub mod store;

/// Calls that only convert.
pub mod generated_calls;

pub mod modification;

pub mod result;

pub mod claim;
pub mod renew;

pub mod list_docs;

pub mod dependency;

pub mod job;
pub mod worker;

pub mod run;

pub(crate) use self::{generated::*, generated_calls::*, result::*, task::*, worker::*};
pub(crate) use crate::lists::*;
