//! Documents, and changes of them.

use std::hash::{Hash, Hasher};

use millpond::tasks;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors;
use crate::json::{self, Given, Json, Loaded};
use crate::when::{self, When};

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
    /// The value of its JSON text, read once, so the same object each time; None if there is none, or
    /// if it is ``null``.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.content.of(py, self.core.content.as_ref())
    }

    /// Its JSON text as it was written; None if there is none.
    #[getter]
    pub(crate) fn json(&self) -> Option<&str> {
        self.core.content.as_deref()
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
        let core = &self.core;
        let [namespace, id, key, secondary_key] =
            [&core.namespace, &core.id, &core.key, &core.secondary_key]
                .map(|text| PyString::new(py, text));
        let (version, json) = (self.core.version, self.json().into_pyobject(py)?);
        Ok(format!(
            "Doc({namespace:?}, {id:?}, {version}, {key:?}, {secondary_key:?}, json={json:?})"
        ))
    }
}

/// A change of a document; made by :meth:`Doc.change`.
#[pyclass(frozen, eq, module = "millpond.tasks")]
#[derive(PartialEq, Eq)]
pub(crate) struct DocChange {
    pub(crate) core: tasks::DocChange,
}
