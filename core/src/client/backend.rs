//! The backend of a client: a server or an embedded engine.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::closed;
#[cfg(feature = "embedded")]
use crate::embedded::Engine;
use crate::error::Result;
use crate::options::Pace;
#[cfg(feature = "redis")]
use crate::redis::Connections;
use crate::runtime::fork::PerProcess;
use crate::step::Operation;

pub(crate) enum Backend {
    #[cfg(feature = "embedded")]
    Embedded(Arc<Engine>),
    #[cfg(feature = "redis")]
    Redis(Connections),
}

/// What to do on each backend.
macro_rules! on_backend {
    ($backend:expr, $engine:ident => $embedded:expr, $connections:ident => $redis:expr) => {
        match $backend {
            #[cfg(feature = "embedded")]
            $crate::client::Backend::Embedded(ref $engine) => $embedded,
            #[cfg(feature = "redis")]
            $crate::client::Backend::Redis(ref $connections) => $redis,
        }
    };
}
pub(super) use on_backend;

/// What the clones of a client share. Errors get the operation's name here and nowhere else.
pub(super) struct Core {
    pub(super) backend: Backend,
    pub(super) pace: Pace,
    closed: AtomicBool,
    pub(super) shared: PerProcess<Shared>,
}

/// What handles share, by their names.
pub(super) type Shared = Mutex<HashMap<Box<[u8]>, Arc<dyn Any + Send + Sync>>>;

impl Core {
    pub(super) fn new(backend: Backend, pace: Pace) -> Self {
        Self { backend, pace, closed: AtomicBool::new(false), shared: PerProcess::new() }
    }

    /// Runs a step on the caller's thread.
    pub(super) fn run<O: Operation>(&self, step: Result<O>) -> Result<O::Output> {
        let run = |step| {
            on_backend!(self.backend,
                engine => engine.run(step),
                connections => connections.run(step))
        };
        named::<O, _>(self.check_open(step).and_then(run))
    }

    /// Runs a step and calls back.
    pub(super) fn submit<O: Operation>(
        &self,
        step: Result<O>,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
    ) {
        let done = move |output| done(named::<O, _>(output));
        match self.check_open(step) {
            Err(error) => done(Err(error)),
            Ok(step) => on_backend!(self.backend,
                engine => engine.submit(step, done),
                connections => connections.submit(step, done)),
        }
    }

    /// The same, once, with an end after this time; the embedded engine takes no time.
    pub(super) fn submit_within<O: Operation>(
        &self,
        step: Result<O>,
        timeout: Duration,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
    ) {
        let done = move |output| done(named::<O, _>(output));
        match self.check_open(step) {
            Err(error) => done(Err(error)),
            Ok(step) => on_backend!(self.backend,
                engine => {
                    let _ = timeout;
                    engine.submit(step, done)
                },
                connections => connections.submit_within(step, timeout, done)),
        }
    }

    pub(super) fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        on_backend!(self.backend,
        engine => {
            // Clients that share the engine check once for nothing.
            engine.wake_everyone();
            engine.leave()
        },
        connections => {
            connections.close();
            Ok(())
        })
    }

    fn check_open<O>(&self, step: Result<O>) -> Result<O> {
        match self.closed.load(Ordering::Acquire) {
            true => step.and(Err(closed())),
            false => step,
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Nobody is left to tell; what was acknowledged is safe already.
        let _ = self.close();
    }
}

pub(super) fn named<O: Operation, T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| error.in_operation(O::NAME))
}
