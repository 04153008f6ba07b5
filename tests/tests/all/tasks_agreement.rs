//! Random steps of a task store on Redis, on both embedded engines and in a model that is written from
//! the specification: all return the same, down to which task a claim picks.
//!
//! Times are all long past or far ahead, and each lease is longer than those before it, so that nothing
//! depends on how long a step takes.

use std::time::Duration;

use millpond::tasks::{
    Claim, DEDUP_WINDOW_MAX, Dependency, Doc, DocId, DocQuery, Filter, Headers, Modification,
    Modified, Modify, ModifyMany, NewDoc, NewTask, Task, TaskFilter, TaskId, TaskQuery, TaskStore,
};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::Redis;
use millpond_tests::tasks::model::{self, Collision, Entry, Model, Refusal, id_of_keys};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const QUEUES: [&str; 4] = ["a", "b", "b/c=d", "é"];
const NAMESPACES: [&str; 2] = ["m", "n"];
const CLAIMANTS: [&str; 3] = ["ann", "bob", "eve"];
const KEYS: [&str; 3] = ["k", "k2", "l|%"];
const SECONDARY_KEYS: [&str; 3] = ["", "k2", "|"];
const COLLISIONS: [Collision; 3] = [Collision::Refuse, Collision::Skip, Collision::Replace];

#[derive(Clone, Debug)]
enum Step {
    /// A claimant and what it requests.
    Modify(usize, Vec<Wish>),
    /// Several in one step, made from what was there before it.
    ModifyMany(Vec<(usize, Vec<Wish>)>),
    Claim {
        claimant: usize,
        /// Whether each task gets a claimant of its own.
        is_each: bool,
        queues: Vec<usize>,
        max: usize,
        seed: u32,
    },
    Renew {
        claimant: usize,
        tasks: Vec<(u8, bool)>,
        docs: Vec<(usize, u8, bool)>,
    },
    ClaimDocs {
        claimant: usize,
        namespace: usize,
        keys: Vec<usize>,
    },
    List {
        queue: usize,
        limit: usize,
    },
    Fetch {
        ids: Vec<u8>,
    },
    Cancel {
        ids: Vec<u8>,
        force: bool,
    },
    Docs {
        namespace: usize,
        start: Option<usize>,
        end: Option<usize>,
        limit: usize,
    },
    FetchDocs {
        namespace: usize,
        ids: Vec<u8>,
    },
    /// All steps of it.
    Sweep {
        claimant: usize,
        sweep: model::Sweep,
    },
    /// A queue, and whether it is paused or resumed.
    Pause {
        queue: usize,
        is_paused: bool,
    },
    Counts,
    /// The durable engine is closed and opened again.
    Reopen,
}

/// An entry of a modification, before its versions are looked up. A stale one has another.
#[derive(Clone, Debug)]
enum Wish {
    Insert {
        id: u8,
        queue: usize,
        at: At,
        priority: u8,
        skip: bool,
        has_window: bool,
    },
    Change {
        id: u8,
        stale: bool,
        queue: usize,
        at: At,
        text: u8,
        headers: Option<u8>,
    },
    Delete {
        id: u8,
        stale: bool,
    },
    Depend {
        id: u8,
        stale: bool,
    },
    /// Without an id it has that of its keys.
    InsertDoc {
        namespace: usize,
        id: Option<u8>,
        keys: [usize; 2],
        collision: usize,
        text: u8,
    },
    ChangeDoc {
        namespace: usize,
        id: u8,
        stale: bool,
        text: Option<u8>,
        at: Option<At>,
    },
    DeleteDoc {
        namespace: usize,
        id: u8,
        stale: bool,
    },
    DependDoc {
        namespace: usize,
        id: u8,
        stale: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum At {
    Past(u8),
    Future(u8),
}

impl At {
    fn ms(self) -> u64 {
        match self {
            At::Past(number) => 1_000 + u64::from(number),
            At::Future(number) => FUTURE + u64::from(number),
        }
    }
}

/// In the year 2128.
const FUTURE: u64 = 5_000_000_000_000;

/// Leases differ by this much, which no run takes.
const LEASE_STEP_MS: u64 = 1_000_000;

fn at() -> impl Strategy<Value = At> {
    prop_oneof![3 => (0u8..4).prop_map(At::Past), 1 => (0u8..4).prop_map(At::Future)]
}

fn wish() -> impl Strategy<Value = Wish> {
    let id = || 0u8..14;
    let stale = || prop::bool::weighted(0.08);
    let queue = || 0..QUEUES.len();
    let namespace = || 0..NAMESPACES.len();
    let doc = || (namespace(), 0u8..8);
    prop_oneof![
        6 => (
            id(),
            queue(),
            at(),
            prop_oneof![3 => Just(0u8), 1 => 0u8..10],
            any::<bool>(),
            prop::bool::weighted(0.25),
        )
            .prop_map(|(id, queue, at, priority, skip, has_window)| Wish::Insert {
                id, queue, at, priority, skip, has_window,
            }),
        4 => (id(), stale(), queue(), at(), 0u8..3, prop::option::weighted(0.3, 0u8..4)).prop_map(
            |(id, stale, queue, at, text, headers)| Wish::Change {
                id, stale, queue, at, text, headers,
            }
        ),
        2 => (id(), stale()).prop_map(|(id, stale)| Wish::Delete { id, stale }),
        1 => (id(), stale()).prop_map(|(id, stale)| Wish::Depend { id, stale }),
        4 => (
            namespace(),
            prop::option::of(0u8..5),
            [0..KEYS.len(), 0..KEYS.len()],
            0..COLLISIONS.len(),
            0u8..4,
        )
            .prop_map(|(namespace, id, keys, collision, text)| Wish::InsertDoc {
                namespace, id, keys, collision, text,
            }),
        2 => (doc(), stale(), prop::option::of(0u8..3), prop::option::of(at())).prop_map(
            |((namespace, id), stale, text, at)| Wish::ChangeDoc { namespace, id, stale, text, at }
        ),
        1 => (doc(), stale())
            .prop_map(|((namespace, id), stale)| Wish::DeleteDoc { namespace, id, stale }),
        1 => (doc(), stale())
            .prop_map(|((namespace, id), stale)| Wish::DependDoc { namespace, id, stale }),
    ]
}

fn sweep() -> impl Strategy<Value = model::Sweep> {
    let queue = (0..QUEUES.len(), prop::option::weighted(0.7, 1..QUEUES.len()), any::<bool>());
    let filter = (
        any::<[bool; 3]>(),
        prop::option::weighted(0.3, 0..CLAIMANTS.len()),
        0..3usize,
        any::<bool>(),
    );
    (queue, 1usize..6, filter).prop_map(
        |((queue, to, redrives), max, (states, of, err, with_held))| {
            let other = |by: usize| QUEUES[(queue + by) % QUEUES.len()].to_owned();
            model::Sweep {
                queue: other(0),
                to: to.map(other),
                redrives,
                after: None,
                max,
                states,
                of: of.map(|of| CLAIMANTS[of].to_owned()),
                err: "e".repeat(err),
                with_held,
            }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let claimant = || 0..CLAIMANTS.len();
    let queue = || 0..QUEUES.len();
    prop_oneof![
        8 => (claimant(), prop::collection::vec(wish(), 1..6))
            .prop_map(|(claimant, wishes)| Step::Modify(claimant, wishes)),
        4 => prop::collection::vec((claimant(), prop::collection::vec(wish(), 1..4)), 1..6)
            .prop_map(Step::ModifyMany),
        5 => (
            claimant(),
            prop::bool::weighted(0.2),
            prop::collection::vec(queue(), 1..4),
            1usize..6,
            any::<u32>(),
        )
            .prop_map(|(claimant, is_each, queues, max, seed)| Step::Claim {
                claimant,
                is_each,
                queues,
                max,
                seed,
            }),
        2 => (
            claimant(),
            prop::collection::vec((0u8..14, prop::bool::weighted(0.1)), 0..3),
            prop::collection::vec((0..NAMESPACES.len(), 0u8..8, prop::bool::weighted(0.1)), 0..2),
        )
            .prop_map(|(claimant, tasks, docs)| Step::Renew { claimant, tasks, docs }),
        1 => (claimant(), 0..NAMESPACES.len(), prop::collection::hash_set(0..KEYS.len(), 1..3))
            .prop_map(|(claimant, namespace, keys)| Step::ClaimDocs {
                claimant,
                namespace,
                keys: keys.into_iter().collect(),
            }),
        1 => (queue(), 1usize..5).prop_map(|(queue, limit)| Step::List { queue, limit }),
        1 => prop::collection::vec(0u8..16, 1..6).prop_map(|ids| Step::Fetch { ids }),
        2 => (prop::collection::vec(0u8..16, 1..6), any::<bool>())
            .prop_map(|(ids, force)| Step::Cancel { ids, force }),
        1 => (
            0..NAMESPACES.len(),
            prop::option::of(0..KEYS.len()),
            prop::option::of(0..KEYS.len()),
            1usize..4,
        )
            .prop_map(|(namespace, start, end, limit)| Step::Docs { namespace, start, end, limit }),
        1 => (0..NAMESPACES.len(), prop::collection::vec(0u8..9, 1..5))
            .prop_map(|(namespace, ids)| Step::FetchDocs { namespace, ids }),
        2 => (claimant(), sweep()).prop_map(|(claimant, sweep)| Step::Sweep { claimant, sweep }),
        1 => (queue(), any::<bool>())
            .prop_map(|(queue, is_paused)| Step::Pause { queue, is_paused }),
        1 => Just(Step::Counts),
        1 => Just(Step::Reopen),
    ]
}

fn task_id(id: u8) -> String {
    format!("t{id}")
}

/// Some are those of keys.
fn doc_id(id: u8) -> String {
    match id {
        5 => "k".into(),
        6 => "k|k2".into(),
        7 => "l%7C%25||".into(),
        _ => format!("d{id}"),
    }
}

/// None, one, or two, of which one is no text.
fn headers_of(number: u8) -> model::Headers {
    let all = [("trace", vec![number, 0, 0xff]), ("é", Vec::new())];
    all.into_iter().take(number.into()).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[derive(Debug, PartialEq)]
enum StepResult {
    Nothing,
    Tasks(Vec<model::Task>),
    /// Which of the tasks are cancelled.
    Renewed(Vec<String>),
    Cancelled(Vec<bool>),
    Docs(Vec<model::Doc>),
    Done(model::Done),
    /// How many each step took.
    Swept(Vec<u64>),
    Refused(Refusal),
    Many(Vec<StepResult>),
    Counts(Vec<(String, [u64; 9])>, Vec<(String, [u64; 2])>),
}

/// The modification of a wish, with the versions that the model knows; each task and document once.
fn entries(model: &Model, wishes: &[Wish]) -> Vec<Entry> {
    let mut named = std::collections::HashSet::new();
    let version = |id: u8, stale: bool| {
        model.task(&task_id(id)).map_or(0, |task| task.version) + if stale { 7 } else { 0 }
    };
    let doc_ref = |namespace: usize, id: u8, stale: bool| {
        let namespace = NAMESPACES[namespace].to_owned();
        let version = model.doc(&namespace, &doc_id(id)).map_or(0, |doc| doc.version);
        (namespace, doc_id(id), version + if stale { 7 } else { 0 })
    };
    let task = |id: u8, version: u64, queue: usize, at: At, text: u8, priority: u8| model::Task {
        id: task_id(id),
        version,
        queue: QUEUES[queue].into(),
        at_ms: at.ms(),
        claimant: String::new(),
        claims: 0,
        attempt: text.into(),
        err: "e".repeat(text.into()),
        value: (text > 0).then(|| format!("[{text}]")),
        priority,
        headers: headers_of(id % 4),
    };
    let entry = |wish: &Wish| match *wish {
        Wish::Insert { id, queue, at, priority, skip, has_window } => {
            let task = task(id, 0, queue, at, id % 3, priority);
            (task_id(id), Entry::Insert { task, skip, has_window })
        }
        Wish::Change { id, stale, queue, at, text, headers } => {
            let task = task(id, version(id, stale), queue, at, text, 0);
            let task = model::Task { headers: headers_of(headers.unwrap_or(0)), ..task };
            (task_id(id), Entry::Change { task, sets_headers: headers.is_some() })
        }
        Wish::Delete { id, stale } => {
            (task_id(id), Entry::Delete { id: task_id(id), version: version(id, stale) })
        }
        Wish::Depend { id, stale } => {
            (task_id(id), Entry::Depend { id: task_id(id), version: version(id, stale) })
        }
        Wish::InsertDoc { namespace, id, keys: [key, secondary], collision, text } => {
            let (key, secondary) = (KEYS[key], SECONDARY_KEYS[secondary]);
            let collision = COLLISIONS[collision];
            let has_content = text > 0 || collision == Collision::Replace;
            let doc = model::Doc {
                namespace: NAMESPACES[namespace].into(),
                id: id.map_or_else(|| id_of_keys(key, secondary), doc_id),
                version: 0,
                key: key.into(),
                secondary_key: secondary.into(),
                content: has_content.then(|| format!("{{\"n\":{text}}}")),
                at_ms: 0,
                claimant: String::new(),
            };
            (format!("{namespace}{}", doc.id), Entry::InsertDoc { doc, collision })
        }
        Wish::ChangeDoc { namespace, id, stale, text, at } => {
            let doc = doc_ref(namespace, id, stale);
            let content = text.map(|text| format!("[{text}]"));
            let entry = Entry::ChangeDoc { doc, content, at_ms: at.map(At::ms) };
            (format!("{namespace}{}", doc_id(id)), entry)
        }
        Wish::DeleteDoc { namespace, id, stale } => {
            let entry = Entry::DeleteDoc(doc_ref(namespace, id, stale));
            (format!("{namespace}{}", doc_id(id)), entry)
        }
        Wish::DependDoc { namespace, id, stale } => {
            let entry = Entry::DependDoc(doc_ref(namespace, id, stale));
            (format!("{namespace}{}", doc_id(id)), entry)
        }
    };
    let entries = wishes.iter().map(entry).filter(|(name, _)| named.insert(name.clone()));
    // The lists of a request come one after the other.
    let mut entries: Vec<Entry> = entries.map(|(_, entry)| entry).collect();
    entries.sort_by_key(|entry| match entry {
        Entry::Delete { .. } => 0,
        Entry::Change { .. } => 1,
        _ => 2,
    });
    entries
}

fn modification(entries: &[Entry]) -> Modification {
    entries.iter().fold(Modification::new(), |whole, entry| match entry {
        Entry::Insert { task, skip, has_window } => {
            let mut new = NewTask::new(&task.queue)
                .id(&task.id)
                .at_ms(task.at_ms)
                .attempt(task.attempt)
                .err(&task.err)
                .headers(&task.headers)
                .priority(task.priority);
            if let Some(value) = &task.value {
                new = new.value(value);
            }
            if *has_window {
                new = new.dedup_window(DEDUP_WINDOW_MAX);
            }
            whole.insert(if *skip { new.skip_colliding() } else { new })
        }
        Entry::Change { task, sets_headers } => {
            let record = Task {
                id: task.id.as_str().into(),
                version: task.version,
                queue: task.queue.as_str().into(),
                value: task.value.as_deref().map(Into::into),
                attempt: task.attempt,
                err: task.err.as_str().into(),
                at_ms: 0,
                created_ms: 0,
                modified_ms: 0,
                claimant: "".into(),
                claims: 0,
                priority: 0,
                expires_ms: None,
                headers: Headers::NONE,
            };
            let change = record.change().at_ms(task.at_ms);
            whole.change(if *sets_headers { change.headers(&task.headers) } else { change })
        }
        Entry::Delete { id, version } => whole.delete(TaskId::new(id, *version)),
        Entry::Depend { id, version } => whole.depend(TaskId::new(id, *version)),
        Entry::InsertDoc { doc, collision } => {
            let mut new = NewDoc::new(&doc.namespace, &doc.key).secondary_key(&doc.secondary_key);
            if doc.id != id_of_keys(&doc.key, &doc.secondary_key) {
                new = new.id(&doc.id);
            }
            if let Some(content) = &doc.content {
                new = new.content(content);
            }
            match collision {
                Collision::Refuse => whole.insert_doc(new),
                Collision::Skip => whole.insert_doc(new.skip_colliding()),
                Collision::Replace => whole.put_doc(new),
            }
        }
        Entry::ChangeDoc { doc, content, at_ms } => {
            let mut change = millpond::tasks::DocChange::new(doc_of(doc));
            if let Some(content) = content {
                change = change.content(content);
            }
            whole.change_doc(match at_ms {
                Some(at_ms) => change.at_ms(*at_ms),
                None => change,
            })
        }
        Entry::DeleteDoc(doc) => whole.delete_doc(doc_of(doc)),
        Entry::DependDoc(doc) => whole.depend_doc(doc_of(doc)),
    })
}

fn doc_of((namespace, id, version): &model::DocRef) -> DocId {
    DocId::new(namespace, id, *version)
}

/// The model's time of a lease that was taken in this step.
fn lease_ms(number: usize) -> u64 {
    2_000_000_000_000 + number as u64
}

fn lease(number: usize) -> Duration {
    Duration::from_millis((number as u64 + 1) * LEASE_STEP_MS)
}

fn run_model(model: &mut Model, number: usize, step: &Step) -> StepResult {
    let of = |done: Result<model::Done, Refusal>| {
        done.map_or_else(StepResult::Refused, StepResult::Done)
    };
    match step {
        Step::Modify(claimant, wishes) => {
            let entries = entries(model, wishes);
            of(model.modify(CLAIMANTS[*claimant], &entries))
        }
        Step::ModifyMany(all) => {
            let all: Vec<_> = all.iter().map(|(by, wishes)| (by, entries(model, wishes))).collect();
            let done = all.iter().map(|(by, entries)| of(model.modify(CLAIMANTS[**by], entries)));
            StepResult::Many(done.collect())
        }
        Step::Claim { claimant, is_each, queues, max, seed } => {
            let mut names: Vec<String> = Vec::new();
            for queue in queues {
                if !names.contains(&QUEUES[*queue].to_owned()) {
                    names.push(QUEUES[*queue].into());
                }
            }
            let until = lease_ms(number);
            let claimant = |number: usize| match is_each {
                true => format!("{}.{number}", CLAIMANTS[*claimant]),
                false => CLAIMANTS[*claimant].into(),
            };
            StepResult::Tasks(model.claim(claimant, &names, until, *max, *seed))
        }
        Step::Renew { claimant, .. } => {
            let (tasks, docs) = renewals(model, step);
            if tasks.is_empty() && docs.is_empty() {
                return StepResult::Nothing;
            }
            let done = model.renew(CLAIMANTS[*claimant], &tasks, &docs, lease_ms(number));
            done.map_or_else(StepResult::Refused, StepResult::Renewed)
        }
        Step::Cancel { ids, force } => {
            let ids: Vec<_> = ids.iter().map(|id| task_id(*id)).collect();
            StepResult::Cancelled(model.cancel(&ids, *force))
        }
        Step::ClaimDocs { claimant, namespace, keys } => {
            let keys: Vec<_> = keys.iter().map(|key| KEYS[*key]).collect();
            let docs = model.claim_docs(
                CLAIMANTS[*claimant],
                NAMESPACES[*namespace],
                &keys,
                lease_ms(number),
            );
            docs.map_or_else(StepResult::Refused, StepResult::Docs)
        }
        Step::List { queue, .. } => StepResult::Tasks(model.tasks_of(QUEUES[*queue])),
        Step::Fetch { ids } => StepResult::Tasks(
            ids.iter().filter_map(|id| model.task(&task_id(*id)).cloned()).collect(),
        ),
        Step::Docs { namespace, start, end, .. } => {
            let mut docs = model.docs_of(NAMESPACES[*namespace]);
            docs.retain(|doc| start.is_none_or(|start| doc.key.as_str() >= KEYS[start]));
            docs.retain(|doc| end.is_none_or(|end| doc.key.as_str() < KEYS[end]));
            StepResult::Docs(docs)
        }
        Step::FetchDocs { namespace, ids } => {
            let doc = |id: &u8| model.doc(NAMESPACES[*namespace], &doc_id(*id)).cloned();
            StepResult::Docs(ids.iter().filter_map(doc).collect())
        }
        Step::Sweep { claimant, sweep } => {
            let (mut sweep, mut counts) = (sweep.clone(), Vec::new());
            loop {
                let (count, next) = model.sweep(CLAIMANTS[*claimant], &sweep);
                counts.push(count);
                if next.is_none() {
                    return StepResult::Swept(counts);
                }
                sweep.after = next;
            }
        }
        Step::Pause { queue, is_paused: true } => {
            model.paused.insert(QUEUES[*queue].into());
            StepResult::Nothing
        }
        Step::Pause { queue, is_paused: false } => {
            model.paused.remove(QUEUES[*queue]);
            StepResult::Nothing
        }
        Step::Counts => StepResult::Counts(
            model.queue_stats().into_iter().collect(),
            model.namespace_stats().into_iter().collect(),
        ),
        Step::Reopen => StepResult::Nothing,
    }
}

type Renewals = (Vec<(String, u64)>, Vec<model::DocRef>);

/// What a step renews, each once.
fn renewals(model: &Model, step: &Step) -> Renewals {
    let Step::Renew { tasks, docs, .. } = step else { return Renewals::default() };
    let mut all = Renewals::default();
    for (id, stale) in tasks {
        let version = model.task(&task_id(*id)).map_or(0, |task| task.version);
        if all.0.iter().all(|(known, _)| *known != task_id(*id)) {
            all.0.push((task_id(*id), version + if *stale { 7 } else { 0 }));
        }
    }
    for (namespace, id, stale) in docs {
        let namespace = NAMESPACES[*namespace].to_owned();
        let version = model.doc(&namespace, &doc_id(*id)).map_or(0, |doc| doc.version);
        if all.1.iter().all(|(known, other, _)| (known, other) != (&namespace, &doc_id(*id))) {
            all.1.push((namespace, doc_id(*id), version + if *stale { 7 } else { 0 }));
        }
    }
    all
}

/// A store of ours, and when it was first used.
struct Ours<'a> {
    store: TaskStore,
    client: &'a Client,
    name: &'a str,
    began_ms: u64,
}

impl Ours<'_> {
    /// The model's time: a lease's is the number of the step that took it.
    fn time(&self, at_ms: u64) -> u64 {
        match at_ms > 1_000_000_000_000 && at_ms < FUTURE {
            true => lease_ms(((at_ms - self.began_ms) / LEASE_STEP_MS) as usize - 1),
            false => at_ms,
        }
    }

    fn task(&self, task: &Task) -> model::Task {
        model::Task {
            id: task.id.as_ref().into(),
            version: task.version,
            queue: task.queue.as_ref().into(),
            at_ms: self.time(task.at_ms),
            claimant: task.claimant.as_ref().into(),
            claims: task.claims,
            attempt: task.attempt,
            err: task.err.as_ref().into(),
            value: task.value.as_deref().map(Into::into),
            priority: task.priority,
            headers: task.headers.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }

    fn tasks(&self, tasks: &[Task]) -> Vec<model::Task> {
        tasks.iter().map(|task| self.task(task)).collect()
    }

    fn docs(&self, docs: &[Doc]) -> Vec<model::Doc> {
        let doc = |doc: &Doc| model::Doc {
            namespace: doc.namespace.as_ref().into(),
            id: doc.id.as_ref().into(),
            version: doc.version,
            key: doc.key.as_ref().into(),
            secondary_key: doc.secondary_key.as_ref().into(),
            content: doc.content.as_deref().map(Into::into),
            at_ms: self.time(doc.at_ms),
            claimant: doc.claimant.as_ref().into(),
        };
        docs.iter().map(doc).collect()
    }

    fn sweep(
        &self,
        store: &TaskStore,
        sweep: &model::Sweep,
    ) -> Result<StepResult, millpond::Error> {
        let [available, claimed, future] = sweep.states;
        let mut filter = TaskFilter::new().limit(sweep.max).err(&sweep.err);
        if available {
            filter = filter.available();
        }
        if claimed {
            filter = filter.claimed();
        }
        if future {
            filter = filter.future();
        }
        if let Some(of) = &sweep.of {
            filter = filter.claimant(of);
        }
        if sweep.with_held {
            filter = filter.include_held();
        }
        let mut counts = Vec::new();
        loop {
            let (queue, filter_now) = (&sweep.queue, filter.clone());
            let swept = match &sweep.to {
                None => store.purge(queue, filter_now)?,
                Some(to) if sweep.redrives => store.redrive(queue, to, filter_now)?,
                Some(to) => store.move_tasks(queue, to, filter_now)?,
            };
            counts.push(swept.tasks);
            match swept.next {
                Some(next) => filter = filter.after(next),
                None => return Ok(StepResult::Swept(counts)),
            }
        }
    }

    fn run(
        &self,
        model: &Model,
        number: usize,
        step: &Step,
    ) -> Result<StepResult, millpond::Error> {
        let store = |claimant: &usize| self.store.clone().claimant(CLAIMANTS[*claimant]);
        let result = match step {
            Step::Modify(claimant, wishes) => {
                let modification = modification(&entries(model, wishes));
                store(claimant).modify(modification).map(|done| self.done(&done))
            }
            Step::ModifyMany(all) => {
                let modify = |(by, wishes): &(usize, Vec<Wish>)| {
                    let modification = modification(&entries(model, wishes));
                    Modify::new(self.name, CLAIMANTS[*by], modification)
                };
                let modifications = all.iter().map(modify).collect::<Result<_, _>>();
                self.client.run(modifications.and_then(ModifyMany::new)).and_then(|all| {
                    let done = |done: Result<Modified, _>| refused(done.map(|of| self.done(&of)));
                    all.into_iter().map(done).collect::<Result<_, _>>().map(StepResult::Many)
                })
            }
            Step::Claim { claimant, is_each, queues, max, seed } => {
                let queues = queues.iter().map(|queue| QUEUES[*queue]);
                let claimant = CLAIMANTS[*claimant];
                let claim = Claim::new(self.name, claimant, queues, lease(number), *max, *seed)
                    .map(|claim| claim.for_each(*is_each));
                self.client.run(claim).map(|claimed| StepResult::Tasks(self.tasks(&claimed.tasks)))
            }
            Step::Renew { claimant, .. } => {
                let (tasks, docs) = renewals(model, step);
                if tasks.is_empty() && docs.is_empty() {
                    return Ok(StepResult::Nothing);
                }
                let ids = tasks.iter().map(|(id, version)| TaskId::new(id, *version));
                let renewed = store(claimant).renew(ids, docs.iter().map(doc_of), lease(number));
                renewed.map(|renewed| {
                    for (renewed, (id, version)) in renewed.tasks.iter().zip(&tasks) {
                        assert_eq!(*renewed, TaskId::new(id, version + 1));
                    }
                    let cancelled = renewed.cancelled.iter().map(|id| id.as_ref().to_owned());
                    StepResult::Renewed(cancelled.collect())
                })
            }
            Step::Cancel { ids, force } => {
                let ids = ids.iter().map(|id| task_id(*id));
                let flags = match force {
                    true => self.store.cancel_force(ids),
                    false => self.store.cancel(ids),
                };
                flags.map(StepResult::Cancelled)
            }
            Step::ClaimDocs { claimant, namespace, keys } => store(claimant)
                .claim_docs(
                    NAMESPACES[*namespace],
                    keys.iter().map(|key| KEYS[*key]),
                    lease(number),
                )
                .map(|docs| StepResult::Docs(self.docs(&docs))),
            Step::List { queue, limit } => {
                let mut tasks = Vec::new();
                let mut query = TaskQuery::new().limit(*limit);
                loop {
                    let page = self.store.list(QUEUES[*queue], query.clone())?;
                    tasks.extend(self.tasks(&page.tasks));
                    match page.next {
                        Some(next) => query = query.after(next),
                        None => break Ok(StepResult::Tasks(tasks)),
                    }
                }
            }
            Step::Fetch { ids } => {
                let tasks = self.store.fetch(ids.iter().map(|id| task_id(*id)));
                tasks.map(|tasks| StepResult::Tasks(self.tasks(&tasks)))
            }
            Step::Docs { namespace, start, end, limit } => {
                let mut docs = Vec::new();
                let mut query = DocQuery::new().limit(*limit);
                if let Some(start) = start {
                    query = query.start(KEYS[*start]);
                }
                if let Some(end) = end {
                    query = query.end(KEYS[*end]);
                }
                loop {
                    let page = self.store.list_docs(NAMESPACES[*namespace], query.clone())?;
                    docs.extend(self.docs(&page.docs));
                    match page.next {
                        Some(next) => query = query.after(next),
                        None => break Ok(StepResult::Docs(docs)),
                    }
                }
            }
            Step::FetchDocs { namespace, ids } => {
                let ids = ids.iter().map(|id| doc_id(*id));
                let docs = self.store.fetch_docs(NAMESPACES[*namespace], ids);
                docs.map(|docs| StepResult::Docs(self.docs(&docs)))
            }
            Step::Sweep { claimant, sweep } => self.sweep(&store(claimant), sweep),
            Step::Pause { queue, is_paused } => {
                let queue = QUEUES[*queue];
                let done = match is_paused {
                    true => self.store.pause(queue),
                    false => self.store.resume(queue),
                };
                done.map(|()| StepResult::Nothing)
            }
            Step::Counts => {
                let queues = self.store.queue_stats(Filter::new())?.into_iter().map(|of| {
                    let (claims, paused) = (of.max_claims.into(), of.paused.into());
                    let time = |at_ms: Option<u64>| at_ms.map_or(0, |at_ms| self.time(at_ms));
                    let available = time(of.oldest_available_ms);
                    let counts = [
                        of.size,
                        of.available,
                        of.claimed,
                        of.retrying,
                        of.future,
                        claims,
                        paused,
                        available,
                        time(of.first_lease_end_ms),
                    ];
                    (of.queue.as_ref().to_owned(), counts)
                });
                let namespaces = self.store.namespace_stats(Filter::new())?;
                let namespaces = namespaces
                    .into_iter()
                    .map(|of| (of.namespace.as_ref().to_owned(), [of.size, of.claimed]));
                Ok(StepResult::Counts(queues.collect(), namespaces.collect()))
            }
            Step::Reopen => Ok(StepResult::Nothing),
        };
        refused(result)
    }

    fn done(&self, done: &Modified) -> StepResult {
        StepResult::Done(model::Done {
            inserted: self.tasks(&done.inserted),
            changed: self.tasks(&done.changed),
            inserted_docs: self.docs(&done.inserted_docs),
            changed_docs: self.docs(&done.changed_docs),
        })
    }
}

fn refused(result: Result<StepResult, millpond::Error>) -> Result<StepResult, millpond::Error> {
    match result {
        Err(error) if error.kind() == ErrorKind::Dependency => {
            let dependency = error.dependency().expect("it says what is wrong");
            Ok(StepResult::Refused(refusal(dependency)))
        }
        result => result,
    }
}

fn refusal(dependency: &Dependency) -> Refusal {
    let tasks =
        |ids: &[TaskId]| ids.iter().map(|task| format!("{}:{}", task.id, task.version)).collect();
    let docs = |ids: &[DocId]| {
        ids.iter().map(|doc| format!("{}/{}:{}", doc.namespace, doc.id, doc.version)).collect()
    };
    let lists: [(&'static str, Vec<String>); 10] = [
        ("inserts", tasks(&dependency.inserts)),
        ("changes", tasks(&dependency.changes)),
        ("deletes", tasks(&dependency.deletes)),
        ("depends", tasks(&dependency.depends)),
        ("claims", tasks(&dependency.claims)),
        ("doc_inserts", docs(&dependency.doc_inserts)),
        ("doc_changes", docs(&dependency.doc_changes)),
        ("doc_deletes", docs(&dependency.doc_deletes)),
        ("doc_depends", docs(&dependency.doc_depends)),
        ("doc_claims", docs(&dependency.doc_claims)),
    ];
    lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
}

#[test]
fn redis_the_embedded_engines_and_the_model_agree() {
    let server = Redis::start();
    let redis = millpond::connect(&server.unix_url()).expect("the url is the harness' own");
    let memory = millpond::connect("memory:").expect("there is always memory");
    let directory = tempfile::tempdir().expect("there is a place for files");
    let number = std::cell::Cell::new(0u32);
    let steps = prop::collection::vec(step(), 1..40);

    let mut runner =
        TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&steps, |mut steps| {
        number.set(number.get() + 1);
        let name = format!("store-{}", number.get());
        let part = directory.path().join((number.get() / 20).to_string());
        let url = format!("file:{}?sync=never", part.display());
        let open = || millpond::connect(&url).expect("nobody else holds it");
        let mut file = open();
        let mut model = Model::default();
        steps.push(Step::Counts);
        steps.extend((0..QUEUES.len()).map(|queue| Step::List { queue, limit: 3 }));
        steps.extend((0..NAMESPACES.len()).map(|namespace| Step::Docs {
            namespace,
            start: None,
            end: None,
            limit: 2,
        }));
        let began_ms = redis.tasks(&name).time().expect("the server is there");
        for (number, step) in steps.iter().enumerate() {
            if matches!(step, Step::Reopen) {
                drop(file);
                file = open();
            }
            let before = model.clone();
            let expected = run_model(&mut model, number, step);
            for (engine, client) in [("redis", &redis), ("memory", &memory), ("file", &file)] {
                let ours = Ours { store: client.tasks(&name), client, name: &name, began_ms };
                let result = ours.run(&before, number, step);
                let result = result.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!(&result, &expected, "{} after {:?}", engine, step);
            }
        }
        server.cli(&["FLUSHALL"]);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
