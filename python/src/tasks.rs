//! A store of tasks and documents.

use millpond::Async;
use millpond::tasks::{
    self, CLAIM_QUEUES_MAX, DocQuery, FILTER_NAMES_MAX, Filter, PAGE_MAX, TaskQuery,
};
use pyo3::prelude::*;

use crate::handle::{Handle, call, derive};
use crate::ick::wait_time;
use crate::task_claims::Claims;
use crate::task_handles;
use crate::task_worker::Worker;
use crate::to_python::plain;
use crate::{convert, modification};

#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct TaskStore {
    pub(crate) core: Handle<tasks::TaskStore, tasks::TaskStore<Async>>,
}

#[pymethods]
impl TaskStore {
    #[getter]
    fn claimant(&self) -> &str {
        match &self.core {
            Handle::Blocking(store) => store.claimant_id(),
            Handle::Async(store) => store.claimant_id(),
        }
    }

    fn modify(&self, py: Python<'_>, modification: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let gathered = modification::read(modification)?;
        call!(py, &self.core, |store| store.modify(gathered), plain)
    }

    fn claim(
        &self,
        py: Python<'_>,
        queues: &Bound<'_, PyAny>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (queues, lease) = (read_queues(queues)?, convert::duration("lease", lease)?);
        call!(py, &self.core, |store| store.claim(queues, lease), plain)
    }

    fn claim_many(
        &self,
        py: Python<'_>,
        queues: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (queues, lease) = (read_queues(queues)?, convert::duration("lease", lease)?);
        let max = convert::count("max", max)?;
        call!(py, &self.core, |store| store.claim_many(queues, lease, max), plain)
    }

    fn claims(
        &self,
        queues: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<Claims> {
        let (queues, lease) = (read_queues(queues)?, convert::duration("lease", lease)?);
        let (max, wait) = (convert::count("max", max)?, wait_time(wait)?);
        let claims = derive!(&self.core, |store| store.claims(&queues).lease(lease).max(max));
        Ok(Claims::new(match wait {
            Some(wait) => derive!(claims, |claims| claims.wait(wait)),
            None => claims,
        }))
    }

    #[expect(clippy::too_many_arguments, reason = "the public half has them as keywords")]
    fn worker(
        &self,
        queues: &Bound<'_, PyAny>,
        wait: Option<&Bound<'_, PyAny>>,
        lease: &Bound<'_, PyAny>,
        backoff: &Bound<'_, PyAny>,
        backoff_max: &Bound<'_, PyAny>,
        max_attempts: &Bound<'_, PyAny>,
        max_claims: &Bound<'_, PyAny>,
        error_queue: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Worker> {
        let (queues, lease) = (read_queues(queues)?, convert::duration("lease", lease)?);
        let first = convert::duration("backoff", backoff)?;
        let most = convert::duration("backoff_max", backoff_max)?;
        let attempts = convert::small_size("max_attempts", max_attempts)?;
        let claims = convert::small_size("max_claims", max_claims)?;
        let mut core = derive!(&self.core, |store| store
            .worker(&queues)
            .lease(lease)
            .backoff(first, most)
            .max_attempts(attempts)
            .max_claims(claims));
        if let Some(queue) = convert::some_text("error_queue", error_queue)? {
            core = derive!(core, |worker| worker.error_queue(queue));
        }
        if let Some(wait) = wait_time(wait)? {
            core = derive!(core, |worker| worker.wait(wait));
        }
        Ok(Worker { core })
    }

    fn renew(
        &self,
        py: Python<'_>,
        tasks: &Bound<'_, PyAny>,
        docs: &Bound<'_, PyAny>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let tasks = task_handles::many("tasks", tasks, task_handles::task)?;
        let docs = task_handles::many("docs", docs, task_handles::doc)?;
        let lease = convert::duration("lease", lease)?;
        call!(py, &self.core, |store| store.renew(tasks, docs, lease), plain)
    }

    fn fetch(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let ids = convert::texts("ids", ids, PAGE_MAX)?;
        call!(py, &self.core, |store| store.fetch(ids), plain)
    }

    fn list(
        &self,
        py: Python<'_>,
        queue: &Bound<'_, PyAny>,
        after: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        claimant: Option<&Bound<'_, PyAny>>,
        omit_values: bool,
    ) -> PyResult<Py<PyAny>> {
        let queue = convert::text("queue", queue)?;
        let mut query = TaskQuery::new();
        if let Some(after) = after {
            query = query.after(task_handles::position(after)?);
        }
        if let Some(limit) = limit {
            query = query.limit(convert::count("limit", limit)?);
        }
        if let Some(claimant) = convert::some_text("claimant", claimant)? {
            query = query.claimant(claimant);
        }
        if omit_values {
            query = query.omit_values();
        }
        call!(py, &self.core, |store| store.list(queue, query), plain)
    }

    fn queues(
        &self,
        py: Python<'_>,
        exact: &Bound<'_, PyAny>,
        prefixes: &Bound<'_, PyAny>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let filter = filter(exact, prefixes, limit)?;
        call!(py, &self.core, |store| store.queues(filter), plain)
    }

    fn are_empty(
        &self,
        py: Python<'_>,
        exact: &Bound<'_, PyAny>,
        prefixes: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let filter = filter(exact, prefixes, None)?;
        call!(py, &self.core, |store| store.are_empty(filter), plain)
    }

    fn queue_stats(
        &self,
        py: Python<'_>,
        exact: &Bound<'_, PyAny>,
        prefixes: &Bound<'_, PyAny>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let filter = filter(exact, prefixes, limit)?;
        call!(py, &self.core, |store| store.queue_stats(filter), plain)
    }

    fn claim_docs(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        lease: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (namespace, key) = (convert::text("namespace", namespace)?, convert::text("key", key)?);
        let lease = convert::duration("lease", lease)?;
        call!(py, &self.core, |store| store.claim_docs(namespace, key, lease), plain)
    }

    fn get_doc(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        secondary_key: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let namespace = convert::text("namespace", namespace)?;
        let key = (convert::text("key", key)?, convert::text("secondary_key", secondary_key)?);
        call!(py, &self.core, |store| store.get_doc(namespace, key), plain)
    }

    fn fetch_docs(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        ids: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (namespace, ids) =
            (convert::text("namespace", namespace)?, convert::texts("ids", ids, PAGE_MAX)?);
        call!(py, &self.core, |store| store.fetch_docs(namespace, ids), plain)
    }

    #[expect(clippy::too_many_arguments, reason = "the public half has them as keywords")]
    fn list_docs(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyAny>,
        start: Option<&Bound<'_, PyAny>>,
        end: Option<&Bound<'_, PyAny>>,
        after: Option<&Bound<'_, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
        omit_contents: bool,
    ) -> PyResult<Py<PyAny>> {
        let namespace = convert::text("namespace", namespace)?;
        let mut query = DocQuery::new();
        if let Some(start) = convert::some_text("start", start)? {
            query = query.start(start);
        }
        if let Some(end) = convert::some_text("end", end)? {
            query = query.end(end);
        }
        if let Some(after) = after {
            query = query.after(task_handles::doc_position(after)?);
        }
        if let Some(limit) = limit {
            query = query.limit(convert::count("limit", limit)?);
        }
        if omit_contents {
            query = query.omit_contents();
        }
        call!(py, &self.core, |store| store.list_docs(namespace, query), plain)
    }

    fn namespace_stats(
        &self,
        py: Python<'_>,
        exact: &Bound<'_, PyAny>,
        prefixes: &Bound<'_, PyAny>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let filter = filter(exact, prefixes, limit)?;
        call!(py, &self.core, |store| store.namespace_stats(filter), plain)
    }

    fn time(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        call!(py, &self.core, |store| store.time(), plain)
    }
}

/// The queues of a claim.
fn read_queues(queues: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    convert::texts("queues", queues, CLAIM_QUEUES_MAX)
}

/// Which queues or namespaces to include.
fn filter(
    exact: &Bound<'_, PyAny>,
    prefixes: &Bound<'_, PyAny>,
    limit: Option<&Bound<'_, PyAny>>,
) -> PyResult<Filter> {
    let mut filter = Filter::new();
    for name in convert::texts("exact", exact, FILTER_NAMES_MAX)? {
        filter = filter.exact(name);
    }
    for prefix in convert::texts("prefixes", prefixes, FILTER_NAMES_MAX)? {
        filter = filter.prefix(prefix);
    }
    match limit {
        Some(limit) => Ok(filter.limit(convert::count("limit", limit)?)),
        None => Ok(filter),
    }
}
