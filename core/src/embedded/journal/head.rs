//! What stands in a file before its frames: the head and, in a log, its state.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read};
use std::path::Path;

use super::files::{Kind, corrupt, storage};
use super::frame::{Mark, is_crc_right, put_crc, u32_at, u64_at};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a file's head.
pub(super) const HEAD_BYTES: u64 = 44;

/// The version of the format that this code writes; it reads all from 1 on. The head keeps its
/// layout in every version, so that a file of another version is told from a damaged one.
pub(super) const VERSION: u32 = 2;

/// Where a log has its state: a sector of its own, as a disk writes a sector whole or not at all.
pub(super) const STATE_AT: u64 = 512;

const STATE_BYTES: usize = 32;

/// Where the frames of a log begin since version 2.
pub(super) const FRAMES_AT: u64 = 1024;

const MAGIC: [u8; 8] = *b"MILLPOND";

/// The head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) version: u32,
    pub(super) kind: Kind,
    pub(super) number: u64,
    /// The first sequence of this log, or of the log with this snapshot's number.
    pub(super) first: u64,
    pub(super) mark: Mark,
}

impl Head {
    pub(super) fn new(kind: Kind, number: u64, first: u64) -> Self {
        // Two maps never get the same keys from the standard library's own random source; no
        // more is needed, as the mark only has to be unknown to those who wrote the payloads.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(number);
        let mut mark = hasher.finish().to_le_bytes();
        // Zeros, of which a tail may have many, are then never the start of a mark.
        mark[0] |= 1;
        Self { version: VERSION, kind, number, first, mark }
    }

    /// Where the frames begin.
    pub(super) fn frames_at(&self) -> u64 {
        match (self.kind, self.version) {
            (Kind::Snapshot, _) | (Kind::Log, 1) => HEAD_BYTES,
            (Kind::Log, _) => FRAMES_AT,
        }
    }

    pub(super) fn encode(&self) -> [u8; HEAD_BYTES as usize] {
        let mut bytes = [0; HEAD_BYTES as usize];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.mark);
        put_crc(&mut bytes);
        bytes
    }

    /// Reads the head of the file that should be this one.
    pub(super) fn read(
        input: &mut impl Read,
        path: &Path,
        kind: Kind,
        number: u64,
    ) -> Result<Self> {
        let bytes: [u8; HEAD_BYTES as usize] = read_array(input, path)?;
        if bytes[..8] != MAGIC || !is_crc_right(&bytes) {
            return Err(corrupt(path, 0, "the head is damaged"));
        }
        let version = u32_at(&bytes, 8);
        if !(1..=VERSION).contains(&version) {
            let message =
                format!("{}: format {version}; this version knows 1 to {VERSION}", path.display());
            return Err(Error::new(ErrorKind::IncompatibleVersion, message));
        }
        if u32_at(&bytes, 12) != kind as u32 || u64_at(&bytes, 16) != number {
            return Err(corrupt(path, 0, "the head is that of another file"));
        }
        let mark = bytes[32..40].try_into().expect("a range of eight has eight bytes");
        Ok(Self { version, kind, number, first: u64_at(&bytes, 24), mark })
    }
}

/// How far a log has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It is being written, or was when the process ended.
    Open = 0,
    /// It was closed, and ends where its state says.
    Closed = 1,
    /// It ends there, and the log of the next number is on disk.
    Followed = 2,
}

/// What is known of a log beside its frames. Each of it was on disk before it was written down, so
/// a file that falls short of it has lost something that no crash takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The frames reached to this place at least.
    pub(super) durable: u64,
    /// The file had this length at least.
    pub(super) length: u64,
    pub(super) status: Status,
}

impl State {
    /// Nothing is known.
    pub(super) const NONE: Self = Self { durable: 0, length: 0, status: Status::Open };

    pub(super) fn encode(&self, mark: Mark) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        bytes[0..8].copy_from_slice(&mark);
        bytes[8..16].copy_from_slice(&self.durable.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..28].copy_from_slice(&(self.status as u32).to_le_bytes());
        put_crc(&mut bytes);
        bytes
    }

    pub(super) fn decode(mark: Mark, bytes: &[u8]) -> Option<Self> {
        let bytes = &bytes[..STATE_BYTES];
        if bytes[0..8] != mark || !is_crc_right(bytes) {
            return None;
        }
        let status = match u32_at(bytes, 24) {
            0 => Status::Open,
            1 => Status::Closed,
            2 => Status::Followed,
            _ => return None,
        };
        Some(Self { durable: u64_at(bytes, 8), length: u64_at(bytes, 16), status })
    }

    /// Reads the state of the log with this head, which was just read, and leaves the input where
    /// the frames begin; `None` for one that is damaged.
    pub(super) fn read(input: &mut impl Read, path: &Path, head: &Head) -> Result<Option<Self>> {
        let bytes: [u8; (FRAMES_AT - HEAD_BYTES) as usize] = read_array(input, path)?;
        Ok(Self::decode(head.mark, &bytes[(STATE_AT - HEAD_BYTES) as usize..]))
    }
}

/// Reads bytes before the frames. A file gets its name only once these are on disk, so one that ends
/// here is damaged.
fn read_array<const BYTES: usize>(input: &mut impl Read, path: &Path) -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(corrupt(path, 0, "the file ends within its head"))
        }
        Err(error) => Err(storage("read", path)(error)),
    }
}
