#![doc = include_str!("README.md")]

mod directory;
mod directory_lock;
mod files;
mod frame;
mod head;
mod recovery;
mod segment;
mod snapshot;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

pub(crate) use recovery::Source;
pub(crate) use snapshot::SnapshotWriter;
pub(crate) use writer::Ticket;

use crate::error::Result;
use crate::options::SyncMode;
use crate::recovery::Recovery;
use crate::runtime::sync::lock;
use directory::{Directory, Place};
use recovery::Recovered;
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
    options: Options,
    place: Place,
    /// `None` once it is closed. Held while a snapshot is taken.
    // Lock order: this before the flusher, and both before the writer's state.
    directory: Mutex<Option<Directory>>,
    flusher: Mutex<Option<JoinHandle<()>>>,
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
        files::create_dir(dir.as_ref())?;
        let directory = Directory::lock(dir.as_ref())?;
        let mut found = recovery::recover(&directory, &options, replay)?;
        found.recovery.warnings.extend(directory.rights_warning()?);
        let (journal, recovery) = Self::go_on(&directory, options, found)?;
        *lock(&journal.directory) = Some(directory);
        Ok((journal, recovery))
    }

    /// The journal that goes on where recovery ended, without its directory.
    fn go_on(
        directory: &Directory,
        options: Options,
        found: Recovered,
    ) -> Result<(Self, Recovery)> {
        for name in &found.superseded {
            directory.remove(name)?;
        }
        let Recovered { recovery, segment, next, .. } = found;
        let journal = Self {
            writer: Arc::new(Writer::new(options, segment, next, &recovery)),
            options,
            place: directory.place().clone(),
            directory: Mutex::new(None),
            flusher: Mutex::new(None),
            pid: std::process::id(),
        };
        if matches!(options.sync, SyncMode::Every(_)) {
            journal.start_flusher()?;
        }
        Ok((journal, recovery))
    }

    /// A journal that goes on where the disk had no room for a write, if there is room now. It replays
    /// what was acknowledged; this one is closed then, and everything else that it was given is lost.
    ///
    /// # Errors
    ///
    /// `Storage` if there is no room yet, or if the journal was stopped for another reason; `Closed`;
    /// and as [`open`](Self::open). This one is then as it was.
    pub(crate) fn resume(
        &self,
        replay: &mut dyn FnMut(Source, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut directory = lock(&self.directory);
        let held = directory.as_ref().ok_or_else(writer::closed)?;
        held.check_place()?;
        self.writer.try_room()?;
        // What a repair would cut off is no unfinished write here.
        let options = Options { repair: false, ..self.options };
        let found = recovery::recover(held, &options, replay)?;
        let (journal, _) = Self::go_on(held, self.options, found)?;
        *lock(&journal.directory) = directory.take();
        self.writer.release();
        // Not joined: a callback on the flusher thread may be a step that waits for the end of this.
        self.writer.quit();
        drop(lock(&self.flusher).take());
        Ok(journal)
    }

    /// Whether the directory is still at the path where it was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.place.is_held() == Some(true)
    }

    /// Adds a record, whole or not at all, behind all earlier ones. Nothing but a copy into
    /// memory happens here; the record is written once somebody waits for it or for a later one.
    pub(crate) fn append(&self, record: &[u8]) -> Ticket {
        self.writer.append(record)
    }

    /// The last record so far: a wait for it is a wait for everything that was appended.
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

    /// Like [`wait`](Self::wait) without blocking: calls `done` from the flusher thread, or at
    /// once from this one if the result is known. It must be short, as others wait behind it.
    pub(crate) fn when_durable(&self, ticket: Ticket, done: Box<dyn FnOnce(Result<()>) + Send>) {
        match self.start_flusher() {
            Ok(()) => self.writer.wait_later(ticket, done),
            // A process that may not start threads gets its result late rather than never.
            Err(_) => done(self.writer.wait(ticket)),
        }
    }

    /// Starts the flusher thread unless it runs.
    fn start_flusher(&self) -> Result<()> {
        let mut flusher = lock(&self.flusher);
        if flusher.is_none() && !self.writer.has_quit() {
            let started = writer::spawn_flusher(&self.writer);
            *flusher =
                Some(started.map_err(files::storage("start a thread for", self.place.path()))?);
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
        let directory = lock(&self.directory);
        // Closing refuses first, so its error is the one of the close.
        self.writer.check_open()?;
        snapshot::take(&self.writer, directory.as_ref().ok_or_else(writer::closed)?, write)
    }

    /// Puts everything on disk, marks the log as complete, and closes the log and the directory, which
    /// releases the lock. A snapshot that is under way is given up. Closing again does nothing.
    ///
    /// # Errors
    ///
    /// `Storage` if the disk failed, now or at any time before.
    pub(crate) fn close(&self) -> Result<()> {
        if std::process::id() != self.pid {
            return Ok(());
        }
        self.writer.refuse();
        // Until the end: whoever closes it too may open the directory next.
        let mut directory = lock(&self.directory);
        if directory.is_none() {
            return Ok(());
        }
        let result = self.writer.finish();
        self.writer.quit();
        if let Some(flusher) = lock(&self.flusher).take() {
            // A callback that drops the last handle runs on the flusher thread, which cannot join
            // itself; it ends when the callback has returned.
            if flusher.thread().id() != std::thread::current().id() {
                flusher.join().expect("the flusher thread catches the panics of its callbacks");
            }
        }
        self.writer.release();
        *directory = None;
        result
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Nobody is left to tell, and every step that was acknowledged is safe already.
        let _ = self.close();
        if std::process::id() != self.pid {
            // The flusher thread was not copied into this forked child: there is none to detach.
            std::mem::forget(std::mem::take(&mut self.flusher));
        }
    }
}
