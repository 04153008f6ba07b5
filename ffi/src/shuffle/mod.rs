//! The shuffle queue.

/// What the core says of structures.
pub mod generated;

/// Calls that only convert.
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

/// Workers as of all queues.
pub mod generated_worker;

pub(crate) use self::{
    batch::*, dead_letters::*, generated::*, generated_calls::*, generated_worker::*, receipt::*,
    write::*,
};
pub(crate) use crate::lists::*;
