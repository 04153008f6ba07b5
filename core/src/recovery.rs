//! What opening a durable engine found.

/// What opening a `file:` found; see [`Client::recovery`](crate::Client::recovery).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Records that were read, of the snapshot and of the log.
    pub records: u64,
    /// Bytes at the end of the log that were no whole record and were cut off. Zeros are not
    /// counted: the file grows ahead of what is written.
    pub torn_bytes: u64,
    /// Size of the snapshot in bytes; 0 without one.
    pub snapshot_bytes: u64,
    /// Size in bytes of the log after the snapshot.
    pub log_bytes: u64,
    /// Whether the last process closed the engine, or there was none. After a crash or a kill it
    /// is false, which alone is no reason to worry.
    pub closed: bool,
    /// What looks as if acknowledged steps were lost, in a sentence: bytes were cut off, or damage
    /// was repaired. `None` where nothing does.
    pub suspicion: Option<String>,
    /// Everything that a person should be told, a sentence each: the suspicion, and a directory
    /// that other users can enter.
    pub warnings: Vec<String>,
}
