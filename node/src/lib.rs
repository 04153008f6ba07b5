//! The version of Millpond.

/// The version of this package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
