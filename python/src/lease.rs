//! The consumer lease of an Ick.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millpond::{Async, Blocking, Error, ErrorKind, ick};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::batches::Batches;
use crate::handle::{Handle, call, derive};
use crate::ick::wait_time;
use crate::to_python::{decoded, plain};
use crate::{convert, errors};

type Held = Handle<Arc<ick::ConsumerLease>, Arc<ick::ConsumerLease<Async>>>;

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct ConsumerLease {
    /// There until it is released. Calls take a reference out, so that none waits for another
    /// while it holds the interpreter's lock.
    held: Mutex<Option<Held>>,
    text: bool,
}

impl From<ick::ConsumerLease<Blocking>> for Held {
    fn from(lease: ick::ConsumerLease<Blocking>) -> Self {
        Handle::Blocking(Arc::new(lease))
    }
}

impl From<ick::ConsumerLease<Async>> for Held {
    fn from(lease: ick::ConsumerLease<Async>) -> Self {
        Handle::Async(Arc::new(lease))
    }
}

impl ConsumerLease {
    pub(crate) fn new(lease: impl Into<Held>, text: bool) -> Self {
        Self { held: Mutex::new(Some(lease.into())), text }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self, py: Python<'_>) -> PyResult<Held> {
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

    fn reserve(&self, py: Python<'_>, max: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::size("max", max)?, self.text);
        call!(py, &self.held(py)?, |lease| lease.reserve(max), decoded(text))
    }

    fn commit(&self, py: Python<'_>, members: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let members = convert::members(members, ick::BATCH_MEMBERS_MAX)?;
        call!(py, &self.held(py)?, |lease| lease.commit(members.iter()), plain)
    }

    fn exchange(
        &self,
        py: Python<'_>,
        max: &Bound<'_, PyAny>,
        members: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (max, text) = (convert::size("max", max)?, self.text);
        let members = convert::members(members, ick::BATCH_MEMBERS_MAX)?;
        call!(py, &self.held(py)?, |lease| lease.exchange(max, members.iter()), decoded(text))
    }

    fn batches(
        &self,
        py: Python<'_>,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batches> {
        let max = convert::size("max", max)?;
        let wait = wait_time(wait)?;
        Ok(Batches::new(derive!(&self.held(py)?, |lease| lease.batches(max)), wait, self.text))
    }

    fn release(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let taken = self.slot().take();
        let busy = || {
            PyRuntimeError::new_err("another thread's call through this lease is still under way")
        };
        let put_back = |held| *self.slot() = Some(held);
        let lease = match taken {
            // A second release finds that the lease is gone.
            None => return self.held(py).map(|_| py.None()),
            Some(Handle::Blocking(lease)) => Handle::Blocking(
                Arc::try_unwrap(lease)
                    .map_err(|lease| put_back(Handle::Blocking(lease)))
                    .map_err(|()| busy())?,
            ),
            Some(Handle::Async(lease)) => Handle::Async(
                Arc::try_unwrap(lease)
                    .map_err(|lease| put_back(Handle::Async(lease)))
                    .map_err(|()| busy())?,
            ),
        };
        call!(py, lease, |lease| lease.release(), plain)
    }
}
