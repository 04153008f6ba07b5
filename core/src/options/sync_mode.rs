//! What durable means.

use std::time::Duration;

/// When a step of a durable engine is on disk. With every setting, an acknowledged step survives
/// the end of the process; the settings differ in what survives a power loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// Before it is acknowledged.
    #[default]
    Always,
    /// At most this much later.
    Every(Duration),
    /// When the operating system writes it.
    Never,
}
