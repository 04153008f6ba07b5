//! The loop over the batches of an Ick.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use millpond::ick::Batch;
use millpond::{Async, Mode, Result, ick};
use pyo3::prelude::*;

use crate::convert;
use crate::handle::{Handle, block, start};
use crate::loops::{AsyncLoop, Slot, ask};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Batches {
    core: Handle<Arc<Slot<ick::Batches>>, Arc<Slot<ick::Batches<Async>>>>,
    text: bool,
}

impl AsyncLoop for ick::Batches<Async> {
    type Batch = Batch;

    fn next(&mut self) -> impl Future<Output = Option<Result<Batch>>> {
        self.next()
    }

    fn stop_listening(&mut self) {
        self.stop_listening();
    }
}

fn slot<M: Mode>(batches: ick::Batches<M>, wait: Option<Duration>) -> Arc<Slot<ick::Batches<M>>> {
    Slot::new(match wait {
        Some(wait) => batches.wait(wait),
        None => batches,
    })
}

/// A batch as Python has it. No caller has received one that cannot be converted, so it must
/// not be committed by asking for the next: the loop ends.
fn list<M: Mode>(
    py: Python<'_>,
    slot: &Slot<ick::Batches<M>>,
    batch: Option<Batch>,
    text: bool,
) -> PyResult<Py<PyAny>> {
    let Some(batch) = batch else { return Ok(py.None()) };
    convert::entries(py, &batch, text).inspect_err(|_| {
        if let Ok(mut batches) = slot.running() {
            *batches = None;
        }
    })
}

impl Batches {
    pub(crate) fn new(
        core: Handle<ick::Batches, ick::Batches<Async>>,
        wait: Option<Duration>,
        text: bool,
    ) -> Self {
        let core = match core {
            Handle::Blocking(batches) => Handle::Blocking(slot(batches, wait)),
            Handle::Async(batches) => Handle::Async(slot(batches, wait)),
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
                block(py, || slot.next(), |py, batch| list(py, slot, batch, text))
            }
            Handle::Async(slot) => {
                let asked = slot.clone();
                ask(py, slot.clone(), move |py, batch| list(py, &asked, batch, text))
            }
        }
    }

    /// Commits the last batch, for a loop that is left before its end.
    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(slot) => {
                let commit = || match &mut *slot.running()? {
                    Some(batches) => batches.commit(),
                    None => Ok(0),
                };
                block(py, commit, convert::plain)
            }
            Handle::Async(slot) => {
                let slot = slot.clone();
                let commit = async move {
                    let pending = match &mut *slot.running()? {
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
