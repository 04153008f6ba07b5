//! Renew: extend the leases of tasks and documents.

use std::sync::Arc;
use std::time::Duration;

use super::dependency::Dependency;
use super::name::Name;
use super::{DocId, TaskId, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::{Reply, malformed};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Renews the leases of tasks and documents for `lease` from now, all of them or none. This has the effect of a
/// change of each to that time, but does not send their values again.
#[derive(Clone, Debug)]
pub struct Renew {
    name: Name,
    claimant: Arc<str>,
    pub(super) tasks: Vec<TaskId>,
    pub(super) docs: Vec<DocId>,
    lease: Duration,
}

/// The new versions of what was renewed, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// The tasks at their new versions.
    pub tasks: Vec<TaskId>,
    /// The documents at their new versions.
    pub docs: Vec<DocId>,
    /// Until when all are held, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The ids of the tasks that were [cancelled](super::TaskStore::cancel): their claimant should stop working and
    /// end them.
    pub cancelled: Vec<Arc<str>>,
}

impl Renew {
    /// Renews the leases of these tasks and documents for `lease` from now.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, nothing to renew, and a task or document that
    /// is named twice.
    pub fn new(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        tasks: Vec<TaskId>,
        docs: Vec<DocId>,
        lease: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, claimant.as_ref().into(), tasks, docs, lease)
    }

    pub(super) fn of(
        name: Name,
        claimant: Arc<str>,
        tasks: Vec<TaskId>,
        docs: Vec<DocId>,
        lease: Duration,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::delay("lease", lease)?;
        ensure!(!(tasks.is_empty() && docs.is_empty()), "there is nothing to renew");
        // The same rules apply as for a modification that depends on these tasks and documents.
        let named = super::Modification {
            depends: tasks.clone(),
            doc_depends: docs.clone(),
            ..Default::default()
        };
        named.check()?;
        Ok(Self { name, claimant, tasks, docs, lease })
    }

    /// The result of the renewal at this time.
    pub(super) fn renewed(&self, at_ms: u64, cancelled: Vec<Arc<str>>) -> Renewed {
        let task = |task: &TaskId| TaskId { version: task.version + 1, ..task.clone() };
        let doc = |doc: &DocId| DocId { version: doc.version + 1, ..doc.clone() };
        Renewed {
            tasks: self.tasks.iter().map(task).collect(),
            docs: self.docs.iter().map(doc).collect(),
            at_ms,
            cancelled,
        }
    }
}

impl Operation for Renew {
    head!(
        "tasks.renew",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "renew.lua"]
    );
    type Output = Renewed;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.claimant.as_bytes());
        args.push_number(self.lease.as_millis() as u64);
        args.push_number(self.tasks.len() as u64);
        self.tasks.iter().for_each(|task| task.push(&mut args));
        self.docs.iter().for_each(|doc| doc.push(&mut args));
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    /// `{at, number from 1 of each cancelled task, …}`, or `{0, number from 1, 1 if it is held, …}` for each that is
    /// not in the required state, the tasks before the documents.
    fn decode(&self, reply: Reply) -> Result<Renewed> {
        let mut replies = reply.list()?;
        let at_ms = replies.next()?.number()?;
        if at_ms > 0 {
            let cancelled = replies.all(self.tasks.len(), |replies| {
                let number = replies.next()?.count(self.tasks.len())? as usize;
                let index = number.checked_sub(1).ok_or_else(malformed)?;
                Ok(self.tasks[index].id.clone())
            })?;
            return Ok(self.renewed(at_ms, cancelled));
        }
        let count = self.tasks.len() + self.docs.len();
        let mut dependency = Dependency::default();
        replies.all(count, |replies| {
            let number = replies.next()?.count(count)? as usize;
            let index = number.checked_sub(1).ok_or_else(malformed)?;
            self.note(&mut dependency, index, replies.next()?.flag()?);
            Ok(())
        })?;
        dependency.into_result()?;
        Err(malformed())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Renewed> {
        let mut dependency = Dependency::default();
        let lease_ms = self.lease.as_millis() as u64;
        let held = embedded::Held { tasks: &self.tasks, docs: &self.docs };
        let (at_ms, cancelled) =
            state.renew(&self.name, &self.claimant, &held, lease_ms, context, |index, held| {
                self.note(&mut dependency, index, held);
            });
        dependency.into_result()?;
        Ok(self.renewed(at_ms, cancelled))
    }
}

impl Renew {
    /// Records that a task cannot be renewed, or a document, whose number is counted after all tasks.
    fn note(&self, dependency: &mut Dependency, index: usize, is_held: bool) {
        match (self.tasks.get(index), self.docs.get(index.saturating_sub(self.tasks.len()))) {
            (Some(task), _) if is_held => dependency.claims.push(task.clone()),
            (Some(task), _) => dependency.changes.push(task.clone()),
            (None, Some(doc)) if is_held => dependency.doc_claims.push(doc.clone()),
            (None, Some(doc)) => dependency.doc_changes.push(doc.clone()),
            (None, None) => {}
        }
    }
}
