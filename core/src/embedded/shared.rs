//! The engines that clients of one process share: those that name the same directory, or the same
//! `memory:name`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::engine::Engine;
use super::table::EmptyState;
use crate::error::{Error, ErrorKind, Result, invalid};
use crate::options::Options;
use crate::runtime::fork::PerProcess;
use crate::runtime::sync::lock;

/// The shared engines of this process.
static SHARED: PerProcess<Mutex<HashMap<EngineKey, Weak<Engine>>>> = PerProcess::new();

#[derive(Clone, PartialEq, Eq, Hash)]
enum EngineKey {
    Memory(String),
    File(PathBuf),
}

impl Engine {
    pub(crate) fn memory(
        name: Option<&str>,
        options: &Options,
        empty_state: EmptyState,
    ) -> Result<Arc<Self>> {
        let make = || Ok(Arc::new(Self::new(options, empty_state)));
        match name {
            None => make(),
            Some(name) => Self::shared(EngineKey::Memory(name.to_owned()), options, make),
        }
    }

    pub(crate) fn file(
        directory: &Path,
        options: &Options,
        empty_state: EmptyState,
    ) -> Result<Arc<Self>> {
        let directory = std::path::absolute(directory).map_err(|error| {
            Error::new(ErrorKind::Storage, format!("no path to {}", directory.display()))
                .with_source(error)
        })?;
        let directory = canonical(&directory);
        Self::shared(EngineKey::File(directory.clone()), options, || {
            Self::open(&directory, options, empty_state).map(Arc::new)
        })
    }

    /// The engine with this key, which `make` opens if no client of this process has it open.
    fn shared(
        key: EngineKey,
        options: &Options,
        make: impl FnOnce() -> Result<Arc<Self>>,
    ) -> Result<Arc<Self>> {
        let engines = SHARED.get_or_make(Arc::default, |_| {});
        loop {
            let mut shared = lock(&engines);
            // An engine whose directory was moved away goes on there, for those who have it.
            let engine = shared.get(&key).and_then(Weak::upgrade);
            let Some(engine) = engine.filter(|engine| engine.is_in_place()) else {
                shared.retain(|_, engine| engine.strong_count() > 0);
                let engine = make()?;
                shared.insert(key, Arc::downgrade(&engine));
                return Ok(engine);
            };
            if engine.enter() {
                drop(shared);
                return engine.check_same(options);
            }
            // Its last client is closing it. Closing takes other locks, so not under this one; and
            // it stays in the table until it is closed, so that nobody opens the directory before.
            drop(shared);
            // The client that closes it is told how it went.
            let _ = engine.close();
            let mut shared = lock(&engines);
            if shared.get(&key).is_some_and(|found| found.as_ptr() == Arc::as_ptr(&engine)) {
                shared.remove(&key);
            }
        }
    }

    /// Refuses to share an engine that keeps less of a promise than was asked for, or has another clock.
    fn check_same(self: Arc<Self>, options: &Options) -> Result<Arc<Self>> {
        let refused = if self.is_durable() && self.sync != options.sync {
            let message = "another client of this process has the directory open with another sync";
            Error::new(ErrorKind::InvalidUrl, message)
        } else if options.clock.as_ref().is_some_and(|clock| !Arc::ptr_eq(clock, &self.clock)) {
            invalid(
                "another client of this process has the engine open with another clock; the first that opens \
                 it brings the clock",
            )
        } else {
            return Ok(self);
        };
        self.leave()?;
        Err(refused)
    }
}

/// The one name of a directory that may not be there yet.
fn canonical(directory: &Path) -> PathBuf {
    for existing in directory.ancestors() {
        if let (Ok(real), Ok(rest)) = (existing.canonicalize(), directory.strip_prefix(existing)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    directory.to_owned()
}
