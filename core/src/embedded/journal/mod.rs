//! The durable journal of the embedded engine.
//!
//! The engine keeps its queues in memory. Each step that changes them appends one opaque record
//! here and is acknowledged when the record is as safe as the [`SyncMode`] promises; opening
//! replays the records in the order in which they were appended. Now and then the engine writes
//! all live data as a snapshot, which takes the place of the log before it.
//!
//! # The directory
//!
//! | name | what |
//! | --- | --- |
//! | `lock` | empty; locked, as the directory itself is, for systems that lock no directories |
//! | `<n>.log` | a log; `n` has twenty digits and rises by one |
//! | `<n>.snapshot` | what the logs before log `n` led to |
//! | `<n>.log.tmp`, `<n>.snapshot.tmp` | unfinished; removed by the next open |
//!
//! In rest there is one log, with the snapshot of its number unless it is log 1. While a snapshot
//! is taken, and after one that failed, there are older logs and the older snapshot as well.
//!
//! It is made for its owner alone, and so is each file. A file that is a symbolic link, a pipe or a
//! device is refused, and what is created replaces what has the name and is never written through it.
//!
//! # The format, version 2
//!
//! All numbers are little-endian; `crc32c` is the Castagnoli checksum. A file begins with a head:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | `MILLPOND` |
//! | 8..12 | format version, 2; the head has this layout in every version |
//! | 12..16 | 1 for a log, 2 for a snapshot |
//! | 16..24 | the number in the file's name |
//! | 24..32 | first sequence of this log, or of the log with the snapshot's number |
//! | 32..40 | the mark: random bytes, of which the first is odd |
//! | 40..44 | `crc32c` of bytes 0..40 |
//!
//! In a log a state follows, in a sector of its own at byte 512, which is written again in its place:
//!
//! | bytes | what |
//! | --- | --- |
//! | 512..520 | the file's mark |
//! | 520..528 | where the frames ended that were on disk, in bytes from the beginning |
//! | 528..536 | the file had this length on disk |
//! | 536..540 | 0: it is written, 1: it was closed, 2: the log of the next number is on disk |
//! | 540..544 | `crc32c` of bytes 512..540 |
//!
//! Frames follow, in a log from byte 1024 and in a snapshot from byte 44. What lies between is not
//! read. A group commit is one frame, or several if it is more than 1 MiB:
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | the file's mark |
//! | 8..16 | sequence of the first record, from 1; in a snapshot its index, from 0 |
//! | 16..24 | durable mark: so many bytes of this file were on disk when this was written |
//! | 24..32 | length of the body |
//! | 32..36 | number of records; 0 makes the frame a marker |
//! | 36..40 | `crc32c` of the body, continued from 0x6d706a31 |
//! | 40..44 | `crc32c` of bytes 0..40 |
//! | 44.. | the body: each record's length in LEB128, then its bytes |
//!
//! A marker ends a snapshot; its body is the sequence that the log has to reach for the snapshot to
//! be used. In a log it says which sequence comes next, behind a gap that a repair left. With
//! [`SyncMode::Always`] zeros follow the last frame, up to a multiple of 1 MiB: the log grows ahead
//! of what is written, since an `fdatasync` is a third shorter when the file's size stays.
//!
//! Version 1 had no state: its frames began at byte 44, and a marker at the end said that the log was
//! closed. Such a log is read and followed by one of version 2. Snapshots are the same in both.
//!
//! # What a crash can leave
//!
//! Every record is given to the operating system by `write(2)` before it is acknowledged, so a
//! kill of the process leaves the acknowledged records and perhaps a part of one more write. A
//! loss of power also takes what was not synced, which with [`SyncMode::Every`] and
//! [`SyncMode::Never`] may be an earlier page and not a later one. Both leave a *torn tail*: the
//! first bad frame and all behind it are cut off, counted in [`Recovery::torn_bytes`], and the cut
//! is put on disk before anything is appended. Cutting on a guess would lose acknowledged steps
//! without a word, so recovery looks for a witness: a header behind the bad frame, at any byte,
//! whose durable mark lies behind the bad frame's beginning. Then the frame had been on disk, no
//! crash explains it, and opening fails with `Corrupt`, naming file and offset, and changes
//! nothing. The state at the beginning of the log is a witness too. Damaged lengths do not mislead it, as the header has its own checksum, and neither does
//! a payload that holds a copy of a journal, as it cannot know the mark.
//!
//! A witness must not lie in what was cut off, so the state is written where nothing cuts it off, and
//! each of its words was on disk before it was written:
//!
//! * With [`SyncMode::Always`] a cut at any byte is `Corrupt`. The commit that leaves less than 512
//!   KiB of grown space grows the file, its own sync takes the new length to disk, and the next
//!   commit writes the state with that length beside its frame. So whatever was acknowledged lies
//!   within a length that the state knows, and it costs no sync. A commit that is larger than the
//!   space is preceded by a sync of the length. PostgreSQL's `pg_control` relies on the same: a disk
//!   writes a sector whole or not at all.
//! * A close syncs the frames, then a state with where they end, and cuts off the grown space after
//!   that. So after a close any cut and any damage is `Corrupt`, in each mode.
//! * The frames that were on disk are written down each 256 KiB with [`SyncMode::Always`], and else
//!   with the first write after a sync. Zeros in the place of frames before that are `Corrupt`, and
//!   so is a cut.
//!
//! Rejected were a file beside the log for these words, which a copy of the log alone would lack; a
//! close marker as the last frame, which a cut takes with it; and a state in each commit, which is
//! one more page for each `fdatasync`.
//!
//! Also `Corrupt`, without a witness: a bad frame in a log that is not the newest, as that was
//! synced before the next was named; anything bad in a snapshot, as it was synced before it was
//! named; a bad head, for the same reason; a missing log, the newest included while an older one is
//! there; a sequence that does not follow; and a log that ends before the snapshot was made.
//!
//! [`Options::repair`] takes the sound part of the newest log for all of it, whatever says that
//! there was more, and [`Recovery::suspicion`] repeats that. Other damage stays `Corrupt`.
//!
//! A snapshot is taken in an order in which each instant leaves a usable set of files:
//!
//! 1. The log is written out and synced. The next log is written under a temporary name, synced,
//!    renamed, and the directory synced. The old log's state says so, and is synced. From here steps
//!    go to the new log.
//! 2. The snapshot is written under a temporary name while steps go on. A crash replays the old
//!    snapshot and both logs.
//! 3. The new log is synced up to the last record that was appended so far. The snapshot may hold
//!    effects of such records, and a step on two queues must not come back by half.
//! 4. The snapshot gets its last marker, is synced and renamed, and the directory is synced. A
//!    crash from here on replays the new snapshot and the new log.
//! 5. The old log and the old snapshot are removed; where a crash prevents it, opening does it.
//!
//! The log is worth a snapshot when it is larger than the last snapshot and than 4 MiB, so the
//! files take twice the live data, and up to three times while a snapshot is taken.
//!
//! What this does not notice, all of it:
//!
//! * After a crash, damage to the last write: it looks like a torn one, and is cut off, counted and
//!   warned about as one.
//! * After a crash, frames behind the state's last word that are gone as a whole without a trace:
//!   with [`SyncMode::Always`] zeros in their place, of at most 256 KiB and the last write; in
//!   the other modes zeros, or a cut between two writes, since the first write after the last sync.
//! * A cut between two frames of a log of version 1, until the first open.
//! * An older copy of the directory, or of both its log and its snapshot; an empty directory; a log
//!   of version 2 that is removed behind one of version 1.
//! * What other software wrote with intent, as checksums are no signatures.
//! * After a failed `fsync` the journal stops for good, but an open without a restart of the machine
//!   may replay from memory what the disk does not have.
//!
//! # Why a log of our own
//!
//! `tests/bench/stores` does the same work on this journal, on fjall 3.1.13 and on redb 4.4.0. On
//! two virtual cores and an ext4 disk, with records of 60 bytes:
//!
//! | | journal | fjall | redb |
//! | --- | --- | --- | --- |
//! | 1 record a commit, fsync | 11.7 k/s | 11.9 k/s | 6.6 k/s |
//! | 1,000 records a commit, fsync | 1.50 M/s | 1.47 M/s | 1.09 M/s |
//! | 1 record a commit, fsync, 16 threads | 62.0 k/s | 11.1 k/s | 5.9 k/s |
//! | 1 record a commit, no fsync | 0.70 M/s | 0.70 M/s | 0.11 M/s |
//! | 1,000 records a commit, no fsync | 2.18 M/s | 2.10 M/s | 1.89 M/s |
//! | load 1,000,000 members after a crash | 0.23 s | 1.04 s | 0.27 s |
//! | load 1,000,000 members after a close | 0.22 s | 1.07 s | 0.17 s |
//! | full check of 1,000,000 members on demand | none | none | 0.03 s |
//! | disk under churn, largest | 3.0 x live | 5.3 x live | 1.2 x live |
//! | disk under churn, at the end | 1.3 x live | 1.9 x live | 1.2 x live |
//! | 400 times one wrong byte anywhere in the newest file, after a kill | 400 reported | 301 reported, 49 harmless, 50 silently lost, 1978 records missing at most | 254 reported, 125 harmless, 21 silently lost, 1 records missing at most |
//! | the same after a clean close | 400 reported | 301 reported, 49 harmless, 50 silently lost, 1978 records missing at most | 30 reported, 121 harmless, 2 silently lost, 247 silently wrong, 249 of these found by a full check, 1 records missing at most |
//! | 1 to 40 bytes missing at the end of the last write | 40 dropped and counted, 1 records missing at most | 40 silently lost, 1 records missing at most | does not apply |
//! | 2,000 commits without fsync, then a kill | 1 harmless | 1 harmless | 1 silently lost, 2000 records missing at most |
//!
//! It is one run of several; most rates differ by a tenth from run to run, fjall's disk space by a
//! half, and one load of the journal took 0.46 s. Only the newest file was damaged, and places were
//! drawn over all of it, those of the last write included. "Harmless" bytes are ones that nobody
//! reads, such as redb's free pages. Kills are copies of the files of a running store; no power was
//! cut. For the rows on disk fjall has its smallest journals and memtables of 4 MiB, as its defaults
//! suit more data. The journal's 16 threads share an `fsync`; a leader of our own in front of either
//! library would win it the same. The journal's memory for a write is as large as the write.
//!
//! What a queue has to have is this: a torn tail is dropped, damage before it is reported, and
//! every acknowledged step survives a kill in every mode.
//!
//! * fjall drops a torn tail. But its journal reader takes anything that it cannot decode for the
//!   end, and cuts off all that follows without an error: a wrong byte where a record's tag or
//!   length should be took up to 1,978 of 2,000 acknowledged records. Only a wrong byte within keys
//!   and values meets the checksum.
//! * redb is the closest, and better on disk space and on loading after a close. After a kill it
//!   verifies every page, and goes back by one commit at most. After a clean close it does not
//!   look at checksums, and a wrong byte in a payload comes back as the payload; but its full check
//!   finds that, and at 0.03 s for a million members could run on every open, so this did not
//!   decide. What rules it out are the modes without `fsync`: `Durability::None` keeps commits in
//!   the process until one is synced, so a kill took all 2,000 acknowledged ones. Commits of one
//!   record are also slower, by 1.8 times with `fsync` and by 6 times without.
//! * This journal is only a log: it cannot read one member from disk, so everything has to fit in
//!   memory and each open replays it all. The engine wants just that. The price is some 1,300 lines
//!   of code, comments and tests not counted, that are ours to get right and that nobody else has
//!   used; fjall with lsm-tree has 43,000 lines and redb 41,000, theirs counted. Hence the tests of
//!   each byte. They cannot see whether `fsync` is called where it has to be; a trace of the system
//!   calls can, and the order above is that of one.

mod directory_lock;
mod frame;
mod recovery;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(crate) use recovery::Source;
pub(crate) use snapshot::SnapshotWriter;
pub(crate) use writer::Ticket;

use crate::error::Result;
use crate::options::SyncMode;
use crate::recovery::Recovery;
use crate::runtime::sync::lock;
use directory_lock::DirectoryLock;
use writer::Writer;

/// The log may grow to this many bytes, or to the size of the live data if that is more, before
/// it is worth a snapshot.
const LOG_BYTES_MIN: u64 = 4 << 20;

/// How a journal is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// When records are put on disk.
    pub(crate) sync: SyncMode,
    /// Bytes of log below which no snapshot is wanted; 4 MiB unless changed.
    pub(crate) log_bytes_min: u64,
    /// Whether a damaged newest log is cut off where the damage begins.
    pub(crate) repair: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { sync: SyncMode::default(), log_bytes_min: LOG_BYTES_MIN, repair: false }
    }
}

/// An ordered, durable list of opaque records, with snapshots in the place of its older part.
pub(crate) struct Journal {
    writer: Arc<Writer>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Held while a snapshot is taken.
    // Lock order: this before `lock`, and both before the writer's state.
    snapshotting: Mutex<()>,
    lock: Mutex<Option<DirectoryLock>>,
    /// The process that opened it. A forked child must neither write nor unlock on drop.
    pid: u32,
}

impl Journal {
    /// Opens the journal in `dir`, which is created if missing, and replays what it holds.
    ///
    /// # Errors
    ///
    /// `Locked` if it is open already, here or in another process; `Corrupt` if it is damaged
    /// anywhere but in the torn end of an unfinished write, or lacks what was on disk; `IncompatibleVersion` if another
    /// version wrote it; `Storage` if the disk fails; and what `replay` returns. The files are as
    /// they were then.
    pub(crate) fn open(
        dir: impl AsRef<Path>,
        options: Options,
        replay: &mut dyn FnMut(Source, &[u8]) -> Result<()>,
    ) -> Result<(Self, Recovery)> {
        let dir = PathBuf::from(dir.as_ref());
        segment::create_dir(&dir)?;
        let lock = DirectoryLock::acquire(&dir)?;
        let mut found = recovery::recover(&dir, &options, replay)?;
        found.recovery.warnings.extend(segment::rights_warning(&dir)?);
        for path in &found.superseded {
            segment::remove(path)?;
        }
        let recovery = found.recovery;
        let writer = Arc::new(Writer::new(
            dir,
            options,
            found.segment,
            found.next,
            recovery.log_bytes,
            recovery.snapshot_bytes,
        ));
        let journal = Self {
            writer,
            keeper: Mutex::new(None),
            snapshotting: Mutex::new(()),
            lock: Mutex::new(Some(lock)),
            pid: std::process::id(),
        };
        if matches!(options.sync, SyncMode::Every(_)) {
            journal.keeper_runs()?;
        }
        Ok((journal, recovery))
    }

    /// Adds a record, whole or not at all, behind all earlier ones. Nothing but a copy into
    /// memory happens here; the record is written once somebody waits for it or for a later one.
    pub(crate) fn append(&self, record: &[u8]) -> Ticket {
        self.writer.append(record)
    }

    /// The last record so far: whoever waits for it waits for everything that was appended.
    pub(crate) fn last(&self) -> Ticket {
        self.writer.last()
    }

    /// The sequence that the next record will have. Under the lock that orders a queue's appends
    /// it says which of the queue's records a copy holds: those before it.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.writer.next()
    }

    /// Blocks until the record, and with it every earlier one, is as safe as the mode promises.
    ///
    /// # Errors
    ///
    /// `Storage` if the disk failed, now or at any time before: the record may or may not come
    /// back on the next open. `Closed` if it was appended after the close.
    pub(crate) fn wait(&self, ticket: Ticket) -> Result<()> {
        self.writer.wait(ticket)
    }

    /// Blocks until the record is on disk, whatever the mode.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    #[allow(dead_code, reason = "the comparison in tests/bench/stores syncs commit by commit")]
    pub(crate) fn sync(&self, ticket: Ticket) -> Result<()> {
        self.writer.sync(ticket)
    }

    /// Like [`wait`](Self::wait) without blocking: calls `done` from the keeper's thread, or at
    /// once from this one if the answer is known. It must be short, as others wait behind it.
    pub(crate) fn when_durable(&self, ticket: Ticket, done: Box<dyn FnOnce(Result<()>) + Send>) {
        match self.keeper_runs() {
            Ok(()) => self.writer.wait_later(ticket, done),
            // A process that may not start threads gets its answer late rather than never.
            Err(_) => done(self.writer.wait(ticket)),
        }
    }

    fn keeper_runs(&self) -> Result<()> {
        let mut keeper = lock(&self.keeper);
        if keeper.is_none() && lock(&self.lock).is_some() {
            *keeper = Some(writer::spawn_keeper(&self.writer).map_err(|error| {
                segment::storage("start a thread for", &self.writer.dir)(error)
            })?);
        }
        Ok(())
    }

    /// Whether the log has outgrown the live data, so that a snapshot would save space.
    pub(crate) fn wants_snapshot(&self) -> bool {
        self.writer.wants_snapshot()
    }

    /// Replaces everything before a new log by the records that `write` gives, while appends go
    /// on. A record that was appended after this began may be in a copy that `write` gives and
    /// will be replayed nevertheless, so a copy says up to which sequence it reaches.
    ///
    /// # Errors
    ///
    /// What `write` returns, and `Storage`; the journal is then as it was, and goes on unless
    /// the log itself could not be written. `Closed` once it is being closed.
    pub(crate) fn snapshot(
        &self,
        write: &mut dyn FnMut(&mut SnapshotWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let _one_at_a_time = lock(&self.snapshotting);
        snapshot::take(&self.writer, write)
    }

    /// Puts everything on disk, marks the log as complete and lets go of the directory. A
    /// snapshot that is under way is given up. Closing again does nothing.
    ///
    /// # Errors
    ///
    /// `Storage` if the disk failed, now or at any time before.
    pub(crate) fn close(&self) -> Result<()> {
        if std::process::id() != self.pid {
            return Ok(());
        }
        self.writer.refuse();
        let _no_snapshot = lock(&self.snapshotting);
        let Some(held) = lock(&self.lock).take() else { return Ok(()) };
        let result = self.writer.finish();
        self.writer.quit();
        if let Some(keeper) = lock(&self.keeper).take() {
            // A callback that drops the last handle runs on the keeper, which cannot await its
            // own end; it ends when the callback has returned.
            if keeper.thread().id() != std::thread::current().id() {
                keeper.join().expect("the keeper catches the panics of its callbacks");
            }
        }
        drop(held);
        result
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Nobody is left to tell, and every step that was acknowledged is safe already.
        let _ = self.close();
        if std::process::id() != self.pid {
            // The keeper's thread was not copied into this forked child: there is none to detach.
            std::mem::forget(std::mem::take(&mut self.keeper));
        }
    }
}
