//! One connection of the background thread: commands out, replies in.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::ReadBuf;

use super::dial::{Dialer, Peer, failed};
use super::handshake::Handshake;
use super::resp::ReplyReader;
use super::router::Router;
use super::socket::lost;
use super::transport::AsyncTransport;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::Reply;

/// How much room is kept for what has to be sent.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

pub(super) struct AsyncSocket {
    transport: AsyncTransport,
    replies: ReplyReader,
    /// What has to be sent, and how much of it has been handed over.
    out: Vec<u8>,
    sent: usize,
    /// Whether nothing that was handed over is kept back.
    is_flushed: bool,
    /// Why nothing can be sent any more. The peer has perhaps said more about that.
    unsent: Option<io::Error>,
}

impl AsyncSocket {
    /// Connects and logs in, within the time for one attempt to connect.
    pub(super) async fn open(dialer: &Dialer, address: &Address) -> Result<Self> {
        let opening = async {
            let transport =
                dialer.dial_async(address).await.map_err(|error| failed(address, error))?;
            let replies = ReplyReader::new();
            let mut socket = Self {
                transport,
                replies,
                out: Vec::new(),
                sent: 0,
                is_flushed: true,
                unsent: None,
            };
            let mut handshake = Handshake::new(dialer, Peer::Server);
            socket.out().extend_from_slice(handshake.packed());
            while !handshake.is_done() {
                handshake.check(address, socket.reply().await)?;
            }
            Ok(socket)
        };
        let deadline = Instant::now() + dialer.options.connect_timeout;
        let late = |_| failed(address, io::ErrorKind::TimedOut.into());
        let opened = tokio::time::timeout_at(deadline.into(), opening).await.map_err(late)?;
        let Err(error) = opened else { return opened };
        let (dialer, address) = (dialer.clone(), address.clone());
        let explain = move || dialer.explain(&address, Peer::Server, error, deadline);
        Err(tokio::task::spawn_blocking(explain).await.unwrap_or_else(|error| {
            Error::new(ErrorKind::Internal, "looking at the peer panicked").with_source(error)
        }))
    }

    /// Connects to the server that has this slot now; gives its address as well.
    pub(super) async fn open_to_slot(router: &Arc<Router>, slot: u16) -> Result<(Self, Address)> {
        let deadline = Instant::now() + router.dialer.options.timeout;
        let address = router.clone().find_address(slot, deadline).await?;
        let socket = Self::open(&router.dialer, &address).await.inspect_err(|_| router.forget())?;
        Ok((socket, address))
    }

    /// Sends a command and reads its reply.
    pub(super) async fn call(&mut self, command: &[u8], deadline: Instant) -> Result<Reply> {
        self.out().extend_from_slice(command);
        let late = |_| lost(io::ErrorKind::TimedOut.into());
        tokio::time::timeout_at(deadline.into(), self.reply()).await.map_err(late)?
    }

    /// Whether the server has neither hung up nor sent what nobody asked for, as far as this side has been told. Costs a
    /// system call and no round trip.
    pub(super) fn is_quiet(&self) -> bool {
        self.replies.is_empty() && self.transport.is_quiet()
    }

    /// Where commands are put that have to be sent.
    pub(super) fn out(&mut self) -> &mut Vec<u8> {
        self.is_flushed = false;
        if self.sent == self.out.len() {
            self.out.clear();
            // A large call must not keep its room for ever.
            self.out.shrink_to(KEPT_BYTES_MAX);
            self.sent = 0;
        }
        &mut self.out
    }

    /// How many bytes have not been sent.
    pub(super) fn unsent(&self) -> usize {
        self.out.len() - self.sent
    }

    /// Sends what has to be sent, until a reply has come whole. Nothing is lost if this is dropped
    /// before.
    pub(super) async fn reply(&mut self) -> Result<Reply> {
        loop {
            if let Some(reply) = self.arrived()? {
                return Ok(reply);
            }
            self.exchange().await?;
        }
    }

    /// The next reply, if it is there already.
    pub(super) fn arrived(&mut self) -> Result<Option<Reply>> {
        self.replies.next().map_err(lost)
    }

    /// Sends what has to be sent or reads something, whichever can be done first.
    pub(super) async fn exchange(&mut self) -> Result<()> {
        std::future::poll_fn(|context| self.poll_exchange(context)).await.map_err(lost)
    }

    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut transport = Pin::new(&mut *self.transport);
        while self.unsent.is_none() && self.sent < self.out.len() {
            match transport.as_mut().poll_write(context, &self.out[self.sent..]) {
                Poll::Ready(Ok(0)) => self.unsent = Some(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => self.sent += count,
                Poll::Ready(Err(error)) => self.unsent = Some(error),
                Poll::Pending => break,
            }
        }
        // TLS keeps a record back until it is told to send.
        if !self.is_flushed
            && self.unsent.is_none()
            && self.sent == self.out.len()
            && transport.as_mut().poll_flush(context)?.is_ready()
        {
            self.is_flushed = true;
            return Poll::Ready(Ok(()));
        }
        let mut space = ReadBuf::new(self.replies.space());
        let read = ready!(transport.poll_read(context, &mut space));
        let count = space.filled().len();
        if count > 0 {
            self.replies.arrived(count);
            return Poll::Ready(Ok(()));
        }
        let end = || read.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
        Poll::Ready(Err(self.unsent.take().unwrap_or_else(end)))
    }
}
