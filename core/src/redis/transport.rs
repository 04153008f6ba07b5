//! What the bytes of a connection go through: a socket, or TLS over one.

use std::io::{Read, Write};

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
            Transport::Plain(socket) => socket.is_quiet(),
            // It wants nothing more while there is something that it has decrypted.
            #[cfg(feature = "tls")]
            Transport::Tls(tls) => tls.conn.wants_read() && tls.sock.is_quiet(),
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

pub(super) trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}

/// A connection for the background thread.
pub(super) type AsyncTransport = Box<dyn AsyncReadWrite>;

pub(super) trait AsyncReadWrite:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin
{
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> AsyncReadWrite for T {}
