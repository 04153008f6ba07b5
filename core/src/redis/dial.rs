//! Opening a connection: TCP, TLS or a Unix socket, looking up the host included, in time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

#[cfg(feature = "tls")]
use super::tls;
use super::wire::{self, Wire};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Options};
use crate::runtime::interrupt;

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

/// A connection that blocks, until the deadline of its wire.
pub(super) enum Stream {
    Plain(Wire),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Wire>>),
}

impl Stream {
    pub(super) fn wire(&mut self) -> &mut Wire {
        match self {
            Stream::Plain(wire) => wire,
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => &mut tls.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(wire) => wire.read(buffer),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(wire) => wire.write(bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(wire) => wire.flush(),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.flush(),
        }
    }
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

    /// Opens a connection for a caller that blocks.
    pub(super) fn dial(&self, address: &Address, peer: Peer, deadline: Instant) -> Result<Stream> {
        let stream = match address {
            Address::Unix(path) => Wire::connect_unix(path, deadline).map(Stream::Plain),
            Address::Tcp(host, port) => dial_tcp(resolve(host, *port, deadline)?, deadline)
                .and_then(|wire| self.secure(wire, host, peer)),
        };
        stream.map_err(|error| failed(address, error))
    }

    #[cfg(not(feature = "tls"))]
    fn secure(&self, wire: Wire, _host: &str, _peer: Peer) -> io::Result<Stream> {
        Ok(Stream::Plain(wire))
    }

    #[cfg(feature = "tls")]
    fn secure(&self, wire: Wire, host: &str, peer: Peer) -> io::Result<Stream> {
        let Some(config) = self.tls.as_ref().filter(|_| self.is_tls(peer)) else {
            return Ok(Stream::Plain(wire));
        };
        let connection = rustls::ClientConnection::new(config.clone(), tls::server_name(host)?)
            .map_err(io::Error::other)?;
        let mut stream = rustls::StreamOwned::new(connection, wire);
        // The handshake now, so that a certificate that is refused is reported as such.
        stream.conn.complete_io(&mut stream.sock)?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// Opens a connection for the background thread.
    pub(super) async fn dial_async(&self, address: &Address) -> io::Result<AsyncStream> {
        Ok(match address {
            Address::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
            Address::Tcp(host, port) => {
                let tcp = tokio::net::TcpStream::connect((&**host, *port)).await?;
                set_up(socket2::SockRef::from(&tcp))?;
                self.secure_async(tcp, host).await?
            }
        })
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

/// The addresses of a host. The system's resolver knows no time limit, so it runs on a thread of
/// its own, which is left to itself when there is no time to wait for it any more.
fn resolve(host: &str, port: u16, deadline: Instant) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    let look_up = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
    in_time(deadline, look_up)?.map_err(|error| failed(&Address::Tcp(host.into(), port), error))
}

/// Waits until the deadline for work that knows none.
fn in_time<T: Send + 'static>(
    deadline: Instant,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<io::Result<T>> {
    let (done, result) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("millpond-resolver".into()).spawn(move || {
        // Nobody may wait any more.
        let _ = done.send(work());
    });
    if let Err(error) = thread {
        return Ok(Err(error));
    }
    let mut outcome = Err(io::ErrorKind::TimedOut.into());
    interrupt::wait_in_slices(Some(deadline), |until| {
        let left = until.unwrap_or(deadline).saturating_duration_since(Instant::now());
        match result.recv_timeout(left) {
            Ok(found) => outcome = found,
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                outcome = Err(io::Error::other("the resolver panicked"));
            }
        }
        true
    })?;
    Ok(outcome)
}

/// Tries each address of the host in turn; each has its share of the time that is left.
fn dial_tcp(addresses: Vec<SocketAddr>, deadline: Instant) -> io::Result<Wire> {
    let mut failure = io::Error::other("the host has no address");
    let count = addresses.len();
    for (tried, address) in addresses.iter().enumerate() {
        let share = wire::left(deadline)? / (count - tried) as u32;
        match Wire::connect_tcp(address, Instant::now() + share) {
            Ok(mut wire) => {
                set_up(wire.as_socket())?;
                wire.set_deadline(deadline);
                return Ok(wire);
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

/// A connection for the background thread.
pub(super) type AsyncStream = Box<dyn AsyncReadWrite>;

pub(super) trait AsyncReadWrite:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin
{
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin> AsyncReadWrite for T {}

pub(super) fn failed(address: &Address, error: io::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(interrupted) => return interrupted,
        Err(error) => error,
    };
    let why = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "no answer in time".to_owned(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::ConnectionFailed, format!("no connection to {address}: {why}"))
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolver_that_hangs_is_left_to_itself_at_the_deadline() {
        let (end, hanging) = mpsc::channel::<()>();
        let began = Instant::now();
        let deadline = began + Duration::from_millis(50);
        let found = in_time(deadline, move || {
            let _ = hanging.recv();
            Ok(())
        });
        assert_eq!(found.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(5));
        drop(end);
        let far = Instant::now() + Duration::from_secs(60);
        assert_eq!(in_time(far, || Ok(7)).unwrap().unwrap(), 7);
        assert!(resolve("localhost", 1, far).unwrap().iter().all(|found| found.ip().is_loopback()));
        assert_eq!(resolve("::1", 1, far).unwrap(), ["[::1]:1".parse().unwrap()]);
    }
}
