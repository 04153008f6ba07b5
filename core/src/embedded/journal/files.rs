//! The directory of a journal: its files' names and rights, how they are made, synced and removed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::head::Head;
use crate::error::{Error, ErrorKind, Result};

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

#[cfg(unix)]
pub(super) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
pub(super) fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Opens a file of the directory. A user who can write there could put a link or a pipe in its
/// place, to have another file overwritten or this process wait for ever.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed()).mode(FILE_MODE);
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
