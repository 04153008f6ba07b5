//! Threads that do anything to one store at once, on the embedded engine and on Redis, and a check of
//! what each of them was told, and when.
//!
//! Ids are never used again, so what was reported of a task or of a document is one line of versions.
//! Checked:
//!
//! - Each version was made once, by one step, and none is missing, so that no loser of a race continued.
//! - There is one order of all steps, in which each comes before those that were called after it
//!   returned, and in which each step finds the versions that it said it found, and makes those behind
//!   them. A modification is at one point of that order with all that it names: nothing is done by half.
//!   What was read in between, a version and every field of it, is what a step that was done had made.
//! - A step that was refused for a version that is not there was not refused while it was there all the
//!   time, and one that was refused for a holder met that holder.
//! - A claim takes only what is unclaimed; changes, renewals and deletes only what no other claimant
//!   holds.
//! - What is there at the end is the last version of everything that was not deleted.
//!
//! Lists and statistics, which are not of one moment, are checked task by task.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use millpond::tasks::{
    Dependency, Doc, DocId, DocQuery, Filter, Modification, NewDoc, NewTask, Task, TaskId,
    TaskQuery, TaskStore,
};
use millpond::{Client, ErrorKind};
use millpond_tests::history::{self, Disorder};
use millpond_tests::random::{Random, fresh_seed};
use millpond_tests::servers::Redis;

const QUEUES: [&str; 3] = ["p", "q", "r"];
const KEYS: [&str; 2] = ["k", "l"];
const THREADS: u64 = 6;

/// A task, or a document.
type Id = (bool, String);

/// What is at one version.
#[derive(Clone, Debug, PartialEq)]
struct State {
    version: u64,
    /// The queue, or the primary key.
    place: String,
    at_ms: u64,
    claimant: String,
    text: Option<String>,
    claims: u32,
    created_ms: u64,
}

impl From<&Task> for State {
    fn from(task: &Task) -> Self {
        Self {
            version: task.version,
            place: task.queue.to_string(),
            at_ms: task.at_ms,
            claimant: task.claimant.to_string(),
            text: task.value.as_deref().map(str::to_owned),
            claims: task.claims,
            created_ms: task.created_ms,
        }
    }
}

impl From<&Doc> for State {
    fn from(doc: &Doc) -> Self {
        Self {
            version: doc.version,
            place: doc.key.to_string(),
            at_ms: doc.at_ms,
            claimant: doc.claimant.to_string(),
            text: doc.content.as_deref().map(str::to_owned),
            claims: 0,
            created_ms: doc.created_ms,
        }
    }
}

/// What a step reported of one item.
#[derive(Clone, Debug, PartialEq)]
enum Touch {
    /// It made this.
    Inserted(State),
    /// It made this of the version before.
    Claimed(State),
    Changed(State),
    /// It leased this version, and made the next one of it: until when, and for whom.
    Renewed {
        version: u64,
        at_ms: u64,
        claimant: String,
    },
    /// It deleted this version.
    Deleted(u64),
    /// It found this version.
    Depended(u64),
    /// It read all of this.
    Read(State),
    /// It found this version, held by another.
    Held(u64),
    /// It found nothing.
    Missed,
    /// It did not find this version.
    NotAt(u64),
}

/// A step that was done or refused.
#[derive(Clone, Debug)]
struct Call {
    claimant: String,
    called: Duration,
    returned: Duration,
    /// The same on the clock of the engine.
    called_ms: u64,
    returned_ms: u64,
    touches: Vec<(Id, Touch)>,
}

fn wall_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("it is later than 1970").as_millis() as u64
}

/// What the threads know of, so that they meet.
#[derive(Default)]
struct Seen {
    tasks: Vec<Task>,
    docs: Vec<Doc>,
}

const SEEN_MAX: usize = 24;

impl Seen {
    fn task(&mut self, task: &Task, random: &mut Random) {
        self.tasks.retain(|known| known.id != task.id);
        if self.tasks.len() == SEEN_MAX {
            self.tasks.swap_remove(random.below(SEEN_MAX as u64) as usize);
        }
        self.tasks.push(task.clone());
    }

    fn doc(&mut self, doc: &Doc, random: &mut Random) {
        self.docs.retain(|known| known.id != doc.id);
        if self.docs.len() == SEEN_MAX / 4 {
            self.docs.swap_remove(random.below(SEEN_MAX as u64 / 4) as usize);
        }
        self.docs.push(doc.clone());
    }
}

/// One thread.
struct Actor<'a> {
    store: TaskStore,
    random: Random,
    seen: &'a Mutex<Seen>,
    numbers: &'a AtomicU64,
    began: Instant,
    calls: Vec<Call>,
}

fn task_id(id: &str) -> Id {
    (false, id.to_owned())
}

fn doc_id(id: &str) -> Id {
    (true, id.to_owned())
}

impl Actor<'_> {
    /// Runs a step and notes what it reported; a refusal is a result, other errors end the test.
    fn call<T>(
        &mut self,
        step: impl FnOnce(&TaskStore) -> Result<T, millpond::Error>,
        done: impl FnOnce(&T) -> Vec<(Id, Touch)>,
    ) -> Option<T> {
        let (called, called_ms) = (self.began.elapsed(), wall_ms());
        let result = step(&self.store);
        let (returned, returned_ms) = (self.began.elapsed(), wall_ms());
        let touches = match &result {
            Ok(result) => done(result),
            Err(error) if error.kind() == ErrorKind::Dependency => {
                refused(error.dependency().expect("it says what is wrong"))
            }
            Err(error) => panic!("{error:?}"),
        };
        let claimant = self.store.claimant_id().to_owned();
        self.calls.push(Call { claimant, called, returned, called_ms, returned_ms, touches });
        result.ok()
    }

    fn new_id(&self) -> String {
        format!("n{}", self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    fn lease(&mut self) -> Duration {
        Duration::from_millis(self.random.below(12))
    }

    fn see<'t>(
        &mut self,
        tasks: impl IntoIterator<Item = &'t Task>,
        docs: impl IntoIterator<Item = &'t Doc>,
    ) {
        let mut seen = self.seen.lock().expect("nobody panicked");
        tasks.into_iter().for_each(|task| seen.task(task, &mut self.random));
        docs.into_iter().for_each(|doc| seen.doc(doc, &mut self.random));
    }

    /// This many tasks that a thread has seen, perhaps long ago.
    fn some_tasks(&mut self, count: usize) -> Vec<Task> {
        let mut tasks = self.seen.lock().expect("nobody panicked").tasks.clone();
        while tasks.len() > count {
            tasks.swap_remove(self.random.below(tasks.len() as u64) as usize);
        }
        tasks
    }

    fn some_docs(&mut self, count: usize) -> Vec<Doc> {
        let mut docs = self.seen.lock().expect("nobody panicked").docs.clone();
        while docs.len() > count {
            docs.swap_remove(self.random.below(docs.len() as u64) as usize);
        }
        docs
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..6 => self.claim(),
            6..8 => self.renew(),
            8..10 => self.fetch(),
            10 => self.claim_docs(),
            11 => self.list(),
            _ => self.modify(),
        }
    }

    fn claim(&mut self) {
        let lease = self.lease();
        let queues = match self.random.below(2) {
            0 => QUEUES.to_vec(),
            _ => vec![self.random.of(&QUEUES)],
        };
        let task = self.call(
            |store| store.claim(queues, lease),
            |task| task.iter().map(|t| (task_id(&t.id), Touch::Claimed(t.into()))).collect(),
        );
        self.see(task.iter().flatten(), []);
    }

    fn renew(&mut self) {
        let lease = self.lease();
        let count = 1 + self.random.below(2) as usize;
        let (tasks, docs) = (self.some_tasks(count), self.some_docs(count - 1));
        let claimant = self.store.claimant_id().to_owned();
        if tasks.is_empty() && docs.is_empty() {
            return;
        }
        self.call(
            |store| {
                store.renew(tasks.iter().map(Task::handle), docs.iter().map(Doc::handle), lease)
            },
            |renewed| {
                let touch = |version| {
                    // No time at all is a release.
                    let claimant = if lease.is_zero() { String::new() } else { claimant.clone() };
                    Touch::Renewed { version, at_ms: renewed.at_ms, claimant }
                };
                let of_tasks = tasks.iter().map(|task| (task_id(&task.id), touch(task.version)));
                of_tasks
                    .chain(docs.iter().map(|doc| (doc_id(&doc.id), touch(doc.version))))
                    .collect()
            },
        );
    }

    fn fetch(&mut self) {
        for task in self.some_tasks(1) {
            let id = &task.id;
            let found = self.call(
                |store| store.fetch([id]),
                |found| match found.first() {
                    Some(found) => vec![(task_id(id), Touch::Read(found.into()))],
                    None => vec![(task_id(id), Touch::Missed)],
                },
            );
            match found.iter().flatten().next() {
                None => self.forget(|seen| seen.tasks.retain(|known| known.id != task.id)),
                Some(found) => self.see([found], []),
            }
        }
        for doc in self.some_docs(1) {
            let id = &doc.id;
            let found = self.call(
                |store| store.fetch_docs("n", [id]),
                |found| match found.first() {
                    Some(found) => vec![(doc_id(id), Touch::Read(found.into()))],
                    None => vec![(doc_id(id), Touch::Missed)],
                },
            );
            match found.iter().flatten().next() {
                None => self.forget(|seen| seen.docs.retain(|known| known.id != doc.id)),
                Some(found) => self.see([], [found]),
            }
        }
    }

    fn forget(&self, gone: impl FnOnce(&mut Seen)) {
        gone(&mut self.seen.lock().expect("nobody panicked"));
    }

    fn claim_docs(&mut self) {
        let (key, lease) = (self.random.of(&KEYS), self.lease());
        let docs = self.call(
            |store| store.claim_docs("n", [key], lease),
            |docs| docs.iter().map(|doc| (doc_id(&doc.id), Touch::Claimed(doc.into()))).collect(),
        );
        self.see([], docs.iter().flatten());
    }

    /// A list is as many reads, of no one moment, and so are statistics.
    fn list(&mut self) {
        let queue = self.random.of(&QUEUES);
        let called = self.calls.len();
        self.call(
            |store| store.list(queue, TaskQuery::new().limit(8)),
            |page| page.tasks.iter().map(|t| (task_id(&t.id), Touch::Read(t.into()))).collect(),
        );
        if let Some(Call { touches, .. }) = self.calls.get_mut(called) {
            let touches = std::mem::take(touches);
            let call = self.calls.pop().expect("it was there");
            let one = |touch| Call { touches: vec![touch], ..call.clone() };
            self.calls.extend(touches.into_iter().map(one));
        }
        for stats in self.store.queue_stats(Filter::new()).expect("it reads") {
            let later = stats.claimed + stats.retrying + stats.future;
            assert_eq!(stats.size, stats.available + later, "{stats:?}");
        }
    }

    fn modify(&mut self) {
        let token = self.new_id();
        let mut of = Modification::new();
        let (count, docs) = (1 + self.random.below(3) as usize, self.random.below(2) as usize);
        let (mut deletes, mut depends) = (Vec::new(), Vec::new());
        let tasks = self.some_tasks(count);
        for task in &tasks {
            of = match self.random.below(6) {
                0 => {
                    deletes.push((task_id(&task.id), task.version));
                    of.delete(task)
                }
                1 => {
                    depends.push((task_id(&task.id), task.version));
                    of.depend(task)
                }
                _ => {
                    let change = task.change().queue(self.random.of(&QUEUES)).after(self.lease());
                    of.change(change.value(format!("\"{token}\"")))
                }
            };
        }
        let is_full = self.seen.lock().expect("nobody panicked").tasks.len() >= SEEN_MAX - 4;
        for number in 0..self.random.below(if is_full { 1 } else { 3 }) {
            let new = NewTask::new(self.random.of(&QUEUES)).id(format!("{token}-{number}"));
            of = of.insert(new.after(self.lease()).value(format!("\"{token}\"")));
        }
        for doc in self.some_docs(docs) {
            of = match self.random.below(8) {
                0 => {
                    deletes.push((doc_id(&doc.id), doc.version));
                    of.delete_doc(&doc)
                }
                1 => {
                    depends.push((doc_id(&doc.id), doc.version));
                    of.depend_doc(&doc)
                }
                2 => of.change_doc(doc.change().content(format!("\"{token}\"")).release()),
                _ => {
                    let lease = self.lease();
                    of.change_doc(doc.change().content(format!("\"{token}\"")).after(lease))
                }
            };
        }
        let is_full = self.seen.lock().expect("nobody panicked").docs.len() >= SEEN_MAX / 4;
        if !is_full && self.random.below(4) == 0 {
            let key = self.random.of(&KEYS);
            of = of.insert_doc(NewDoc::new("n", key).id(&token).content(format!("\"{token}\"")));
        }
        let done = self.call(
            |store| store.modify(of),
            |done| {
                let mut touches = Vec::new();
                let of = |task: &Task| (task_id(&task.id), State::from(task));
                let of_doc = |doc: &Doc| (doc_id(&doc.id), State::from(doc));
                let inserted =
                    done.inserted.iter().map(of).chain(done.inserted_docs.iter().map(of_doc));
                touches.extend(inserted.map(|(id, state)| (id, Touch::Inserted(state))));
                let changed =
                    done.changed.iter().map(of).chain(done.changed_docs.iter().map(of_doc));
                touches.extend(changed.map(|(id, state)| (id, Touch::Changed(state))));
                touches
                    .extend(deletes.into_iter().map(|(id, version)| (id, Touch::Deleted(version))));
                touches.extend(
                    depends.into_iter().map(|(id, version)| (id, Touch::Depended(version))),
                );
                touches
            },
        );
        if let Some(done) = done {
            self.see(
                done.inserted.iter().chain(&done.changed),
                done.inserted_docs.iter().chain(&done.changed_docs),
            );
        }
    }
}

/// What a refusal says of each item. Ids are never used again, so none is taken.
fn refused(why: &Dependency) -> Vec<(Id, Touch)> {
    assert!(!why.has_collisions(), "{why}");
    let missing = why.changes.iter().chain(&why.deletes).chain(&why.depends);
    let missing = missing.map(|TaskId { id, version }| (task_id(id), Touch::NotAt(*version)));
    let held = why.claims.iter().map(|TaskId { id, version }| (task_id(id), Touch::Held(*version)));
    let no_docs = why.doc_changes.iter().chain(&why.doc_deletes).chain(&why.doc_depends);
    let no_docs = no_docs.map(|DocId { id, version, .. }| (doc_id(id), Touch::NotAt(*version)));
    let held_docs =
        why.doc_claims.iter().map(|DocId { id, version, .. }| (doc_id(id), Touch::Held(*version)));
    missing.chain(held).chain(no_docs).chain(held_docs).collect()
}

/// What happened to one item.
#[derive(Default)]
struct Line {
    /// Which step made each version, and what is at it.
    versions: BTreeMap<u64, (usize, State)>,
    /// Which step deleted it, at which version.
    deleted: Option<(usize, u64)>,
}

type Checked = Result<(), String>;

/// A history, item by item.
struct History<'a> {
    calls: &'a [Call],
    lines: HashMap<Id, Line>,
}

impl<'a> History<'a> {
    fn of(calls: &'a [Call]) -> Result<Self, String> {
        let mut made: Vec<(u64, &Id, usize, &Touch)> = Vec::new();
        let mut history = Self { calls, lines: HashMap::new() };
        for (number, call) in calls.iter().enumerate() {
            for (id, touch) in &call.touches {
                match touch {
                    Touch::Inserted(state) => made.push((state.version, id, number, touch)),
                    Touch::Claimed(state) | Touch::Changed(state) => {
                        made.push((state.version, id, number, touch));
                    }
                    Touch::Renewed { version, .. } => made.push((version + 1, id, number, touch)),
                    Touch::Deleted(version) => {
                        let line = history.lines.entry(id.clone()).or_default();
                        if line.deleted.replace((number, *version)).is_some() {
                            return Err(format!("{id:?} was deleted twice"));
                        }
                    }
                    _ => {}
                }
            }
        }
        made.sort_by_key(|(version, ..)| *version);
        for (version, id, number, touch) in made {
            let line = history.lines.entry(id.clone()).or_default();
            let before = line.versions.last_key_value().map(|(_, (_, state))| state);
            let state = calls[number].made(touch, before).map_err(|wrong| {
                format!(
                    "{id:?} at version {version}: {wrong}\nbefore: {before:?}\n{:?}",
                    calls[number]
                )
            })?;
            line.versions.insert(version, (number, state));
        }
        for (id, line) in &history.lines {
            let Some((number, version)) = line.deleted else { continue };
            let last = line.versions.last_key_value();
            let Some((last, (_, state))) = last.filter(|(last, _)| **last == version) else {
                return Err(format!(
                    "{id:?} was deleted at {version} and is at {:?}",
                    last.map(|l| l.0)
                ));
            };
            if calls[number].is_kept_out(state) {
                return Err(format!("{id:?} was deleted at {last} while another held it"));
            }
        }
        Ok(history)
    }

    /// Where a touch is in the line of its item: behind the making of its version and before the next.
    fn place(&self, id: &Id, touch: &Touch) -> Result<Option<u64>, String> {
        let line = self.lines.get(id).ok_or_else(|| format!("nobody inserted {id:?}"))?;
        Ok(Some(match touch {
            Touch::Inserted(state) | Touch::Claimed(state) | Touch::Changed(state) => {
                2 * state.version
            }
            Touch::Renewed { version, .. } => 2 * (version + 1),
            Touch::Depended(version) | Touch::Held(version) => 2 * version + 1,
            Touch::Read(state) => {
                let known = line.versions.get(&state.version).map(|(_, known)| known);
                if known != Some(state) {
                    return Err(format!("{id:?} was read as {state:?}, and was {known:?}"));
                }
                2 * state.version + 1
            }
            Touch::Deleted(version) => 2 * (version + 1),
            Touch::Missed if line.deleted.is_none() => {
                return Err(format!("{id:?} was not found, and nobody deleted it"));
            }
            Touch::Missed => u64::MAX,
            Touch::NotAt(_) => return Ok(None),
        }))
    }

    /// One order of all steps, or those that have none.
    fn order(&self) -> Checked {
        // Of each item, the steps at each point of its line.
        let mut lines: HashMap<&Id, BTreeMap<u64, BTreeSet<usize>>> = HashMap::new();
        for (number, call) in self.calls.iter().enumerate() {
            for (id, touch) in &call.touches {
                if let Some(place) = self.place(id, touch)? {
                    lines.entry(id).or_default().entry(place).or_default().insert(number);
                }
            }
        }
        let times: Vec<_> = self.calls.iter().map(|call| (call.called, call.returned)).collect();
        let lines = lines.into_values().map(|places| places.into_values().collect());
        history::order(&times, lines).map_err(|disorder| match disorder {
            Disorder::Behind(waits, number) => format!(
                "there is no order: {:?}\nreturned before this was called, and comes behind it: {:?}",
                self.calls[waits], self.calls[number]
            ),
            Disorder::Circle(number) => format!("each waits for another: {:?}", self.calls[number]),
        })
    }

    /// Refusals.
    fn refusals(&self) -> Checked {
        for call in self.calls {
            for (id, touch) in &call.touches {
                let line = &self.lines[id];
                match touch {
                    Touch::Held(version) => {
                        let held = line.versions.get(version).map(|(_, state)| state);
                        let is_held = |state: &State| {
                            state.claimant != call.claimant
                                && !state.claimant.is_empty()
                                && state.at_ms > call.called_ms
                        };
                        if !held.is_some_and(is_held) {
                            return Err(format!("{id:?} was not held: {held:?}\n{call:?}"));
                        }
                    }
                    Touch::NotAt(version) => {
                        let Some((maker, _)) = line.versions.get(version) else { continue };
                        let next = line.versions.get(&(version + 1)).map(|(number, _)| *number);
                        let next = next.or(line.deleted.map(|(number, _)| number));
                        let was_there = self.calls[*maker].returned < call.called;
                        if was_there
                            && next.is_none_or(|next| self.calls[next].called > call.returned)
                        {
                            return Err(format!("{id:?} was there all the time: {call:?}"));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Call {
    /// Whether another claimant held this for as long as the call took.
    fn is_kept_out(&self, state: &State) -> bool {
        state.at_ms > self.returned_ms
            && !state.claimant.is_empty()
            && state.claimant != self.claimant
    }

    /// What this made of what was there before.
    fn made(&self, touch: &Touch, before: Option<&State>) -> Result<State, String> {
        let made = match (touch, before) {
            (Touch::Inserted(state), None) if state.version == 0 => return Ok(state.clone()),
            (Touch::Claimed(state) | Touch::Changed(state), Some(_)) => state.clone(),
            (Touch::Renewed { version, at_ms, claimant }, Some(before)) => State {
                version: version + 1,
                at_ms: *at_ms,
                claimant: claimant.clone(),
                ..before.clone()
            },
            _ => return Err("it was made twice, or of nothing".to_owned()),
        };
        let before = before.expect("else it is an insert");
        if made.version != before.version + 1 {
            return Err("a version is missing or was made twice".to_owned());
        }
        if self.is_kept_out(before) {
            return Err("another one held it".to_owned());
        }
        if made.created_ms != before.created_ms {
            return Err("it was made at another time".to_owned());
        }
        let is_claim = matches!(touch, Touch::Claimed(_));
        // Of a document there is no count.
        let counts = [before.claims, before.claims + 1];
        if !(counts.contains(&made.claims) && (is_claim || made.claims == before.claims)) {
            return Err("its claims are miscounted".to_owned());
        }
        if is_claim && (&made.place, &made.text) != (&before.place, &before.text) {
            return Err("a claim changed it".to_owned());
        }
        if is_claim && before.at_ms > self.returned_ms && before.claimant != self.claimant {
            return Err("it was not available".to_owned());
        }
        Ok(made)
    }
}

/// All that is wrong with a history, or that nothing is.
fn check(calls: &[Call], left: &[(Id, State)]) -> Checked {
    let history = History::of(calls)?;
    history.order()?;
    history.refusals()?;
    let left: HashMap<_, _> = left.iter().map(|(id, state)| (id, state)).collect();
    for (id, line) in &history.lines {
        let last = line.versions.last_key_value().map(|(_, (_, state))| state);
        let last = last.filter(|_| line.deleted.is_none());
        if left.get(id).copied() != last {
            return Err(format!("{id:?} is {:?} at the end, and should be {last:?}", left.get(id)));
        }
    }
    match left.keys().find(|id| !history.lines.contains_key(id)) {
        None => Ok(()),
        Some(id) => Err(format!("nobody inserted {id:?}")),
    }
}

/// Runs threads on a store; returns what was reported to them, and what is left.
fn play(client: &Client, seed: u64, steps: u64) -> (Vec<Call>, Vec<(Id, State)>) {
    let (seen, numbers, began) = (Mutex::default(), AtomicU64::new(0), Instant::now());
    let store = client.tasks(format!("store-{seed}"));
    let mut calls = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let mut actor = Actor {
                    store: store.clone().claimant(format!("c{}", number % (THREADS - 1))),
                    random: Random::new(seed ^ number << 32),
                    seen: &seen,
                    numbers: &numbers,
                    began,
                    calls: Vec::new(),
                };
                scope.spawn(move || {
                    (0..steps).for_each(|_| actor.step());
                    actor.calls
                })
            })
            .collect();
        for thread in threads {
            calls.extend(thread.join().expect("no step fails"));
        }
    });
    let mut left = Vec::new();
    for queue in QUEUES {
        let page = store.list(queue, TaskQuery::new().limit(10_000)).expect("it reads");
        left.extend(page.tasks.iter().map(|task| (task_id(&task.id), State::from(task))));
    }
    let docs = store.list_docs("n", DocQuery::new().limit(10_000)).expect("it reads").docs;
    left.extend(docs.iter().map(|doc| (doc_id(&doc.id), State::from(doc))));
    (calls, left)
}

fn play_and_check(client: &Client, what: &str, steps: u64) {
    let seed = fresh_seed();
    println!("{what}: seed {seed}");
    let (calls, left) = play(client, seed, steps);
    let count = |is: fn(&Touch) -> bool| {
        calls.iter().flat_map(|call| &call.touches).filter(|(_, touch)| is(touch)).count()
    };
    let claims = count(|touch| matches!(touch, Touch::Claimed(_)));
    let refusals = count(|touch| matches!(touch, Touch::NotAt(_) | Touch::Held(_)));
    let changes = count(|touch| matches!(touch, Touch::Changed(_)));
    println!(
        "{what}: {} calls, {claims} claims, {changes} changes, {refusals} refusals",
        calls.len()
    );
    assert!(claims > 100 && refusals > 100 && changes > 100, "there is nothing to check");
    if let Err(wrong) = check(&calls, &left) {
        panic!("{what}, seed {seed}: {wrong}");
    }
}

#[test]
fn steps_on_memory_have_one_order() {
    play_and_check(&millpond::connect("memory:").expect("it opens"), "memory", 6_000);
}

#[test]
fn steps_on_redis_have_one_order() {
    let server = Redis::start();
    play_and_check(&millpond::connect(&server.unix_url()).expect("it is there"), "redis", 2_000);
}

/// The check finds what it is for: a true history, with one thing wrong at a time.
#[test]
fn an_inconsistent_history_is_found() {
    let (calls, left) = play(&millpond::connect("memory:").expect("it opens"), 7, 500);
    check(&calls, &left).expect("nothing is wrong yet");
    let with = |change: &dyn Fn(&mut Vec<Call>)| {
        let mut calls = calls.clone();
        change(&mut calls);
        check(&calls, &left).expect_err("something is wrong now")
    };
    let position = |is: &dyn Fn(&Touch) -> bool| {
        calls
            .iter()
            .rposition(|call| call.touches.iter().any(|(_, t)| is(t)))
            .expect("there is one")
    };
    let claim = position(&|touch| matches!(touch, Touch::Claimed(_)));
    // Two got the same version.
    with(&|calls| calls.push(calls[claim].clone()));
    // A claim that was returned to no thread.
    with(&|calls| calls[claim].touches.clear());
    // A change that was done to one task of several.
    let several = calls.iter().position(|call| {
        call.touches.iter().filter(|(_, touch)| matches!(touch, Touch::Changed(_))).count() > 1
    });
    with(&|calls| {
        let touches = &mut calls[several.expect("there is one")].touches;
        let changed = touches.iter().rposition(|(_, touch)| matches!(touch, Touch::Changed(_)));
        touches.remove(changed.expect("there are several"));
    });
    // A read of what a refused step would have made.
    let read = position(&|touch| matches!(touch, Touch::Read(_)));
    with(&|calls| {
        if let Touch::Read(state) = &mut calls[read].touches[0].1 {
            state.text = Some("never".to_owned());
        }
    });
    // A read that came long after what it read was over.
    let late = calls.iter().position(|call| {
        matches!(&call.touches[..], [(id, Touch::Read(state))]
            if left.iter().all(|(other, last)| other != id || last.version > state.version))
    });
    with(&|calls| {
        let late = &mut calls[late.expect("there is one")];
        (late.called, late.returned) = (Duration::from_secs(3_600), Duration::from_secs(3_601));
    });
    // A claim while another one holds the task.
    with(&|calls| {
        calls[claim].claimant = "nobody".to_owned();
        (calls[claim].called_ms, calls[claim].returned_ms) = (0, 0);
    });
}
