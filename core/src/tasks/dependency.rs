//! Why a modification was refused.

use std::fmt;

use super::modification::Modification;
use super::{DocId, TaskId};
use crate::error::{Error, ErrorKind, Result};

/// How many problems the text of a refusal names.
const FAULTS_TOLD_MAX: usize = 10;

/// Every reason why a modification was refused: part of an error of the kind `DEPENDENCY` ([`Error::dependency`]).
/// Nothing was done.
///
/// ```
/// use millpond::tasks::{Modification, TaskId};
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// let error = store.modify(Modification::new().delete(TaskId::new("t1", 3))).unwrap_err();
/// let dependency = error.dependency().expect("it says what is missing");
/// assert_eq!(dependency.deletes, [TaskId::new("t1", 3)]);
/// assert!(dependency.has_missing());
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// Tasks to insert whose id is taken, at the version that exists; at version 0 if the task that took it has ended.
    pub inserts: Vec<TaskId>,
    /// Tasks to change that do not exist at the requested version.
    pub changes: Vec<TaskId>,
    /// Tasks to delete that do not exist at the requested version.
    pub deletes: Vec<TaskId>,
    /// Tasks to depend on that do not exist at the requested version.
    pub depends: Vec<TaskId>,
    /// Tasks to delete or to change that another claimant holds.
    pub claims: Vec<TaskId>,
    /// Documents to insert whose id is taken, at the version that exists.
    pub doc_inserts: Vec<DocId>,
    /// Documents to change that do not exist at the requested version.
    pub doc_changes: Vec<DocId>,
    /// Documents to delete that do not exist at the requested version.
    pub doc_deletes: Vec<DocId>,
    /// Documents to depend on that do not exist at the requested version.
    pub doc_depends: Vec<DocId>,
    /// Documents to delete, to change, to put or to claim that another claimant holds.
    pub doc_claims: Vec<DocId>,
}

impl Dependency {
    /// Whether a task does not exist at the requested version.
    pub fn has_missing(&self) -> bool {
        !(self.changes.is_empty() && self.deletes.is_empty() && self.depends.is_empty())
    }

    /// Whether a document does not exist at the requested version.
    pub fn has_missing_docs(&self) -> bool {
        !(self.doc_changes.is_empty() && self.doc_deletes.is_empty() && self.doc_depends.is_empty())
    }

    /// Whether another claimant holds a task.
    pub fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Whether another claimant holds a document.
    pub fn has_claimed_docs(&self) -> bool {
        !self.doc_claims.is_empty()
    }

    /// Whether an id is taken.
    pub fn has_collisions(&self) -> bool {
        !(self.inserts.is_empty() && self.doc_inserts.is_empty())
    }

    /// Whether the only problem is that other claimants hold something: the same call can succeed later.
    pub fn only_claims(&self) -> bool {
        !(self.has_missing() || self.has_missing_docs() || self.has_collisions())
            && (self.has_claims() || self.has_claimed_docs())
    }

    /// Whether the only problem is documents that others have changed, or hold: the same work can succeed with their
    /// current state. An insert of a document that exists does not count.
    pub(super) fn only_outdated_docs(&self) -> bool {
        !(self.has_missing() || self.has_claims() || self.has_collisions())
    }

    /// Whether it names the task with this id.
    pub(super) fn names_task(&self, id: &str) -> bool {
        let missing = self.changes.iter().chain(&self.deletes).chain(&self.depends);
        missing.chain(&self.claims).any(|task| *task.id == *id)
    }

    /// Whether it names this document.
    pub(super) fn names_doc(&self, doc: &DocId) -> bool {
        let missing = self.doc_changes.iter().chain(&self.doc_deletes).chain(&self.doc_depends);
        let mut named = missing.chain(&self.doc_claims);
        named.any(|known| known.is_same(doc))
    }

    /// This as an error, unless there is no problem.
    pub(super) fn into_result(self) -> Result<()> {
        match self == Self::default() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Dependency, self.to_string()).with_details(self)),
        }
    }

    /// Records what is wrong with an entry of a modification.
    pub(super) fn note(&mut self, of: &Modification, problem: Problem) -> Option<()> {
        let Problem { fault, index, version } = problem;
        let task = |tasks: &[TaskId]| tasks.get(index).cloned();
        let doc = |docs: &[DocId]| docs.get(index).cloned();
        let new_task = || Some(TaskId::new(of.inserts.get(index)?.id.as_ref()?, version));
        let changed_task = || Some(of.changes.get(index)?.task.clone());
        let changed_doc = || Some(of.doc_changes.get(index)?.doc.clone());
        let new_doc = || {
            let doc = of.doc_inserts.get(index)?;
            Some(DocId::new(&doc.namespace, doc.id.as_ref()?, version))
        };
        match fault {
            Fault::Insert => self.inserts.push(new_task()?),
            Fault::Change => self.changes.push(changed_task()?),
            Fault::Delete => self.deletes.push(task(&of.deletes)?),
            Fault::Depend => self.depends.push(task(&of.depends)?),
            Fault::ClaimedDelete => self.claims.push(task(&of.deletes)?),
            Fault::ClaimedChange => self.claims.push(changed_task()?),
            Fault::DocInsert => self.doc_inserts.push(new_doc()?),
            Fault::DocChange => self.doc_changes.push(changed_doc()?),
            Fault::DocDelete => self.doc_deletes.push(doc(&of.doc_deletes)?),
            Fault::DocDepend => self.doc_depends.push(doc(&of.doc_depends)?),
            Fault::ClaimedDocDelete => self.doc_claims.push(doc(&of.doc_deletes)?),
            Fault::ClaimedDocChange => self.doc_claims.push(changed_doc()?),
            Fault::ClaimedDocPut => self.doc_claims.push(new_doc()?),
        }
        Some(())
    }
}

impl Error {
    /// The tasks and documents that were not as the modification required; only on an error of the kind `DEPENDENCY`.
    pub fn dependency(&self) -> Option<&Dependency> {
        self.details()
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = |task: &TaskId| (format!("task {}", task.id), task.version);
        let doc = |doc: &DocId| (format!("document {}/{}", doc.namespace, doc.id), doc.version);
        let exists = |(it, version)| format!("{it} exists already, at version {version}");
        let is_taken = |(it, version)| match version {
            0 => format!("{it} exists already, or its id is not free yet"),
            version => exists((it, version)),
        };
        let differs = |(it, version)| format!("{it} is not at version {version} any more");
        let is_held = |(it, _)| format!("{it} is held by another claimant");
        let tasks = [&self.changes, &self.deletes, &self.depends].into_iter().flatten();
        let docs = [&self.doc_changes, &self.doc_deletes, &self.doc_depends].into_iter().flatten();
        let faults = (self.inserts.iter().map(task).map(is_taken))
            .chain(tasks.map(task).map(differs))
            .chain(self.claims.iter().map(task).map(is_held))
            .chain(self.doc_inserts.iter().map(doc).map(exists))
            .chain(docs.map(doc).map(differs))
            .chain(self.doc_claims.iter().map(doc).map(is_held));
        let mut more = 0_usize;
        for (index, fault) in faults.enumerate() {
            match index {
                0 => f.write_str(&fault)?,
                1..FAULTS_TOLD_MAX => write!(f, "; {fault}")?,
                _ => more += 1,
            }
        }
        match more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// What is wrong with one entry of a modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) fault: Fault,
    /// The index among the entries of its kind, from 0.
    pub(super) index: usize,
    /// The version that exists, for a new document or task.
    pub(super) version: u64,
}

/// Kinds of problems; the numbers are those that the script returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Insert = 1,
    Change = 2,
    Delete = 3,
    Depend = 4,
    ClaimedDelete = 5,
    ClaimedChange = 6,
    DocInsert = 7,
    DocChange = 8,
    DocDelete = 9,
    DocDepend = 10,
    ClaimedDocDelete = 11,
    ClaimedDocChange = 12,
    ClaimedDocPut = 13,
}

impl Fault {
    pub(super) fn of(number: i64) -> Option<Self> {
        Some(match number {
            1 => Self::Insert,
            2 => Self::Change,
            3 => Self::Delete,
            4 => Self::Depend,
            5 => Self::ClaimedDelete,
            6 => Self::ClaimedChange,
            7 => Self::DocInsert,
            8 => Self::DocChange,
            9 => Self::DocDelete,
            10 => Self::DocDepend,
            11 => Self::ClaimedDocDelete,
            12 => Self::ClaimedDocChange,
            13 => Self::ClaimedDocPut,
            _ => return None,
        })
    }
}
