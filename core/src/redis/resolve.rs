//! Looks up the addresses of a host, in time.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Instant;

use super::dial::failed;
use crate::error::Result;
use crate::options::Address;
use crate::runtime::interrupt;

/// The addresses of a host. The system's resolver knows no time limit, so it runs on a thread of
/// its own, which is left to itself when there is no time to wait for it any more.
pub(super) fn resolve(host: &str, port: u16, deadline: Instant) -> Result<Vec<SocketAddr>> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
