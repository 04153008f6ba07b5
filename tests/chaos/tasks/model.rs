//! A second implementation of a thread's tasks and documents: no thread, no file and no code of the
//! library.

use std::collections::BTreeMap;

use millpond::tasks;

/// A task, as far as it does not depend on when a step was done.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) queue: String,
    pub(super) version: u64,
    pub(super) claims: u32,
    pub(super) attempt: u32,
    pub(super) err: String,
    pub(super) value: Option<String>,
    pub(super) priority: u8,
    /// For longer than any run.
    pub(super) is_held: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Doc {
    pub(super) version: u64,
    pub(super) secondary_key: String,
    pub(super) content: Option<String>,
    pub(super) is_held: bool,
}

impl Task {
    pub(super) fn of(task: &tasks::Task, now_ms: u64) -> Self {
        Self {
            queue: task.queue.to_string(),
            version: task.version,
            claims: task.claims,
            attempt: task.attempt,
            err: task.err.to_string(),
            value: task.value.as_deref().map(str::to_owned),
            priority: task.priority,
            is_held: task.at_ms > now_ms && !task.claimant.is_empty(),
        }
    }
}

impl Doc {
    pub(super) fn of(doc: &tasks::Doc, now_ms: u64) -> Self {
        Self {
            version: doc.version,
            secondary_key: doc.secondary_key.to_string(),
            content: doc.content.as_deref().map(str::to_owned),
            is_held: doc.at_ms > now_ms && !doc.claimant.is_empty(),
        }
    }
}

/// One step of a thread.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Modify(Vec<Entry>),
    /// Claims all that is available in the thread's inbox.
    Claim {
        inbox: String,
    },
    /// Claims all of the thread's documents.
    ClaimDocs,
    Renew {
        tasks: Vec<(String, u64)>,
        docs: Vec<(String, u64)>,
    },
}

#[derive(Clone, Debug)]
pub(super) enum Entry {
    Insert {
        id: String,
        task: Task,
    },
    /// The change of the task: its version is the one it has to have.
    Change {
        id: String,
        task: Task,
    },
    Delete {
        id: String,
        version: u64,
    },
    Depend {
        id: String,
        version: u64,
    },
    InsertDoc {
        id: String,
        doc: Doc,
    },
    /// New content, and whether it is held from now on, as far as they are given.
    ChangeDoc {
        id: String,
        version: u64,
        content: Option<String>,
        hold: Option<bool>,
    },
    DeleteDoc {
        id: String,
        version: u64,
    },
}

/// What is there of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub(super) tasks: BTreeMap<String, Task>,
    pub(super) docs: BTreeMap<String, Doc>,
}

/// How many tasks and documents a step touched, or that it was refused.
pub(super) type StepResult = Option<usize>;

impl Model {
    pub(super) fn run(&mut self, step: &Step) -> StepResult {
        match step {
            Step::Modify(entries) => {
                if !entries.iter().all(|entry| self.lets(entry)) {
                    return None;
                }
                entries.iter().for_each(|entry| self.apply(entry));
                Some(entries.len())
            }
            Step::Claim { inbox } => {
                let available =
                    self.tasks.values_mut().filter(|task| task.queue == *inbox && !task.is_held);
                Some(
                    available
                        .map(|task| {
                            (task.version, task.claims, task.is_held) =
                                (task.version + 1, task.claims + 1, true);
                        })
                        .count(),
                )
            }
            Step::ClaimDocs => {
                for doc in self.docs.values_mut() {
                    (doc.version, doc.is_held) = (doc.version + 1, true);
                }
                Some(self.docs.len())
            }
            Step::Renew { tasks, docs } => {
                for (id, _) in tasks {
                    let task = self.tasks.get_mut(id).expect("the plans draw no other");
                    (task.version, task.is_held) = (task.version + 1, true);
                }
                for (id, _) in docs {
                    let doc = self.docs.get_mut(id).expect("the plans draw no other");
                    (doc.version, doc.is_held) = (doc.version + 1, true);
                }
                Some(tasks.len() + docs.len())
            }
        }
    }

    fn lets(&self, entry: &Entry) -> bool {
        let is_task = |id, version| self.tasks.get(id).is_some_and(|task| task.version == version);
        let is_doc = |id, version| self.docs.get(id).is_some_and(|doc| doc.version == version);
        match entry {
            Entry::Insert { id, .. } => !self.tasks.contains_key(id),
            Entry::Change { id, task } => is_task(id, task.version),
            Entry::Delete { id, version } | Entry::Depend { id, version } => is_task(id, *version),
            Entry::InsertDoc { id, .. } => !self.docs.contains_key(id),
            Entry::ChangeDoc { id, version, .. } | Entry::DeleteDoc { id, version } => {
                is_doc(id, *version)
            }
        }
    }

    fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Insert { id, task } => drop(self.tasks.insert(id.clone(), task.clone())),
            Entry::Change { id, task } => {
                let task = Task { version: task.version + 1, ..task.clone() };
                self.tasks.insert(id.clone(), task);
            }
            Entry::Delete { id, .. } => drop(self.tasks.remove(id)),
            Entry::Depend { .. } => {}
            Entry::InsertDoc { id, doc } => drop(self.docs.insert(id.clone(), doc.clone())),
            Entry::ChangeDoc { id, content, hold, .. } => {
                let doc = self.docs.get_mut(id).expect("it was looked for");
                doc.version += 1;
                doc.content = content.clone().or(doc.content.take());
                doc.is_held = hold.unwrap_or(doc.is_held);
            }
            Entry::DeleteDoc { id, .. } => drop(self.docs.remove(id)),
        }
    }

    /// Where this differs from `found`, for people.
    pub(super) fn difference(&self, found: &Self) -> String {
        let short = |text: String| text.chars().take(300).collect::<String>();
        let mut said = Vec::new();
        for id in self.tasks.keys().chain(found.tasks.keys()) {
            let (mine, theirs) = (self.tasks.get(id), found.tasks.get(id));
            if mine != theirs {
                said.push(format!("{id}: expected {}", short(format!("{mine:?}"))));
                said.push(format!("{id}: found {}", short(format!("{theirs:?}"))));
            }
        }
        for id in self.docs.keys().chain(found.docs.keys()) {
            let (mine, theirs) = (self.docs.get(id), found.docs.get(id));
            if mine != theirs {
                said.push(format!("document {id}: expected {}", short(format!("{mine:?}"))));
                said.push(format!("document {id}: found {}", short(format!("{theirs:?}"))));
            }
        }
        said.truncate(10);
        said.join("\n")
    }
}
