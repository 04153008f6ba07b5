//! Tasks.

/// What the core says of structures.
pub mod generated;

pub mod doc;
pub mod task;

pub mod store;

pub mod modification;

pub mod result;

pub mod claim;
pub mod renew;

pub mod list;
pub mod list_docs;
pub mod stats;

pub mod dependency;

pub mod job;
pub mod worker;

pub mod run;

pub mod keys;

mod when;
