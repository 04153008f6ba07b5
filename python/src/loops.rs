//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll};

use millpond::{Async, Error, ErrorKind, Result, events, ick, recruiter, shuffle, tasks};
use pyo3::prelude::*;

use crate::completions::Completions;
use crate::errors;
use crate::handle::{Handle, block, derive, either, start};
use crate::to_python::{ToPython, plain};

/// A loop of the core, for the next caller.
struct Slot<L> {
    running: Mutex<Option<L>>,
    is_over: AtomicBool,
    process: u32,
}

impl<L> Slot<L> {
    fn new(running: L) -> Arc<Self> {
        let running = Mutex::new(Some(running));
        Arc::new(Self { running, is_over: AtomicBool::new(false), process: std::process::id() })
    }

    /// Whether it ended before the core's did.
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// A batch as Python has it.
    fn convert(&self, py: Python<'_>, batch: impl ToPython, text: bool) -> PyResult<Py<PyAny>> {
        let converted = batch.to_python(py, text).map(Bound::unbind);
        converted.inspect_err(|_| self.is_over.store(true, Ordering::Release))
    }

    /// The loop. Never waits: the thread that uses it may wait for work
    /// without limit.
    fn running(&self) -> Result<MutexGuard<'_, Option<L>>> {
        match self.running.try_lock() {
            Ok(running) => Ok(running),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "another thread is requesting the next batch; each thread needs a loop of its own",
            )),
        }
    }
}

impl<B, L: Iterator<Item = Result<B>>> Slot<L> {
    /// The next batch of a loop that blocks.
    fn next(&self) -> Result<Option<B>> {
        match &mut *self.running()? {
            Some(running) if !self.is_over() => running.next().transpose(),
            _ => Ok(None),
        }
    }
}

impl<L> Drop for Slot<L> {
    /// The child of a fork does not touch its parent's listener: its lock may be held by a
    /// thread that does not exist in the child.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let running = self.running.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(running.take());
        }
    }
}

/// A loop of an event loop's.
trait AsyncLoop: Send + 'static {
    /// What it returns.
    type Batch: Send + 'static;

    /// The future of the next batch; the next one continues one that is dropped.
    fn next(&mut self) -> impl Future<Output = Option<Result<Self::Batch>>>;

    /// Stops listening until the next batch is requested.
    fn stop_listening(&mut self);
}

/// The request for the next batch. One that is dropped is left to the next, but does not listen
/// meanwhile: it would consume notifications that another loop needs.
struct Asking<L: AsyncLoop> {
    slot: Arc<Slot<L>>,
    is_answered: bool,
}

impl<L: AsyncLoop> Asking<L> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<L::Batch>>> {
        let answer = match &mut *self.slot.running()? {
            Some(running) if !self.slot.is_over() => {
                pin!(running.next()).poll(context).map(Option::transpose)
            }
            _ => Poll::Ready(Ok(None)),
        };
        self.is_answered = answer.is_ready();
        answer
    }
}

impl<L: AsyncLoop> Drop for Asking<L> {
    fn drop(&mut self) {
        if !self.is_answered
            && let Ok(mut running) = self.slot.running()
            && let Some(running) = &mut *running
        {
            running.stop_listening();
        }
    }
}

/// Asks an event loop's loop for its next batch.
fn ask<L: AsyncLoop>(
    py: Python<'_>,
    slot: Arc<Slot<L>>,
    convert: impl FnOnce(Python<'_>, Option<L::Batch>) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let mut asking = Asking { slot, is_answered: false };
    start_waiting(py, || poll_fn(move |context| asking.poll(context)), convert)
}

/// Starts a call that may wait for work without limit: it is dropped as soon as it is cancelled.
pub(crate) fn start_waiting<
    T: Send + 'static,
    F: Future<Output = Result<T>> + Unpin + Send + 'static,
>(
    py: Python<'_>,
    call: impl FnOnce() -> F,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let future = start(py, call, convert)?;
    Completions::forget_when_cancelled(py, &future)?;
    Ok(future)
}

/// The class of a loop. A batch that cannot be converted ends it: no caller has received that one, so it must
/// not be committed, or deleted, by asking for the next.
macro_rules! loop_class {
    ($name:ident, $core:ty, $asked:ty, $batch:ty, $stop:expr) => {
        #[pyclass(frozen, module = "millpond._native")]
        pub(crate) struct $name {
            core: Handle<Arc<Slot<$core>>, Arc<Slot<$asked>>>,
            text: bool,
        }

        impl AsyncLoop for $asked {
            type Batch = $batch;

            fn next(&mut self) -> impl Future<Output = Option<Result<Self::Batch>>> {
                <$asked>::next(self)
            }

            fn stop_listening(&mut self) {
                $stop(self);
            }
        }

        impl $name {
            pub(crate) fn new(core: Handle<$core, $asked>, text: bool) -> Self {
                Self { core: derive!(core, |core| Slot::new(core)), text }
            }
        }

        #[pymethods]
        impl $name {
            /// The next batch, or None when the loop is over.
            fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                let text = self.text;
                match &self.core {
                    Handle::Blocking(slot) => {
                        block(py, || slot.next(), |py, batch| slot.convert(py, batch, text))
                    }
                    Handle::Async(slot) => {
                        let asked = slot.clone();
                        ask(py, slot.clone(), move |py, batch| asked.convert(py, batch, text))
                    }
                }
            }
        }
    };
}

loop_class!(
    Batches,
    ick::Batches,
    ick::Batches<Async>,
    ick::Batch,
    ick::Batches::<Async>::stop_listening
);
loop_class!(
    Messages,
    shuffle::Messages,
    shuffle::Messages<Async>,
    Vec<shuffle::Message>,
    shuffle::Messages::<Async>::stop_listening
);
// It never waits.
loop_class!(Garbage, shuffle::Garbage, shuffle::Garbage<Async>, Vec<Vec<u8>>, |_: &mut Self| ());
loop_class!(
    Claims,
    tasks::Claims,
    tasks::Claims<Async>,
    Vec<tasks::Task>,
    tasks::Claims::<Async>::stop_listening
);
loop_class!(
    Deliveries,
    events::Deliveries,
    events::Deliveries<Async>,
    Vec<events::Event>,
    events::Deliveries::<Async>::stop_listening
);
loop_class!(
    Jobs,
    tasks::Jobs,
    tasks::Jobs<Async>,
    tasks::Job<Async>,
    tasks::Jobs::<Async>::stop_listening
);
loop_class!(
    Slices,
    recruiter::Slices,
    recruiter::Slices<Async>,
    recruiter::Slice<Async>,
    recruiter::Slices::<Async>::stop_listening
);

#[pymethods]
impl Batches {
    /// Commits the last batch, for a loop that is left before its end.
    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(slot) => {
                let commit = || match &mut *slot.running()? {
                    Some(batches) if !slot.is_over() => batches.commit(),
                    _ => Ok(0),
                };
                block(py, commit, plain)
            }
            Handle::Async(slot) => {
                let slot = slot.clone();
                let commit = async move {
                    let pending = match &mut *slot.running()? {
                        Some(batches) if !slot.is_over() => batches.commit(),
                        _ => return Ok(0),
                    };
                    pending.await
                };
                start(py, || Box::pin(commit), plain)
            }
        }
    }
}

#[pymethods]
impl Garbage {
    /// How many entries were scanned and how many records were deleted so far.
    fn counts(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let counts = either!(&self.core, |slot| slot.running().map(|running| {
            let garbage = running.as_ref();
            garbage.map_or((0, 0), |garbage| (garbage.scanned(), garbage.deleted()))
        }));
        counts.map_err(|error| errors::exception(py, &error))
    }
}
