#![doc = include_str!("README.md")]
#![forbid(unsafe_code)]

mod byte_list;
mod client;
mod clock;
mod codec;
#[cfg(feature = "embedded")]
mod embedded;
mod error;
mod fork;
pub mod ick;
mod interrupt;
mod operation;
mod options;
mod random;
#[cfg(feature = "redis")]
mod redis;
mod reply;
mod score;
mod scored_set;
mod sync;
mod timer;
mod waiters;

pub use byte_list::ByteList;
pub use client::{Async, Blocking, Client, Mode, Pending, aio, connect};
pub use clock::{Clock, ManualClock, SystemClock};
pub use error::{Error, ErrorKind, Result, Retry};
pub use fork::after_fork_in_child;
pub use interrupt::on_interrupt;
pub use operation::{Invocation, Operation, Script, Snapshot, State, Timestamp, Turn};
pub use options::{Options, SyncMode};
pub use reply::Reply;

/// The version of this library.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
