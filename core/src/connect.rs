//! The one door in: picks the backend that a URL names and hands it the table of queues.

use crate::client::{Async, Backend, Client};
#[cfg(feature = "embedded")]
use crate::embedded::Engine;
use crate::error::Result;
use crate::options::{Options, Target};
use crate::queues;
#[cfg(feature = "redis")]
use crate::redis::Connections;

/// Connects to a server or opens an embedded engine; see [`Options`] for the URLs.
///
/// A Redis client connects when it first has something to send, so this makes no connection and a
/// process can fork after it.
///
/// ```
/// let client = millpond::connect("memory:")?;
/// client.ick("files").add([(1.0, "a.txt")])?;
/// # Ok::<(), millpond::Error>(())
/// ```
///
/// # Errors
/// `INVALID_URL` for a URL or an option that is not known; for `file:`, `LOCKED` if another
/// process holds the directory (processes share queues over `redis:`), `CORRUPT` if it is damaged
/// or lacks what was on disk, `STORAGE` if the disk refuses or a link or a pipe is in a file's
/// place.
pub fn connect(url: &str) -> Result<Client> {
    Options::parse(url)?.connect()
}

/// The same for async programs: every step is a future. Needs no runtime of the caller's.
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
        Ok(Client::new(backend))
    }
}
