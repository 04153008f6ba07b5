//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll};

use millpond::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::completions::Completions;
use crate::handle::start;

/// A loop of the core, for the next caller.
pub(crate) struct Slot<L> {
    running: Mutex<Option<L>>,
    process: u32,
}

impl<L> Slot<L> {
    pub(crate) fn new(running: L) -> Arc<Self> {
        Arc::new(Self { running: Mutex::new(Some(running)), process: std::process::id() })
    }

    /// The loop, unless it was ended. Never waits: the thread that uses it may wait for work
    /// without limit.
    pub(crate) fn running(&self) -> Result<MutexGuard<'_, Option<L>>> {
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
    pub(crate) fn next(&self) -> Result<Option<B>> {
        match &mut *self.running()? {
            Some(running) => running.next().transpose(),
            None => Ok(None),
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
pub(crate) trait AsyncLoop: Send + 'static {
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
            Some(running) => pin!(running.next()).poll(context).map(Option::transpose),
            None => Poll::Ready(Ok(None)),
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
pub(crate) fn ask<L: AsyncLoop>(
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
