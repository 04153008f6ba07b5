//! A modification that a caller gathers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use millpond::tasks::{self, NewDoc, NewTask};
use pyo3::prelude::*;

use crate::doc::DocChange;
use crate::given::given;
use crate::json::{self, Given, Json};
use crate::task::TaskChange;
use crate::when::{self, When};
use crate::{convert, task_handles};

/// Inserts, changes, deletes and dependencies on tasks and documents, for :meth:`TaskStore.modify`: all
/// happen or none does. Each method adds an entry and returns the modification. A task or document may
/// be named only once; 100,000 entries are allowed.
///
/// >>> import millpond
/// >>> store = millpond.connect("memory:").tasks("shop")
/// >>> task = store.insert("inbox", 1)
/// >>> done = millpond.Modification().delete(task).insert("outbox", 2)
/// >>> store.modify(done).inserted[0].queue
/// 'outbox'
/// >>> try:
/// ...     store.modify(done)
/// ... except millpond.DependencyError as error:  # the task is gone
/// ...     error.deletes == [(task.id, task.version)]
/// True
#[pyclass(frozen, module = "millpond.tasks")]
#[derive(Default)]
pub(crate) struct Modification {
    gathered: Mutex<tasks::Modification>,
}

impl Modification {
    pub(crate) fn new(gathered: tasks::Modification) -> Self {
        Self { gathered: Mutex::new(gathered) }
    }

    /// What has been gathered so far.
    pub(crate) fn core(&self) -> tasks::Modification {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, tasks::Modification> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry, which has been read already: no Python code runs under the lock.
    fn add<'py>(
        this: &Bound<'py, Self>,
        entry: impl FnOnce(tasks::Modification) -> tasks::Modification,
    ) -> Bound<'py, Self> {
        let mut gathered = this.get().lock();
        *gathered = entry(std::mem::take(&mut *gathered));
        drop(gathered);
        this.clone()
    }
}

#[pymethods]
impl Modification {
    #[new]
    fn empty() -> Self {
        Self::default()
    }

    /// Inserts a task. Refused if a task of that id is there, in any queue, unless ``skip_colliding``
    /// leaves it out then. See :meth:`TaskStore.insert` for the rest.
    #[pyo3(signature = (queue, value = Given(None), *, json = Given(None), id = None, at = None,
        at_ms = None, delay = None, attempt = None, err = None, priority = None, ttl = None,
        skip_colliding = false),
        text_signature = "($self, queue, value=millpond.UNSET, *, json=millpond.UNSET, \
            id=None, at=None, at_ms=None, delay=None, attempt=None, err=None, priority=None, \
            ttl=None, skip_colliding=False)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn insert<'py>(
        this: &Bound<'py, Self>,
        queue: &Bound<'_, PyAny>,
        value: Given<'_>,
        json: Given<'_>,
        id: Option<&Bound<'_, PyAny>>,
        at: Option<&Bound<'_, PyAny>>,
        at_ms: Option<&Bound<'_, PyAny>>,
        delay: Option<&Bound<'_, PyAny>>,
        attempt: Option<&Bound<'_, PyAny>>,
        err: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        skip_colliding: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let py = this.py();
        let mut task = NewTask::new(convert::text("queue", queue)?);
        if let Json::Text(text) = json::read(py, "value", value, json)? {
            task = task.value(text);
        }
        if let Some(id) = convert::some_text("id", id)? {
            task = task.id(id);
        }
        task = match when::read(py, at, at_ms, delay)? {
            When::LeftOut => task,
            When::At(at_ms) => task.at_ms(at_ms),
            When::After(delay) => task.after(delay),
        };
        if let Some(attempt) = attempt {
            task = task.attempt(convert::small_size("attempt", attempt)?);
        }
        if let Some(err) = convert::some_text("err", err)? {
            task = task.err(err);
        }
        if let Some(ttl) = ttl {
            task = task.ttl(convert::duration("ttl", ttl)?);
        }
        if skip_colliding {
            task = task.skip_colliding();
        }
        let task = task.priority(given("priority", priority)?);
        Ok(Self::add(this, |gathered| gathered.insert(task)))
    }

    /// Changes a task; see :meth:`Task.change`. Refused if it is not there at that version, or held by
    /// another claimant.
    fn change<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let wrong =
            |_| convert::wrong_type("change", "a TaskChange, as task.change() makes", change);
        let change = change.cast::<TaskChange>().map_err(wrong)?.get().core.clone();
        Ok(Self::add(this, |gathered| gathered.change(change)))
    }

    /// Deletes a task, named by itself or by its id and version. Refused if it is not there at that
    /// version, or held by another claimant.
    fn delete<'py>(this: &Bound<'py, Self>, task: &Bound<'_, PyAny>) -> PyResult<Bound<'py, Self>> {
        let task = task_handles::task("task", task)?;
        Ok(Self::add(this, |gathered| gathered.delete(task)))
    }

    /// Is refused if this task is not there at that version, claimed or not.
    fn depend<'py>(this: &Bound<'py, Self>, task: &Bound<'_, PyAny>) -> PyResult<Bound<'py, Self>> {
        let task = task_handles::task("task", task)?;
        Ok(Self::add(this, |gathered| gathered.depend(task)))
    }

    /// Inserts a document with this primary key. Refused if one of that id is there in its namespace,
    /// unless ``skip_colliding`` leaves it out then.
    ///
    /// Its ``content`` is a value that JSON has, or the JSON text itself as ``json``. Documents with the
    /// same ``key`` are claimed together and sorted by ``secondary_key``; keys have up to 256 characters.
    ///
    /// Without an ``id``, of up to 1,025 characters, it gets one that is made of its keys, so that a
    /// second document of the same keys is refused: the primary key, followed by ``|`` and the secondary
    /// key if there is one. In the primary key ``%`` and ``|`` are percent-encoded, so that different keys
    /// never make the same id. Several documents of the same keys need ids of their own, and so does a
    /// document whose primary key is empty.
    #[pyo3(signature = (namespace, key, content = Given(None), *, json = Given(None), id = None,
        secondary_key = None, skip_colliding = false),
        text_signature = "($self, namespace, key, content=millpond.UNSET, *, \
            json=millpond.UNSET, id=None, secondary_key=None, skip_colliding=False)")]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn insert_doc<'py>(
        this: &Bound<'py, Self>,
        namespace: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        content: Given<'_>,
        json: Given<'_>,
        id: Option<&Bound<'_, PyAny>>,
        secondary_key: Option<&Bound<'_, PyAny>>,
        skip_colliding: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let mut doc = new_doc(namespace, key, content, json, id, secondary_key)?;
        if skip_colliding {
            doc = doc.skip_colliding();
        }
        Ok(Self::add(this, |gathered| gathered.insert_doc(doc)))
    }

    /// Inserts a document, or replaces the content of the one of its id: without an ``id``, of the one
    /// of its keys. The arguments are those of :meth:`insert_doc`; it needs a content. The document's
    /// claimant stays the same, and another claimant is refused; so is a document of other keys that has
    /// the id. It is among the inserted documents of what the modification did.
    #[pyo3(signature = (namespace, key, content = Given(None), *, json = Given(None), id = None,
        secondary_key = None),
        text_signature = "($self, namespace, key, content=millpond.UNSET, *, \
            json=millpond.UNSET, id=None, secondary_key=None)")]
    fn put_doc<'py>(
        this: &Bound<'py, Self>,
        namespace: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        content: Given<'_>,
        json: Given<'_>,
        id: Option<&Bound<'_, PyAny>>,
        secondary_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let doc = new_doc(namespace, key, content, json, id, secondary_key)?;
        Ok(Self::add(this, |gathered| gathered.put_doc(doc)))
    }

    /// Changes a document; see :meth:`Doc.change`. Refused if it is not there at that version, or held
    /// by another claimant.
    fn change_doc<'py>(
        this: &Bound<'py, Self>,
        change: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let wrong = |_| convert::wrong_type("change", "a DocChange, as doc.change() makes", change);
        let change = change.cast::<DocChange>().map_err(wrong)?.get().core.clone();
        Ok(Self::add(this, |gathered| gathered.change_doc(change)))
    }

    /// Deletes a document, named by itself or by its namespace, id and version. Refused if it is not
    /// there at that version, or held by another claimant.
    fn delete_doc<'py>(
        this: &Bound<'py, Self>,
        doc: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let doc = task_handles::doc("doc", doc)?;
        Ok(Self::add(this, |gathered| gathered.delete_doc(doc)))
    }

    /// Is refused if this document is not there at that version, claimed or not.
    fn depend_doc<'py>(
        this: &Bound<'py, Self>,
        doc: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let doc = task_handles::doc("doc", doc)?;
        Ok(Self::add(this, |gathered| gathered.depend_doc(doc)))
    }

    /// How many entries there are.
    fn __len__(&self) -> usize {
        self.lock().len()
    }
}

fn new_doc(
    namespace: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    content: Given<'_>,
    json: Given<'_>,
    id: Option<&Bound<'_, PyAny>>,
    secondary_key: Option<&Bound<'_, PyAny>>,
) -> PyResult<NewDoc> {
    let py = namespace.py();
    let mut doc = NewDoc::new(convert::text("namespace", namespace)?, convert::text("key", key)?);
    if let Json::Text(text) = json::read(py, "content", content, json)? {
        doc = doc.content(text);
    }
    if let Some(id) = convert::some_text("id", id)? {
        doc = doc.id(id);
    }
    if let Some(key) = convert::some_text("secondary_key", secondary_key)? {
        doc = doc.secondary_key(key);
    }
    Ok(doc)
}

/// Reads a modification that a caller gathered.
pub(crate) fn read(value: &Bound<'_, PyAny>) -> PyResult<tasks::Modification> {
    let wrong = |_| convert::wrong_type("modification", "a Modification", value);
    Ok(value.cast::<Modification>().map_err(wrong)?.get().core())
}
