//! The log file that is being written.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::{Access, Directory};
use super::files::{Kind, storage, write_at};
use super::frame::{FrameBuffer, Mark};
use super::head::{FRAMES_AT, Head, STATE_AT, State, Status};
use crate::error::{Error, Result};

/// The log grows in steps of this many bytes ahead of what is written, because an `fdatasync`
/// that finds the file's size unchanged has no metadata to commit: on ext4 that took a commit of
/// 110 bytes from 157 to 101 us.
const GROW_BYTES: u64 = 1 << 20;

/// With [`SyncMode::Always`](super::SyncMode::Always) the state follows what is on disk at this
/// distance at most: it is one more page for an `fdatasync` to write.
const STATE_STEP_BYTES: u64 = 256 << 10;

/// Whether there is room is tried with this many bytes at most: a large write that does not fit must
/// not keep small ones out.
const TRIAL_BYTES_MAX: u64 = 64 << 10;

/// The details of the error of a write for which there was no room, after the log was cut back to the
/// end that it had before: it is sound, and may go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoRoom {
    /// Bytes that were to be written.
    pub(super) bytes: u64,
}

/// The log file that is being written. A clone shares the file.
#[derive(Clone)]
pub(super) struct Segment {
    pub(super) file: Arc<File>,
    path: Arc<Path>,
    pub(super) number: u64,
    mark: Mark,
    /// Where the next frame goes.
    pub(super) end: u64,
    /// How many bytes are known to be on disk.
    pub(super) durable: u64,
    /// The file's length, which may be ahead of `end` by zeros.
    length: u64,
    /// The file is known to have this length on disk.
    kept: u64,
    /// What the file says of itself.
    state: State,
    /// Whether the file grows ahead of what is written.
    ahead: bool,
}

impl Segment {
    /// A new, empty log, on disk under its name when this returns.
    pub(super) fn create(dir: &Directory, number: u64, first: u64, ahead: bool) -> Result<Self> {
        let segment = Self::prepare(dir, number, first, ahead)?;
        dir.sync()?;
        Ok(segment)
    }

    /// A new, empty log, on disk and with its name, which is not on disk yet. The name is given last,
    /// so that a log without a whole head is damage and never a crash. If this fails, there is no log
    /// of this name.
    pub(super) fn prepare(dir: &Directory, number: u64, first: u64, ahead: bool) -> Result<Self> {
        Self::prepare_unfinished(dir, number, first, ahead).inspect_err(|_| {
            // The next attempt replaces it where this fails.
            let _ = dir.remove(&Kind::Log.unfinished_name(number));
        })
    }

    fn prepare_unfinished(dir: &Directory, number: u64, first: u64, ahead: bool) -> Result<Self> {
        let head = Head::new(Kind::Log, number, first);
        let (unfinished, name) = (Kind::Log.unfinished_name(number), Kind::Log.name(number));
        let file = dir.create(&unfinished, &head)?;
        let mut segment = Self::new(file, dir.path_of(&unfinished), &head, FRAMES_AT, ahead);
        segment.set_length(FRAMES_AT)?;
        // Nobody sees the file before all of it is on disk.
        segment.kept = segment.length;
        segment.write_state(Status::Open)?;
        segment.file.sync_all().map_err(storage("sync", &segment.path))?;
        dir.rename(&unfinished, &name)?;
        segment.path = dir.path_of(&name).into();
        Ok(segment)
    }

    /// The log that recovery read up to `end`, for going on there. What lies behind is cut off
    /// and the rest put on disk: it is about to be shown to callers, and a log that lost it
    /// afterwards would take back what they saw.
    pub(super) fn reopen(dir: &Directory, head: &Head, end: u64, ahead: bool) -> Result<Self> {
        let name = Kind::Log.name(head.number);
        let file = dir.open(&name, Access::Write)?;
        let mut segment = Self::new(file, dir.path_of(&name), head, end, ahead);
        segment.cut()?;
        Ok(segment)
    }

    /// Cuts off what lies behind the end, and puts the rest on disk.
    fn cut(&mut self) -> Result<()> {
        // The old state may say more than holds once the file was cut.
        self.durable = FRAMES_AT;
        self.kept = FRAMES_AT;
        self.write_state(Status::Open)?;
        self.file.sync_all().map_err(storage("sync", &self.path))?;
        self.file.set_len(self.end).map_err(storage("truncate", &self.path))?;
        self.set_length(self.end)?;
        self.file.sync_all().map_err(storage("sync", &self.path))?;
        self.durable = self.end;
        self.kept = self.length;
        self.write_state(Status::Open)
    }

    fn new(file: File, path: PathBuf, head: &Head, end: u64, ahead: bool) -> Self {
        Self {
            file: Arc::new(file),
            path: path.into(),
            number: head.number,
            mark: head.mark,
            end,
            durable: end,
            length: end,
            kept: end,
            state: State::NONE,
            ahead,
        }
    }

    /// Writes the frames with one `write(2)` and, if asked, puts them on disk.
    ///
    /// # Errors
    ///
    /// `Storage`; with [`NoRoom`] as its details if the log was cut back to where it ended.
    pub(super) fn append(&mut self, frames: &mut FrameBuffer, sync: bool) -> Result<()> {
        if !frames.is_empty() {
            let (end, bytes) = (self.end, frames.len() as u64);
            if self.ahead && end + bytes > self.kept {
                // Larger than the space that is there.
                self.set_length(end + bytes).map_err(|error| self.cut_back(end, bytes, error))?;
                self.sync()?;
            }
            self.write(frames).map_err(|error| self.cut_back(end, bytes, error))?;
        }
        if sync { self.sync() } else { Ok(()) }
    }

    /// Handles the error of a write. If there was no room, the log is cut back to its end before it;
    /// a failed sync is none of these errors, as nobody knows what it left on disk.
    fn cut_back(&mut self, end: u64, bytes: u64, error: Error) -> Error {
        if !is_no_room(&error) {
            return error;
        }
        self.end = end;
        match self.cut() {
            Ok(()) => error.with_details(NoRoom { bytes }),
            Err(cut) => {
                let message = format!("{}; and then: {}", error.message(), cut.message());
                Error::new(error.kind(), message).with_source(error)
            }
        }
    }

    /// Finds out whether there is room for a write of this size, and leaves the log as it was.
    pub(super) fn try_room(&mut self, bytes: u64) -> Result<()> {
        let bytes = bytes.min(TRIAL_BYTES_MAX);
        let zeros = vec![0; bytes as usize];
        let written = write_at(&self.file, &zeros, self.end).map_err(storage("write", &self.path));
        let grown = written.and_then(|()| match self.ahead {
            true => self.set_length(self.end + bytes + GROW_BYTES / 2),
            false => Ok(()),
        });
        self.cut()?;
        grown
    }

    fn write(&mut self, frames: &mut FrameBuffer) -> Result<()> {
        let bytes = frames.len() as u64;
        // A state that says how long the file is goes to disk with the first frame that may
        // lie beyond what the last one said, so that no cut of the file goes unnoticed.
        let step = if self.ahead { STATE_STEP_BYTES } else { 1 };
        if self.kept > self.state.length || self.durable >= self.state.durable + step {
            self.write_state(Status::Open)?;
        }
        write_at(&self.file, frames.seal(self.mark, self.durable), self.end)
            .map_err(storage("write", &self.path))?;
        self.end += bytes;
        self.length = self.length.max(self.end);
        // The sync of these frames takes the length of the next along.
        let room = bytes.max(GROW_BYTES / 2);
        if self.ahead && self.end + room > self.length {
            self.set_length(self.end + room)?;
        }
        Ok(())
    }

    /// Makes the file this long at least, in large steps if it grows ahead.
    fn set_length(&mut self, bytes: u64) -> Result<()> {
        let length = if self.ahead { bytes.next_multiple_of(GROW_BYTES) } else { bytes };
        self.file.set_len(length).map_err(storage("grow", &self.path))?;
        self.length = length;
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        let synced = match self.ahead && self.length > self.kept {
            // The length behind the data is metadata that an `fdatasync` may leave out.
            true => self.file.sync_all(),
            false => self.file.sync_data(),
        };
        synced.map_err(storage("sync", &self.path))?;
        self.durable = self.end;
        self.kept = self.length;
        Ok(())
    }

    /// Handles a sync of an earlier copy of this segment.
    pub(super) fn synced(&mut self, earlier: &Self) {
        if self.number == earlier.number {
            self.durable = self.durable.max(earlier.durable);
            self.kept = self.kept.max(earlier.kept);
        }
    }

    /// Says in the file that it ends here, and cuts off the space that was grown ahead. All that
    /// was appended has to be on disk.
    pub(super) fn finish(&mut self, status: Status) -> Result<()> {
        self.kept = self.end;
        self.write_state(status)?;
        self.file.sync_data().map_err(storage("sync", &self.path))?;
        // After the sync, as the state before it claims the whole length. If this is lost, there
        // are zeros behind the end, which harm nobody.
        self.file.set_len(self.end).map_err(storage("truncate", &self.path))?;
        self.length = self.end;
        Ok(())
    }

    fn write_state(&mut self, status: Status) -> Result<()> {
        self.state = State { durable: self.durable, length: self.kept, status };
        write_at(&self.file, &self.state.encode(self.mark), STATE_AT)
            .map_err(storage("write", &self.path))
    }
}

/// Whether the disk, a quota or a limit of the process has no room for a write.
pub(super) fn is_no_room(error: &Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    source.is_some_and(|source: &io::Error| {
        matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
    })
}

/// Cuts a log of version 1 off where recovery ended, and puts it on disk: it is not appended to,
/// and another log follows.
pub(super) fn trim(dir: &Directory, number: u64, end: u64) -> Result<()> {
    let (name, path) = (Kind::Log.name(number), dir.path_of(&Kind::Log.name(number)));
    let file = dir.open(&name, Access::Write)?;
    file.set_len(end).map_err(storage("truncate", &path))?;
    file.sync_all().map_err(storage("sync", &path))
}
