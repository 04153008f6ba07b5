//! A model of a task store, written from the specification: lists, and a look at all of them. Its clock
//! stands still; a lease goes to the time that its step says.

#![allow(missing_docs, reason = "the names are those of the library")]

use std::collections::{BTreeMap, BTreeSet};

/// The time at which everything happens, in milliseconds.
pub const NOW: u64 = 1_000_000_000_000;

/// How many of the first available tasks a claim picks from.
const WINDOW: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub version: u64,
    pub queue: String,
    pub at_ms: u64,
    pub claimant: String,
    pub claims: u32,
    pub attempt: u32,
    pub err: String,
    pub value: Option<String>,
    pub priority: u8,
    pub headers: Headers,
}

pub type Headers = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    pub namespace: String,
    pub id: String,
    pub version: u64,
    pub key: String,
    pub secondary_key: String,
    pub content: Option<String>,
    pub at_ms: u64,
    pub claimant: String,
}

/// One entry of a modification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// With a window, its id stays taken for longer than anything takes.
    Insert {
        task: Task,
        skip: bool,
        has_window: bool,
    },
    /// Its headers stay as they are, unless it sets them.
    Change {
        task: Task,
        sets_headers: bool,
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
        doc: Doc,
        collision: Collision,
    },
    /// The new content, and the time, if either is given.
    ChangeDoc {
        doc: DocRef,
        content: Option<String>,
        at_ms: Option<u64>,
    },
    DeleteDoc(DocRef),
    DependDoc(DocRef),
}

/// What happens to a new document whose id is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    Refuse,
    Skip,
    /// It replaces the content of the document that is there, if that has its keys.
    Replace,
}

/// The id of a document that is inserted without one.
pub fn id_of_keys(key: &str, secondary_key: &str) -> String {
    let mut id = String::new();
    for character in key.chars() {
        match character {
            '%' => id += "%25",
            '|' => id += "%7C",
            other => id.push(other),
        }
    }
    if !secondary_key.is_empty() {
        id.push('|');
        id += secondary_key;
    }
    id
}

/// A document at a version.
pub type DocRef = (String, String, u64);

/// What is wrong with a modification: by the name of the list, in the order of the request.
pub type Refusal = BTreeMap<&'static str, Vec<String>>;

/// What a modification did, each list in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    pub inserted: Vec<Task>,
    pub changed: Vec<Task>,
    pub inserted_docs: Vec<Doc>,
    pub changed_docs: Vec<Doc>,
}

/// A store.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub tasks: Vec<Task>,
    pub docs: Vec<Doc>,
    pub paused: BTreeSet<String>,
    /// The tasks that were claimed since they were inserted, changed or moved.
    pub claimed: BTreeSet<String>,
    /// Those of them that are cancelled.
    pub cancelled: BTreeSet<String>,
    /// The tasks with a window.
    pub with_window: BTreeSet<String>,
    /// The ids of those that have ended.
    pub taken: BTreeSet<String>,
}

/// What to delete, or to move.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    pub queue: String,
    pub to: Option<String>,
    pub redrives: bool,
    pub after: Option<(u64, String)>,
    pub max: usize,
    /// Available, claimed, future.
    pub states: [bool; 3],
    pub of: Option<String>,
    pub err: String,
    pub with_held: bool,
}

/// The generator that claims draw from.
struct Chance(u64);

impl Chance {
    fn new(seed: u32) -> Self {
        Self(u64::from(seed) % 2_147_483_646 + 1)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0
    }
}

impl Model {
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    pub fn doc(&self, namespace: &str, id: &str) -> Option<&Doc> {
        self.docs.iter().find(|doc| doc.namespace == namespace && doc.id == id)
    }

    /// Leases tasks until this time.
    pub fn claim(
        &mut self,
        claimant: impl Fn(usize) -> String,
        queues: &[String],
        until_ms: u64,
        max: usize,
        seed: u32,
    ) -> Vec<Task> {
        let mut chance = Chance::new(seed);
        let mut order: Vec<&String> = queues.iter().collect();
        for last in (1..order.len()).rev() {
            let other = (chance.draw() % (last as u64 + 1)) as usize;
            order.swap(last, other);
        }
        let mut taken: Vec<Task> = Vec::new();
        for queue in order {
            while taken.len() < max && !self.paused.contains(queue) {
                let mut available: Vec<&Task> = self
                    .tasks
                    .iter()
                    .filter(|task| task.queue == *queue && task.at_ms <= NOW)
                    .filter(|task| taken.iter().all(|other| other.id != task.id))
                    .collect();
                let Some(highest) = available.iter().map(|task| task.priority).max() else { break };
                available.retain(|task| task.priority == highest);
                available.sort_by_key(|task| (task.at_ms, task.id.clone()));
                let last = available.len().min(WINDOW) - 1;
                let mut picked = 0;
                while picked < last && chance.draw() < 2_147_483_647 / 2 {
                    picked += 1;
                }
                let id = available[picked].id.clone();
                let task = self.tasks.iter_mut().find(|task| task.id == id).expect("it is there");
                task.at_ms = until_ms;
                task.version += 1;
                task.claims += 1;
                task.claimant = claimant(taken.len() + 1);
                taken.push(task.clone());
                self.cancelled.remove(&id);
                self.claimed.insert(id);
            }
        }
        taken
    }

    /// Does all entries or none.
    pub fn modify(&mut self, claimant: &str, entries: &[Entry]) -> Result<Done, Refusal> {
        let mut refusal = Refusal::new();
        let mut refuse = |list: &'static str, what: String| {
            refusal.entry(list).or_default().push(what);
        };
        // What another claimant holds is named after all else, what is put and then deletes first.
        let mut held = [Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for entry in entries {
            match entry {
                Entry::Insert { task, skip: false, .. } => {
                    if let Some(version) = self.version_of_taken(&task.id) {
                        refuse("inserts", format!("{}:{version}", task.id));
                    }
                }
                Entry::InsertDoc { doc, collision } => {
                    let Some(found) = self.doc(&doc.namespace, &doc.id) else { continue };
                    let what = format!("{}/{}:{}", doc.namespace, doc.id, found.version);
                    let is_same =
                        (&found.key, &found.secondary_key) == (&doc.key, &doc.secondary_key);
                    match collision {
                        Collision::Skip => {}
                        Collision::Replace if is_same => {
                            if is_held(found.at_ms, &found.claimant, claimant) {
                                held[2].push(what);
                            }
                        }
                        _ => refuse("doc_inserts", what),
                    }
                }
                Entry::Insert { .. } => {}
                Entry::Change { task, .. } => {
                    let what = format!("{}:{}", task.id, task.version);
                    match self.fault(&task.id, task.version, claimant) {
                        Some(true) => held[1].push(what),
                        Some(false) => refuse("changes", what),
                        None => {}
                    }
                }
                Entry::Delete { id, version } => match self.fault(id, *version, claimant) {
                    Some(true) => held[0].push(format!("{id}:{version}")),
                    Some(false) => refuse("deletes", format!("{id}:{version}")),
                    None => {}
                },
                Entry::Depend { id, version } => {
                    if self.task(id).is_none_or(|task| task.version != *version) {
                        refuse("depends", format!("{id}:{version}"));
                    }
                }
                Entry::ChangeDoc { doc, .. } => match self.doc_fault(doc, claimant) {
                    Some(true) => held[4].push(name(doc)),
                    Some(false) => refuse("doc_changes", name(doc)),
                    None => {}
                },
                Entry::DeleteDoc(doc) => match self.doc_fault(doc, claimant) {
                    Some(true) => held[3].push(name(doc)),
                    Some(false) => refuse("doc_deletes", name(doc)),
                    None => {}
                },
                Entry::DependDoc(doc) => {
                    if self.doc(&doc.0, &doc.1).is_none_or(|found| found.version != doc.2) {
                        refuse("doc_depends", name(doc));
                    }
                }
            }
        }
        let lists = ["claims", "claims", "doc_claims", "doc_claims", "doc_claims"];
        for (list, what) in lists.into_iter().zip(held) {
            what.into_iter().for_each(|what| refuse(list, what));
        }
        match refusal.is_empty() {
            true => Ok(self.apply(claimant, entries)),
            false => Err(refusal),
        }
    }

    fn apply(&mut self, claimant: &str, entries: &[Entry]) -> Done {
        let mut done = Done::default();
        let holder = |at_ms: u64| if at_ms > NOW { claimant.to_owned() } else { String::new() };
        for entry in entries {
            match entry {
                Entry::Insert { task, has_window, .. } => {
                    if self.version_of_taken(&task.id).is_none() {
                        if *has_window {
                            self.with_window.insert(task.id.clone());
                        }
                        let task = Task {
                            version: 0,
                            claimant: claimant.into(),
                            claims: 0,
                            ..task.clone()
                        };
                        done.inserted.push(task.clone());
                        self.tasks.push(task);
                    }
                }
                Entry::Change { task, sets_headers } => {
                    self.end_claims(&task.id);
                    let found = self.tasks.iter_mut().find(|found| found.id == task.id);
                    let found = found.expect("it was checked");
                    *found = Task {
                        version: found.version + 1,
                        claimant: holder(task.at_ms),
                        claims: found.claims,
                        priority: found.priority,
                        headers: if *sets_headers { &task.headers } else { &found.headers }.clone(),
                        ..task.clone()
                    };
                    done.changed.push(found.clone());
                }
                Entry::Delete { id, .. } => self.end(id),
                Entry::Depend { .. } | Entry::DependDoc(_) => {}
                Entry::InsertDoc { doc, collision } => {
                    let is_it =
                        |found: &&mut Doc| found.namespace == doc.namespace && found.id == doc.id;
                    match self.docs.iter_mut().find(is_it) {
                        Some(found) if *collision == Collision::Replace => {
                            found.version += 1;
                            found.claimant = holder(found.at_ms);
                            found.content.clone_from(&doc.content);
                            done.inserted_docs.push(found.clone());
                        }
                        Some(_) => {}
                        None => {
                            done.inserted_docs.push(doc.clone());
                            self.docs.push(doc.clone());
                        }
                    }
                }
                Entry::ChangeDoc { doc, content, at_ms } => {
                    let is_it = |found: &&mut Doc| found.namespace == doc.0 && found.id == doc.1;
                    let found = self.docs.iter_mut().find(is_it).expect("it was checked");
                    found.version += 1;
                    found.at_ms = at_ms.unwrap_or(found.at_ms);
                    found.claimant = holder(found.at_ms);
                    if content.is_some() {
                        found.content.clone_from(content);
                    }
                    done.changed_docs.push(found.clone());
                }
                Entry::DeleteDoc(doc) => {
                    self.docs.retain(|found| found.namespace != doc.0 || found.id != doc.1);
                }
            }
        }
        done
    }

    /// Cancels what is claimed, or deletes it with `force`; says of each whether it is.
    pub fn cancel(&mut self, ids: &[String], force: bool) -> Vec<bool> {
        let cancel = |id: &String| {
            let is_claimed =
                self.claimed.contains(id) && self.task(id).is_some_and(|task| task.at_ms > NOW);
            if is_claimed && force {
                self.end(id);
            } else if is_claimed {
                self.cancelled.insert(id.clone());
            }
            is_claimed
        };
        ids.iter().map(cancel).collect()
    }

    /// The version of the task that has this id, 0 if it has ended.
    fn version_of_taken(&self, id: &str) -> Option<u64> {
        let version = self.task(id).map(|task| task.version);
        version.or(self.taken.contains(id).then_some(0))
    }

    fn end(&mut self, id: &str) {
        self.end_claims(id);
        self.tasks.retain(|task| task.id != *id);
        if self.with_window.remove(id) {
            self.taken.insert(id.to_owned());
        }
    }

    fn end_claims(&mut self, id: &str) {
        self.claimed.remove(id);
        self.cancelled.remove(id);
    }

    /// Renews these until this time; returns which of the tasks are cancelled.
    pub fn renew(
        &mut self,
        claimant: &str,
        tasks: &[(String, u64)],
        docs: &[DocRef],
        until_ms: u64,
    ) -> Result<Vec<String>, Refusal> {
        let ids = tasks.iter().map(|(id, _)| id.clone());
        let cancelled: Vec<_> = ids.filter(|id| self.cancelled.contains(id)).collect();
        let tasks = tasks.iter().map(|(id, version)| {
            let task = self.task(id).cloned().unwrap_or(Task {
                id: id.clone(),
                version: 0,
                queue: String::new(),
                at_ms: 0,
                claimant: String::new(),
                claims: 0,
                attempt: 0,
                err: String::new(),
                value: None,
                priority: 0,
                headers: Headers::new(),
            });
            let task = Task { version: *version, at_ms: until_ms, ..task };
            Entry::Change { task, sets_headers: false }
        });
        let docs = docs.iter().map(|doc| Entry::ChangeDoc {
            doc: doc.clone(),
            content: None,
            at_ms: Some(until_ms),
        });
        let entries: Vec<_> = tasks.chain(docs).collect();
        let before = (self.claimed.clone(), self.cancelled.clone());
        self.modify(claimant, &entries)?;
        (self.claimed, self.cancelled) = before;
        Ok(cancelled)
    }

    /// Leases the documents of some keys until this time.
    pub fn claim_docs(
        &mut self,
        claimant: &str,
        namespace: &str,
        keys: &[&str],
        until_ms: u64,
    ) -> Result<Vec<Doc>, Refusal> {
        let all: Vec<Doc> = self.docs_of(namespace);
        let of_key = |key| all.iter().filter(move |doc| doc.key == key).cloned();
        let mut docs: Vec<Doc> = keys.iter().flat_map(|key| of_key(*key)).collect();
        let is_held = |doc: &&Doc| is_held(doc.at_ms, &doc.claimant, claimant);
        let refused: Vec<_> = docs
            .iter()
            .filter(is_held)
            .map(|doc| name(&(doc.namespace.clone(), doc.id.clone(), doc.version)))
            .collect();
        if !refused.is_empty() {
            return Err([("doc_claims", refused)].into());
        }
        for doc in &mut docs {
            let is_it = |found: &&mut Doc| found.namespace == doc.namespace && found.id == doc.id;
            let found = self.docs.iter_mut().find(is_it).expect("it is there");
            found.version += 1;
            found.at_ms = until_ms;
            claimant.clone_into(&mut found.claimant);
            *doc = found.clone();
        }
        Ok(docs)
    }

    /// Deletes tasks of a queue or moves them to another one, of the first `max` behind a time and an id; returns
    /// how many, and what to go on after.
    pub fn sweep(&mut self, claimant: &str, sweep: &Sweep) -> (u64, Option<(u64, String)>) {
        let mut tasks = self.tasks_of(&sweep.queue);
        tasks.retain(|task| sweep.after.as_ref() < Some(&(task.at_ms, task.id.clone())));
        let has_more = tasks.len() > sweep.max;
        tasks.truncate(sweep.max);
        let next = tasks.last().filter(|_| has_more).map(|last| (last.at_ms, last.id.clone()));
        tasks.retain(|task| {
            let is_available = task.at_ms <= NOW;
            let state = if is_available { 0 } else { 2 - usize::from(task.claims > 0) };
            (sweep.states[state] || sweep.states == [false; 3])
                && task.err.starts_with(&sweep.err)
                && sweep.of.as_ref().is_none_or(|of| is_available || *of == task.claimant)
                && (sweep.with_held || !is_held(task.at_ms, &task.claimant, claimant))
        });
        for swept in &tasks {
            let Some(to) = &sweep.to else {
                self.end(&swept.id);
                continue;
            };
            self.end_claims(&swept.id);
            let at = self.tasks.iter().position(|task| task.id == swept.id).expect("it is there");
            let task = &mut self.tasks[at];
            task.queue.clone_from(to);
            task.version += 1;
            if sweep.redrives {
                (task.attempt, task.err) = (0, String::new());
            }
        }
        (tasks.len() as u64, next)
    }

    /// The tasks of a queue by time and id.
    pub fn tasks_of(&self, queue: &str) -> Vec<Task> {
        let mut tasks: Vec<Task> =
            self.tasks.iter().filter(|task| task.queue == queue).cloned().collect();
        tasks.sort_by_key(|task| (task.at_ms, task.id.clone()));
        tasks
    }

    /// The documents of a namespace by their keys.
    pub fn docs_of(&self, namespace: &str) -> Vec<Doc> {
        let mut docs: Vec<Doc> =
            self.docs.iter().filter(|doc| doc.namespace == namespace).cloned().collect();
        docs.sort_by_key(|doc| (doc.key.clone(), doc.secondary_key.clone(), doc.id.clone()));
        docs
    }

    /// Of each queue: all, available, claimed, retrying, future, the most claims of a task, 1 if it is paused, and the
    /// time of the first that is available and that of the first that is claimed, 0 for none.
    pub fn queue_stats(&self) -> BTreeMap<String, [u64; 9]> {
        let paused = self.paused.iter().map(|queue| (queue.clone(), [0, 0, 0, 0, 0, 0, 1, 0, 0]));
        let mut stats: BTreeMap<String, [u64; 9]> = paused.collect();
        for task in &self.tasks {
            let of = stats.entry(task.queue.clone()).or_default();
            of[0] += 1;
            let bucket = match (task.at_ms <= NOW, self.claimed.contains(&task.id)) {
                (true, _) => 1,
                (false, true) => 2,
                (false, false) if task.claims > 0 => 3,
                (false, false) => 4,
            };
            of[bucket] += 1;
            of[5] = of[5].max(task.claims.into());
            let first = &mut of[if bucket == 1 { 7 } else { 8 }];
            if bucket < 3 && (*first == 0 || task.at_ms < *first) {
                *first = task.at_ms;
            }
        }
        stats
    }

    /// Of each namespace: all, and those that are claimed.
    pub fn namespace_stats(&self) -> BTreeMap<String, [u64; 2]> {
        let mut stats = BTreeMap::<String, [u64; 2]>::new();
        for doc in &self.docs {
            let of = stats.entry(doc.namespace.clone()).or_default();
            of[0] += 1;
            of[1] += u64::from(doc.at_ms > NOW && !doc.claimant.is_empty());
        }
        stats
    }

    /// What is wrong with a task: that another claimant holds it, or that it is not there like this.
    fn fault(&self, id: &str, version: u64, claimant: &str) -> Option<bool> {
        match self.task(id) {
            Some(task) if task.version == version => {
                is_held(task.at_ms, &task.claimant, claimant).then_some(true)
            }
            _ => Some(false),
        }
    }

    fn doc_fault(&self, doc: &DocRef, claimant: &str) -> Option<bool> {
        match self.doc(&doc.0, &doc.1) {
            Some(found) if found.version == doc.2 => {
                is_held(found.at_ms, &found.claimant, claimant).then_some(true)
            }
            _ => Some(false),
        }
    }
}

/// Whether another claimant holds something.
fn is_held(at_ms: u64, holder: &str, claimant: &str) -> bool {
    at_ms > NOW && !holder.is_empty() && holder != claimant
}

fn name(doc: &DocRef) -> String {
    format!("{}/{}:{}", doc.0, doc.1, doc.2)
}
