//! What the bytes of a connection go through: a socket, or TLS over one.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::deadline_socket::DeadlineSocket;

/// A connection that blocks, until the deadline of its socket.
pub(super) enum Transport {
    Plain(DeadlineSocket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, DeadlineSocket>>),
}

impl Transport {
    /// What bytes are written to and read from.
    pub(super) fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Transport::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls,
        }
    }

    /// Whether there is nothing to read and no end.
    pub(super) fn is_quiet(&self) -> bool {
        match self {
            Transport::Plain(socket) => is_quiet(socket),
            // It wants nothing more while there is something that it has decrypted.
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls.conn.wants_read() && is_quiet(&tls.sock),
        }
    }

    /// The socket below TLS.
    pub(super) fn socket(&mut self) -> &mut DeadlineSocket {
        match self {
            Transport::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => &mut tls.sock,
        }
    }
}

/// Whether a socket has nothing to read and no end.
fn is_quiet(socket: &impl AsFd) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    rustix::net::recv(socket, &mut [MaybeUninit::uninit()], flags).err() == Some(Errno::WOULDBLOCK)
}

pub(super) trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}

/// A connection for the background thread.
pub(super) type AsyncTransport = Box<dyn AsyncReadWrite>;

pub(super) trait AsyncReadWrite:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin
{
    /// Whether there is nothing to read and no end, whatever the runtime has noticed of that.
    fn is_quiet(&self) -> bool;
}

impl AsyncReadWrite for tokio::net::TcpStream {
    fn is_quiet(&self) -> bool {
        is_quiet(self)
    }
}

impl AsyncReadWrite for tokio::net::UnixStream {
    fn is_quiet(&self) -> bool {
        is_quiet(self)
    }
}

#[cfg(feature = "tls")]
impl AsyncReadWrite for tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    fn is_quiet(&self) -> bool {
        let (socket, tls) = self.get_ref();
        tls.wants_read() && is_quiet(socket)
    }
}
