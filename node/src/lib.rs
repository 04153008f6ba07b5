//! The native half of the npm package `millpond`: converts arguments, calls the core and converts
//! the result. What people import is written by hand in JavaScript above it, which has checked the
//! arguments already; there is no queue logic here.

#![allow(unreachable_pub, reason = "what JavaScript sees has to be pub, though no crate sees it")]

mod calls;
mod client;
mod clock;
mod convert;
mod entries;
mod errors;
mod events;
mod handle;
#[path = "generated/handles.rs"]
mod handles;
mod list;
mod loops;
#[path = "generated/options.rs"]
mod options;
mod queues;
#[path = "generated/records.rs"]
mod records;
mod recruiter;
mod tasks;
mod worker;

use napi_derive::napi;

/// The version of the core.
#[napi]
pub const VERSION: &str = millpond::VERSION;
