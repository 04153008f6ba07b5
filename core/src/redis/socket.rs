//! One blocking connection: commands out, replies in.

use std::io;
use std::time::Instant;

use super::attempt::reply_after_asking;
use super::dial::{Dialer, Peer};
use super::handshake::Handshake;
use super::resp::ReplyReader;
use super::transport::Transport;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::Reply;

pub(super) struct Socket {
    transport: Transport,
    replies: ReplyReader,
}

impl Socket {
    /// Connects and logs in, within the time for one attempt to connect.
    pub(super) fn open(
        dialer: &Dialer,
        address: &Address,
        peer: Peer,
        deadline: Instant,
    ) -> Result<Self> {
        let deadline = deadline.min(Instant::now() + dialer.options.connect_timeout);
        Self::begin(dialer, address, peer, deadline)
            .map_err(|error| dialer.explain(address, peer, error, deadline))
    }

    fn begin(dialer: &Dialer, address: &Address, peer: Peer, deadline: Instant) -> Result<Self> {
        let transport = dialer.dial(address, peer, deadline)?;
        let mut socket = Self { transport, replies: ReplyReader::new() };
        let mut handshake = Handshake::new(dialer, peer);
        socket.transport.socket().set_deadline(deadline);
        let mut unsent = socket.write(handshake.packed()).err();
        while !handshake.is_done() {
            // A server that hung up has perhaps said why.
            let reply = socket.read().map_err(|error| unsent.take().unwrap_or(error));
            handshake.check(address, reply)?;
        }
        Ok(socket)
    }

    /// Sends a command and reads its reply.
    pub(super) fn call(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.transport.socket().set_deadline(deadline);
        self.write(command)?;
        self.read()
    }

    /// The same for a command that ASKING comes before: its reply is the second.
    pub(super) fn call_asking(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        let asking = self.call(command, deadline)?;
        Ok(reply_after_asking(asking, self.read()?))
    }

    /// Whether the server has neither hung up nor sent what nobody asked for, as far as this side has
    /// been told. Costs a system call and no round trip.
    pub(super) fn is_quiet(&self) -> bool {
        self.replies.is_empty() && self.transport.is_quiet()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        // TLS keeps a record back until it is told to send.
        let stream = self.transport.stream();
        stream.write_all(bytes).and_then(|()| stream.flush()).map_err(lost)
    }

    fn read(&mut self) -> Result<Reply> {
        loop {
            if let Some(reply) = self.replies.next().map_err(lost)? {
                return Ok(reply);
            }
            match self.transport.stream().read(self.replies.space()).map_err(lost)? {
                0 => return Err(lost(io::ErrorKind::UnexpectedEof.into())),
                count => self.replies.arrived(count),
            }
        }
    }

    /// Hangs up.
    pub(super) fn close(mut self) {
        self.transport.socket().close();
    }
}

/// What a call that was sent says of its connection's failure.
pub(super) fn lost(error: io::Error) -> Error {
    // One of our own says that the call was interrupted.
    error.downcast().unwrap_or_else(|error| {
        use io::ErrorKind::{InvalidData, TimedOut};
        let (kind, message) = match error.kind() {
            TimedOut => (ErrorKind::Timeout, "no reply in time; the call may have been done"),
            InvalidData => (ErrorKind::ConnectionLost, "the server's reply is not RESP"),
            _ => (ErrorKind::ConnectionLost, "the connection broke; the call may have been done"),
        };
        Error::new(kind, message).with_source(error)
    })
}
