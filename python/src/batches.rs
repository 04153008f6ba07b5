//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Poll;
use std::time::Duration;

use millpond::ick::Batch;
use millpond::{Async, Blocking, Error, ErrorKind, Mode, Result, ick};
use pyo3::prelude::*;

use crate::completions::Completions;
use crate::convert;
use crate::handle::{Handle, block, start};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Batches {
    core: Handle<Arc<Slot<Blocking>>, Arc<Slot<Async>>>,
    text: bool,
}

/// The core's batches, until one of them cannot be converted: nobody has seen that one, so it
/// must not be committed by asking for the next.
struct Slot<M: Mode> {
    batches: Mutex<Option<ick::Batches<M>>>,
    process: u32,
}

impl<M: Mode> Slot<M> {
    fn new(batches: ick::Batches<M>, wait: Option<Duration>) -> Arc<Self> {
        let batches = match wait {
            Some(wait) => batches.wait(wait),
            None => batches,
        };
        Arc::new(Self { batches: Mutex::new(Some(batches)), process: std::process::id() })
    }

    /// Never waits: whoever has the batches may be waiting for work, for ever.
    fn batches(&self) -> Result<MutexGuard<'_, Option<ick::Batches<M>>>> {
        match self.batches.try_lock() {
            Ok(batches) => Ok(batches),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(Error::new(
                ErrorKind::InvalidArgument,
                "another thread is asking for a batch; each thread needs batches of its own",
            )),
        }
    }

    fn list(&self, py: Python<'_>, batch: Option<Batch>, text: bool) -> PyResult<Py<PyAny>> {
        let Some(batch) = batch else { return Ok(py.None()) };
        convert::entries(py, &batch, text).inspect_err(|_| {
            if let Ok(mut batches) = self.batches() {
                *batches = None;
            }
        })
    }
}

impl<M: Mode> Drop for Slot<M> {
    /// The child of a fork leaves its parent's listener alone: it could wait for a lock that a
    /// thread had which the child does not have.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let batches = self.batches.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(batches.take());
        }
    }
}

/// The question for the next batch. One that is dropped is left to the next, but does not listen
/// meanwhile: it would be told of work in place of another loop.
struct Asking {
    slot: Arc<Slot<Async>>,
    is_answered: bool,
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_answered
            && let Ok(mut batches) = self.slot.batches()
            && let Some(batches) = &mut *batches
        {
            batches.stop_waiting();
        }
    }
}

/// The next batch of an event loop's.
fn next(slot: Arc<Slot<Async>>) -> impl Future<Output = Result<Option<Batch>>> + Unpin + Send {
    let mut asking = Asking { slot, is_answered: false };
    poll_fn(move |context| {
        let answer = match &mut *asking.slot.batches()? {
            Some(batches) => pin!(batches.next()).poll(context).map(Option::transpose),
            None => Poll::Ready(Ok(None)),
        };
        asking.is_answered = answer.is_ready();
        answer
    })
}

impl Batches {
    pub(crate) fn new(
        core: Handle<ick::Batches, ick::Batches<Async>>,
        wait: Option<Duration>,
        text: bool,
    ) -> Self {
        let core = match core {
            Handle::Blocking(batches) => Handle::Blocking(Slot::new(batches, wait)),
            Handle::Async(batches) => Handle::Async(Slot::new(batches, wait)),
        };
        Self { core, text }
    }
}

#[pymethods]
impl Batches {
    /// The next batch, or None when the loop is over.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let text = self.text;
        match &self.core {
            Handle::Blocking(slot) => {
                let next = || match &mut *slot.batches()? {
                    Some(batches) => batches.next().transpose(),
                    None => Ok(None),
                };
                block(py, next, |py, batch| slot.list(py, batch, text))
            }
            Handle::Async(slot) => {
                let (asked, answered) = (slot.clone(), slot.clone());
                let future =
                    start(py, || next(asked), move |py, batch| answered.list(py, batch, text))?;
                Completions::forget_when_cancelled(py, &future)?;
                Ok(future)
            }
        }
    }

    /// Commits the last batch, for a loop that is left before its end.
    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(slot) => {
                let commit = || match &mut *slot.batches()? {
                    Some(batches) => batches.commit(),
                    None => Ok(0),
                };
                block(py, commit, convert::plain)
            }
            Handle::Async(slot) => {
                let slot = slot.clone();
                let commit = async move {
                    let pending = match &mut *slot.batches()? {
                        Some(batches) => batches.commit(),
                        None => return Ok(0),
                    };
                    pending.await
                };
                start(py, || Box::pin(commit), convert::plain)
            }
        }
    }
}
