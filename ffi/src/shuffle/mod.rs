//! The shuffle queue.

/// What the core says of structures.
pub mod generated;

pub mod queue;

/// Calls that only convert.
pub mod generated_calls;
pub mod receipt;
pub mod write;

pub mod batch;
pub mod consumer;

pub mod messages;

pub mod dead_letters;
pub mod stats;

pub mod garbage;
pub mod tracking;

pub mod keys;
