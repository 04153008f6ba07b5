//! Tasks, and changes of them.
//!
//! A task keeps what the core read and makes Python's objects when they are read: a batch costs
//! little.

use std::hash::{Hash, Hasher};

use millpond::tasks;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

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
    #[new]
    #[pyo3(signature = (id, version, queue = None, *, value = Given(None), json = Given(None),
        at_ms = None, created_ms = None, modified_ms = None, claimant = None, claims = None,
        attempt = None, err = None, priority = None, expires_ms = None),
        text_signature = "(id, version, queue=None, *, value=millpond.UNSET, \
            json=millpond.UNSET, at_ms=None, created_ms=None, modified_ms=None, claimant=None, \
            claims=None, attempt=None, err=None, priority=None, expires_ms=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn of(
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        version: &Bound<'_, PyAny>,
        queue: Option<&Bound<'_, PyAny>>,
        value: Given<'_>,
        json: Given<'_>,
        at_ms: Option<&Bound<'_, PyAny>>,
        created_ms: Option<&Bound<'_, PyAny>>,
        modified_ms: Option<&Bound<'_, PyAny>>,
        claimant: Option<&Bound<'_, PyAny>>,
        claims: Option<&Bound<'_, PyAny>>,
        attempt: Option<&Bound<'_, PyAny>>,
        err: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        expires_ms: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = |name: &str, value| {
            PyResult::Ok(convert::some_text(name, value)?.unwrap_or_default().into())
        };
        let count = |name: &str, value: Option<_>| {
            value.map_or(Ok(0), |value| convert::small_size(name, value))
        };
        Ok(Self::new(tasks::Task {
            id: convert::text("id", id)?.into(),
            version: convert::large_size("version", version)?,
            queue: text("queue", queue)?,
            at_ms: time("at_ms", at_ms)?.unwrap_or(0),
            created_ms: time("created_ms", created_ms)?.unwrap_or(0),
            modified_ms: time("modified_ms", modified_ms)?.unwrap_or(0),
            claimant: text("claimant", claimant)?,
            claims: count("claims", claims)?,
            attempt: count("attempt", attempt)?,
            err: text("err", err)?,
            value: match json::read(py, "value", value, json)? {
                Json::Text(text) => Some(text.into()),
                Json::LeftOut | Json::Absent => None,
            },
            priority: read_priority(priority)?,
            expires_ms: time("expires_ms", expires_ms)?,
        }))
    }

    /// Unique in the store, over all queues.
    #[getter]
    fn id(&self) -> &str {
        &self.core.id
    }

    /// From 0; 1 more with each claim, renewal and change.
    #[getter]
    fn version(&self) -> u64 {
        self.core.version
    }

    /// The queue that it is in.
    #[getter]
    fn queue(&self) -> &str {
        &self.core.queue
    }

    /// From when on it can be claimed, in milliseconds since the Unix epoch.
    #[getter]
    fn at_ms(&self) -> u64 {
        self.core.at_ms
    }

    /// The same as ``at_ms``, as a datetime in UTC.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.core.at_ms)
    }

    /// When it was inserted, in milliseconds since the Unix epoch.
    #[getter]
    fn created_ms(&self) -> u64 {
        self.core.created_ms
    }

    /// The same as ``created_ms``, as a datetime in UTC.
    #[getter]
    fn created<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.core.created_ms)
    }

    /// When it was inserted, claimed, renewed or changed last, in milliseconds since the Unix epoch.
    #[getter]
    fn modified_ms(&self) -> u64 {
        self.core.modified_ms
    }

    /// The same as ``modified_ms``, as a datetime in UTC.
    #[getter]
    fn modified<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.core.modified_ms)
    }

    /// The claimant that holds it until ``at_ms``, or that set ``at_ms``; empty if there is none.
    #[getter]
    fn claimant(&self) -> &str {
        &self.core.claimant
    }

    /// How often it was claimed; renewals do not count.
    #[getter]
    fn claims(&self) -> u32 {
        self.core.claims
    }

    /// How often it was tried, as its workers recorded.
    #[getter]
    fn attempt(&self) -> u32 {
        self.core.attempt
    }

    /// What went wrong, as its workers recorded.
    #[getter]
    fn err(&self) -> &str {
        &self.core.err
    }

    /// The value of its JSON text, read once, so the same object each time; None if there is none, or
    /// if it is ``null``.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.value.of(py, self.core.value.as_ref())
    }

    /// Its JSON text as it was written; None if there is none.
    #[getter]
    fn json(&self) -> Option<&str> {
        self.core.value.as_deref()
    }

    /// 0 to 9: of the available tasks of a queue those with the highest are claimed first.
    #[getter]
    fn priority(&self) -> u8 {
        self.core.priority
    }

    /// When it is deleted, leased or not, in milliseconds since the Unix epoch; None for never.
    #[getter]
    fn expires_ms(&self) -> Option<u64> {
        self.core.expires_ms
    }

    /// The same as ``expires_ms``, as a datetime in UTC; None for never.
    #[getter]
    fn expires<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.core.expires_ms.map(|ms| when::from_ms(py, ms)).transpose()
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
        let (id, queue) = (self.id().into_pyobject(py)?, self.queue().into_pyobject(py)?);
        let (version, json) = (self.core.version, self.json().into_pyobject(py)?);
        Ok(format!("Task({id:?}, {version}, {queue:?}, json={json:?})"))
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("json", self.json())?;
        named.set_item("at_ms", self.core.at_ms)?;
        named.set_item("created_ms", self.core.created_ms)?;
        named.set_item("modified_ms", self.core.modified_ms)?;
        named.set_item("claimant", self.claimant())?;
        named.set_item("claims", self.core.claims)?;
        named.set_item("attempt", self.core.attempt)?;
        named.set_item("err", self.err())?;
        named.set_item("priority", self.core.priority)?;
        named.set_item("expires_ms", self.core.expires_ms)?;
        Ok(((self.id(), self.core.version, self.queue()).into_pyobject(py)?, named))
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

/// A list of tasks.
pub(crate) fn list(py: Python<'_>, tasks: Vec<tasks::Task>) -> PyResult<Py<PyAny>> {
    let tasks: Vec<_> = tasks.into_iter().map(Task::new).collect();
    convert::plain(py, tasks)
}

/// 0 to 9. What does not fit is refused as any other that is too high.
pub(crate) fn read_priority(priority: Option<&Bound<'_, PyAny>>) -> PyResult<u8> {
    let Some(priority) = priority else { return Ok(0) };
    let fits = convert::whole("priority", priority)?.map(u8::try_from);
    Ok(fits.and_then(Result::ok).unwrap_or(u8::MAX))
}

pub(crate) fn time(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    value.map(|value| convert::large_size(name, value)).transpose()
}
