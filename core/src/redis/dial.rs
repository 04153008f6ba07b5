//! Opens connections in time: TCP, TLS or a Unix socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deadline_socket::{self, DeadlineSocket};
use super::resolve::resolve;
#[cfg(feature = "tls")]
use super::tls;
use super::transport::{AsyncTransport, Transport};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Options};

/// Opens connections as the options say.
#[derive(Clone)]
pub(super) struct Dialer {
    pub(super) options: Arc<Options>,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ClientConfig>>,
}

/// Whom to connect to: the sentinels have credentials and TLS of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Server,
    Sentinel,
}

impl Dialer {
    pub(super) fn new(options: Arc<Options>) -> Result<Self> {
        #[cfg(not(feature = "tls"))]
        if options.tls.is_some() || options.sentinel_tls == Some(true) {
            let message = "this build of Millpond does not have the feature tls";
            return Err(Error::new(ErrorKind::InvalidUrl, message));
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

    /// How connections to this peer speak TLS, if they do.
    #[cfg(feature = "tls")]
    fn tls_config(&self, peer: Peer) -> Option<Arc<rustls::ClientConfig>> {
        let server = self.options.tls.is_some();
        let is_tls = match peer {
            Peer::Server => server,
            Peer::Sentinel => self.options.sentinel_tls.unwrap_or(server),
        };
        self.tls.clone().filter(|_| is_tls)
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

    /// Opens a connection for a caller that blocks.
    pub(super) fn dial(
        &self,
        address: &Address,
        peer: Peer,
        deadline: Instant,
    ) -> Result<Transport> {
        let transport = match address {
            Address::Unix(path) => {
                DeadlineSocket::connect_unix(path, deadline).map(Transport::Plain)
            }
            Address::Tcp(host, port) => dial_tcp(resolve(host, *port, deadline)?, deadline)
                .and_then(|socket| self.secure(socket, host, peer)),
        };
        transport.map_err(|error| failed(address, error))
    }

    /// Begins TLS where this peer speaks it.
    #[cfg_attr(not(feature = "tls"), allow(unused_variables, reason = "no peer speaks TLS"))]
    fn secure(&self, socket: DeadlineSocket, host: &str, peer: Peer) -> io::Result<Transport> {
        #[cfg(feature = "tls")]
        if let Some(config) = self.tls_config(peer) {
            let connection = rustls::ClientConnection::new(config, tls::server_name(host)?)
                .map_err(io::Error::other)?;
            let mut stream = rustls::StreamOwned::new(connection, socket);
            // The handshake now, so that a certificate that is refused is reported as such.
            stream.conn.complete_io(&mut stream.sock)?;
            return Ok(Transport::Tls(Box::new(stream)));
        }
        Ok(Transport::Plain(socket))
    }

    /// Opens a connection for the background thread.
    pub(super) async fn dial_async(&self, address: &Address) -> io::Result<AsyncTransport> {
        let (host, port) = match address {
            Address::Unix(path) => {
                return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
            }
            Address::Tcp(host, port) => (&**host, *port),
        };
        let tcp = tokio::net::TcpStream::connect((host, port)).await?;
        set_up(socket2::SockRef::from(&tcp))?;
        #[cfg(feature = "tls")]
        if let Some(config) = self.tls_config(Peer::Server) {
            let connector = tokio_rustls::TlsConnector::from(config);
            return Ok(Box::new(connector.connect(tls::server_name(host)?, tcp).await?));
        }
        Ok(Box::new(tcp))
    }
}

/// Tries each address of the host in turn; each has its share of the time that is left.
fn dial_tcp(addresses: Vec<SocketAddr>, deadline: Instant) -> io::Result<DeadlineSocket> {
    let mut failure = io::Error::other("the host has no address");
    let count = addresses.len();
    for (tried, address) in addresses.iter().enumerate() {
        let share = deadline_socket::left(deadline)? / (count - tried) as u32;
        match DeadlineSocket::connect_tcp(address, Instant::now() + share) {
            Ok(mut socket) => {
                set_up(socket.as_socket())?;
                socket.set_deadline(deadline);
                return Ok(socket);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// How long a connection is silent before the system asks whether the other side is there, and
/// how often it asks then: a connection whose end nobody told does not stay for ever.
const KEEPALIVE: Duration = Duration::from_secs(15);

fn set_up(socket: socket2::SockRef<'_>) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
    socket.set_tcp_keepalive(&keepalive.with_retries(3))
}

pub(super) fn failed(address: &Address, error: io::Error) -> Error {
    // One of our own says that the call was interrupted.
    error.downcast().unwrap_or_else(|error| {
        let why = match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no reply in time".to_owned(),
            _ => error.to_string(),
        };
        let message = format!("no connection to {address}: {why}");
        Error::new(ErrorKind::ConnectionFailed, message).with_source(error)
    })
}
