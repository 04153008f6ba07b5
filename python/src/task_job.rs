//! A task that is being worked on.

use millpond::{Async, tasks};
use pyo3::prelude::*;

use crate::convert;
use crate::handle::{Handle, call};
use crate::modification::{self, Modification};
use crate::task::Task;
use crate::to_python::{ToPython, plain};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Job {
    pub(crate) core: Handle<tasks::Job, tasks::Job<Async>>,
}

/// What a job returns at once, to any kind of caller.
macro_rules! ask {
    ($handle:expr, |$job:ident| $question:expr) => {
        match $handle {
            Handle::Blocking($job) => $question,
            Handle::Async($job) => $question,
        }
    };
}

#[pymethods]
impl Job {
    #[getter]
    fn task(&self) -> Task {
        Task::new(ask!(&self.core, |job| job.task().clone()))
    }

    /// Without the interpreter's lock, like all that waits for a lock of the job's.
    #[getter]
    fn handle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let handle = py.detach(|| ask!(&self.core, |job| job.handle()));
        handle.to_python(py, false)
    }

    #[getter]
    fn is_lost(&self) -> bool {
        ask!(&self.core, |job| job.is_lost())
    }

    #[getter]
    fn is_ended(&self) -> bool {
        ask!(&self.core, |job| job.is_ended())
    }

    fn delete(&self, py: Python<'_>) -> Modification {
        Modification::new(py.detach(|| ask!(&self.core, |job| job.delete())))
    }

    fn claim_docs(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (namespace, key) = (convert::text("namespace", namespace)?, convert::text("key", key)?);
        match wait.map(|wait| convert::duration("wait", wait)).transpose()? {
            None => call!(py, &self.core, |job| job.claim_docs(namespace, key), plain),
            Some(wait) => {
                call!(py, &self.core, |job| job.claim_docs_within(namespace, key, wait), plain)
            }
        }
    }

    fn finish(&self, py: Python<'_>, modification: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let gathered = modification::read(modification)?;
        call!(py, &self.core, |job| job.finish(gathered), plain)
    }

    fn done(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        call!(py, &self.core, |job| job.done(), plain)
    }

    fn fail(&self, py: Python<'_>, err: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let err = convert::text("err", err)?;
        call!(py, &self.core, |job| job.fail(&err), plain)
    }

    fn retry(
        &self,
        py: Python<'_>,
        err: &Bound<'_, PyAny>,
        delay: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let err = convert::text("err", err)?;
        match delay.map(|delay| convert::duration("delay", delay)).transpose()? {
            None => call!(py, &self.core, |job| job.retry(&err), plain),
            Some(delay) => {
                call!(py, &self.core, |job| job.retry_after(&err, delay), plain)
            }
        }
    }

    fn move_to(
        &self,
        py: Python<'_>,
        queue: &Bound<'_, PyAny>,
        err: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (queue, err) = (convert::text("queue", queue)?, convert::text("err", err)?);
        call!(py, &self.core, |job| job.move_to(&queue, &err), plain)
    }

    fn release(&self, py: Python<'_>, delay: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        match delay.map(|delay| convert::duration("delay", delay)).transpose()? {
            None => call!(py, &self.core, |job| job.release(), plain),
            Some(delay) => {
                call!(py, &self.core, |job| job.release_after(delay), plain)
            }
        }
    }
}
