//! Documents, and changes of them.

use std::hash::{Hash, Hasher};

use millpond::tasks;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::json::{self, Given, Json, Loaded};
use crate::task::time;
use crate::when::{self, When};
use crate::{convert, errors};

/// A document as the store holds it: found by its namespace and id, sorted by its keys, leased for a
/// time as tasks are, but never consumed.
///
/// >>> import millpond
/// >>> store = millpond.connect("memory:").tasks("shop")
/// >>> _ = store.put_doc("accounts", "ann", {"balance": 7})
/// >>> doc = store.get_doc("accounts", "ann")
/// >>> doc.content, doc.version
/// ({'balance': 7}, 0)
#[pyclass(frozen, eq, hash, generic, module = "millpond.tasks")]
pub(crate) struct Doc {
    pub(crate) core: tasks::Doc,
    content: Loaded,
}

impl Doc {
    pub(crate) fn new(core: tasks::Doc) -> Self {
        Self { core, content: Loaded::new() }
    }
}

impl PartialEq for Doc {
    fn eq(&self, other: &Self) -> bool {
        self.core == other.core
    }
}

impl Eq for Doc {}

impl Hash for Doc {
    /// Few documents share an id, so the rest is not compared.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.core.namespace, &self.core.id, self.core.version).hash(state);
    }
}

#[pymethods]
impl Doc {
    #[new]
    #[pyo3(signature = (namespace, id, version, key = None, secondary_key = None, *,
        content = Given(None), json = Given(None), at_ms = None, claimant = None, created_ms = None,
        modified_ms = None),
        text_signature = "(namespace, id, version, key=None, secondary_key=None, *, \
            content=millpond.UNSET, json=millpond.UNSET, at_ms=None, claimant=None, \
            created_ms=None, modified_ms=None)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn of(
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        id: &Bound<'_, PyAny>,
        version: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        secondary_key: Option<&Bound<'_, PyAny>>,
        content: Given<'_>,
        json: Given<'_>,
        at_ms: Option<&Bound<'_, PyAny>>,
        claimant: Option<&Bound<'_, PyAny>>,
        created_ms: Option<&Bound<'_, PyAny>>,
        modified_ms: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = |name: &str, value| {
            PyResult::Ok(convert::some_text(name, value)?.unwrap_or_default().into())
        };
        Ok(Self::new(tasks::Doc {
            namespace: convert::text("namespace", namespace)?.into(),
            id: convert::text("id", id)?.into(),
            version: convert::large_size("version", version)?,
            key: text("key", key)?,
            secondary_key: text("secondary_key", secondary_key)?,
            content: match json::read(py, "content", content, json)? {
                Json::Text(text) => Some(text.into()),
                Json::LeftOut | Json::Absent => None,
            },
            at_ms: time("at_ms", at_ms)?.unwrap_or(0),
            claimant: text("claimant", claimant)?,
            created_ms: time("created_ms", created_ms)?.unwrap_or(0),
            modified_ms: time("modified_ms", modified_ms)?.unwrap_or(0),
        }))
    }

    /// The namespace that it is in.
    #[getter]
    fn namespace(&self) -> &str {
        &self.core.namespace
    }

    /// Unique in its namespace.
    #[getter]
    fn id(&self) -> &str {
        &self.core.id
    }

    /// From 0; 1 more with each claim, renewal and change.
    #[getter]
    fn version(&self) -> u64 {
        self.core.version
    }

    /// Its primary key; several documents can have the same. Never changes.
    #[getter]
    fn key(&self) -> &str {
        &self.core.key
    }

    /// Its secondary key. Never changes.
    #[getter]
    fn secondary_key(&self) -> &str {
        &self.core.secondary_key
    }

    /// The value of its JSON text, read once, so the same object each time; None if there is none, or
    /// if it is ``null``.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.content.of(py, self.core.content.as_ref())
    }

    /// Its JSON text as it was written; None if there is none.
    #[getter]
    fn json(&self) -> Option<&str> {
        self.core.content.as_deref()
    }

    /// Until when its claimant holds it, in milliseconds since the Unix epoch.
    #[getter]
    fn at_ms(&self) -> u64 {
        self.core.at_ms
    }

    /// The same as ``at_ms``, as a datetime in UTC.
    #[getter]
    fn at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        when::from_ms(py, self.core.at_ms)
    }

    /// The claimant that holds it until ``at_ms``; empty if there is none.
    #[getter]
    fn claimant(&self) -> &str {
        &self.core.claimant
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

    /// A change of the document, for :meth:`Modification.change_doc`: another content if one is
    /// given; the rest stays, and so does its claimant.
    ///
    /// With ``at``, a datetime with a time zone, ``at_ms``, milliseconds since the Unix epoch, or
    /// ``delay``, seconds from now, the claimant that changes it holds it until then; a time in the past, or ``release``, releases it.
    #[pyo3(signature = (content = Given(None), *, json = Given(None), at = None, at_ms = None,
        delay = None, release = false),
        text_signature = "($self, content=millpond.UNSET, *, json=millpond.UNSET, at=None, \
            at_ms=None, delay=None, release=False)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn change(
        &self,
        py: Python<'_>,
        content: Given<'_>,
        json: Given<'_>,
        at: Option<&Bound<'_, PyAny>>,
        at_ms: Option<&Bound<'_, PyAny>>,
        delay: Option<&Bound<'_, PyAny>>,
        release: bool,
    ) -> PyResult<DocChange> {
        let unchanged = self.core.change();
        let core = match json::read(py, "content", content, json)? {
            Json::LeftOut | Json::Absent => unchanged,
            Json::Text(text) => unchanged.content(text),
        };
        let core = match when::read(py, at, at_ms, delay)? {
            When::LeftOut if release => core.release(),
            When::LeftOut => core,
            _ if release => {
                let message =
                    "release sets the time too; at, at_ms and delay cannot be given with it";
                return Err(errors::invalid(py, message.to_owned()));
            }
            When::At(at_ms) => core.at_ms(at_ms),
            When::After(delay) => core.after(delay),
        };
        Ok(DocChange { core })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let [namespace, id, key, secondary_key] =
            [self.namespace(), self.id(), self.key(), self.secondary_key()]
                .map(|text| PyString::new(py, text));
        let (version, json) = (self.core.version, self.json().into_pyobject(py)?);
        Ok(format!(
            "Doc({namespace:?}, {id:?}, {version}, {key:?}, {secondary_key:?}, json={json:?})"
        ))
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let named = PyDict::new(py);
        named.set_item("json", self.json())?;
        named.set_item("at_ms", self.core.at_ms)?;
        named.set_item("claimant", self.claimant())?;
        named.set_item("created_ms", self.core.created_ms)?;
        named.set_item("modified_ms", self.core.modified_ms)?;
        let keys = (self.key(), self.secondary_key());
        let first = (self.namespace(), self.id(), self.core.version, keys.0, keys.1);
        Ok((first.into_pyobject(py)?, named))
    }
}

/// A change of a document; made by :meth:`Doc.change`.
#[pyclass(frozen, eq, module = "millpond.tasks")]
#[derive(PartialEq, Eq)]
pub(crate) struct DocChange {
    pub(crate) core: tasks::DocChange,
}

/// A list of documents.
pub(crate) fn list(py: Python<'_>, docs: Vec<tasks::Doc>) -> PyResult<Py<PyAny>> {
    let docs: Vec<_> = docs.into_iter().map(Doc::new).collect();
    convert::plain(py, docs)
}
