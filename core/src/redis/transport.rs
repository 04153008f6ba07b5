//! What the bytes of a connection go through: a socket, or TLS over one.

use std::io::{self, Read, Write};

use super::deadline_socket::DeadlineSocket;

/// A connection that blocks, until the deadline of its socket.
pub(super) enum Transport {
    Plain(DeadlineSocket),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, DeadlineSocket>>),
}

impl Transport {
    pub(super) fn socket(&mut self) -> &mut DeadlineSocket {
        match self {
            Transport::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => &mut tls.sock,
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(buffer),
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.flush(),
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls.flush(),
        }
    }
}

/// A connection for the background thread.
pub(super) type AsyncTransport = Box<dyn AsyncReadWrite>;

pub(super) trait AsyncReadWrite:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin
{
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> AsyncReadWrite for T {}
