//! Results of the core as Python has them. Records are in `generated/records.rs`.

use std::sync::Arc;
use std::time::Duration;

use millpond::ick::{Batch, Entry};
use millpond::shuffle::{Message, Receipt, Stream};
use millpond::step::StreamId;
use millpond::tasks;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::convert::text_or_bytes;
use crate::doc::Doc;
use crate::modification::Modification;
use crate::shuffle_message;
use crate::task::Task;

/// A result, whose bytes are str for a client that decodes (`text`).
pub(crate) trait ToPython {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>>;
}

/// A class of `millpond.records`.
macro_rules! class {
    ($py:expr, $name:literal) => {{
        static CLASS: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        CLASS.import($py, "millpond.records", $name)?
    }};
}

pub(crate) use class;

/// Makes a named tuple, as its `_make` does. Its constructor is code in Python, in which a daemon thread
/// cannot end with the interpreter while a call is below it: the process aborts.
pub(crate) fn named_tuple<'py>(
    class: &Bound<'py, PyAny>,
    values: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = class.py();
    let new = || PyResult::Ok(py.get_type::<PyTuple>().getattr("__new__")?.unbind());
    NEW.get_or_try_init(py, new)?.bind(py).call1((class, values))
}

/// Makes an instance of a data class, without its constructor for the same reason.
pub(crate) fn data_class<'py, const N: usize>(
    class: &Bound<'py, PyAny>,
    fields: [(&str, Bound<'py, PyAny>); N],
) -> PyResult<Bound<'py, PyAny>> {
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = class.py();
    let new =
        || PyResult::Ok(py.import("builtins")?.getattr("object")?.getattr("__new__")?.unbind());
    let instance = NEW.get_or_try_init(py, new)?.bind(py).call1((class,))?;
    let set = instance.getattr("__dict__")?.cast_into::<PyDict>()?;
    for (name, value) in fields {
        set.set_item(name, value)?;
    }
    Ok(instance)
}

/// What [`crate::handle::call`] does with a result that holds no bytes, or bytes of a client that does not
/// decode them.
pub(crate) fn plain<T: ToPython>(py: Python<'_>, value: T) -> PyResult<Py<PyAny>> {
    Ok(value.to_python(py, false)?.unbind())
}

/// The same for a client that may decode bytes.
pub(crate) fn decoded<T: ToPython>(
    text: bool,
) -> impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static {
    move |py, value| Ok(value.to_python(py, text)?.unbind())
}

macro_rules! as_it_is {
    ($($ty:ty),+) => {$(
        impl ToPython for $ty {
            fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
                self.into_bound_py_any(py)
            }
        }
    )+};
}

as_it_is!(bool, u16, u32, u64, usize, f64, String);

impl ToPython for () {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        Ok(py.None().into_bound(py))
    }
}

macro_rules! as_class {
    ($($ty:ty => $class:expr),+ $(,)?) => {$(
        impl ToPython for $ty {
            fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
                Ok(Bound::new(py, $class(self))?.into_any())
            }
        }
    )+};
}

as_class!(
    tasks::Task => Task::new,
    tasks::Doc => Doc::new,
    tasks::Modification => Modification::new,
);

impl ToPython for Batch {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        self.into_iter().collect::<Vec<_>>().to_python(py, text)
    }
}

impl ToPython for Receipt {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        shuffle_message::Receipt { core: self }.into_bound_py_any(py)
    }
}

impl ToPython for Message {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        shuffle_message::Message::new(self, text).into_bound_py_any(py)
    }
}

impl ToPython for Arc<str> {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        (&*self).into_bound_py_any(py)
    }
}

impl ToPython for Vec<u8> {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        text_or_bytes(py, &self, text)
    }
}

impl ToPython for Entry {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        (text_or_bytes(py, &self.member, text)?, self.score).into_bound_py_any(py)
    }
}

impl ToPython for Duration {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        self.as_secs_f64().into_bound_py_any(py)
    }
}

impl ToPython for StreamId {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        self.to_string().into_bound_py_any(py)
    }
}

impl ToPython for Stream {
    fn to_python(self, py: Python<'_>, _: bool) -> PyResult<Bound<'_, PyAny>> {
        shuffle_message::stream_number(self).into_bound_py_any(py)
    }
}

impl<T: ToPython> ToPython for Option<T> {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Some(value) => value.to_python(py, text),
            None => Ok(py.None().into_bound(py)),
        }
    }
}

impl<T: ToPython> ToPython for Vec<T> {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        let values = self.into_iter().map(|value| value.to_python(py, text));
        Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
    }
}

impl<A: ToPython, B: ToPython> ToPython for (A, B) {
    fn to_python(self, py: Python<'_>, text: bool) -> PyResult<Bound<'_, PyAny>> {
        (self.0.to_python(py, text)?, self.1.to_python(py, text)?).into_bound_py_any(py)
    }
}
