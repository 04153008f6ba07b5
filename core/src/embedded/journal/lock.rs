//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::segment::storage;
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "lock";

/// The operating system's exclusive lock on the directory's lock file. It ends with the process,
/// however that ends, so a crash leaves nothing to clean up.
pub(super) struct Lock {
    file: File,
    pid: u32,
}

impl Lock {
    pub(super) fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            // The process id of the holder must stay until the lock is ours.
            .truncate(false)
            .open(&path)
            .map_err(storage("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(dir, &mut file)),
            Err(TryLockError::Error(error)) => return Err(storage("lock", &path)(error)),
        }
        file.set_len(0).map_err(storage("truncate", &path))?;
        file.rewind().map_err(storage("seek in", &path))?;
        writeln!(file, "{}", std::process::id()).map_err(storage("write", &path))?;
        Ok(Self { file, pid: std::process::id() })
    }
}

impl Drop for Lock {
    /// Lets go also of the copies that forked children hold, if only until they exec: closing the
    /// file alone would leave the directory locked for as long. A child closes its copy and must
    /// not unlock what its parent holds.
    fn drop(&mut self) {
        if std::process::id() == self.pid {
            // Closing the file, which follows, does it where this fails.
            let _ = self.file.unlock();
        }
    }
}

fn held(dir: &Path, file: &mut File) -> Error {
    let mut text = String::new();
    // The id is a help for people: where it cannot be read, the answer stays the same.
    let _ = file.take(32).read_to_string(&mut text);
    let holder = match text.trim().parse::<u32>() {
        Ok(pid) if pid == std::process::id() => format!("this process ({pid}) already"),
        Ok(pid) => format!("process {pid}"),
        Err(_) => "another process".to_owned(),
    };
    Error::new(ErrorKind::Locked, format!("{} is held by {holder}", dir.display()))
}
