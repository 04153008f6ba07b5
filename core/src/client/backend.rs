//! The backend of a client: a server or an embedded engine.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::closed;
#[cfg(feature = "embedded")]
use crate::embedded::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Pace;
#[cfg(feature = "redis")]
use crate::redis::Connections;
use crate::runtime::fork::PerProcess;
use crate::runtime::sync::lock;
use crate::runtime::timer::Timer;
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

    /// Runs a step and calls back with its result or, if there is none after this time, with `TIMEOUT`. The step goes
    /// on, and what is needed for it, such as a connection; `late` gets its output if it comes after all.
    pub(super) fn submit_within<O: Operation>(
        &self,
        step: Result<O>,
        timeout: Duration,
        done: impl FnOnce(Result<O::Output>) + Send + 'static,
        late: impl FnOnce(O::Output) + Send + 'static,
    ) {
        let waiting = Arc::new(Mutex::new(Some(done)));
        let too_late = waiting.clone();
        self.submit(step, move |output| {
            let done = lock(&waiting).take();
            match (done, output) {
                (Some(done), output) => done(output),
                (None, Ok(output)) => late(output),
                (None, Err(_)) => {}
            }
        });
        // On the embedded engine it is mostly done by now.
        if lock(&too_late).is_none() {
            return;
        }
        let expire = move || {
            if let Some(done) = lock(&too_late).take() {
                let message = format!("there was no reply within {timeout:?}");
                done(named::<O, _>(Err(Error::new(ErrorKind::Timeout, message))));
            }
        };
        match Timer::ensure() {
            Ok(()) => Timer::detached(timeout, expire),
            Err(_) => expire(),
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

    pub(super) fn check_open<O>(&self, step: Result<O>) -> Result<O> {
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
