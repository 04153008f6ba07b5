//! The journal's files: names, heads, and how they come to be.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::{Batch, Mark, u32_at, u64_at};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a file before its first frame.
pub(super) const HEAD_BYTES: u64 = 44;

/// The version of the format that this code writes and reads. The head keeps its layout in every
/// version, so that a file of another version is told from a damaged one.
pub(super) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"MILLPOND";

/// The log grows in steps of this many bytes ahead of what is written, because an `fdatasync`
/// that finds the file's size unchanged has no metadata to commit: on ext4 that took a commit of
/// 110 bytes from 157 to 101 us.
const GROW_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Log = 1,
    Snapshot = 2,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Kind::Log => "log",
            Kind::Snapshot => "snapshot",
        }
    }

    pub(super) fn path(self, dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{number:020}.{}", self.suffix()))
    }

    /// Where a file is made before it gets its name.
    pub(super) fn unfinished_path(self, dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{number:020}.{}.tmp", self.suffix()))
    }
}

/// What the directory holds, each in rising order. Names that are not the journal's are let be.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) logs: Vec<u64>,
    pub(super) snapshots: Vec<u64>,
    pub(super) unfinished: Vec<PathBuf>,
}

impl Listing {
    pub(super) fn of(dir: &Path) -> Result<Self> {
        let mut listing = Self::default();
        for entry in fs::read_dir(dir).map_err(storage("list", dir))? {
            let name = entry.map_err(storage("list", dir))?.file_name();
            let Some((stem, suffix)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            if stem.len() != 20 || !stem.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let Ok(number) = stem.parse() else { continue };
            match suffix {
                "log" => listing.logs.push(number),
                "snapshot" => listing.snapshots.push(number),
                "log.tmp" | "snapshot.tmp" => listing.unfinished.push(dir.join(&name)),
                _ => {}
            }
        }
        listing.logs.sort_unstable();
        listing.snapshots.sort_unstable();
        Ok(listing)
    }
}

/// The head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) number: u64,
    /// The first sequence of this log, or of the log with this snapshot's number.
    pub(super) first: u64,
    pub(super) mark: Mark,
}

impl Head {
    pub(super) fn new(kind: Kind, number: u64, first: u64) -> Self {
        // Two maps never get the same keys from the standard library's own random source; no
        // more is needed, as the mark only has to be unknown to whoever wrote the payloads.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(number);
        let mut mark = hasher.finish().to_le_bytes();
        // Zeros, of which a tail may have many, are then never the start of a mark.
        mark[0] |= 1;
        Self { kind, number, first, mark }
    }

    fn encode(&self) -> [u8; HEAD_BYTES as usize] {
        let mut bytes = [0; HEAD_BYTES as usize];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.mark);
        let crc = crc32c::crc32c(&bytes[..40]);
        bytes[40..44].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the head of the file that should be this one.
    pub(super) fn read(
        input: &mut impl Read,
        path: &Path,
        kind: Kind,
        number: u64,
    ) -> Result<Self> {
        let mut bytes = [0; HEAD_BYTES as usize];
        match input.read_exact(&mut bytes) {
            Ok(()) => {}
            // A file gets its name only once its head is on disk.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(corrupt(path, 0, "the file ends within its head"));
            }
            Err(error) => return Err(storage("read", path)(error)),
        }
        if bytes[..8] != MAGIC || u32_at(&bytes, 40) != crc32c::crc32c(&bytes[..40]) {
            return Err(corrupt(path, 0, "the head is damaged"));
        }
        let version = u32_at(&bytes, 8);
        if version != VERSION {
            return Err(Error::new(
                ErrorKind::IncompatibleVersion,
                format!("{}: format {version}; this version knows {VERSION}", path.display()),
            ));
        }
        if u32_at(&bytes, 12) != kind as u32 || u64_at(&bytes, 16) != number {
            return Err(corrupt(path, 0, "the head is that of another file"));
        }
        let mark = bytes[32..40].try_into().expect("a range of eight has eight bytes");
        Ok(Self { kind, number, first: u64_at(&bytes, 24), mark })
    }
}

/// The log file that is being written. A clone shares the file and its position.
#[derive(Clone)]
pub(super) struct Segment {
    pub(super) file: Arc<File>,
    path: Arc<Path>,
    pub(super) number: u64,
    mark: Mark,
    /// Where the next frame goes.
    pub(super) end: u64,
    /// So many bytes are known to be on disk.
    pub(super) durable: u64,
    /// The file's length, which may be ahead of `end` by zeros.
    length: u64,
}

impl Segment {
    /// A new, empty log, on disk under its name when this returns. The name is given last, so
    /// that a log without a whole head is damage and never a crash.
    pub(super) fn create(dir: &Path, number: u64, first: u64) -> Result<Self> {
        let head = Head::new(Kind::Log, number, first);
        let unfinished = Kind::Log.unfinished_path(dir, number);
        let path = Kind::Log.path(dir, number);
        let file = create(&unfinished, &head)?;
        file.sync_all().map_err(storage("sync", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(storage("rename", &unfinished))?;
        sync_dir(dir)?;
        Ok(Self::new(file, path, &head, HEAD_BYTES))
    }

    /// The log that recovery read up to `end`, for going on there. What lies behind is cut off
    /// and the rest put on disk: it is about to be shown to callers, and a log that lost it
    /// afterwards would take back what they saw.
    pub(super) fn reopen(dir: &Path, head: &Head, end: u64) -> Result<Self> {
        use std::io::Seek;
        let path = Kind::Log.path(dir, head.number);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(storage("open", &path))?;
        file.set_len(end).map_err(storage("truncate", &path))?;
        file.sync_all().map_err(storage("sync", &path))?;
        file.seek(io::SeekFrom::Start(end)).map_err(storage("seek in", &path))?;
        Ok(Self::new(file, path, head, end))
    }

    fn new(file: File, path: PathBuf, head: &Head, end: u64) -> Self {
        Self {
            file: Arc::new(file),
            path: path.into(),
            number: head.number,
            mark: head.mark,
            end,
            durable: end,
            length: end,
        }
    }

    /// Writes a batch with one `write(2)` and, if asked, puts it on disk.
    pub(super) fn append(&mut self, batch: &mut Batch, sync: bool) -> Result<()> {
        if !batch.is_empty() {
            let end = self.end + batch.len() as u64;
            if sync && end > self.length {
                self.length = end.next_multiple_of(GROW_BYTES);
                self.file.set_len(self.length).map_err(storage("grow", &self.path))?;
            }
            (&*self.file)
                .write_all(batch.seal(self.mark, self.durable))
                .map_err(storage("write", &self.path))?;
            self.end = end;
            self.length = self.length.max(end);
        }
        if sync { self.sync() } else { Ok(()) }
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(storage("sync", &self.path))?;
        self.durable = self.end;
        Ok(())
    }

    /// Cuts off the space that was grown ahead and puts everything on disk: nothing more will
    /// be written here, or nothing for long.
    pub(super) fn trim(&mut self) -> Result<()> {
        self.file.set_len(self.end).map_err(storage("truncate", &self.path))?;
        self.length = self.end;
        self.sync()
    }
}

/// Creates a file, over a leftover of the same name, and writes its head.
pub(super) fn create(path: &Path, head: &Head) -> Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
        .map_err(storage("create", path))?;
    file.write_all(&head.encode()).map_err(storage("write", path))?;
    Ok(file)
}

/// Creates the directory, and puts the names that lead to it on disk.
pub(super) fn create_dir(dir: &Path) -> Result<()> {
    let missing: Vec<_> = dir.ancestors().take_while(|dir| is_missing(dir)).collect();
    fs::create_dir_all(dir).map_err(storage("create", dir))?;
    for made in missing {
        match made.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new("."))?,
            Some(parent) => sync_dir(parent)?,
            None => {}
        }
    }
    Ok(())
}

fn is_missing(dir: &Path) -> bool {
    !dir.as_os_str().is_empty() && !dir.exists()
}

/// Puts created, renamed and removed names on disk. Only Unix has and needs it.
pub(super) fn sync_dir(dir: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(storage("sync", dir))?;
    }
    Ok(())
}

/// Removes a file that nothing needs any more; one that is gone already is as good.
pub(super) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(storage("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// For `map_err`: the disk refused to do this to that file.
pub(super) fn storage(act: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |error| {
        Error::new(ErrorKind::Storage, format!("cannot {act} {}: {error}", path.display()))
            .with_source(error)
    }
}

pub(super) fn corrupt(path: &Path, offset: u64, what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("{} at byte {offset}: {what}", path.display()))
}
