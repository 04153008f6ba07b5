//! A task store and its steps.

use millpond::Async;
use millpond::tasks::{self, DocPosition, DocQuery, LEASE_DEFAULT, Position, TaskQuery};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::convert::{CallResult, duration};
use crate::handle::Handle;
use crate::list::written;
use crate::tasks_entries::Entries;
use crate::tasks_loop::{Claims, Jobs};

type Core = tasks::TaskStore<Async>;

/// What `claims` takes beside the queues.
#[napi(object, object_to_js = false)]
pub struct ClaimsOptions {
    /// How long tasks are leased.
    pub lease_ms: Option<f64>,
    /// The most tasks of a batch.
    pub max: Option<u32>,
    /// How long to wait for tasks.
    pub wait_ms: Option<f64>,
}

/// What `worker` takes beside the queues.
#[napi(object, object_to_js = false)]
pub struct WorkerOptions {
    /// How long tasks are leased.
    pub lease_ms: Option<f64>,
    /// How long a task is delayed after its first failure.
    pub backoff_ms: Option<f64>,
    /// The longest such delay.
    pub backoff_max_ms: Option<f64>,
    /// After how many attempts a task goes to the error queue.
    pub max_attempts: Option<u32>,
    /// After how many claims.
    pub max_claims: Option<u32>,
    /// Which queue that is.
    pub error_queue: Option<String>,
    /// How long to wait for tasks.
    pub wait_ms: Option<f64>,
}

/// What `list` takes beside the queue.
#[napi(object, object_to_js = false)]
pub struct TaskListOptions {
    /// What the page comes after: a time, and then an id as well.
    pub after_at_ms: Option<f64>,
    /// See `after_at_ms`.
    pub after_id: Option<String>,
    /// The most tasks to read.
    pub limit: Option<f64>,
    /// Whose tasks, beside those that are available.
    pub claimant: Option<String>,
    /// Whether to leave the values out.
    pub omit_values: Option<bool>,
}

/// What `listDocs` takes beside the namespace.
#[napi(object, object_to_js = false)]
pub struct DocListOptions {
    /// The first primary key.
    pub start: Option<String>,
    /// The first primary key that is left out.
    pub end: Option<String>,
    /// What the page comes after: a primary key, and then the other two as well.
    pub after_key: Option<String>,
    /// See `after_key`.
    pub after_secondary_key: Option<String>,
    /// See `after_key`.
    pub after_id: Option<String>,
    /// The most documents.
    pub limit: Option<f64>,
    /// Whether to leave the contents out.
    pub omit_contents: Option<bool>,
}

/// Which queues or namespaces to include.
#[napi(object, object_to_js = false)]
pub struct Filter {
    /// These.
    pub exact: Option<Vec<String>>,
    /// Those that begin like this.
    pub prefixes: Option<Vec<String>>,
    /// How many at most.
    pub limit: Option<f64>,
}

impl From<Filter> for tasks::Filter {
    fn from(given: Filter) -> Self {
        let mut filter = Self::new();
        for name in given.exact.unwrap_or_default() {
            filter = filter.exact(name);
        }
        for prefix in given.prefixes.unwrap_or_default() {
            filter = filter.prefix(prefix);
        }
        match given.limit {
            Some(limit) => filter.limit(limit as usize),
            None => filter,
        }
    }
}

/// A store. What is missing here about a method is in the declarations of the package.
#[napi]
pub struct TaskStore(Handle<Core>);

impl TaskStore {
    pub(crate) fn new(store: Handle<Core>) -> Self {
        Self(store)
    }
}

#[napi]
impl TaskStore {
    /// Who claims.
    #[napi(getter)]
    pub fn claimant(&self) -> &str {
        self.0.core.claimant_id()
    }

    /// Takes a modification as [`Entries`] reads it; returns what was modified.
    #[napi]
    pub fn modify(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let modification = Entries::new(&env, &texts, numbers)?.modification()?;
        Ok(self.0.start(number, |store| store.modify(modification), written))
    }

    /// Returns tasks, one at most.
    #[napi]
    pub fn claim(&self, number: u32, queues: Vec<String>, lease_ms: Option<f64>) -> bool {
        let claim = |store: &Core| store.claim(queues, lease(lease_ms));
        self.0.start(number, claim, written)
    }

    /// Returns tasks.
    #[napi]
    pub fn claim_many(
        &self,
        number: u32,
        queues: Vec<String>,
        max: u32,
        lease_ms: Option<f64>,
    ) -> bool {
        let claim = |store: &Core| store.claim_many(queues, lease(lease_ms), max as usize);
        self.0.start(number, claim, written)
    }

    /// The loop of claims.
    #[napi]
    pub fn claims(&self, queues: Vec<String>, given: ClaimsOptions) -> Claims {
        let mut claims = self.0.core.claims(queues).lease(lease(given.lease_ms));
        if let Some(max) = given.max {
            claims = claims.max(max as usize);
        }
        if let Some(wait) = given.wait_ms {
            claims = claims.wait(duration(wait));
        }
        Claims::new(self.0.with(claims))
    }

    /// The jobs of a worker.
    #[napi]
    pub fn jobs(&self, queues: Vec<String>, given: WorkerOptions) -> Jobs {
        let mut worker = self.0.core.worker(queues).lease(lease(given.lease_ms));
        let (first, most) = (given.backoff_ms, given.backoff_max_ms);
        if first.is_some() || most.is_some() {
            let first = first.map_or(tasks::BACKOFF_DEFAULT, duration);
            worker = worker.backoff(first, most.map_or(tasks::BACKOFF_MAX_DEFAULT, duration));
        }
        if let Some(attempts) = given.max_attempts {
            worker = worker.max_attempts(attempts);
        }
        if let Some(claims) = given.max_claims {
            worker = worker.max_claims(claims);
        }
        if let Some(queue) = given.error_queue {
            worker = worker.error_queue(queue);
        }
        if let Some(wait) = given.wait_ms {
            worker = worker.wait(duration(wait));
        }
        Jobs::new(self.0.with(worker.jobs()))
    }

    /// Takes what to renew as [`Entries`] reads it.
    #[napi]
    pub fn renew(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
        lease_ms: Option<f64>,
    ) -> napi::Result<bool> {
        let (tasks, docs) = Entries::new(&env, &texts, numbers)?.held()?;
        let renew = |store: &Core| store.renew(tasks, docs, lease(lease_ms));
        Ok(self.0.start(number, renew, written))
    }

    /// Returns tasks.
    #[napi]
    pub fn fetch(&self, number: u32, ids: Vec<String>) -> bool {
        let fetch = |store: &Core| store.fetch(ids);
        self.0.start(number, fetch, written)
    }

    /// Returns a page.
    #[napi]
    pub fn list(&self, number: u32, queue: String, given: TaskListOptions) -> bool {
        let mut query = TaskQuery::new();
        if let (Some(at_ms), Some(id)) = (given.after_at_ms, given.after_id) {
            query = query.after(Position { at_ms: at_ms as u64, id: id.into() });
        }
        if let Some(limit) = given.limit {
            query = query.limit(limit as usize);
        }
        if let Some(claimant) = given.claimant {
            query = query.claimant(claimant);
        }
        if given.omit_values == Some(true) {
            query = query.omit_values();
        }
        let list = |store: &Core| store.list(queue, query);
        self.0.start(number, list, written)
    }

    /// Returns queues and their sizes.
    #[napi]
    pub fn queues(&self, number: u32, filter: Filter) -> bool {
        let queues = |store: &Core| store.queues(filter.into());
        self.0.start(number, queues, written)
    }

    /// Returns whether they are.
    #[napi]
    pub fn are_empty(&self, number: u32, filter: Filter) -> bool {
        self.0.start(number, |store| store.are_empty(filter.into()), CallResult::bool)
    }

    /// Returns statistics.
    #[napi]
    pub fn queue_stats(&self, number: u32, filter: Filter) -> bool {
        let stats = |store: &Core| store.queue_stats(filter.into());
        self.0.start(number, stats, written)
    }

    /// Returns documents.
    #[napi]
    pub fn claim_docs(
        &self,
        number: u32,
        namespace: String,
        key: String,
        lease_ms: Option<f64>,
    ) -> bool {
        let claim = |store: &Core| store.claim_docs(namespace, key, lease(lease_ms));
        self.0.start(number, claim, written)
    }

    /// Returns documents, one at most.
    #[napi]
    pub fn get_doc(
        &self,
        number: u32,
        namespace: String,
        key: String,
        secondary_key: Option<String>,
    ) -> bool {
        let key = (key, secondary_key.unwrap_or_default());
        let get = |store: &Core| store.get_doc(namespace, key);
        self.0.start(number, get, written)
    }

    /// Returns documents.
    #[napi]
    pub fn fetch_docs(&self, number: u32, namespace: String, ids: Vec<String>) -> bool {
        let fetch = |store: &Core| store.fetch_docs(namespace, ids);
        self.0.start(number, fetch, written)
    }

    /// Returns a page.
    #[napi]
    pub fn list_docs(&self, number: u32, namespace: String, given: DocListOptions) -> bool {
        let mut query = DocQuery::new();
        if let Some(start) = given.start {
            query = query.start(start);
        }
        if let Some(end) = given.end {
            query = query.end(end);
        }
        let after = (given.after_key, given.after_secondary_key, given.after_id);
        if let (Some(key), Some(secondary_key), Some(id)) = after {
            let (key, secondary_key, id) = (key.into(), secondary_key.into(), id.into());
            query = query.after(DocPosition { key, secondary_key, id });
        }
        if let Some(limit) = given.limit {
            query = query.limit(limit as usize);
        }
        if given.omit_contents == Some(true) {
            query = query.omit_contents();
        }
        let list = |store: &Core| store.list_docs(namespace, query);
        self.0.start(number, list, written)
    }

    /// Returns statistics.
    #[napi]
    pub fn namespace_stats(&self, number: u32, filter: Filter) -> bool {
        let stats = |store: &Core| store.namespace_stats(filter.into());
        self.0.start(number, stats, written)
    }

    /// Returns milliseconds.
    #[napi]
    pub fn time(&self, number: u32) -> bool {
        self.0.start(number, |store| store.time(), CallResult::count)
    }
}

fn lease(ms: Option<f64>) -> std::time::Duration {
    ms.map_or(LEASE_DEFAULT, duration)
}
