//! The entry point: selects the backend that a URL names and gives it the table of queues.

use crate::client::{Async, Backend, Client};
#[cfg(feature = "embedded")]
use crate::embedded::Engine;
use crate::error::{Result, invalid};
use crate::options::{Options, Pace, Target};
use crate::queues;
#[cfg(feature = "redis")]
use crate::redis::Connections;

/// Connects to a server or opens an embedded engine; see [`Options`] for the URLs.
///
/// A Redis client connects when it first has something to send. This call therefore opens no
/// connection, and the process can still fork after it.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// client.ick("files").add([(1.0, "a.txt")])?;
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Errors
/// `INVALID_URL` for a URL or an option that is not recognized; for `file:`, `LOCKED` if another
/// process holds the directory (processes share queues over `redis:`), `CORRUPT` if it is damaged
/// or data that was on disk is missing, `STORAGE` if the disk reports an error or a link or a pipe
/// is in a file's place; `INVALID_ARGUMENT` for a clock other than that of an engine that is
/// already open, and for any clock with a server.
pub fn connect(url: &str) -> Result<Client> {
    Options::parse(url)?.connect()
}

/// The same API for async programs: every step is a future. It needs no runtime from the caller.
pub mod aio {
    use super::{Async, Client, Options, Result};

    /// A client whose steps are futures, on any async runtime.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let client = millpond::aio::connect("memory:")?;
    /// client.ick("files").add([(1.0, "a.txt")]).await?;
    /// # Ok::<(), millpond::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`crate::connect`].
    pub fn connect(url: &str) -> Result<Client<Async>> {
        Ok(Options::parse(url)?.connect()?.to_async())
    }
}

impl Options {
    /// Makes a client with these options; see [`connect`].
    ///
    /// # Errors
    /// As [`connect`].
    pub fn connect(&self) -> Result<Client> {
        let pace = Pace { timeout: self.timeout, ..self.pace };
        let backend = match self.target() {
            #[cfg(feature = "embedded")]
            Target::Memory(name) => {
                Backend::Embedded(Engine::memory(name.as_deref(), self, queues::empty_state)?)
            }
            #[cfg(feature = "embedded")]
            Target::File(path) => {
                let engine = Engine::file(path, self, queues::empty_state)?;
                let recovery = engine.recovery().into_iter();
                recovery.flat_map(|found| &found.warnings).for_each(|text| (self.on_warning)(text));
                Backend::Embedded(engine)
            }
            #[cfg(feature = "redis")]
            _ if self.clock.is_some() => {
                return Err(invalid(
                    "a clock is for memory: and file:; a server's time is the server's",
                ));
            }
            #[cfg(feature = "redis")]
            _ => Backend::Redis(Connections::new(self)?),
            #[cfg(not(all(feature = "redis", feature = "embedded")))]
            #[allow(unreachable_patterns, reason = "which it is depends on the features")]
            _ => {
                return Err(crate::error::Error::new(
                    crate::error::ErrorKind::InvalidUrl,
                    "this build of Millpond does not have the feature for this URL",
                ));
            }
        };
        Ok(Client::new(backend, pace))
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::error::ErrorKind;
    use crate::{Clock, ManualClock};

    fn with(url: &str, clock: &Arc<ManualClock>) -> Result<Client> {
        Options::parse(url)?.clock(clock.clone()).connect()
    }

    #[test]
    fn a_manual_clock_stands_still_at_the_present_and_has_an_end() {
        let before = crate::SystemClock::default().now();
        let clock = ManualClock::new();
        let start = clock.now();
        assert!(start.is_multiple_of(1_000));
        assert!((before..before + 60_000_000).contains(&(start + 1_000)));
        clock.advance(Duration::from_micros(1_500));
        assert_eq!(clock.now(), start + 1_500);
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), ManualClock::at(u64::MAX).now());
    }

    #[test]
    fn those_that_share_an_engine_share_its_clock() {
        let (clock, other) = (Arc::new(ManualClock::at(1_000)), Arc::new(ManualClock::at(1_000)));
        let directory = tempfile::tempdir().unwrap();
        let file = format!("file:{}", directory.path().display());
        for url in ["memory:of one clock", &file] {
            let first = with(url, &clock).unwrap();
            let (same, bare) = (with(url, &clock).unwrap(), connect(url).unwrap());
            let error = with(url, &other).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("another clock"), "{error}");
            for client in [first, same, bare] {
                assert_eq!(client.tasks("shop").time().unwrap(), 1);
                client.close().unwrap();
            }
        }
        let _system = connect("memory:of the system's clock").unwrap();
        let error = with("memory:of the system's clock", &clock).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }

    #[cfg(feature = "redis")]
    #[test]
    fn a_server_has_its_own_time() {
        for url in ["redis://127.0.0.1:1", "redis+cluster://127.0.0.1:1", "redis+sentinel://h/s"] {
            let error = with(url, &Arc::new(ManualClock::new())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains("a server's time is the server's"), "{error}");
        }
    }
}
