//! Errors of the core as exceptions of Python. The classes are written in Python, one for each
//! kind, and are found by the kind's code.

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use millpond::{Error, ErrorKind, Result, Retry};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::process;
use crate::to_python::ToPython;

/// Code, name and what a retry does, of every kind of error.
pub(crate) fn table() -> Vec<(u32, &'static str, &'static str)> {
    let row = |kind: &ErrorKind| {
        let retry = match kind.retry() {
            Retry::Never => "never",
            Retry::Later => "later",
            Retry::Unknown => "unknown",
        };
        (kind.code(), kind.name(), retry)
    };
    ErrorKind::ALL.iter().map(row).collect()
}

/// Calls the core. A panic there is a bug, but it does not end the program.
pub(crate) fn catch<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::new(ErrorKind::Internal, format!("Millpond panicked: {text}")))
    })
}

/// The result of a call on this thread, unless a signal handler raised something meanwhile.
pub(crate) fn answer<T>(py: Python<'_>, answer: Result<T>) -> PyResult<T> {
    match process::take_raised() {
        Some(raised) => Err(raised),
        None => answer.map_err(|error| exception(py, &error)),
    }
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match make(py, error) {
        Ok(made) => {
            let raised = PyErr::from_value(made);
            if let Some(source) = error.source() {
                raised.set_cause(py, Some(PyException::new_err(source.to_string())));
            }
            raised
        }
        Err(failure) => failure,
    }
}

fn make<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let class = class(py, error.kind())?;
    let (message, operation) = (error.to_string(), error.operation());
    match error.dependency() {
        Some(found) => {
            let found = found.clone().to_python(py, false)?;
            process::running_python(|| class.call1((message, operation, found)))
        }
        None => process::running_python(|| class.call1((message, operation))),
    }
}

fn class(py: Python<'_>, kind: ErrorKind) -> PyResult<Bound<'_, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let classes = CLASSES.get_or_try_init(py, || {
        let classes =
            process::running_python(|| py.import("millpond.errors"))?.getattr("CLASSES")?;
        PyResult::Ok(classes.cast_into::<PyDict>()?.unbind())
    })?;
    classes.bind(py).as_any().get_item(kind.code())
}

/// The exception for an argument that has the right type and a wrong value.
pub(crate) fn invalid(py: Python<'_>, message: String) -> PyErr {
    exception(py, &Error::new(ErrorKind::InvalidArgument, message))
}
