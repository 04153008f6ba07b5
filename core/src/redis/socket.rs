//! One blocking connection: commands out, replies in.
//!
//! redis-rs' own blocking connection is not used because a signal ends its wait for a reply for
//! good (an interpreter's signal handlers could not run and the call go on), and because it
//! cannot tell before a call whether the server has hung up.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use super::command;
use super::dial::{Dialer, Peer, Stream};
use super::resp::ReplyReader;
use crate::error::{Error, ErrorKind, Result};
use crate::interrupt;
use crate::options::Address;
use crate::reply::{Reply, server_error};

/// A connection is asked whether it is still there if it has not been used for so long: asking
/// takes three system calls, which a caller in a loop would feel.
const FRESH: Duration = Duration::from_millis(5);

/// A call may take so much longer than it should, so that a call which has just begun finds the
/// socket's time limit as it needs it: setting it takes two system calls.
const TIMEOUT_SLACK: Duration = Duration::from_millis(50);

pub(super) struct Socket {
    stream: Stream,
    replies: ReplyReader,
    timeout: Duration,
    /// The time limit that the system knows.
    armed: Duration,
    last_used: Instant,
}

impl Socket {
    /// Connects and says who we are.
    pub(super) fn open(
        dialer: &Dialer,
        address: &Address,
        peer: Peer,
        deadline: Instant,
    ) -> Result<Self> {
        let stream = dialer.dial(address, peer)?;
        let timeout = dialer.options.timeout;
        let mut socket = Self {
            stream,
            replies: ReplyReader::new(),
            timeout,
            armed: timeout,
            last_used: Instant::now(),
        };
        socket.set_timeouts(timeout).map_err(lost)?;
        let (user, password) = dialer.credentials(peer);
        if let Some(password) = password {
            match user {
                Some(user) => socket.greet(address, &["AUTH", user, password], deadline)?,
                None => socket.greet(address, &["AUTH", password], deadline)?,
            }
        }
        if peer == Peer::Server {
            if dialer.options.db != 0 {
                socket.greet(address, &["SELECT", &dialer.options.db.to_string()], deadline)?;
            }
            if let Some(name) = &dialer.options.client_name {
                socket.greet(address, &["CLIENT", "SETNAME", name], deadline)?;
            }
        }
        Ok(socket)
    }

    /// Sends a word of the handshake. Whatever goes wrong, no step has been sent.
    fn greet(&mut self, address: &Address, words: &[&str], deadline: Instant) -> Result<()> {
        match self.call(&command::packed_words(words), deadline) {
            Ok(Reply::Error(text)) => Err(refused(address, words[0], &text)),
            Ok(_) => Ok(()),
            Err(error) => Err(Error::new(
                ErrorKind::ConnectionFailed,
                format!("{address} did not answer {}: {}", words[0], error.message()),
            )),
        }
    }

    /// Sends a command and reads its answer.
    pub(super) fn call(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.arm(deadline)?;
        self.write(command)?;
        self.read(deadline)
    }

    /// The same for a command that ASKING comes before: its answer is the second.
    pub(super) fn call_asking(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.arm(deadline)?;
        self.write(command)?;
        self.read(deadline)?;
        self.read(deadline)
    }

    /// Whether the server has hung up, as far as this side has been told. Costs no round trip.
    /// A connection that was just used is taken to be alive.
    pub(super) fn is_stale(&mut self) -> bool {
        if self.last_used.elapsed() < FRESH {
            return false;
        }
        let mut byte = [0];
        let peeked = self.set_nonblocking(true).and_then(|()| match &self.stream {
            Stream::Tcp(tcp) => tcp.peek(&mut byte),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.sock.peek(&mut byte),
            // Reading is as good as peeking: between calls there is nothing to read but the end.
            Stream::Unix(unix) => (&mut &*unix).read(&mut byte),
        });
        let quiet = matches!(&peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        !quiet || self.set_nonblocking(false).is_err()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.writer().write(&bytes[written..]) {
                Ok(0) => return Err(lost(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => interrupt::check()?,
                Err(error) => return Err(lost(error)),
            }
        }
        // TLS keeps a record back until it is told to send.
        self.writer().flush().map_err(lost)
    }

    /// Reads one reply.
    fn read(&mut self, deadline: Instant) -> Result<Reply> {
        let mut incoming = Incoming { stream: &mut self.stream, deadline, failure: None };
        let reply = self.replies.read(&mut incoming).map_err(|error| {
            incoming.failure.unwrap_or_else(|| {
                let message = "the server's answer is not RESP";
                Error::new(ErrorKind::ConnectionLost, message).with_source(error)
            })
        })?;
        self.last_used = Instant::now();
        Ok(reply)
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.stream {
            Stream::Tcp(tcp) => tcp,
            Stream::Unix(unix) => unix,
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls,
        }
    }

    /// Gives the call the time that it has left: it may have waited and been tried before.
    fn arm(&mut self, deadline: Instant) -> Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = match left + TIMEOUT_SLACK >= self.timeout {
            true => self.timeout,
            false => left.max(Duration::from_millis(1)),
        };
        if timeout != self.armed {
            self.set_timeouts(timeout).map_err(lost)?;
            self.armed = timeout;
        }
        Ok(())
    }

    fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout);
        match &self.stream {
            Stream::Tcp(tcp) => tcp.set_read_timeout(timeout).and(tcp.set_write_timeout(timeout)),
            Stream::Unix(unix) => {
                unix.set_read_timeout(timeout).and(unix.set_write_timeout(timeout))
            }
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => {
                tls.sock.set_read_timeout(timeout).and(tls.sock.set_write_timeout(timeout))
            }
        }
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match &self.stream {
            Stream::Tcp(tcp) => tcp.set_nonblocking(nonblocking),
            Stream::Unix(unix) => unix.set_nonblocking(nonblocking),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.sock.set_nonblocking(nonblocking),
        }
    }

    /// Hangs up.
    pub(super) fn close(self) {
        // It is being dropped anyway; this only tells the server sooner.
        let _ = match &self.stream {
            Stream::Tcp(tcp) => tcp.shutdown(Shutdown::Both),
            Stream::Unix(unix) => unix.shutdown(Shutdown::Both),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.sock.shutdown(Shutdown::Both),
        };
    }
}

/// What the server sends. A signal that asks for nothing does not end the wait, and the reason
/// why there is no more is kept, which an `io::Error` could not hold.
struct Incoming<'a> {
    stream: &'a mut Stream,
    deadline: Instant,
    failure: Option<Error>,
}

impl Incoming<'_> {
    fn fail(&mut self, error: Error) -> io::Error {
        self.failure = Some(error);
        io::ErrorKind::Other.into()
    }
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.stream {
                Stream::Tcp(tcp) => tcp.read(buffer),
                Stream::Unix(unix) => unix.read(buffer),
                #[cfg(feature = "tls")]
                Stream::Tls(tls) => tls.read(buffer),
            };
            match read {
                Ok(0) => return Err(self.fail(lost(io::ErrorKind::UnexpectedEof.into()))),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    if let Err(error) = interrupt::check() {
                        return Err(self.fail(error));
                    }
                    if Instant::now() >= self.deadline {
                        return Err(self.fail(lost(io::ErrorKind::TimedOut.into())));
                    }
                }
                Err(error) => return Err(self.fail(lost(error))),
            }
        }
    }
}

/// The error of a handshake that the server refused at this word.
pub(super) fn refused(address: &Address, word: &str, text: &str) -> Error {
    let error = server_error(text);
    let kind = match error.kind() {
        // "ERR AUTH <password> called without any password configured" and the like.
        ErrorKind::Server if word == "AUTH" => ErrorKind::AuthenticationFailed,
        ErrorKind::Server => ErrorKind::InvalidUrl,
        kind => kind,
    };
    let message = format!("{address} refused the connection at {word}: {}", error.message());
    Error::new(kind, message)
}

fn lost(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {
            Error::new(ErrorKind::Timeout, "no answer in time; the call may have been done")
        }
        _ => Error::new(
            ErrorKind::ConnectionLost,
            "the connection broke; the call may have been done",
        ),
    }
    .with_source(error)
}
