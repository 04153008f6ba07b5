//! Snapshots: the live data, in the place of the logs that led to it.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use super::files::{Kind, Listing, create, remove, storage, sync_dir};
use super::frame::{BODY_BYTES, FrameBuffer};
use super::head::{HEAD_BYTES, Head};
use super::writer::{Ticket, Writer};
use crate::error::Result;

/// Takes the records of a snapshot.
pub(crate) struct SnapshotWriter<'a> {
    writer: &'a Writer,
    head: Head,
    file: File,
    path: PathBuf,
    frames: FrameBuffer,
    count: u64,
    bytes: u64,
}

impl<'a> SnapshotWriter<'a> {
    fn create(writer: &'a Writer, number: u64, first: u64) -> Result<Self> {
        let head = Head::new(Kind::Snapshot, number, first);
        let path = Kind::Snapshot.unfinished_path(&writer.dir, number);
        let file = create(&path, &head)?;
        let (frames, bytes) = (FrameBuffer::default(), HEAD_BYTES);
        Ok(Self { writer, head, file, path, frames, count: 0, bytes })
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
        self.frames.push_marker(self.count, &reach.to_le_bytes());
        self.flush()?;
        self.file.sync_all().map_err(storage("sync", &self.path))?;
        let path = Kind::Snapshot.path(&self.writer.dir, self.head.number);
        fs::rename(&self.path, &path).map_err(storage("rename", &self.path))?;
        sync_dir(&self.writer.dir)?;
        Ok(self.bytes)
    }
}

/// Begins a new log, writes a snapshot beside it and removes what both supersede.
pub(super) fn take(
    writer: &Writer,
    write: &mut dyn FnMut(&mut SnapshotWriter<'_>) -> Result<()>,
) -> Result<()> {
    writer.check_open()?;
    let (number, first) = writer.rotate()?;
    match write_file(writer, number, first, write) {
        Ok(bytes) => writer.snapshot_done(bytes),
        Err(error) => {
            writer.snapshot_failed();
            // Opening removes it where this fails.
            let _ = remove(&Kind::Snapshot.unfinished_path(&writer.dir, number));
            return Err(error);
        }
    }
    let listing = Listing::of(&writer.dir)?;
    for (kind, numbers) in [(Kind::Log, listing.logs), (Kind::Snapshot, listing.snapshots)] {
        for old in numbers.into_iter().filter(|&old| old < number) {
            remove(&kind.path(&writer.dir, old))?;
        }
    }
    Ok(())
}

fn write_file(
    writer: &Writer,
    number: u64,
    first: u64,
    write: &mut dyn FnMut(&mut SnapshotWriter<'_>) -> Result<()>,
) -> Result<u64> {
    let mut snapshot = SnapshotWriter::create(writer, number, first)?;
    write(&mut snapshot)?;
    snapshot.finish()
}
