//! The open, locked directory of a journal, and what is done to its files.

use std::fs::File;
#[cfg(not(unix))]
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::Arc;

use super::directory_lock::{self, DirectoryLock};
use super::files::{Listing, storage};
use super::head::Head;
use crate::error::{Error, ErrorKind, Result};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// For writing; it is created if it is missing.
    Create,
    /// For writing; it must not be there yet.
    CreateNew,
}

/// The directory of a journal, which this process alone has locked.
///
/// The lock is on the directory and not on its path, which leads to another one when it was renamed.
/// So all files are opened, renamed and removed relative to the descriptor that is locked; the path
/// is for messages, and for systems that have no such descriptors.
pub(super) struct Directory {
    place: Place,
    #[cfg(unix)]
    handle: Arc<File>,
    lock: DirectoryLock,
}

impl Directory {
    /// Opens and locks a directory that is there.
    pub(super) fn lock(path: &Path) -> Result<Self> {
        #[cfg(unix)]
        let directory = {
            let handle = Arc::new(File::open(path).map_err(storage("open", path))?);
            let place = Place::of(path, &handle)?;
            let mut lock = DirectoryLock::new();
            lock.take_directory(path, &handle)?;
            Self { place, handle, lock }
        };
        #[cfg(not(unix))]
        let directory = Self { place: Place { path: path.to_owned() }, lock: DirectoryLock::new() };
        directory.with_lock_file()
    }

    fn with_lock_file(mut self) -> Result<Self> {
        // Nothing is written to it: the file may be a link to one that somebody needs.
        let file = self.open(directory_lock::NAME, Access::Create)?;
        self.lock.take_file(&self.place.path, file)?;
        Ok(self)
    }

    /// Where it was when it was opened.
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// A file's path, for messages.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// An error if another directory is at the path now. Steps would go on where nobody looks for them.
    pub(super) fn check_place(&self) -> Result<()> {
        match self.place.is_held() {
            Some(false) => Err(Error::new(
                ErrorKind::Storage,
                format!(
                    "another directory is at {} now; what was acknowledged is in the one that was \
                     opened, wherever it was moved to",
                    self.path().display()
                ),
            )),
            // A directory that was moved away is written on where it is.
            Some(true) | None => Ok(()),
        }
    }

    /// Opens a file. A user who can write to the directory could put a link or a pipe in its place, to
    /// have another file overwritten or this process wait for ever.
    pub(super) fn open(&self, name: &str, access: Access) -> Result<File> {
        let path = self.path_of(name);
        let refused =
            |what: &str| Error::new(ErrorKind::Storage, format!("{} is {what}", path.display()));
        let file = self.try_open(name, access).map_err(|error| match self.is_link(name) {
            true => refused("a symbolic link, which is not followed").with_source(error),
            false => storage("open", &path)(error),
        })?;
        match file.metadata().map_err(storage("open", &path))?.is_file() {
            true => Ok(file),
            false => Err(refused("no regular file")),
        }
    }

    /// Creates a file, in the place of a leftover of the same name, and writes its head.
    pub(super) fn create(&self, name: &str, head: &Head) -> Result<File> {
        self.remove(name)?;
        let mut file = self.open(name, Access::CreateNew)?;
        file.write_all(&head.encode()).map_err(storage("write", &self.path_of(name)))?;
        Ok(file)
    }

    /// Removes a file that nothing needs any more; one that is gone already is as good.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        match self.try_remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(storage("remove", &self.path_of(name))(error))
            }
            _ => Ok(()),
        }
    }

    /// Gives a file another name, in the place of what has it.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.try_rename(from, to).map_err(storage("rename", &self.path_of(from)))
    }

    pub(super) fn list(&self) -> Result<Listing> {
        Ok(Listing::of(self.names().map_err(storage("list", self.path()))?))
    }
}

#[cfg(unix)]
impl Directory {
    fn try_open(&self, name: &str, access: Access) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
            Access::Create => OFlags::RDWR | OFlags::CREATE,
            Access::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // What is in a queue is for the owner alone.
        Ok(openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    fn is_link(&self, name: &str) -> bool {
        use rustix::fs::{AtFlags, FileType, statat};
        let found = statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_symlink())
    }

    fn try_remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, rustix::fs::AtFlags::empty())?)
    }

    fn try_rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// The names of all files that are text.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            names.extend(entry?.file_name().to_str().map(str::to_owned));
        }
        Ok(names)
    }

    /// Puts created, renamed and removed names on disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.handle.sync_all().map_err(storage("sync", self.path()))
    }

    /// What is wrong with the rights on the directory, if something is.
    pub(super) fn rights_warning(&self) -> Result<Option<String>> {
        use std::os::unix::fs::PermissionsExt;

        use super::files::DIRECTORY_MODE;
        let found = self.handle.metadata().map_err(storage("open", self.path()))?;
        let mode = found.permissions().mode() & 0o7777;
        let shown = self.path().display();
        Ok((mode & !DIRECTORY_MODE & 0o777 != 0).then(|| {
            format!(
                "other users can enter {shown} (mode {mode:04o}): `chmod 700 {shown}` keeps the \
                 queues to their owner"
            )
        }))
    }
}

#[cfg(not(unix))]
impl Directory {
    fn try_open(&self, name: &str, access: Access) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        match access {
            Access::Read => &mut options,
            Access::Write => options.write(true),
            Access::Create => options.write(true).create(true).truncate(false),
            Access::CreateNew => options.write(true).create_new(true),
        };
        options.open(self.path_of(name))
    }

    fn is_link(&self, name: &str) -> bool {
        fs::symlink_metadata(self.path_of(name)).is_ok_and(|found| found.is_symlink())
    }

    fn try_remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path_of(name))
    }

    fn try_rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path_of(from), self.path_of(to))
    }

    /// The names of all files that are text.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path())? {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    }

    /// Only Unix has names to put on disk, and needs it.
    pub(super) fn sync(&self) -> Result<()> {
        Ok(())
    }

    pub(super) fn rights_warning(&self) -> Result<Option<String>> {
        Ok(None)
    }
}

/// A directory's path, and which one was there when it was opened.
#[derive(Clone, Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// Device and inode. No other directory has them as long as this one is open.
    #[cfg(unix)]
    identity: (u64, u64),
}

impl Place {
    #[cfg(unix)]
    fn of(path: &Path, handle: &File) -> Result<Self> {
        let found = handle.metadata().map_err(storage("open", path))?;
        Ok(Self { path: path.to_owned(), identity: identity(&found) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory is still at its path; `None` if nothing is there, or nothing that can be
    /// looked at.
    pub(super) fn is_held(&self) -> Option<bool> {
        #[cfg(unix)]
        return std::fs::metadata(&self.path).ok().map(|found| identity(&found) == self.identity);
        // A directory with open files is not renamed there.
        #[cfg(not(unix))]
        self.path.exists().then_some(true)
    }
}

#[cfg(unix)]
fn identity(found: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}
