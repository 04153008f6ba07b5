//! The native half of the npm package `millpond`: converts arguments, calls the core and converts
//! the result. What people import is written by hand in JavaScript above it, which has checked the
//! arguments already; there is no queue logic here.

#![allow(unreachable_pub, reason = "what JavaScript sees has to be pub, though no crate sees it")]

mod batches;
mod calls;
mod channel;
mod client;
mod convert;
mod errors;
mod handle;
mod ick;
mod lease;
mod limits;
mod list;
#[path = "generated/options.rs"]
mod options;
#[path = "generated/records.rs"]
mod records;
mod shuffle;
mod shuffle_consumer;
mod shuffle_convert;
mod shuffle_garbage;
mod shuffle_messages;
mod shuffle_tracking;
mod tasks;
mod tasks_entries;
mod tasks_job;
mod tasks_loop;

use napi_derive::napi;

/// The version of the core.
#[napi]
pub const VERSION: &str = millpond::VERSION;
