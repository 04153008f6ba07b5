//! What a job holds: its task and documents, at their newest versions.

use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
use super::{Doc, DocId, FetchTasks, Modification, Modify, Renew, Renewed, Task, TaskId};
use crate::client::{Client, Mode};
use crate::error::Result;
use crate::worker::lease::{Held, Lease};

#[derive(Clone)]
pub(crate) struct HeldTask {
    name: Name,
    claimant: Arc<str>,
    /// How often the task was claimed, this claim included.
    claims: u32,
    pub(super) task: TaskId,
    pub(super) docs: Vec<DocId>,
    /// The error of the last claim of documents that found one held by another claimant.
    pub(super) taken: Option<Arc<str>>,
    /// The error of an end that found that a document had changed.
    pub(super) outdated: Option<Arc<str>>,
    /// Whether a renewal reported that the task was cancelled.
    pub(super) is_cancelled: bool,
}

impl HeldTask {
    pub(super) fn new(name: Name, task: &Task) -> Self {
        let (claimant, claims, handle) = (task.claimant.clone(), task.claims, task.handle());
        let (docs, taken, outdated, is_cancelled) = (Vec::new(), None, None, false);
        Self { name, claimant, claims, task: handle, docs, taken, outdated, is_cancelled }
    }

    pub(super) fn add_docs(&mut self, docs: &[Doc]) {
        for doc in docs.iter().map(Doc::handle) {
            self.docs.retain(|known| !known.is_same(&doc));
            self.docs.push(doc);
        }
    }

    /// Releases documents that were claimed after the job had ended.
    pub(super) fn release_step(&self, docs: &[Doc]) -> Result<Modify> {
        let releases = docs.iter().map(|doc| doc.change().release());
        let modification = Modification { doc_changes: releases.collect(), ..Default::default() };
        let (name, claimant) = (self.name.clone(), self.claimant.clone());
        Modify::of(name, claimant.clone(), claimant, modification)
    }

    /// Handles the current state of the task after a renewal whose result was lost. If no other claimant has claimed
    /// it, its version says how often it and the documents were renewed. Returns whether it is held.
    fn checked(&mut self, found: &[Task], is_ended: bool) -> bool {
        let is_own = |t: &&Task| t.claimant == self.claimant && t.claims == self.claims;
        match found.first().filter(is_own) {
            // If the job is ending, its end shows whether the versions are right.
            Some(task) if task.version > self.task.version || is_ended => {
                let more = task.version - self.task.version;
                self.task.version = task.version;
                self.docs.iter_mut().for_each(|doc| doc.version += more);
                true
            }
            _ => false,
        }
    }
}

impl Held for HeldTask {
    type Renew = Renew;

    fn renew(&self, lease: Duration) -> Result<Renew> {
        let (name, claimant) = (self.name.clone(), self.claimant.clone());
        Renew::of(name, claimant, vec![self.task.clone()], self.docs.clone(), lease)
    }

    fn renewed(&mut self, renewed: Renewed) -> bool {
        let version = renewed.tasks.first().map(|task| task.version);
        self.task.version = version.unwrap_or(self.task.version);
        self.is_cancelled |= !renewed.cancelled.is_empty();
        for doc in renewed.docs {
            // The document may have been claimed again since, so the known version may be newer.
            if let Some(known) = self.docs.iter_mut().find(|known| known.is_same(&doc)) {
                known.version = known.version.max(doc.version);
            }
        }
        true
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    fn check<M: Mode>(lease: Arc<Lease<M, Self>>, client: &Client<M>) {
        let held = lease.lock().held.clone();
        let step = FetchTasks::of(held.name, [held.task.id]).map(|step| step.omit_values(true));
        client.submit(step, move |found| {
            lease.checked(|held, is_ended| Ok(held.checked(&found?, is_ended)));
        });
    }
}
