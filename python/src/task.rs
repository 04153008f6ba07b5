//! Tasks, and changes of them.
//!
//! A task keeps what the core read and makes Python's objects when they are read: a batch costs
//! little.

use std::hash::{Hash, Hasher};

use millpond::tasks;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::convert;
use crate::json::{self, Given, Json, Loaded};
use crate::when::{self, When};

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

    /// A change of the task, for :meth:`Modification.change`: what is given here changes, the rest
    /// stays. ``json=None`` removes the value.
    ///
    /// Without ``at``, a datetime with a time zone, ``at_ms``, milliseconds since the Unix epoch, or
    /// ``delay``, seconds from now, the task is released: available at once. Until a time in the future the claimant that changes it holds it.
    ///
    /// >>> import millpond
    /// >>> store = millpond.connect("memory:").tasks("shop")
    /// >>> task = store.insert("inbox", {"order": 7})
    /// >>> change = task.change(queue="later", value={"order": 8}, delay=60)
    /// >>> store.modify(millpond.Modification().change(change)).changed[0].queue
    /// 'later'
    #[pyo3(signature = (value = Given(None), *, json = Given(None), queue = None, at = None,
        at_ms = None, delay = None, attempt = None, err = None),
        text_signature = "($self, value=millpond.UNSET, *, json=millpond.UNSET, queue=None, \
            at=None, at_ms=None, delay=None, attempt=None, err=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn change(
        &self,
        py: Python<'_>,
        value: Given<'_>,
        json: Given<'_>,
        queue: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        at_ms: Option<&Bound<'_, PyAny>>,
        delay: Option<&Bound<'_, PyAny>>,
        attempt: Option<&Bound<'_, PyAny>>,
        err: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<TaskChange> {
        let unchanged = TaskChange { core: self.core.change() };
        unchanged.replace(py, value, json, queue, at, at_ms, delay, attempt, err)
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

#[pymethods]
impl TaskChange {
    /// The same, but for what is given here: see :meth:`Task.change`.
    #[pyo3(signature = (value = Given(None), *, json = Given(None), queue = None, at = None,
        at_ms = None, delay = None, attempt = None, err = None),
        text_signature = "($self, value=millpond.UNSET, *, json=millpond.UNSET, queue=None, \
            at=None, at_ms=None, delay=None, attempt=None, err=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn replace(
        &self,
        py: Python<'_>,
        value: Given<'_>,
        json: Given<'_>,
        queue: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        at_ms: Option<&Bound<'_, PyAny>>,
        delay: Option<&Bound<'_, PyAny>>,
        attempt: Option<&Bound<'_, PyAny>>,
        err: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut core = match json::read(py, "value", value, json)? {
            Json::LeftOut => self.core.clone(),
            Json::Absent => self.core.clone().no_value(),
            Json::Text(text) => self.core.clone().value(text),
        };
        if let Some(queue) = convert::some_text("queue", queue)? {
            core = core.queue(queue);
        }
        core = match when::read(py, at, at_ms, delay)? {
            When::LeftOut => core,
            When::At(at_ms) => core.at_ms(at_ms),
            When::After(delay) => core.after(delay),
        };
        if let Some(attempt) = attempt {
            core = core.attempt(convert::small_size("attempt", attempt)?);
        }
        if let Some(err) = convert::some_text("err", err)? {
            core = core.err(err);
        }
        Ok(Self { core })
    }

    /// One more attempt, with what went wrong in it on a line of its own behind what went wrong
    /// before.
    fn retry(&self, err: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { core: self.core.clone().retry(&convert::text("err", err)?) })
    }

    /// One more attempt, as :meth:`retry` says, and with attempt ``max`` a move to this queue; never
    /// for a ``max`` of 0 or a queue without a name.
    fn retry_or_quarantine(
        &self,
        err: &Bound<'_, PyAny>,
        queue: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (err, queue) = (convert::text("err", err)?, convert::text("queue", queue)?);
        let max = convert::small_size("max", max)?;
        Ok(Self { core: self.core.clone().retry_or_quarantine(&err, &queue, max) })
    }

    /// One more attempt, as :meth:`retry` says, and a move to this queue.
    fn quarantine(&self, err: &Bound<'_, PyAny>, queue: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (err, queue) = (convert::text("err", err)?, convert::text("queue", queue)?);
        Ok(Self { core: self.core.clone().quarantine(&err, &queue) })
    }
}
