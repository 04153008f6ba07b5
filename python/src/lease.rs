//! The consumer lease of an Ick.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millpond::{Async, Error, ErrorKind, ick};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::handle::{Handle, call, derive};
use crate::to_python::plain;

pub(crate) type Held = Handle<Arc<ick::ConsumerLease>, Arc<ick::ConsumerLease<Async>>>;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct ConsumerLease {
    /// There until it is released. Calls take a reference out, so that none waits for another
    /// while it holds the interpreter's lock.
    held: Mutex<Option<Held>>,
    pub(crate) text: bool,
}

impl ConsumerLease {
    pub(crate) fn new(
        lease: Handle<ick::ConsumerLease, ick::ConsumerLease<Async>>,
        text: bool,
    ) -> Self {
        Self { held: Mutex::new(Some(derive!(lease, |lease| Arc::new(lease)))), text }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn core(&self, py: Python<'_>) -> PyResult<Held> {
        let held = self.slot().as_ref().map(|held| derive!(held, |lease| lease.clone()));
        held.ok_or_else(|| {
            let error = Error::new(ErrorKind::LeaseLost, "the lease was released");
            errors::exception(py, &error)
        })
    }
}

#[pymethods]
impl ConsumerLease {
    /// A lease that was released is lost as well: stop working.
    #[getter]
    fn is_lost(&self) -> bool {
        match &*self.slot() {
            Some(Handle::Blocking(lease)) => lease.is_lost(),
            Some(Handle::Async(lease)) => lease.is_lost(),
            None => true,
        }
    }

    fn release(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let taken = self.slot().take();
        let busy = || {
            PyRuntimeError::new_err("another thread's call through this lease is still under way")
        };
        let put_back = |held| *self.slot() = Some(held);
        // A second release finds that the lease is gone.
        let Some(taken) = taken else { return self.core(py).map(|_| py.None()) };
        let lease = match taken {
            Handle::Blocking(lease) => Arc::try_unwrap(lease)
                .map(Handle::Blocking)
                .map_err(|lease| put_back(Handle::Blocking(lease))),
            Handle::Async(lease) => Arc::try_unwrap(lease)
                .map(Handle::Async)
                .map_err(|lease| put_back(Handle::Async(lease))),
        };
        call!(py, lease.map_err(|()| busy())?, |lease| lease.release(), plain)
    }
}
