//! A file descriptor by which any thread wakes an event loop, without the interpreter's lock.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Readable from a [`wake`](Self::wake) until the next [`clear`](Self::clear).
pub(crate) struct Wakeup {
    reader: Arc<File>,
    /// The same as the reader, where one descriptor is both.
    writer: Arc<File>,
}

impl Wakeup {
    /// An eventfd, which is cheaper than a pair of sockets.
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> io::Result<Self> {
        use std::os::fd::FromRawFd;
        // SAFETY: the call has no preconditions.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, so nobody else owns it.
        let both = Arc::new(File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
        Ok(Self { reader: both.clone(), writer: both })
    }

    /// A pair of sockets where there is no eventfd.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = std::os::unix::net::UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        let file = |socket| Arc::new(File::from(OwnedFd::from(socket)));
        Ok(Self { reader: file(reader), writer: file(writer) })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    pub(crate) fn wake(&self) {
        // It fails only when it is full, and then the loop is awake anyway.
        let _ = (&*self.writer).write(&1_u64.to_ne_bytes());
    }

    pub(crate) fn clear(&self) {
        // It fails only when there is nothing to clear.
        let _ = (&*self.reader).read(&mut [0; 64]);
    }
}
