//! One blocking connection: commands out, replies in.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::dial::{Dialer, Peer, Stream};
use super::handshake::{self, Handshake};
use super::resp::ReplyReader;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::Reply;

/// A connection is asked whether it is still there if it has not been used for so long: asking
/// takes three system calls, which a caller in a loop would feel.
const FRESH: Duration = Duration::from_millis(5);

pub(super) struct Socket {
    stream: Stream,
    replies: ReplyReader,
    last_used: Instant,
}

impl Socket {
    /// Connects and says who we are, within the time for one attempt to connect.
    pub(super) fn open(
        dialer: &Dialer,
        address: &Address,
        peer: Peer,
        deadline: Instant,
    ) -> Result<Self> {
        let deadline = deadline.min(Instant::now() + dialer.options.connect_timeout);
        let stream = dialer.dial(address, peer, deadline)?;
        let mut socket = Self { stream, replies: ReplyReader::new(), last_used: Instant::now() };
        let handshake = Handshake::new(dialer, peer);
        socket.stream.wire().set_deadline(deadline);
        let mut sent = socket.write(handshake.packed());
        for name in handshake.names() {
            let answer = std::mem::replace(&mut sent, Ok(())).and_then(|()| socket.read());
            handshake::check(address, name, answer)?;
        }
        Ok(socket)
    }

    /// Sends a command and reads its answer.
    pub(super) fn call(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.stream.wire().set_deadline(deadline);
        self.write(command)?;
        self.read()
    }

    /// The same for a command that ASKING comes before: its answer is the second.
    pub(super) fn call_asking(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.call(command, deadline)?;
        self.read()
    }

    /// Whether the server has hung up, as far as this side has been told. Costs no round trip.
    /// A connection that was just used is taken to be alive.
    pub(super) fn is_stale(&mut self) -> bool {
        self.last_used.elapsed() >= FRESH && !self.stream.wire().is_quiet()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // TLS keeps a record back until it is told to send.
        let written = self.stream.write_all(bytes).and_then(|()| self.stream.flush());
        written.map_err(lost)
    }

    fn read(&mut self) -> Result<Reply> {
        loop {
            if let Some(reply) = self.replies.next().map_err(lost)? {
                self.last_used = Instant::now();
                return Ok(reply);
            }
            match self.stream.read(self.replies.space()).map_err(lost)? {
                0 => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
                count => self.replies.arrived(count),
            }
        }
    }

    /// Hangs up.
    pub(super) fn close(mut self) {
        self.stream.wire().close();
    }
}

/// What a call that was sent says of its connection's failure.
pub(super) fn lost(error: io::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(interrupted) => return interrupted,
        Err(error) => error,
    };
    let (kind, message) = match error.kind() {
        io::ErrorKind::TimedOut => {
            (ErrorKind::Timeout, "no answer in time; the call may have been done")
        }
        io::ErrorKind::InvalidData => {
            (ErrorKind::ConnectionLost, "the server's answer is not RESP")
        }
        _ => (ErrorKind::ConnectionLost, "the connection broke; the call may have been done"),
    };
    Error::new(kind, message).with_source(error)
}
