//! The queue Ick.

// The header has the modules in this order.
pub mod entries;
pub mod steps;

pub mod batches;
pub mod lease;

pub mod channel;
