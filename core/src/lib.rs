#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]
// What only one of the backends needs is not worth a condition of its own.
#![cfg_attr(
    not(all(feature = "redis", feature = "embedded", feature = "tls")),
    allow(dead_code, unreachable_code, unused_imports, unused_variables)
)]

// The layers, from above to below: each imports only from those after it (tests/layers.rs).
mod connect;

mod queues;

pub mod events;
pub mod ick;
pub mod recruiter;
pub mod shuffle;
pub mod tasks;
pub mod tracker;
pub mod volatile;

mod worker;

mod kind;

mod client;
#[cfg(feature = "redis-rs")]
pub mod redis_rs;

#[cfg(feature = "embedded")]
mod embedded;
#[cfg(feature = "redis")]
mod redis;

mod options;

mod runtime;

pub mod step;

mod recovery;

mod error;

pub use client::{Async, Blocking, Client, Mode, Pending};
pub use connect::{aio, connect};
pub use error::{Error, ErrorKind, Result, Retry};
pub use kind::{Kind, Statistic};
pub use options::{Options, SyncMode};
pub use queues::kinds;
pub use recovery::Recovery;
pub use runtime::clock::{Clock, ManualClock, SystemClock};
pub use runtime::fork::after_fork_in_child;
pub use runtime::interrupt::on_interrupt;
pub use step::NAME_BYTES_MAX;
pub use step::limits::{CALL_BYTES_MAX, CALL_ITEMS_MAX};
pub use worker::failure::{Failure, Outcome};
pub use worker::handle::Worker;
pub use worker::job::Job;
pub use worker::report::{Report, ReportKind, RunEvent};
pub use worker::run::Run;

#[doc = include_str!("CHOOSING.md")]
pub mod choosing {}

#[doc = include_str!("LIMITS.md")]
pub mod limits {}

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The programs in the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
