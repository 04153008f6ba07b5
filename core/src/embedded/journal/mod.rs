//! The journal.

mod frame;
mod lock;
mod recovery;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

pub(crate) use recovery::{Recovery, Source};
pub(crate) use snapshot::SnapshotWriter;
pub(crate) use writer::Ticket;

use crate::error::Result;
use lock::Lock;
use writer::Writer;

/// When an acknowledged step is safe from a loss of power. A crash of the process alone loses
/// nothing that was acknowledged, in any mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// A step is acknowledged once it is on disk. Steps that wait together share one `fsync`.
    #[default]
    Always,
    /// A loss of power can take the steps of this last while, and those of one `fsync`.
    Every(Duration),
    /// The operating system decides when to write; on Linux it waits up to 30 seconds.
    Never,
}

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
}

impl Default for Options {
    fn default() -> Self {
        Self { sync: SyncMode::default(), log_bytes_min: LOG_BYTES_MIN }
    }
}

/// An ordered, durable list of opaque records, with snapshots in the place of its older part.
pub(crate) struct Journal {
    writer: Arc<Writer>,
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Held while a snapshot is taken.
    // Lock order: this before `lock`, and both before the writer's state.
    snapshotting: Mutex<()>,
    lock: Mutex<Option<Lock>>,
    /// The process that opened it. A forked child must neither write nor unlock on drop.
    pid: u32,
}

impl Journal {
    /// Opens the journal in `dir`, which is created if missing, and replays what it holds.
    ///
    /// # Errors
    ///
    /// `Locked` if it is open already, here or in another process; `Corrupt` if it is damaged
    /// anywhere but in the torn end of an unfinished write; `IncompatibleVersion` if another
    /// version wrote it; `Storage` if the disk fails; and what `replay` returns. The files are as
    /// they were then.
    pub(crate) fn open(
        dir: impl AsRef<Path>,
        options: Options,
        replay: &mut dyn FnMut(Source, &[u8]) -> Result<()>,
    ) -> Result<(Self, Recovery)> {
        let dir = PathBuf::from(dir.as_ref());
        segment::create_dir(&dir)?;
        let lock = Lock::acquire(&dir)?;
        let found = recovery::recover(&dir, replay)?;
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
        let mut keeper = self.keeper.lock();
        if keeper.is_none() && self.lock.lock().is_some() {
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
        let _one_at_a_time = self.snapshotting.lock();
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
        let _no_snapshot = self.snapshotting.lock();
        let Some(lock) = self.lock.lock().take() else { return Ok(()) };
        let result = self.writer.finish();
        self.writer.quit();
        if let Some(keeper) = self.keeper.lock().take() {
            // A callback that drops the last handle runs on the keeper, which cannot await its
            // own end; it ends when the callback has returned.
            if keeper.thread().id() != std::thread::current().id() {
                keeper.join().expect("the keeper catches the panics of its callbacks");
            }
        }
        lock.release();
        result
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Nobody is left to tell, and every step that was acknowledged is safe already.
        let _ = self.close();
        if std::process::id() != self.pid {
            // The keeper's thread was not copied into this forked child: there is none to detach.
            std::mem::forget(self.keeper.get_mut().take());
        }
    }
}
