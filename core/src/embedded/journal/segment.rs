//! The journal's files: names, heads, and how they come to be.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::{Batch, Mark, u32_at, u64_at};
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

/// The log grows in steps of this many bytes ahead of what is written, because an `fdatasync`
/// that finds the file's size unchanged has no metadata to commit: on ext4 that took a commit of
/// 110 bytes from 157 to 101 us.
const GROW_BYTES: u64 = 1 << 20;

/// With [`SyncMode::Always`](super::SyncMode::Always) the state follows what is on disk at this
/// distance at most: it is one more page for an `fdatasync` to write.
const STATE_STEP_BYTES: u64 = 256 << 10;

/// The rights on what is created: the owner's alone.
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
#[cfg(unix)]
const DIRECTORY_MODE: u32 = 0o700;

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
        // more is needed, as the mark only has to be unknown to whoever wrote the payloads.
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

    fn encode(&self) -> [u8; HEAD_BYTES as usize] {
        let mut bytes = [0; HEAD_BYTES as usize];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
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
        if !(1..=VERSION).contains(&version) {
            return Err(Error::new(
                ErrorKind::IncompatibleVersion,
                format!("{}: format {version}; this version knows 1 to {VERSION}", path.display()),
            ));
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
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(super) fn decode(mark: Mark, bytes: &[u8]) -> Option<Self> {
        if bytes[0..8] != mark || u32_at(bytes, 28) != crc32c::crc32c(&bytes[..28]) {
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
        let mut bytes = [0; (FRAMES_AT - HEAD_BYTES) as usize];
        match input.read_exact(&mut bytes) {
            Ok(()) => Ok(Self::decode(head.mark, &bytes[(STATE_AT - HEAD_BYTES) as usize..])),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(corrupt(path, 0, "the file ends within its head"))
            }
            Err(error) => Err(storage("read", path)(error)),
        }
    }
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
    /// So many bytes are known to be on disk.
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
    /// A new, empty log, on disk under its name when this returns. The name is given last, so
    /// that a log without a whole head is damage and never a crash.
    pub(super) fn create(dir: &Path, number: u64, first: u64, ahead: bool) -> Result<Self> {
        let head = Head::new(Kind::Log, number, first);
        let unfinished = Kind::Log.unfinished_path(dir, number);
        let path = Kind::Log.path(dir, number);
        let file = create(&unfinished, &head)?;
        let mut segment = Self::new(file, unfinished.clone(), &head, FRAMES_AT, ahead);
        segment.set_length(FRAMES_AT)?;
        // Nobody sees the file before all of it is on disk.
        segment.kept = segment.length;
        segment.write_state(Status::Open)?;
        segment.file.sync_all().map_err(storage("sync", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(storage("rename", &unfinished))?;
        sync_dir(dir)?;
        segment.path = path.into();
        Ok(segment)
    }

    /// The log that recovery read up to `end`, for going on there. What lies behind is cut off
    /// and the rest put on disk: it is about to be shown to callers, and a log that lost it
    /// afterwards would take back what they saw.
    pub(super) fn reopen(dir: &Path, head: &Head, end: u64, ahead: bool) -> Result<Self> {
        let path = Kind::Log.path(dir, head.number);
        let file = open(&path, OpenOptions::new().read(true).write(true))?;
        let mut segment = Self::new(file, path, head, end, ahead);
        // The old state may say more than holds once the file was cut.
        segment.durable = FRAMES_AT;
        segment.kept = FRAMES_AT;
        segment.write_state(Status::Open)?;
        segment.file.sync_all().map_err(storage("sync", &segment.path))?;
        segment.file.set_len(end).map_err(storage("truncate", &segment.path))?;
        segment.set_length(end)?;
        segment.file.sync_all().map_err(storage("sync", &segment.path))?;
        segment.durable = end;
        segment.kept = segment.length;
        segment.write_state(Status::Open)?;
        Ok(segment)
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

    /// Writes a batch with one `write(2)` and, if asked, puts it on disk.
    pub(super) fn append(&mut self, batch: &mut Batch, sync: bool) -> Result<()> {
        if !batch.is_empty() {
            let bytes = batch.len() as u64;
            if self.ahead && self.end + bytes > self.kept {
                // Larger than the space that is there.
                self.set_length(self.end + bytes)?;
                self.sync()?;
            }
            // A state that says how long the file is goes to disk with the first frame that may
            // lie beyond what the last one said, so that no cut of the file goes unnoticed.
            let step = if self.ahead { STATE_STEP_BYTES } else { 1 };
            if self.kept > self.state.length || self.durable >= self.state.durable + step {
                self.write_state(Status::Open)?;
            }
            write_at(&self.file, batch.seal(self.mark, self.durable), self.end)
                .map_err(storage("write", &self.path))?;
            self.end += bytes;
            self.length = self.length.max(self.end);
            // The sync of this batch takes the length of the next along.
            let room = bytes.max(GROW_BYTES / 2);
            if self.ahead && self.end + room > self.length {
                self.set_length(self.end + room)?;
            }
        }
        if sync { self.sync() } else { Ok(()) }
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

/// Cuts a log of version 1 off where recovery ended, and puts it on disk: it is not appended to,
/// and another log follows.
pub(super) fn trim(dir: &Path, number: u64, end: u64) -> Result<()> {
    let path = Kind::Log.path(dir, number);
    let file = open(&path, OpenOptions::new().write(true))?;
    file.set_len(end).map_err(storage("truncate", &path))?;
    file.sync_all().map_err(storage("sync", &path))
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Opens a file of the directory. Whoever can write there could put a link or a pipe in its place,
/// to have another file overwritten or this process wait for ever.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).mode(FILE_MODE);
    }
    let refused =
        |what: &str| Error::new(ErrorKind::Storage, format!("{} is {what}", path.display()));
    let file = options.open(path).map_err(|error| {
        match fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
            true => refused("a symbolic link, which is not followed").with_source(error),
            false => storage("open", path)(error),
        }
    })?;
    match file.metadata().map_err(storage("open", path))?.is_file() {
        true => Ok(file),
        false => Err(refused("no regular file")),
    }
}

/// Creates a file, in the place of a leftover of the same name, and writes its head.
pub(super) fn create(path: &Path, head: &Head) -> Result<File> {
    remove(path)?;
    let mut file = open(path, OpenOptions::new().read(true).write(true).create_new(true))?;
    file.write_all(&head.encode()).map_err(storage("write", path))?;
    Ok(file)
}

/// Creates the directory, and puts the names that lead to it on disk.
pub(super) fn create_dir(dir: &Path) -> Result<()> {
    let missing: Vec<_> = dir.ancestors().take_while(|dir| is_missing(dir)).collect();
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY_MODE);
    builder.recursive(true).create(dir).map_err(storage("create", dir))?;
    for made in missing {
        match made.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new("."))?,
            Some(parent) => sync_dir(parent)?,
            None => {}
        }
    }
    Ok(())
}

/// What is wrong with the rights on the directory, if something is.
pub(super) fn rights_warning(dir: &Path) -> Result<Option<String>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir).map_err(storage("open", dir))?.permissions().mode() & 0o7777;
        if mode & !DIRECTORY_MODE & 0o777 != 0 {
            let shown = dir.display();
            return Ok(Some(format!(
                "other users can enter {shown} (mode {mode:04o}): `chmod 700 {shown}` keeps the \
                 queues to their owner"
            )));
        }
    }
    Ok(None)
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
