//! The shuffle queue.

/// Structures that are generated from the core.
pub mod generated;

/// Calls that only convert arguments and results.
pub mod generated_calls;
pub mod receipt;
pub mod write;

pub mod batch;
pub mod consumer;

pub mod dead_letters;
pub mod stats;

pub mod garbage;

pub mod job;
pub mod worker;

/// Workers, which are the same for all queues.
pub mod generated_worker;

pub(crate) use self::{
    batch::*, dead_letters::*, generated::*, generated_calls::*, generated_worker::*, receipt::*,
    write::*,
};
pub(crate) use crate::lists::*;
