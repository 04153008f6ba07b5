//! Millpond.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod error;
pub use error::{Error, ErrorKind, Result, Retry};
