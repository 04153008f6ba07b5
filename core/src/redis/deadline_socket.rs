//! A blocking socket whose every read and write ends at the call's deadline.
//!
//! The system's time limit of a socket is for one read or write, and a peer that sends a byte now
//! and then begins it anew for ever. So it is checked before each, below TLS, and set again when
//! it no longer is what is left of the call.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use crate::runtime::interrupt;

/// A read may take this much longer than it should, so that a call which has just begun finds the
/// socket's time limit as it needs it: setting it takes two system calls.
const SLACK: Duration = Duration::from_millis(20);

/// A socket over TCP or a Unix socket.
pub(super) struct DeadlineSocket {
    socket: Socket,
    deadline: Instant,
    /// The time limit that the system knows.
    armed: Option<Duration>,
    /// Whether the caller was interrupted. It stays: TLS drops errors of writes and relies on the
    /// next one to fail as well.
    is_interrupted: bool,
}

impl AsFd for DeadlineSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl DeadlineSocket {
    pub(super) fn connect_tcp(address: &SocketAddr, deadline: Instant) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(address, left(deadline)?)?;
        Ok(Self::new(stream.into(), deadline))
    }

    pub(super) fn connect_unix(path: &Path, deadline: Instant) -> io::Result<Self> {
        let address = SockAddr::unix(path)?;
        let mut connected = Self::new(Socket::new(Domain::UNIX, Type::STREAM, None)?, deadline);
        // It waits for the server to accept others before, as long as a write would.
        connected.in_time(|socket| socket.connect(&address))?;
        Ok(connected)
    }

    fn new(socket: Socket, deadline: Instant) -> Self {
        Self { socket, deadline, armed: None, is_interrupted: false }
    }

    /// When what is read and written from now on has to have been.
    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    pub(super) fn as_socket(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    pub(super) fn close(&self) {
        // It is being dropped anyway; this only tells the server sooner.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Does something that may block until the deadline. A signal that asks for nothing does not
    /// end it: an interpreter's signal handlers run, and the call goes on.
    fn in_time<T>(&mut self, mut act: impl FnMut(&Socket) -> io::Result<T>) -> io::Result<T> {
        loop {
            self.arm()?;
            match act(&self.socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.is_interrupted = interrupt::check().is_err();
                }
                // The system's limit may be shorter than what is left of this call.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Gives the next read or write the time that the call has left.
    fn arm(&mut self) -> io::Result<()> {
        if self.is_interrupted {
            return Err(io::Error::other(interrupt::cancelled()));
        }
        let left = left(self.deadline)?;
        let fits = |armed: Duration| armed <= left + SLACK && left <= armed + SLACK;
        if !self.armed.is_some_and(fits) {
            self.socket.set_read_timeout(Some(left))?;
            self.socket.set_write_timeout(Some(left))?;
            self.armed = Some(left);
        }
        Ok(())
    }
}

impl Read for DeadlineSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.in_time(|mut socket| socket.read(buffer))
    }
}

impl Write for DeadlineSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_time(|mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is left until the deadline, long enough for the system not to take it for no limit.
pub(super) fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left.max(Duration::from_millis(1))),
    }
}
