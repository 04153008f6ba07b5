//! What opening a durable engine found, and what cannot be noticed.

/// What opening a `file:` found; returned by [`Client::recovery`](crate::Client::recovery).
///
/// A crash leaves the records that were acknowledged, but for what
/// [`SyncMode`](crate::SyncMode) allows it to take. Files that lost
/// something else are told by the error `CORRUPT`, or by [`suspicion`](Self::suspicion) where a crash
/// could have done the same. [`Options::on_warning`](crate::Options::on_warning) handles the warnings, which are printed to
/// standard error by default.
///
/// After a close, no cut of a file and no damage goes unnoticed, and with `sync=always` no cut
/// after a crash. Not noticed are:
///
/// * after a crash with `sync=always`, zeros in the place of the last records, as a whole, of at
///   most 256 KiB and the last write;
/// * after a crash with another `sync`, the same and a cut between two records, in what was
///   written since the first step after the last sync;
/// * an older copy of the directory, or an empty one in its place;
/// * in a log of format 1, until it is first opened by this version: a cut between two records;
///   and the removal of the log that follows it then, until both have become a snapshot;
/// * what somebody changes on purpose and with new checksums.
///
/// Damage to the last write before a crash looks like a write that the crash interrupted: it is
/// cut off and told as one.
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
