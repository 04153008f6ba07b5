//! The names and rights of a journal's files and of its directory, and how that is created.

use std::fs::{DirBuilder, File};
use std::io;
#[cfg(not(unix))]
use std::io::Write;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// The rights on a directory that is created: the owner's alone.
#[cfg(unix)]
pub(super) const DIRECTORY_MODE: u32 = 0o700;

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

    pub(super) fn name(self, number: u64) -> String {
        format!("{number:020}.{}", self.suffix())
    }

    /// What a file is called before it gets its name.
    pub(super) fn unfinished_name(self, number: u64) -> String {
        format!("{number:020}.{}.tmp", self.suffix())
    }
}

/// What the directory holds, each in rising order. Names that are not the journal's are let be.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) logs: Vec<u64>,
    pub(super) snapshots: Vec<u64>,
    pub(super) unfinished: Vec<String>,
}

impl Listing {
    pub(super) fn of(names: Vec<String>) -> Self {
        let mut listing = Self::default();
        for name in names {
            let Some((stem, suffix)) = name.split_once('.') else { continue };
            if stem.len() != 20 || !stem.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let Ok(number) = stem.parse() else { continue };
            match suffix {
                "log" => listing.logs.push(number),
                "snapshot" => listing.snapshots.push(number),
                "log.tmp" | "snapshot.tmp" => listing.unfinished.push(name),
                _ => {}
            }
        }
        listing.logs.sort_unstable();
        listing.snapshots.sort_unstable();
        listing
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

fn is_missing(dir: &Path) -> bool {
    !dir.as_os_str().is_empty() && !dir.exists()
}

/// Puts created names on disk. Only Unix has and needs it.
fn sync_dir(dir: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(storage("sync", dir))?;
    }
    Ok(())
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
