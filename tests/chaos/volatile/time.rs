//! The time of the server, which is that of the process on the embedded engine.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use millpond::{Error, ErrorKind, Result};
use millpond_tests::servers::Connection;

/// Reads the time over a connection that is not the library's.
pub(super) struct ServerTime {
    /// The host and port; `None` on the embedded engine.
    address: Option<String>,
    connection: Option<Connection<TcpStream>>,
}

impl ServerTime {
    /// The time of what this url names.
    pub(super) fn of(url: &str) -> Self {
        let address = url.strip_prefix("redis://").map(|rest| {
            let end = rest.find(['?', '/']).unwrap_or(rest.len());
            rest[..end].to_owned()
        });
        Self { address, connection: None }
    }

    /// Microseconds since the Unix epoch.
    ///
    /// # Errors
    /// `CONNECTION_FAILED` while the server is away.
    pub(super) fn now(&mut self) -> Result<u64> {
        let Some(address) = &self.address else {
            let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
            return Ok(super::micros(elapsed.expect("the clock is set")));
        };
        let connection = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => connect(address),
        };
        let read = connection.and_then(|mut connection| Ok((read(&mut connection)?, connection)));
        let (now, connection) =
            read.map_err(|error| Error::new(ErrorKind::ConnectionFailed, error.to_string()))?;
        self.connection = Some(connection);
        Ok(now)
    }

    /// The time after a call, or the largest number if the server is away.
    pub(super) fn after(&mut self) -> u64 {
        self.now().unwrap_or(u64::MAX)
    }
}

fn connect(address: &str) -> io::Result<Connection<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(Connection::new(stream))
}

fn read(connection: &mut Connection<TcpStream>) -> io::Result<u64> {
    let reply = connection.call(&["TIME"])?;
    // A server that loads its data refuses.
    if let Some(error) = reply.error() {
        return Err(io::Error::other(error.to_owned()));
    }
    let number =
        |index: usize| reply.array()[index].text().parse::<u64>().map_err(io::Error::other);
    Ok(number(0)? * 1_000_000 + number(1)?)
}
