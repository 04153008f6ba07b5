//! Looks up the addresses of a host, in time.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::dial::failed;
use crate::error::Result;
use crate::options::Address;
use crate::runtime::fork::PerProcess;
use crate::runtime::interrupt;
use crate::runtime::sync::{lock, wait_until};

/// The addresses of a host. The system's resolver knows no time limit, so it runs on a thread of
/// its own, which is left to itself when there is no time to wait for it any more. Whoever looks up a name
/// that is being looked up already waits for the same thread: one that hangs has no others beside it.
pub(super) fn resolve(host: &str, port: u16, deadline: Instant) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let name = host.to_owned();
    // The port is not looked up; an address may have a zone besides.
    let look_up = move || (name.as_str(), 0).to_socket_addrs().map(Iterator::collect);
    let lookups = LOOKUPS.get_or_make(Arc::default, |_| {});
    let found = lookups.in_time(host, deadline, look_up)?;
    let mut addresses: Vec<SocketAddr> =
        found.map_err(|error| failed(&Address::Tcp(host.into(), port), error))?;
    addresses.iter_mut().for_each(|address| address.set_port(port));
    Ok(addresses)
}

static LOOKUPS: PerProcess<Lookups<Vec<SocketAddr>>> = PerProcess::new();

/// What is being looked up, by name.
struct Lookups<T>(Mutex<HashMap<String, Arc<Lookup<T>>>>);

struct Lookup<T> {
    /// An error as its kind and what it says, since several may want it.
    found: Mutex<Option<Result<T, (io::ErrorKind, String)>>>,
    is_done: Condvar,
}

impl<T> Default for Lookups<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + Send + 'static> Lookups<T> {
    /// Waits until the deadline for work that knows none, which is done once for all who want it meanwhile.
    fn in_time(
        self: &Arc<Self>,
        name: &str,
        deadline: Instant,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<io::Result<T>> {
        let lookup = match self.join(name, work) {
            Ok(lookup) => lookup,
            Err(error) => return Ok(Err(error)),
        };
        let mut outcome = None;
        interrupt::wait_in_slices(Some(deadline), |until| {
            let mut found = lock(&lookup.found);
            while found.is_none() && until.is_none_or(|until| Instant::now() < until) {
                found = wait_until(&lookup.is_done, found, until);
            }
            outcome = found.clone();
            outcome.is_some()
        })?;
        Ok(match outcome {
            Some(found) => found.map_err(|(kind, text)| io::Error::new(kind, text)),
            None => Err(io::ErrorKind::TimedOut.into()),
        })
    }

    /// The lookup of this name that is under way, or one that begins.
    fn join(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<Arc<Lookup<T>>> {
        let mut under_way = lock(&self.0);
        if let Some(lookup) = under_way.get(name) {
            return Ok(lookup.clone());
        }
        let lookup = Arc::new(Lookup { found: Mutex::new(None), is_done: Condvar::new() });
        let end = End { lookups: self.clone(), name: name.to_owned(), lookup: lookup.clone() };
        let work = move || {
            let found = work();
            end.with(found);
        };
        std::thread::Builder::new().name("millpond-resolver".into()).spawn(work)?;
        under_way.insert(name.to_owned(), lookup.clone());
        Ok(lookup)
    }
}

/// Ends a lookup, also one that panics.
struct End<T> {
    lookups: Arc<Lookups<T>>,
    name: String,
    lookup: Arc<Lookup<T>>,
}

impl<T> End<T> {
    fn with(self, found: io::Result<T>) {
        *lock(&self.lookup.found) = Some(found.map_err(|error| (error.kind(), error.to_string())));
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        lock(&self.lookups.0).remove(&self.name);
        let panicked = || Err((io::ErrorKind::Other, "the resolver panicked".to_owned()));
        lock(&self.lookup.found).get_or_insert_with(panicked);
        self.lookup.is_done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_resolver_that_hangs_is_left_to_itself_at_the_deadline_and_is_one() {
        let lookups = Arc::new(Lookups::default());
        let (end, hanging) = mpsc::channel::<()>();
        let soon = || Instant::now() + Duration::from_millis(50);
        let hangs = move || {
            let _ = hanging.recv();
            Ok(1)
        };
        let is_late = |found: Result<io::Result<i32>>| {
            assert_eq!(found.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        };
        is_late(lookups.in_time("slow", soon(), hangs));
        for _ in 0..3 {
            is_late(lookups.in_time("slow", soon(), || panic!("it is looked up already")));
        }
        let far = Instant::now() + Duration::from_secs(60);
        assert_eq!(lookups.in_time("other", far, || Ok(7)).unwrap().unwrap(), 7);
        // Who waits when it ends gets what it found, and who comes later looks anew.
        let late = lookups.join("slow", || panic!("it is looked up already")).unwrap();
        drop(end);
        while lock(&late.found).is_none() {
            std::thread::yield_now();
        }
        assert_eq!(*lock(&late.found), Some(Ok(1)));
        while lock(&lookups.0).contains_key("slow") {
            std::thread::yield_now();
        }
        let fails = || Err(io::Error::other("no such host"));
        let error = lookups.in_time("slow", far, fails).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "no such host");
    }

    #[test]
    fn a_resolver_that_panics_is_an_error() {
        let far = Instant::now() + Duration::from_secs(60);
        let found = Arc::new(Lookups::<()>::default()).in_time("x", far, || panic!("on purpose"));
        assert_eq!(found.unwrap().unwrap_err().to_string(), "the resolver panicked");
    }

    #[test]
    fn names_addresses_and_zones() {
        let far = Instant::now() + Duration::from_secs(60);
        assert!(resolve("localhost", 1, far).unwrap().iter().all(|found| found.ip().is_loopback()));
        assert_eq!(resolve("::1", 1, far).unwrap(), ["[::1]:1".parse().unwrap()]);
        let zoned = resolve("fe80::1%lo", 1, far).unwrap();
        assert!(
            zoned
                .iter()
                .all(|found| matches!(found, SocketAddr::V6(found) if found.scope_id() > 0))
        );
    }
}
