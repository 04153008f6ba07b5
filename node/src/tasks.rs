//! A task store and its steps.

use millpond::Async;
use millpond::tasks::{self, DocQuery, Filter, LEASE_DEFAULT, TaskQuery};
use napi::Env;
use napi::bindgen_prelude::Array;
use napi_derive::napi;

use crate::convert::{CallResult, duration};
use crate::handle::Handle;
use crate::list::written;
use crate::tasks_entries::Entries;
use crate::tasks_loop::{Claims, Jobs};

type Core = tasks::TaskStore<Async>;

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

    /// The loop of claims. Options are steps, as [`Entries`] has them.
    #[napi]
    pub fn claims(
        &self,
        env: Env,
        queues: Vec<String>,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<Claims> {
        let options = Entries::new(&env, &texts, numbers)?;
        let claims = options.reader().claims(self.0.core.claims(queues))?;
        Ok(Claims::new(self.0.with(claims)))
    }

    /// The jobs of a worker, whose options are steps.
    #[napi]
    pub fn jobs(
        &self,
        env: Env,
        queues: Vec<String>,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<Jobs> {
        let options = Entries::new(&env, &texts, numbers)?;
        let worker = options.reader().worker(self.0.core.worker(queues))?;
        Ok(Jobs::new(self.0.with(worker.jobs())))
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

    /// Returns a page. The query is steps.
    #[napi]
    pub fn list(
        &self,
        env: Env,
        number: u32,
        queue: String,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let query = Entries::new(&env, &texts, numbers)?.reader().task_query(TaskQuery::new())?;
        Ok(self.0.start(number, |store| store.list(queue, query), written))
    }

    /// Returns queues and their sizes.
    #[napi]
    pub fn queues(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let filter = Entries::new(&env, &texts, numbers)?.reader().filter(Filter::new())?;
        Ok(self.0.start(number, |store| store.queues(filter), written))
    }

    /// Returns whether they are.
    #[napi]
    pub fn are_empty(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let filter = Entries::new(&env, &texts, numbers)?.reader().filter(Filter::new())?;
        Ok(self.0.start(number, |store| store.are_empty(filter), CallResult::bool))
    }

    /// Returns statistics.
    #[napi]
    pub fn queue_stats(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let filter = Entries::new(&env, &texts, numbers)?.reader().filter(Filter::new())?;
        Ok(self.0.start(number, |store| store.queue_stats(filter), written))
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

    /// Returns a page. The query is steps.
    #[napi]
    pub fn list_docs(
        &self,
        env: Env,
        number: u32,
        namespace: String,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let query = Entries::new(&env, &texts, numbers)?.reader().doc_query(DocQuery::new())?;
        Ok(self.0.start(number, |store| store.list_docs(namespace, query), written))
    }

    /// Returns statistics.
    #[napi]
    pub fn namespace_stats(
        &self,
        env: Env,
        number: u32,
        texts: Array<'_>,
        numbers: Vec<f64>,
    ) -> napi::Result<bool> {
        let filter = Entries::new(&env, &texts, numbers)?.reader().filter(Filter::new())?;
        Ok(self.0.start(number, |store| store.namespace_stats(filter), written))
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
