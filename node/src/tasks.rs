//! What handles of task stores have beside what follows from the core's methods; see
//! `generated/handles.rs`.

use millpond::{Async, tasks};
use napi::Env;
use napi_derive::napi;

use crate::convert::duration;
use crate::entries::Entries;
use crate::handle::Lease;
use crate::handles::{Job, TaskStore};
use crate::list::written;
use crate::worker::TaskWorker;

#[napi]
impl TaskStore {
    /// Who claims.
    #[napi(getter)]
    pub fn claimant(&self) -> &str {
        self.0.core.claimant_id()
    }

    /// A worker, whose options are steps.
    #[napi]
    pub fn worker(
        &self,
        env: Env,
        queues: Vec<String>,
        options: Entries,
    ) -> napi::Result<TaskWorker> {
        let worker = self.0.at_once(&env, |store| Ok(store.worker(queues)))?;
        Ok(TaskWorker(self.0.with(options.reader().task_worker(worker)?)))
    }

    /// Takes what to renew as [`Entries`] reads it.
    #[napi]
    pub fn renew(&self, number: u32, held: Entries, lease_ms: f64) -> napi::Result<bool> {
        let (tasks, docs) = held.held()?;
        let renew = |store: &tasks::TaskStore<Async>| store.renew(tasks, docs, duration(lease_ms));
        Ok(self.0.start(number, |store| Ok(renew(store)), written))
    }

    /// Returns documents, one at most.
    #[napi]
    pub fn get_doc(&self, number: u32, namespace: String, key: String, secondary: String) -> bool {
        self.0.start(number, |store| Ok(store.get_doc(namespace, (key, secondary))), written)
    }
}

impl Lease for tasks::Job<Async> {
    const OVER: &'static str = "the job was left";

    fn on_lost(&self, then: impl FnOnce() + Send + 'static) {
        self.on_lost(then);
    }
}

#[napi]
impl Job {
    /// The task's newest version; null of a job that was left.
    #[napi(getter)]
    pub fn version(&self) -> Option<f64> {
        self.0.get(|job| job.handle().version as f64)
    }

    /// Renews it no more.
    #[napi]
    pub fn leave(&self) {
        let job = self.0.take();
        drop(job);
    }
}
