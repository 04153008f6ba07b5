//! Values of tasks and contents of documents: values of Python, or JSON texts as they are.

use std::sync::Arc;

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::{convert, errors, process};

/// An argument for which None is a value too, so that `millpond.UNSET` stands for one that is left out.
pub(crate) struct Given<'py>(pub(crate) Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        static UNSET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let unset = UNSET.import(value.py(), "millpond.values", "UNSET")?;
        Ok(Self((!value.is(unset)).then(|| value.to_owned())))
    }
}

/// How a caller gives a value.
pub(crate) enum Json {
    LeftOut,
    /// `json=None`: no value, which is not the same as the text `null`.
    Absent,
    Text(String),
}

impl Json {
    /// The text of a record, which has one or none.
    pub(crate) fn text(self) -> Option<Arc<str>> {
        match self {
            Self::Text(text) => Some(text.into()),
            Self::LeftOut | Self::Absent => None,
        }
    }
}

/// Reads a value of Python that JSON has, or the JSON text itself; `what` is the value's argument.
pub(crate) fn read(
    py: Python<'_>,
    what: &str,
    value: Given<'_>,
    json: Given<'_>,
) -> PyResult<Json> {
    Ok(match (value.0, json.0) {
        (None, None) => Json::LeftOut,
        (Some(value), None) => Json::Text(dump(what, &value)?),
        (None, Some(text)) if text.is_none() => Json::Absent,
        (None, Some(text)) => Json::Text(convert::text("json", &text)?),
        (Some(_), Some(_)) => {
            let message = format!("{what} and json are both given; only one is allowed");
            return Err(errors::invalid(py, message));
        }
    })
}

/// The text of a value: compact, and characters as they are.
fn dump(what: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let encode = ENCODE.get_or_try_init(py, || {
        let settings = PyDict::new(py);
        settings.set_item("ensure_ascii", false)?;
        settings.set_item("allow_nan", false)?;
        settings.set_item("separators", (",", ":"))?;
        let make = || py.import("json")?.getattr("JSONEncoder")?.call((), Some(&settings));
        PyResult::Ok(process::running_python(make)?.getattr("encode")?.unbind())
    })?;
    match process::running_python(|| encode.bind(py).call1((value,))) {
        Ok(encoded) => convert::text("the JSON text", &encoded),
        Err(failure) => Err(refused(what, value, failure)?),
    }
}

/// The error of a value that could not be written as JSON, with the path of what is wrong.
fn refused(what: &str, value: &Bound<'_, PyAny>, failure: PyErr) -> PyResult<PyErr> {
    static FAULT_OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let is_type = failure.is_instance_of::<PyTypeError>(py);
    // A circle, a number of more digits than Python writes, or too many levels.
    let is_value = failure.is_instance_of::<PyValueError>(py)
        || failure.is_instance_of::<PyRecursionError>(py);
    if !is_type && !is_value {
        return Ok(failure);
    }
    let fault_of = FAULT_OF.import(py, "millpond.json_fault", "fault_of")?;
    let fault: Option<String> = process::running_python(|| fault_of.call1((value,)))?.extract()?;
    let refused = match (fault, is_type) {
        (Some(fault), true) => PyTypeError::new_err(format!("{what}{fault}")),
        (None, true) => return Ok(failure),
        (Some(fault), false) => errors::invalid(py, format!("{what}{fault}")),
        (None, false) => {
            errors::invalid(py, format!("{what} cannot be written as JSON: {}", failure.value(py)))
        }
    };
    refused.set_cause(py, Some(failure));
    Ok(refused)
}

/// The value of a text, read when somebody asks for it and kept.
pub(crate) struct Loaded(PyOnceLock<Py<PyAny>>);

impl Loaded {
    pub(crate) const fn new() -> Self {
        Self(PyOnceLock::new())
    }

    /// The value of this text, the same object each time; None if there is none.
    pub(crate) fn of<'py>(
        &self,
        py: Python<'py>,
        json: Option<&Arc<str>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let Some(json) = json else { return Ok(None) };
        let loads = || LOADS.import(py, "json", "loads")?.call1((&**json,));
        let load = || PyResult::Ok(process::running_python(loads)?.unbind());
        Ok(Some(self.0.get_or_try_init(py, load)?.bind(py).clone()))
    }
}
