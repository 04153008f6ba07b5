//! Tasks, and changes of them.
//!
//! A task keeps what the core read and makes Python's objects when they are read: a batch costs
//! little.

use std::hash::{Hash, Hasher};

use millpond::tasks;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::json::Loaded;

/// A task as the store holds it.
///
/// ``(id, version)`` is its handle: each claim, renewal and change adds 1 to ``version``, and a
/// modification with a stale version is refused.
///
/// >>> import millpond
/// >>> store = millpond.connect("memory:").tasks("shop")
/// >>> task = store.insert("inbox", {"order": 7})
/// >>> task.value, task.json, task.version
/// ({'order': 7}, '{"order":7}', 0)
/// >>> store.claim("inbox").version
/// 1
#[pyclass(frozen, eq, hash, generic, module = "millpond.tasks")]
pub(crate) struct Task {
    pub(crate) core: tasks::Task,
    value: Loaded,
}

impl Task {
    pub(crate) fn new(core: tasks::Task) -> Self {
        Self { core, value: Loaded::new() }
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

impl Eq for Task {}

impl Hash for Task {
    /// Few tasks share an id, so the rest is not compared.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.core.id, self.core.version).hash(state);
    }
}

#[pymethods]
impl Task {
    /// The value of its JSON text, read once, so the same object each time; None if there is none, or
    /// if it is ``null``.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.value.of(py, self.core.value.as_ref())
    }

    /// Its JSON text as it was written; None if there is none.
    #[getter]
    pub(crate) fn json(&self) -> Option<&str> {
        self.core.value.as_deref()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (id, queue) = (PyString::new(py, &self.core.id), PyString::new(py, &self.core.queue));
        let (version, json) = (self.core.version, self.json().into_pyobject(py)?);
        Ok(format!("Task({id:?}, {version}, {queue:?}, json={json:?})"))
    }
}

/// A change of a task; made by :meth:`Task.change`.
///
/// >>> import millpond
/// >>> store = millpond.connect("memory:").tasks("shop")
/// >>> task = store.insert("inbox", {"order": 7}, err="no answer")
/// >>> change = task.change().retry_or_quarantine("still no answer", "broken", max=1)
/// >>> changed = store.modify(millpond.Modification().change(change)).changed[0]
/// >>> changed.queue, changed.attempt, changed.err
/// ('broken', 1, 'no answer\nstill no answer')
#[pyclass(frozen, eq, module = "millpond.tasks")]
#[derive(PartialEq, Eq)]
pub(crate) struct TaskChange {
    pub(crate) core: tasks::TaskChange,
}

impl TaskChange {
    pub(crate) fn with<'py>(
        this: &Bound<'py, Self>,
        change: impl FnOnce(tasks::TaskChange) -> tasks::TaskChange,
    ) -> PyResult<Bound<'py, Self>> {
        Bound::new(this.py(), Self { core: change(this.get().core.clone()) })
    }
}
