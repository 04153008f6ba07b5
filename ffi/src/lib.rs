//! Millpond's C ABI.
//!
//! Each function reads C's arguments, calls the core and writes the result to where C wants it;
//! there is no queue logic here. C programmers read the header, which is generated from the
//! comments here: see `core/bindings/src/c/header.rs`.
//!
//! | where | what |
//! | --- | --- |
//! | [`caller`] | what every function does: reads arguments, catches panics, returns the error |
//! | [`handle`] | handles: checked numbers instead of pointers |
//! | [`status`], [`error`] | what can go wrong |
//! | [`client`], [`clock`], [`library`], [`limits`], [`fork`] | the entry point, and what concerns the whole process |
//! | [`ick`] | the queue Ick |
//! | [`shuffle`] | the shuffle queue |
//! | [`tasks`] | stores of tasks |
//! | [`events`] | queues of events |
//! | [`volatile`] | volatile hashes |
//! | [`recruiter`] | recruiters |
//! | [`tracker`] | queue trackers |
//! | [`keys`], [`lease`], [`options`], [`report`], [`script`] | what queues have in common |
//! | [`signal_stop`] | signals that stop workers and recruiters |

#![allow(non_camel_case_types, reason = "the types have the names that they have in C")]
#![allow(clippy::missing_safety_doc, reason = "the first page of the header says it for all")]

// The header has the modules in this order.
pub mod library;

pub mod limits;

pub mod status;

pub mod error;

pub mod client;
pub mod clock;
pub mod recovery;

pub mod keys;

pub mod outcome;
pub mod report;

pub mod ick;

pub mod shuffle;

pub mod tasks;

pub mod events;

pub mod volatile;

pub mod recruiter;

pub mod tracker;

/// What calls return.
pub mod lists;

pub mod interrupt;
pub mod script;
pub mod script_keys;

mod caller;
mod exclusive;
mod fork;
mod handle;
mod lease;
mod options;
mod signal_stop;
#[cfg(debug_assertions)]
pub mod test_panic;
