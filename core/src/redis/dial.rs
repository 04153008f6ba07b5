//! Opens connections in time: TCP, TLS or a Unix socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deadline_socket::{self, DeadlineSocket};
#[cfg(feature = "tls")]
use super::handshake;
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
                .and_then(|socket| self.secure(socket, address, host, peer, deadline)),
        };
        transport.map_err(|error| failed(address, error))
    }

    /// Begins TLS where this peer speaks it.
    #[cfg_attr(not(feature = "tls"), allow(unused_variables, reason = "no peer speaks TLS"))]
    fn secure(
        &self,
        socket: DeadlineSocket,
        address: &Address,
        host: &str,
        peer: Peer,
        deadline: Instant,
    ) -> io::Result<Transport> {
        #[cfg(feature = "tls")]
        if let Some(config) = self.tls_config(peer) {
            let connection = rustls::ClientConnection::new(config, tls::server_name(host)?)
                .map_err(io::Error::other)?;
            let mut stream = rustls::StreamOwned::new(connection, socket);
            // The handshake now, so that a certificate that is refused is reported as such.
            stream.sock.set_deadline(deadline.min(Instant::now() + TLS_SILENCE_MAX));
            let mut done = stream.conn.complete_io(&mut stream.sock);
            if done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
                if speaks_plainly(address, deadline) {
                    return Err(tls::not_spoken());
                }
                stream.sock.set_deadline(deadline);
                done = stream.conn.complete_io(&mut stream.sock);
            }
            done?;
            return Ok(Transport::Tls(Box::new(stream)));
        }
        Ok(Transport::Plain(socket))
    }

    /// Says more about a connection that could not be opened: a server that speaks TLS alone hangs up on who
    /// does not, without a word.
    #[cfg_attr(not(feature = "tls"), allow(unused_variables, reason = "no peer is asked for TLS"))]
    pub(super) fn explain(
        &self,
        address: &Address,
        peer: Peer,
        error: Error,
        deadline: Instant,
    ) -> Error {
        #[cfg(feature = "tls")]
        if handshake::is_hang_up(&error)
            && self.tls_config(peer).is_none()
            && let Some(greeting) = tls::greeting()
            && let Some(first) = first_byte(address, &greeting, deadline)
            && let Some(what) = handshake::other_protocol(&[first, 3])
        {
            let message = format!("{address} {what}");
            return Error::new(ErrorKind::InvalidUrl, message).with_source(error);
        }
        error
    }

    /// Opens a connection for the background thread.
    pub(super) async fn dial_async(&self, address: &Address) -> io::Result<AsyncTransport> {
        let (host, port) = match address {
            Address::Unix(path) => {
                return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
            }
            Address::Tcp(host, port) => (&**host, *port),
        };
        let (name, deadline) = (host.to_owned(), Instant::now() + self.options.connect_timeout);
        let looking = tokio::task::spawn_blocking(move || resolve(&name, port, deadline));
        let addresses = looking.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let tcp = dial_tcp_async(addresses, deadline).await?;
        set_up(socket2::SockRef::from(&tcp))?;
        #[cfg(feature = "tls")]
        if let Some(config) = self.tls_config(Peer::Server) {
            let connector = tokio_rustls::TlsConnector::from(config);
            let mut connecting = std::pin::pin!(connector.connect(tls::server_name(host)?, tcp));
            let done = tokio::time::timeout(TLS_SILENCE_MAX, &mut connecting).await;
            if let Ok(done) = done {
                return Ok(Box::new(done?));
            }
            let server = address.clone();
            let probe = tokio::task::spawn_blocking(move || speaks_plainly(&server, deadline));
            if probe.await.is_ok_and(|is_plain| is_plain) {
                return Err(tls::not_spoken());
            }
            return Ok(Box::new(connecting.await?));
        }
        Ok(Box::new(tcp))
    }
}

/// How long a server may say nothing to the first message of TLS before it is looked whether it speaks
/// without: Redis takes that message for the beginning of a command, and waits for the rest for ever. And
/// how long it is looked for.
#[cfg(feature = "tls")]
const TLS_SILENCE_MAX: Duration = Duration::from_millis(300);

/// The first byte that a peer replies to this, on a connection of its own.
#[cfg(feature = "tls")]
fn first_byte(address: &Address, greeting: &[u8], deadline: Instant) -> Option<u8> {
    use std::io::{Read, Write};
    let Address::Tcp(host, port) = address else { return None };
    let deadline = deadline.min(Instant::now() + TLS_SILENCE_MAX);
    let mut socket = dial_tcp(resolve(host, *port, deadline).ok()?, deadline).ok()?;
    let mut first = [0];
    socket.write_all(greeting).and_then(|()| socket.read_exact(&mut first)).ok()?;
    Some(first[0])
}

/// Whether a server replies without TLS.
#[cfg(feature = "tls")]
fn speaks_plainly(address: &Address, deadline: Instant) -> bool {
    let first = first_byte(address, &super::command::words(&["PING"]), deadline);
    first.is_some_and(|first| b"+-".contains(&first))
}

/// The same as [`dial_tcp`] in the background.
async fn dial_tcp_async(
    addresses: Vec<SocketAddr>,
    deadline: Instant,
) -> io::Result<tokio::net::TcpStream> {
    let mut failure = io::Error::other(NO_ADDRESS);
    let count = addresses.len();
    for (tried, address) in addresses.iter().enumerate() {
        let share = deadline_socket::left(deadline)? / (count - tried) as u32;
        let connecting = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(share, connecting).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failure)
}

const NO_ADDRESS: &str = "the host has no address";

/// Tries each address of the host in turn; each has its share of the time that is left.
fn dial_tcp(addresses: Vec<SocketAddr>, deadline: Instant) -> io::Result<DeadlineSocket> {
    let mut failure = io::Error::other(NO_ADDRESS);
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
        #[cfg(feature = "tls")]
        if let Some(what) = error.get_ref().and_then(tls::refusal) {
            let message = format!("{address} {what}");
            return Error::new(ErrorKind::InvalidUrl, message).with_source(error);
        }
        let why = match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no reply in time".to_owned(),
            _ => error.to_string(),
        };
        let message = format!("no connection to {address}: {why}");
        Error::new(ErrorKind::ConnectionFailed, message).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// As a name may have: of the first nothing comes back, as of a host that is gone.
    #[test]
    fn an_address_that_hangs_does_not_hide_the_next() {
        let [full, good] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = [&full, &good].map(|listener| listener.local_addr().unwrap());
        let wait = || TcpStream::connect_timeout(&addresses[0], Duration::from_millis(500)).ok();
        let _waiting: Vec<_> = std::iter::from_fn(wait).collect();
        let deadline = || Instant::now() + Duration::from_secs(4);
        dial_tcp(addresses.to_vec(), deadline()).unwrap();
        assert_eq!(good.accept().unwrap().1.ip(), addresses[1].ip());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let dialled = runtime.block_on(dial_tcp_async(addresses.to_vec(), deadline())).unwrap();
        assert_eq!(dialled.peer_addr().unwrap(), addresses[1]);
    }
}
