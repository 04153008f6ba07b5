#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]
// What only one of the backends needs is not worth a condition of its own.
#![cfg_attr(
    not(all(feature = "redis", feature = "embedded", feature = "tls")),
    allow(dead_code, unreachable_code, unused_variables)
)]
// Everything but the drivers is pure: no clock, no thread, no socket.
#![warn(clippy::disallowed_methods)]

mod byte_list;
mod client;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod clock;
mod codec;
mod effects;
#[cfg(feature = "embedded")]
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod embedded;
mod error;
mod fnv;
mod fork;
pub mod ick;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod interrupt;
mod limits;
mod operation;
mod options;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod random;
mod recovery;
#[cfg(feature = "redis")]
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod redis;
#[cfg(feature = "redis-rs")]
pub mod redis_rs;
mod reply;
mod score;
mod scored_set;
#[cfg(test)]
mod script_header;
pub mod shuffle;
mod sync;
mod sync_mode;
pub mod tasks;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod term;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod timer;
#[allow(clippy::disallowed_methods, reason = "a driver")]
mod waiters;
#[cfg(test)]
mod wrong_replies;

pub use byte_list::ByteList;
pub use client::{Async, Blocking, Client, Mode, Pending, aio, connect};
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{Error, ErrorKind, Result, Retry};
pub use fork::after_fork_in_child;
pub use interrupt::on_interrupt;
pub use limits::{CALL_BYTES_MAX, CALL_ITEMS_MAX};
pub use operation::{Invocation, Operation, Script, Snapshot, State, Timestamp, Turn};
pub use options::Options;
pub use recovery::Recovery;
pub use reply::Reply;
pub use sync_mode::SyncMode;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The programs in the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
