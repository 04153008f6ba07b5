//! The loop over the tasks that a claimant leases.

use std::future::Future;
use std::sync::Arc;

use millpond::{Async, Result, tasks};
use pyo3::prelude::*;

use crate::handle::{Handle, block};
use crate::loops::{AsyncLoop, Slot, ask};
use crate::to_python::plain;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Claims {
    core: Handle<Arc<Slot<tasks::Claims>>, Arc<Slot<tasks::Claims<Async>>>>,
}

impl AsyncLoop for tasks::Claims<Async> {
    type Batch = Vec<tasks::Task>;

    fn next(&mut self) -> impl Future<Output = Option<Result<Self::Batch>>> {
        tasks::Claims::next(self)
    }

    fn stop_listening(&mut self) {
        tasks::Claims::stop_listening(self);
    }
}

impl Claims {
    pub(crate) fn new(core: Handle<tasks::Claims, tasks::Claims<Async>>) -> Self {
        let core = match core {
            Handle::Blocking(claims) => Handle::Blocking(Slot::new(claims)),
            Handle::Async(claims) => Handle::Async(Slot::new(claims)),
        };
        Self { core }
    }
}

#[pymethods]
impl Claims {
    /// The next batch, or None when the loop is over.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(slot) => block(py, || slot.next(), plain),
            Handle::Async(slot) => ask(py, slot.clone(), plain),
        }
    }
}
