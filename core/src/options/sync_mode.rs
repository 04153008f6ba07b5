//! What durable means.

use std::time::Duration;

/// When a step of a durable engine is on disk. In every setting a step that was acknowledged
/// survives the end of the process; they differ in what survives a loss of power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Before it is acknowledged.
    #[default]
    Always,
    /// At most this much later.
    Every(Duration),
    /// When the operating system likes.
    Never,
}
