//! The lock on the directory: one process at a time opens it.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;

use super::files::storage;
use crate::error::{Error, ErrorKind, Result};

/// The file in the directory that is locked beside it.
pub(super) const NAME: &str = "lock";

/// The operating system's exclusive lock on the directory, and on a file in it for systems that
/// lock no directories. Both end with the process, however that ends, so a crash leaves nothing to
/// clean up. Removing the file does not unlock the directory.
pub(super) struct DirectoryLock {
    held: Vec<Arc<File>>,
    pid: u32,
}

impl DirectoryLock {
    /// A lock on nothing yet.
    pub(super) fn new() -> Self {
        Self { held: Vec::new(), pid: std::process::id() }
    }

    /// Locks the open directory, where the system can.
    #[cfg(unix)]
    pub(super) fn take_directory(&mut self, dir: &Path, handle: &Arc<File>) -> Result<()> {
        match handle.try_lock() {
            Ok(()) => self.held.push(handle.clone()),
            Err(TryLockError::WouldBlock) => return Err(held(dir, handle)),
            // NFS locks files alone.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(())
    }

    /// Locks the file in the directory.
    pub(super) fn take_file(&mut self, dir: &Path, file: File) -> Result<()> {
        match file.try_lock() {
            Ok(()) => self.held.push(Arc::new(file)),
            Err(TryLockError::WouldBlock) => return Err(held(dir, &file)),
            Err(TryLockError::Error(error)) => return Err(storage("lock", &dir.join(NAME))(error)),
        }
        Ok(())
    }
}

impl Drop for DirectoryLock {
    /// Unlocks also the copies that forked children hold, if only until they exec: closing the
    /// files alone would leave the directory locked for as long. A child closes its copies and must
    /// not unlock what its parent holds.
    fn drop(&mut self) {
        if std::process::id() == self.pid {
            for file in &self.held {
                // Closing the file, which follows, does it where this fails.
                let _ = file.unlock();
            }
        }
    }
}

fn held(dir: &Path, locked: &File) -> Error {
    let holder = match holder(locked) {
        Some(pid) if pid == std::process::id() => format!("this process ({pid}) already"),
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    Error::new(
        ErrorKind::Locked,
        format!(
            "{} is held by {holder}; one process at a time opens a file: directory. Use redis: to \
             share queues between processes, or a directory for each",
            dir.display(),
        ),
    )
}

/// Who holds the lock on this file, as far as the system tells. An id that a holder left in a file
/// would outlive it.
fn holder(locked: &File) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        let locked = locked.metadata().ok()?;
        let (major, minor) = (rustix::fs::major(locked.dev()), rustix::fs::minor(locked.dev()));
        let place = format!("{major:02x}:{minor:02x}:{}", locked.ino());
        // The kernel gives its list page by page, and one page in a hundred lacks a lock while
        // other processes lock and unlock (measured).
        (0..LISTINGS).find_map(|_| listed_holder(&place))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
const LISTINGS: usize = 8;

#[cfg(target_os = "linux")]
fn listed_holder(place: &str) -> Option<u32> {
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_flock = words.next() == Some("FLOCK");
        let (pid, at) = (words.nth(2)?, words.next()?);
        (is_flock && at == place).then(|| pid.parse().ok())?
    })
}
