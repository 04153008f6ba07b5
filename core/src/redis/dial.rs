//! Opening a connection: TCP, TLS or a Unix socket, with a time limit.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::RedisConnectionInfo;

#[cfg(feature = "tls")]
use super::tls;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Options};

/// Opens connections as the options say.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) options: Arc<Options>,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ClientConfig>>,
}

/// Who is asked: the sentinels have credentials and TLS of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Server,
    Sentinel,
}

/// A connection that blocks.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}

impl Dialer {
    pub(super) fn new(options: Arc<Options>) -> Result<Self> {
        #[cfg(not(feature = "tls"))]
        if options.tls.is_some() || options.sentinel_tls == Some(true) {
            return Err(Error::new(
                ErrorKind::InvalidUrl,
                "this build of Millpond does not have the feature tls",
            ));
        }
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: match (&options.tls, options.sentinel_tls) {
                (Some(tls), _) => Some(tls::config(tls)?),
                (None, Some(true)) => Some(tls::config(&Default::default())?),
                (None, _) => None,
            },
            options,
        })
    }

    /// Whether connections to this peer speak TLS.
    fn is_tls(&self, peer: Peer) -> bool {
        let tls = self.options.tls.is_some();
        match peer {
            Peer::Server => tls,
            Peer::Sentinel => self.options.sentinel_tls.unwrap_or(tls),
        }
    }

    /// The user and the password for this peer.
    pub(super) fn credentials(&self, peer: Peer) -> (Option<&str>, Option<&str>) {
        let options = &self.options;
        match peer {
            Peer::Server => (options.user.as_deref(), options.password.as_deref()),
            Peer::Sentinel => {
                (options.sentinel_user.as_deref(), options.sentinel_password.as_deref())
            }
        }
    }

    /// What redis-rs says first on a connection to a server.
    pub(super) fn handshake(&self) -> RedisConnectionInfo {
        let mut info =
            RedisConnectionInfo::default().set_db(self.options.db).set_skip_set_lib_name();
        if let (user, Some(password)) = self.credentials(Peer::Server) {
            info = info.set_password(password);
            if let Some(user) = user {
                info = info.set_username(user);
            }
        }
        info
    }

    pub(super) fn dial(&self, address: &Address, peer: Peer) -> Result<Stream> {
        let stream = match address {
            Address::Unix(path) => UnixStream::connect(path).map(Stream::Unix),
            Address::Tcp(host, port) => {
                self.dial_tcp(host, *port).and_then(|tcp| self.secure(tcp, host, peer))
            }
        };
        stream.map_err(|error| failed(address, error))
    }

    /// Tries each address of the host in turn.
    fn dial_tcp(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let deadline = Instant::now() + self.options.connect_timeout;
        let mut failure = io::Error::other("the host has no address");
        for address in (host, port).to_socket_addrs()? {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => {
                    set_up(&stream)?;
                    return Ok(stream);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    #[cfg(not(feature = "tls"))]
    fn secure(&self, tcp: TcpStream, _host: &str, _peer: Peer) -> io::Result<Stream> {
        Ok(Stream::Tcp(tcp))
    }

    #[cfg(feature = "tls")]
    fn secure(&self, tcp: TcpStream, host: &str, peer: Peer) -> io::Result<Stream> {
        let Some(config) = self.tls.as_ref().filter(|_| self.is_tls(peer)) else {
            return Ok(Stream::Tcp(tcp));
        };
        tcp.set_read_timeout(Some(self.options.connect_timeout))?;
        tcp.set_write_timeout(Some(self.options.connect_timeout))?;
        let connection = rustls::ClientConnection::new(config.clone(), tls::server_name(host)?)
            .map_err(io::Error::other)?;
        let mut stream = rustls::StreamOwned::new(connection, tcp);
        // The handshake now, so that a certificate that is refused is reported as such.
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Opens a connection for the background thread.
    pub(super) async fn dial_async(&self, address: &Address) -> Result<AsyncStream> {
        let opening = async {
            Ok::<AsyncStream, io::Error>(match address {
                Address::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
                Address::Tcp(host, port) => {
                    let tcp = tokio::net::TcpStream::connect((&**host, *port)).await?;
                    set_up(&tcp)?;
                    self.secure_async(tcp, host).await?
                }
            })
        };
        match tokio::time::timeout(self.options.connect_timeout, opening).await {
            Ok(stream) => stream.map_err(|error| failed(address, error)),
            Err(_) => Err(failed(address, io::ErrorKind::TimedOut.into())),
        }
    }

    #[cfg(not(feature = "tls"))]
    async fn secure_async(
        &self,
        tcp: tokio::net::TcpStream,
        _host: &str,
    ) -> io::Result<AsyncStream> {
        Ok(Box::new(tcp))
    }

    #[cfg(feature = "tls")]
    async fn secure_async(
        &self,
        tcp: tokio::net::TcpStream,
        host: &str,
    ) -> io::Result<AsyncStream> {
        let Some(config) = self.tls.as_ref().filter(|_| self.is_tls(Peer::Server)) else {
            return Ok(Box::new(tcp));
        };
        let connector = tokio_rustls::TlsConnector::from(config.clone());
        Ok(Box::new(connector.connect(tls::server_name(host)?, tcp).await?))
    }
}

/// How long a connection is silent before the system asks whether the other side is there, and
/// how often it asks then: a connection whose end nobody told does not stay for ever.
const KEEPALIVE: Duration = Duration::from_secs(15);

fn set_up(tcp: &impl AsFd) -> io::Result<()> {
    let socket = socket2::SockRef::from(tcp);
    socket.set_tcp_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
    socket.set_tcp_keepalive(&keepalive.with_retries(3))
}

/// A connection for the background thread.
pub(super) type AsyncStream = Box<dyn AsyncReadWrite>;

pub(super) trait AsyncReadWrite:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin
{
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> AsyncReadWrite for T {}

fn failed(address: &Address, error: io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer in time".to_owned(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::ConnectionFailed, format!("no connection to {address}: {why}"))
        .with_source(error)
}
