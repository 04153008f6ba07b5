//! What opening a durable engine found, and what cannot be noticed.

/// What was found when a `file:` was opened; returned by [`Client::recovery`](crate::Client::recovery).
///
/// After a crash, the acknowledged records are there, except those that [`SyncMode`](crate::SyncMode) allows it to
/// lose. Any other loss is reported by the error `CORRUPT`, or by [`suspicion`](Self::suspicion) if a crash could have
/// had the same effect. [`Options::on_warning`](crate::Options::on_warning) handles the warnings, which are printed to
/// standard error by default.
///
/// If the engine was closed, any truncation of a file and any damage is detected. After a crash with `sync=always`, any
/// truncation is detected. The following is not detected:
///
/// * after a crash with `sync=always`: zeros in place of the last records, as a whole, of at most 256 KiB and the last
///   write;
/// * after a crash with another `sync`: the same, and a truncation between two records, in what was written since the
///   first step after the last sync;
/// * a directory that was replaced by an older copy or by an empty one;
/// * in a log of format 1, until this version first opens it: a truncation between two records; from then on, until
///   both logs have become a snapshot: the removal of the log that follows it;
/// * deliberate changes with new checksums.
///
/// Damage to the last write before a crash looks like a write that the crash interrupted: it is cut off and reported as
/// such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Records that were read from the snapshot and the log.
    pub records: u64,
    /// Bytes at the end of the log that did not form a whole record and were cut off. Zeros are not counted, since the
    /// file grows ahead of what is written.
    pub torn_bytes: u64,
    /// Size of the snapshot in bytes; 0 without one.
    pub snapshot_bytes: u64,
    /// Size in bytes of the log after the snapshot.
    pub log_bytes: u64,
    /// Whether the last process closed the engine, or there was no earlier process. After a crash or a kill it is
    /// false, which alone is no reason to worry.
    pub closed: bool,
    /// Why acknowledged steps may have been lost, in one sentence: bytes were cut off, or damage was repaired. `None`
    /// if there is no sign of it.
    pub suspicion: Option<String>,
    /// Everything that an operator should know, one sentence each: the suspicion, and that other users can enter the
    /// directory.
    pub warnings: Vec<String>,
}
