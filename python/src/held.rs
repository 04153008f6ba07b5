//! What is held until it is released: the consumer lease of an Ick, the lock of a field.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use millpond::{Async, Error, ErrorKind, ick, volatile};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors;
use crate::handle::{Handle, block, either, start};
use crate::to_python::plain;

/// What is held, until it is released. Calls take a reference out, so that none waits for another
/// while it holds the interpreter's lock.
struct Slot<H>(Mutex<Option<Arc<H>>>);

impl<H> Slot<H> {
    fn new(held: H) -> Self {
        Self(Mutex::new(Some(Arc::new(held))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<H>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self) -> Option<Arc<H>> {
        self.lock().clone()
    }

    /// Takes it out, to release it; nothing if that was done before.
    fn take(&self) -> PyResult<Option<H>> {
        let mut slot = self.lock();
        let taken = slot.take().map(Arc::try_unwrap).transpose();
        taken.map_err(|held| {
            *slot = Some(held);
            PyRuntimeError::new_err("another thread's call through it is still under way")
        })
    }
}

/// The class of what is held; `$what` is what it is called.
macro_rules! held_class {
    ($name:ident, $core:ty, $asked:ty, $what:literal) => {
        #[pyclass(frozen, module = "millpond._native")]
        pub(crate) struct $name {
            held: Handle<Slot<$core>, Slot<$asked>>,
            pub(crate) text: bool,
        }

        impl $name {
            pub(crate) fn new(core: Handle<$core, $asked>, text: bool) -> Self {
                let held = match core {
                    Handle::Blocking(core) => Handle::Blocking(Slot::new(core)),
                    Handle::Async(core) => Handle::Async(Slot::new(core)),
                };
                Self { held, text }
            }

            pub(crate) fn core(&self, py: Python<'_>) -> PyResult<Handle<Arc<$core>, Arc<$asked>>> {
                let held = match &self.held {
                    Handle::Blocking(slot) => slot.get().map(Handle::Blocking),
                    Handle::Async(slot) => slot.get().map(Handle::Async),
                };
                held.ok_or_else(|| {
                    let message = concat!("the ", $what, " was released");
                    errors::exception(py, &Error::new(ErrorKind::LeaseLost, message))
                })
            }
        }

        #[pymethods]
        impl $name {
            /// What was released is lost as well: stop working.
            #[getter]
            fn is_lost(&self) -> bool {
                either!(&self.held, |slot| slot.get().is_none_or(|held| held.is_lost()))
            }

            fn release(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                match &self.held {
                    Handle::Blocking(slot) => match slot.take()? {
                        Some(held) => block(py, || held.release(), plain),
                        None => block(py, || Ok(false), plain),
                    },
                    Handle::Async(slot) => match slot.take()? {
                        Some(held) => start(py, || held.release(), plain),
                        None => start(py, || ready(Ok(false)), plain),
                    },
                }
            }
        }
    };
}

held_class!(ConsumerLease, ick::ConsumerLease, ick::ConsumerLease<Async>, "lease");
held_class!(FieldLock, volatile::FieldLock, volatile::FieldLock<Async>, "lock");
