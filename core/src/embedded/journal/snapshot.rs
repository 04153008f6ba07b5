//! Snapshots: the live data, in the place of the logs that led to it.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use super::directory::Directory;
use super::files::{Kind, storage};
use super::frame::{BODY_BYTES, FrameBuffer};
use super::head::{HEAD_BYTES, Head};
use super::writer::{Ticket, Writer};
use crate::error::Result;

/// Takes the records of a snapshot.
pub(crate) struct SnapshotWriter<'a> {
    writer: &'a Writer,
    dir: &'a Directory,
    head: Head,
    file: File,
    path: PathBuf,
    frames: FrameBuffer,
    count: u64,
    bytes: u64,
}

impl<'a> SnapshotWriter<'a> {
    fn create(writer: &'a Writer, dir: &'a Directory, number: u64, first: u64) -> Result<Self> {
        let head = Head::new(Kind::Snapshot, number, first);
        let name = Kind::Snapshot.unfinished_name(number);
        let file = dir.create(&name, &head)?;
        let (frames, bytes, path) = (FrameBuffer::default(), HEAD_BYTES, dir.path_of(&name));
        Ok(Self { writer, dir, head, file, path, frames, count: 0, bytes })
    }

    /// Adds a record. It is an error once the journal closes, so that a close need not wait for
    /// a long snapshot.
    pub(crate) fn record(&mut self, record: &[u8]) -> Result<()> {
        self.frames.push(self.count, record);
        self.count += 1;
        if self.frames.len() < BODY_BYTES {
            return Ok(());
        }
        self.writer.check_open()?;
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = self.frames.seal(self.head.mark, 0);
        self.file.write_all(bytes).map_err(storage("write", &self.path))?;
        self.bytes += bytes.len() as u64;
        self.frames.reset();
        Ok(())
    }

    /// Makes it the snapshot that recovery reads; gives its size.
    fn finish(mut self) -> Result<u64> {
        // The queues were copied while steps went on, so the snapshot may hold effects of records
        // that came after it began. They have to be on disk before it counts: a step on two
        // queues, one copied before it and one after, would else come back by half.
        let reach = self.writer.next();
        // The sequences begin with 1, so there is one before the next.
        self.writer.sync(Ticket(reach - 1))?;
        // A step that was refused has changed its queue nevertheless: a copy may hold that.
        self.writer.check_open()?;
        self.frames.push_marker(self.count, &reach.to_le_bytes());
        self.flush()?;
        self.file.sync_all().map_err(storage("sync", &self.path))?;
        let number = self.head.number;
        self.dir.rename(&Kind::Snapshot.unfinished_name(number), &Kind::Snapshot.name(number))?;
        self.dir.sync()?;
        Ok(self.bytes)
    }
}

/// Begins a new log, writes a snapshot beside it and removes what both supersede.
pub(super) fn take(
    writer: &Writer,
    dir: &Directory,
    write: &mut dyn FnMut(&mut SnapshotWriter<'_>) -> Result<()>,
) -> Result<()> {
    let (number, first) = writer.rotate(dir).inspect_err(|_| writer.snapshot_failed())?;
    match write_file(writer, dir, number, first, write) {
        Ok(bytes) => writer.snapshot_done(bytes),
        Err(error) => {
            writer.snapshot_failed();
            // Opening removes it where this fails.
            let _ = dir.remove(&Kind::Snapshot.unfinished_name(number));
            return Err(error);
        }
    }
    let listing = dir.list()?;
    for (kind, numbers) in [(Kind::Log, listing.logs), (Kind::Snapshot, listing.snapshots)] {
        for old in numbers.into_iter().filter(|&old| old < number) {
            dir.remove(&kind.name(old))?;
        }
    }
    Ok(())
}

fn write_file(
    writer: &Writer,
    dir: &Directory,
    number: u64,
    first: u64,
    write: &mut dyn FnMut(&mut SnapshotWriter<'_>) -> Result<()>,
) -> Result<u64> {
    let mut snapshot = SnapshotWriter::create(writer, dir, number, first)?;
    write(&mut snapshot)?;
    snapshot.finish()
}
