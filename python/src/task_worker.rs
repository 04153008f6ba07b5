//! A worker and its jobs, one after the other.

use std::future::Future;
use std::sync::Arc;

use millpond::{Async, Result, tasks};
use pyo3::prelude::*;

use crate::convert;
use crate::handle::{Handle, block};
use crate::loops::{AsyncLoop, Slot, ask};
use crate::task_job::Job;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Worker {
    pub(crate) core: Handle<tasks::Worker, tasks::Worker<Async>>,
}

#[pymethods]
impl Worker {
    fn jobs(&self) -> Jobs {
        let core = match &self.core {
            Handle::Blocking(worker) => Handle::Blocking(Slot::new(worker.jobs())),
            Handle::Async(worker) => Handle::Async(Slot::new(worker.jobs())),
        };
        Jobs { core }
    }
}

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Jobs {
    core: Handle<Arc<Slot<tasks::Jobs>>, Arc<Slot<tasks::Jobs<Async>>>>,
}

impl AsyncLoop for tasks::Jobs<Async> {
    type Batch = tasks::Job<Async>;

    fn next(&mut self) -> impl Future<Output = Option<Result<Self::Batch>>> {
        tasks::Jobs::next(self)
    }

    fn stop_listening(&mut self) {
        tasks::Jobs::stop_listening(self);
    }
}

#[pymethods]
impl Jobs {
    /// The next job, or None when the loop is over.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.core {
            Handle::Blocking(slot) => block(
                py,
                || slot.next(),
                |py, job: Option<_>| {
                    convert::plain(py, job.map(|job| Job { core: Handle::Blocking(job) }))
                },
            ),
            Handle::Async(slot) => ask(py, slot.clone(), |py, job: Option<_>| {
                convert::plain(py, job.map(|job| Job { core: Handle::Async(job) }))
            }),
        }
    }
}
