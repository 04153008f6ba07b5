//! Steps that contend on one store, in all relevant orders of their locks: a scheduler that replaces the system's
//! runs the threads of each test thousands of times, one thread at a time, and may switch at every lock. In the small
//! tests it explores all possible orders.
//!
//! Checked after each run: each task is in exactly one queue, and the index agrees; the counts match the contents; no
//! version was created twice and none is missing, so nothing was half done, or refused and yet done; and replaying
//! the journal, from its beginning or from a snapshot, recreates the same store. The scheduler detects a deadlock, or
//! a step that never ends.
//!
//! A run that fails prints its schedule, which [`shuttle::replay`] runs again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};

use super::*;
use crate::step::{Journal, Operation, State as _, StateEffects, States};
use crate::tasks::{
    Claim, ClaimDocs, DocChange, FetchTasks, ListTasks, Modification, Modify, NewDoc, NewTask,
    Pause, ReadNamespaceStats, ReadQueueStats, Renew, Sweep, TaskChange, TaskFilter,
};

const STORE: &str = "s";

/// Before every lease of these tests is over.
const LEASE: Duration = Duration::from_secs(3_600);

/// When the first step runs; each one runs a millisecond after the one before.
const FIRST_MS: u64 = 1_000_000;

/// A store, its journal, and what its steps returned.
#[derive(Default)]
struct Store {
    state: State,
    log: Log,
    steps: AtomicU64,
    books: Mutex<Books>,
}

/// A journal in memory.
#[derive(Default)]
struct Log(Mutex<Vec<Vec<u8>>>);

impl Journal for Log {
    fn append(&self, own: &[u8], others: &[StateEffects]) {
        assert!(others.is_empty(), "a step of a store is about this store alone");
        lock(&self.0).push(own.to_vec());
    }
}

/// No step of a store spans several states.
struct Alone;

impl States for Alone {
    fn state_of_kind(&self, _: u8, _: &[u8]) -> Result<Arc<dyn step::State>> {
        unreachable!("a step of a store is about this store alone")
    }

    fn names_of_kind(&self, _: u8) -> Vec<Box<[u8]>> {
        Vec::new()
    }
}

/// How often steps created each version of a task or a document, and how often it was deleted at that version. A
/// deleted id can be inserted again, so a version can be created more than once.
#[derive(Default)]
struct Books {
    made: BTreeMap<Version, usize>,
    ended: BTreeMap<Version, usize>,
}

/// Whether it is a document, its id, and its version.
type Version = (bool, Arc<str>, u64);

impl Books {
    fn make(&mut self, is_doc: bool, id: &Arc<str>, version: u64) {
        *self.made.entry((is_doc, id.clone(), version)).or_default() += 1;
    }

    fn end(&mut self, is_doc: bool, id: &Arc<str>, version: u64) {
        *self.ended.entry((is_doc, id.clone(), version)).or_default() += 1;
    }

    /// Each version that was created became the next one, was deleted, or still exists.
    fn check(&self, mut living: BTreeSet<Version>) {
        let mut followed = 0;
        for (version @ (is_doc, id, number), made) in &self.made {
            let next = self.made.get(&(*is_doc, id.clone(), number + 1)).copied().unwrap_or(0);
            let ended = self.ended.get(version).copied().unwrap_or(0);
            let is_there = usize::from(living.remove(version));
            assert_eq!(*made, next + ended + is_there, "{version:?}: next {next}, ended {ended}");
            followed += next;
        }
        let inserted = self.made.iter().filter(|((.., number), _)| *number == 0);
        let all: usize = self.made.values().sum();
        assert_eq!(inserted.map(|(_, made)| made).sum::<usize>() + followed, all, "a gap");
        assert!(living.is_empty(), "nobody made {living:?}");
        assert!(self.ended.keys().all(|version| self.made.contains_key(version)));
    }
}

impl Store {
    fn run<O: Operation<State = State>>(&self, step: Result<O>) -> Result<O::Output> {
        let now_ms = FIRST_MS + self.steps.fetch_add(1, Ordering::SeqCst);
        self.run_at(now_ms, step)
    }

    fn run_at<O: Operation<State = State>>(
        &self,
        now_ms: u64,
        step: Result<O>,
    ) -> Result<O::Output> {
        let mut context = StepContext::new(now_ms * 1_000, &Alone, Some(&self.log), &|| false);
        step.unwrap().apply(&self.state, &mut context)
    }

    /// Applies a modification; returns whether it was applied.
    fn modify(&self, claimant: &str, of: Modification) -> bool {
        let deleted: Vec<_> =
            of.deletes.iter().map(|task| (task.id.clone(), task.version)).collect();
        let deleted_docs: Vec<_> =
            of.doc_deletes.iter().map(|doc| (doc.id.clone(), doc.version)).collect();
        let Ok(done) = self.run(Modify::new(STORE, claimant, of)) else { return false };
        let mut books = lock(&self.books);
        for task in done.inserted.iter().chain(&done.changed) {
            books.make(false, &task.id, task.version);
        }
        for doc in done.inserted_docs.iter().chain(&done.changed_docs) {
            books.make(true, &doc.id, doc.version);
        }
        deleted.iter().for_each(|(id, version)| books.end(false, id, *version));
        deleted_docs.iter().for_each(|(id, version)| books.end(true, id, *version));
        true
    }

    fn claim(&self, claimant: &str, queues: &[&str], max: usize) -> Vec<Task> {
        let seed = self.steps.load(Ordering::SeqCst) as u32;
        let step = Claim::new(STORE, claimant, queues, LEASE, max, seed);
        let tasks = self.run(step).unwrap().tasks;
        for task in &tasks {
            lock(&self.books).make(false, &task.id, task.version);
        }
        tasks
    }

    /// Claims the documents of the key `k` in the namespace `n`.
    fn claim_docs(&self, claimant: &str) -> Option<Vec<Doc>> {
        let docs = self.run(ClaimDocs::new(STORE, claimant, "n", ["k"], LEASE)).ok()?;
        for doc in &docs {
            lock(&self.books).make(true, &doc.id, doc.version);
        }
        Some(docs)
    }

    fn renew(&self, claimant: &str, tasks: &[&Task], docs: &[&Doc]) -> bool {
        let task_ids = tasks.iter().map(|task| task.handle()).collect();
        let doc_ids = docs.iter().map(|doc| doc.handle()).collect();
        let Ok(renewed) = self.run(Renew::new(STORE, claimant, task_ids, doc_ids, LEASE)) else {
            return false;
        };
        let mut books = lock(&self.books);
        for (task, renewed) in tasks.iter().zip(&renewed.tasks) {
            books.make(false, &task.id, renewed.version);
        }
        for (doc, renewed) in docs.iter().zip(&renewed.docs) {
            books.make(true, &doc.id, renewed.version);
        }
        true
    }

    fn fetch(&self, id: &str) -> Option<Task> {
        let mut found = self.run(FetchTasks::new(STORE, [id])).unwrap();
        assert!(found.len() < 2, "{id} was found twice");
        found.pop()
    }

    fn list(&self, queue: &str) -> Vec<Task> {
        let page = self.run(ListTasks::new(STORE, queue, TaskQuery::new())).unwrap();
        let mut ids = BTreeSet::new();
        assert!(page.tasks.iter().all(|task| ids.insert(&task.id)), "one is on a page twice");
        assert!(page.tasks.iter().all(|task| *task.queue == *queue));
        page.tasks
    }

    fn stats(&self) -> Vec<QueueStats> {
        let all = self.run(ReadQueueStats::new(STORE, Filter::new())).unwrap();
        for stats in &all {
            let later = stats.claimed + stats.retrying + stats.future;
            assert_eq!(stats.size, stats.available + later, "{stats:?}");
            assert!(stats.size > 0 || stats.paused, "{stats:?}");
        }
        let docs = self.run(ReadNamespaceStats::new(STORE, Filter::new())).unwrap();
        assert!(
            docs.iter().all(|stats| (1..10).contains(&stats.size) && stats.claimed <= stats.size)
        );
        all
    }

    /// A snapshot of the current state.
    fn snapshot(&self) -> Copied {
        let mut copied = Copying { log: &self.log, copied: Copied::default() };
        self.state.snapshot(&mut copied);
        copied.copied
    }

    /// Checks all invariants, when no step is running any more.
    fn check(&self, snapshots: &[Copied]) {
        check_state(&self.state);
        let found = contents(&self.state);
        let versions = || found.iter().filter_map(Found::version);
        let living: BTreeSet<_> = versions().collect();
        assert_eq!(living.len(), versions().count(), "one is there twice");
        lock(&self.books).check(living);
        for snapshot in snapshots.iter().chain([&Copied::default()]) {
            let again = self.recover(snapshot);
            check_state(&again);
            assert_eq!(contents(&again), found, "what the journal says");
        }
    }

    fn recover(&self, snapshot: &Copied) -> State {
        let state = State::default();
        for record in &snapshot.records {
            state.replay(record, None).unwrap();
        }
        for (sequence, record) in (1..).zip(lock(&self.log.0).iter()) {
            if sequence >= snapshot.first {
                state.replay(record, Some(sequence)).unwrap();
            }
        }
        state.replayed();
        state
    }
}

/// A snapshot, and the sequence of the first record that it may not contain.
#[derive(Default)]
struct Copied {
    first: u64,
    records: Vec<Vec<u8>>,
}

struct Copying<'a> {
    log: &'a Log,
    copied: Copied,
}

impl Snapshot for Copying<'_> {
    fn begin(&mut self) -> u64 {
        let next = lock(&self.log.0).len() as u64 + 1;
        if self.copied.first == 0 {
            self.copied.first = next;
        }
        next
    }

    fn record(&mut self, record: &[u8]) {
        self.copied.records.push(record.to_vec());
    }
}

/// A task or a document in the store, a paused queue, or an id that is taken.
#[derive(Debug, PartialEq)]
enum Found {
    Task(Task, u32),
    Doc(Doc),
    Paused(Arc<str>),
    Taken(taken::Until),
}

impl Found {
    fn version(&self) -> Option<Version> {
        match self {
            Found::Task(task, _) => Some((false, task.id.clone(), task.version)),
            Found::Doc(doc) => Some((true, doc.id.clone(), doc.version)),
            Found::Paused(_) | Found::Taken(_) => None,
        }
    }
}

/// Everything in a store: the tasks of each queue and their windows, the documents of each namespace, the queues that are
/// paused, and the ids of ended tasks.
fn contents(state: &State) -> Vec<Found> {
    let (mut tasks, mut docs, mut paused) = (Vec::new(), Vec::new(), Vec::new());
    for queue in state.queues.all() {
        let guard = queue.lock().unwrap();
        paused.extend(guard.is_paused.then(|| queue.name.clone()));
        tasks.extend(guard.records().map(|record| {
            let task = record.to_task(&queue.name, false);
            Found::Task(task, record.dedup_window_ms)
        }));
    }
    for namespace in state.namespaces.all() {
        docs.extend(namespace.lock().unwrap().docs().cloned());
    }
    tasks.sort_by_key(Found::version);
    docs.sort_by(|one: &Doc, other| one.id.cmp(&other.id));
    paused.sort();
    let found = tasks.into_iter().chain(docs.into_iter().map(Found::Doc));
    let taken = state.taken.page(None, usize::MAX).into_iter().map(Found::Taken);
    found.chain(paused.into_iter().map(Found::Paused)).chain(taken).collect()
}

fn check_state(state: &State) {
    state.queues.check();
    state.namespaces.check();
    let mut indexed: BTreeMap<_, _> = state.index.all().into_iter().collect();
    for queue in state.queues.all() {
        // Later than any step, since tasks that have been counted stay counted.
        let now_ms = FIRST_MS + 1_000;
        let told = queue.counts(now_ms);
        let mut guard = queue.lock().unwrap();
        let ids: Vec<_> = guard.records().map(|record| record.id.clone()).collect();
        for id in &ids {
            let location = indexed.remove(id).expect("every task is in the index");
            assert!(Arc::ptr_eq(&location.queue, &queue), "{id} is in {}", queue.name);
            assert!(guard.get(location.slot, id).is_some(), "the slot of {id}");
        }
        assert_eq!(guard.all().records().count(), ids.len(), "the order of {}", queue.name);
        assert!(guard.count_available(now_ms, usize::MAX));
        let stats = guard.counts();
        let count =
            |is: &dyn Fn(&&queue::Record) -> bool| guard.records().filter(is).count() as u64;
        let is_available = |record: &&queue::Record| record.at_ms <= now_ms;
        assert_eq!(stats.size, ids.len() as u64);
        assert_eq!(stats.available, count(&is_available), "available in {}", queue.name);
        let is_leased = |record: &&queue::Record| !is_available(record) && record.unended > 0;
        let was_claimed = |record: &&queue::Record| !is_available(record) && record.claims > 0;
        assert_eq!(stats.claimed, count(&is_leased));
        assert_eq!(stats.retrying, count(&|record| was_claimed(record) && !is_leased(record)));
        assert_eq!(stats.future, count(&|record| !is_available(record) && record.claims == 0));
        let most = guard.records().map(|record| record.claims).max();
        assert_eq!(stats.max_claims, u64::from(most.unwrap_or(0)));
        let first = |is: &dyn Fn(&&queue::Record) -> bool| {
            guard.records().filter(is).map(|record| record.at_ms).min()
        };
        assert_eq!(stats.oldest_available_ms, first(&is_available), "{}", queue.name);
        assert_eq!(stats.first_lease_end_ms, first(&is_leased), "{}", queue.name);
        if let Some(told) = told {
            // Until then they are the same.
            assert_eq!(told, counts::Counts { until_ms: told.until_ms, ..stats }, "{}", queue.name);
        }
    }
    assert!(indexed.is_empty(), "these are in the index alone: {:?}", indexed.keys());
    for namespace in state.namespaces.all() {
        let mut guard = namespace.lock().unwrap();
        let is_held = |doc: &&Doc| doc.at_ms > FIRST_MS && !doc.claimant.is_empty();
        let (size, held) = (guard.docs().count(), guard.docs().filter(is_held).count());
        guard.count_held(FIRST_MS);
        let stats = guard.counts();
        assert_eq!((stats.size, stats.claimed), (size as u64, held as u64), "{}", namespace.name);
        assert!(guard.docs().all(|doc| guard.get(&doc.id) == Some(doc)));
    }
}

/// Runs a test in one schedule after another; returns the number of schedules.
fn run(scheduler: impl Scheduler + 'static, test: fn()) -> usize {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    // These tests are not about memory ordering.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(test)
}

/// Runs a test in `schedules` random schedules: half of them arbitrary, half with few thread switches.
fn in_random_schedules(schedules: usize, test: fn()) {
    run(RandomScheduler::new(schedules / 2), test);
    run(PctScheduler::new(3, schedules / 2), test);
}

/// Runs a test in all schedules.
fn in_all(test: fn()) {
    let schedules = run(DfsScheduler::new(None, false), test);
    println!("{schedules} schedules");
}

/// Does all of this at the same time on a store, checks the store, and hands it on.
fn at_once(store: Store, steps: Vec<Box<dyn FnOnce(&Store) + Send>>) -> Arc<Store> {
    let store = Arc::new(store);
    let threads: Vec<_> = steps
        .into_iter()
        .map(|step| {
            let store = store.clone();
            thread::spawn(move || step(&store))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    store
}

/// Closures as [`at_once`] takes them.
macro_rules! steps {
    ($($step:expr),* $(,)?) => { vec![$(Box::new($step) as Box<dyn FnOnce(&Store) + Send>),*] };
}

/// Counts what was done.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU64>);

impl Count {
    fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::SeqCst);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

fn task(queue: &str, id: &str) -> NewTask {
    NewTask::new(queue).id(id)
}

fn doc(id: &str) -> NewDoc {
    NewDoc::new("n", "k").id(id).content("0")
}

/// A store with a task in each of these queues, which has the queue's name and a number for its id.
fn store_with(tasks: &[(&str, &str)]) -> Store {
    let store = Store::default();
    let mut of = Modification::new();
    for (queue, id) in tasks {
        of = of.insert(task(queue, id).at_ms(1));
    }
    assert!(store.modify("setup", of));
    store
}

/// A change of the task with this id, as it was inserted or at this version.
fn change(queue: &str, id: &str, version: u64) -> TaskChange {
    let task =
        Task { version, ..NewTask::new(queue).id(id).inserted(&super::queue::NOBODY, FIRST_MS) };
    task.change().at_ms(1)
}

#[test]
fn two_claims_and_one_task() {
    in_all(|| {
        let count = Count::default();
        let claim = |count: Count, who: &'static str| {
            move |store: &Store| count.add(store.claim(who, &["q"], 1).len())
        };
        let store = at_once(
            store_with(&[("q", "a")]),
            steps![claim(count.clone(), "ann"), claim(count.clone(), "bob")],
        );
        assert_eq!(count.get(), 1);
        store.check(&[]);
    });
}

/// One step puts something into an entry that another step empties, which removes the entry.
#[test]
fn a_place_that_is_emptied_and_filled() {
    #[derive(Default)]
    struct Things(u32);
    impl registry::Content for Things {
        fn is_empty(&self) -> bool {
            self.0 == 0
        }

        fn counts(&self) -> Counts {
            Counts { size: self.0.into(), ..Counts::default() }
        }
    }
    in_all(|| {
        let names = Arc::new(Registry::<Things>::default());
        let fill = |names: &Registry<Things>| loop {
            let named = names.find_or_make(&"q".into());
            if let Some(mut guard) = named.lock() {
                guard.0 += 1;
                break names.used(&mut guard);
            }
        };
        fill(&names);
        let other = names.clone();
        let emptied = thread::spawn(move || other.with("q", |guard| guard.0 = 0).is_some());
        fill(&names);
        assert!(emptied.join().unwrap(), "it is never out of the table with something in it");
        let left = names.with("q", |guard| guard.0).unwrap_or(0);
        assert!(left < 2, "{left} are left of 1, or none");
        names.check();
    });
}

#[test]
fn a_claim_a_delete_and_a_move_of_one_task() {
    in_random_schedules(4_000, || {
        let count = Count::default();
        let (one, two, three) = (count.clone(), count.clone(), count.clone());
        let store = at_once(
            store_with(&[("q", "a")]),
            steps![
                move |store: &Store| one.add(store.claim("ann", &["q"], 1).len()),
                move |store: &Store| {
                    let of = Modification::new().delete(TaskId::new("a", 0));
                    two.add(usize::from(store.modify("bob", of)));
                },
                move |store: &Store| {
                    let of = Modification::new().change(change("p", "a", 0)).insert(task("r", "b"));
                    three.add(usize::from(store.modify("eve", of)));
                },
            ],
        );
        assert_eq!(count.get(), 1, "the three exclude each other");
        store.check(&[]);
    });
}

#[test]
fn moves_in_both_directions() {
    in_random_schedules(4_000, || {
        let moves = |id: &'static str, queues: [&'static str; 3]| {
            move |store: &Store| {
                for (version, queue) in (0..).zip(queues) {
                    assert!(
                        store.modify("ann", Modification::new().change(change(queue, id, version)))
                    );
                }
            }
        };
        let both = Count::default();
        let swap = |store: &Store, count: &Count, [first, second]: [&str; 2]| {
            let of =
                Modification::new().change(change(first, "x", 0)).change(change(second, "y", 0));
            count.add(usize::from(store.modify("bob", of)));
        };
        let (one, other) = (both.clone(), both.clone());
        let store = at_once(
            store_with(&[("p", "a"), ("q", "b"), ("p", "x"), ("q", "y")]),
            steps![
                moves("a", ["q", "p", "q"]),
                moves("b", ["p", "q", "p"]),
                move |store: &Store| swap(store, &one, ["q", "p"]),
                move |store: &Store| swap(store, &other, ["p", "p"]),
            ],
        );
        assert_eq!(both.get(), 1);
        store.check(&[]);
    });
}

#[test]
fn one_id_is_inserted_into_two_queues_at_once() {
    in_random_schedules(4_000, || {
        let count = Count::default();
        let insert = |count: Count, queue: &'static str, own: &'static str| {
            move |store: &Store| {
                let of = Modification::new()
                    .insert(task(queue, own))
                    .insert(task(queue, "x"))
                    .insert_doc(doc(own));
                count.add(usize::from(store.modify("ann", of)));
            }
        };
        let skip = |store: &Store| {
            let of =
                Modification::new().insert(task("r", "x").skip_colliding()).insert(task("r", "c"));
            assert!(store.modify("bob", of), "what is taken is left out");
        };
        let store = at_once(
            Store::default(),
            steps![insert(count.clone(), "p", "a"), insert(count.clone(), "q", "b"), skip],
        );
        assert!(count.get() <= 1);
        assert!(store.fetch("x").is_some());
        store.check(&[]);
    });
}

/// Whatever ends a task, its id goes from the index to those that are taken, and no insert finds it in neither.
#[test]
fn an_id_stays_taken() {
    in_random_schedules(4_000, || {
        let (short, window) = (Duration::from_millis(1), Duration::from_secs(3_600));
        let new = |queue: &str, id: &str| task(queue, id).at_ms(1).dedup_window(window);
        let store = Store::default();
        let of = Modification::new().insert(new("p", "a")).insert(new("s", "c"));
        assert!(store.modify("setup", of));
        let expires = Modification::new().insert(new("q", "b").ttl(short));
        store.run_at(FIRST_MS - 2, Modify::new(STORE, "setup", expires)).unwrap();
        let snapshot = Arc::new(Mutex::new(Vec::new()));
        let copies = snapshot.clone();
        let store = at_once(
            store,
            steps![
                |store: &Store| {
                    let of = Modification::new().delete(TaskId::new("a", 0));
                    assert!(store.modify("ann", of));
                    store.list("q");
                },
                |store: &Store| {
                    for id in ["a", "b", "c"] {
                        assert!(!store.modify("bob", Modification::new().insert(task("r", id))));
                    }
                    let rest = Modification::new().insert(task("r", "b").skip_colliding());
                    assert!(store.modify("bob", rest));
                },
                move |store: &Store| {
                    let copied = store.snapshot();
                    lock(&copies).push(copied);
                    let step = Sweep::purge(STORE, "eve", "s", TaskFilter::new());
                    assert_eq!(store.run(step).unwrap().tasks, 1);
                },
            ],
        );
        lock(&store.books).end(false, &"c".into(), 0);
        assert_eq!(store.state.taken.page(None, 9).len(), 3);
        store.check(&lock(&snapshot));
    });
}

/// The loser sees what replaced its version.
#[test]
fn an_id_is_freed_and_taken() {
    in_random_schedules(4_000, || {
        let store = at_once(
            store_with(&[("p", "x")]),
            steps![
                |store: &Store| {
                    let of = Modification::new().delete(TaskId::new("x", 0)).insert(task("q", "y"));
                    assert!(store.modify("ann", of));
                },
                |store: &Store| {
                    while !store.modify("ann", Modification::new().insert(task("q", "x").at_ms(2)))
                    {
                        thread::yield_now();
                    }
                    assert_eq!(&*store.fetch("x").unwrap().queue, "q");
                },
                |store: &Store| {
                    let of = Modification::new().insert(task("r", "z")).depend(TaskId::new("y", 0));
                    let done = store.modify("bob", of);
                    assert_eq!(store.fetch("z").is_some(), done);
                },
            ],
        );
        store.check(&[]);
    });
}

/// Queues become empty and are removed from the registry while other steps look them up.
#[test]
fn queues_come_and_go() {
    in_random_schedules(4_000, || {
        let worker = |who: &'static str, from: &'static str, to: &'static str| {
            move |store: &Store| {
                for task in store.claim(who, &[from], 1) {
                    let of = Modification::new().delete(&task).insert(NewTask::new(to).id(who));
                    assert!(store.modify(who, of), "it is the one who holds it");
                }
            }
        };
        let store = at_once(
            store_with(&[("p", "a"), ("q", "b")]),
            steps![
                worker("ann", "p", "q"),
                worker("bob", "q", "p"),
                |store: &Store| {
                    store.stats();
                    store.list("p");
                    let refused =
                        Modification::new().insert(task("r", "c")).depend(TaskId::new("no", 0));
                    assert!(!store.modify("eve", refused));
                    store.list("q");
                },
                |store: &Store| {
                    let of = Modification::new().insert(task("p", "d")).insert(task("q", "e"));
                    assert!(store.modify("eve", of));
                },
            ],
        );
        store.check(&[]);
    });
}

#[test]
fn a_task_that_moves_is_always_found() {
    in_random_schedules(4_000, || {
        let store = at_once(
            store_with(&[("p", "a")]),
            steps![
                |store: &Store| {
                    for (version, queue) in (0..).zip(["q", "r", "p"]) {
                        assert!(store.modify(
                            "ann",
                            Modification::new().change(change(queue, "a", version))
                        ));
                    }
                },
                |store: &Store| {
                    let mut least = 0;
                    for _ in 0..3 {
                        let version = store.fetch("a").expect("it is somewhere").version;
                        assert!(version >= least, "{version} after {least}");
                        least = version;
                    }
                },
                |store: &Store| {
                    for queue in ["p", "q"] {
                        store.list(queue);
                    }
                },
            ],
        );
        store.check(&[]);
    });
}

#[test]
fn tasks_and_documents_in_one_step() {
    in_random_schedules(4_000, || {
        let store = store_with(&[("p", "a"), ("q", "b")]);
        assert!(
            store.modify("setup", Modification::new().insert_doc(doc("d")).insert_doc(doc("e")))
        );
        let worker = |who: &'static str, queue: &'static str| {
            move |store: &Store| {
                let [task] = &store.claim(who, &[queue], 1)[..] else {
                    panic!("nobody else claims it")
                };
                let Some(docs) = store.claim_docs(who) else { return };
                if !docs.is_empty() {
                    assert!(store.renew(who, &[task], &docs.iter().collect::<Vec<_>>()));
                    let bumped = |doc: &Doc| DocId { version: doc.version + 1, ..doc.handle() };
                    let of = Modification::new()
                        .delete(TaskId::new(&task.id, task.version + 1))
                        .change_doc(DocChange::new(bumped(&docs[0])).content("1").release())
                        .delete_doc(bumped(&docs[1]));
                    assert!(store.modify(who, of), "it is the one who holds them");
                }
            }
        };
        let store = at_once(
            store,
            steps![
                |store: &Store| {
                    store.stats();
                    let both = Modification::new()
                        .change_doc(DocChange::new(DocId::new("n", "d", 0)).content("2"))
                        .change_doc(DocChange::new(DocId::new("n", "e", 0)).content("2"));
                    store.modify("eve", both);
                },
                worker("ann", "p"),
                |store: &Store| {
                    if let Some(docs) = store.claim_docs("cid") {
                        store.renew("cid", &[], &docs.iter().collect::<Vec<_>>());
                    }
                },
            ],
        );
        store.check(&[]);
    });
}

/// Any step removes expired tasks that it finds, and their ids become free.
#[test]
fn tasks_expire_while_others_work() {
    in_random_schedules(4_000, || {
        let store = store_with(&[("p", "b"), ("q", "c")]);
        let short = Duration::from_millis(1);
        let of =
            Modification::new().insert(task("p", "a").ttl(short)).insert(task("r", "e").ttl(short));
        store.run_at(1, Modify::new(STORE, "setup", of)).unwrap();
        let snapshot = Arc::new(Mutex::new(Vec::new()));
        let taken = snapshot.clone();
        let store = at_once(
            store,
            steps![
                move |store: &Store| {
                    let copied = store.snapshot();
                    lock(&taken).push(copied);
                },
                |store: &Store| {
                    assert!(store.modify("ann", Modification::new().change(change("q", "b", 0))));
                    assert!(store.fetch("e").is_none_or(|task| task.expires_ms.is_none()));
                },
                |store: &Store| {
                    assert!(
                        store.modify("bob", Modification::new().insert(task("q", "a").at_ms(2)))
                    );
                },
                |store: &Store| {
                    let of = Modification::new().change(change("p", "c", 0)).insert(task("s", "e"));
                    assert!(store.modify("eve", of));
                    store.list("p");
                    store.list("r");
                },
            ],
        );
        store.list("p");
        store.check(&lock(&snapshot));
    });
}

/// Tasks that appear and disappear between the lookup and the locks.
#[test]
fn a_sweep_of_tasks_that_others_change() {
    in_random_schedules(4_000, || {
        let (count, snapshot) = (Count::default(), Arc::new(Mutex::new(Vec::new())));
        let (swept, taken) = (count.clone(), snapshot.clone());
        let store = at_once(
            store_with(&[("q", "a"), ("q", "b"), ("q", "c"), ("p", "d")]),
            steps![
                move |store: &Store| {
                    let step = Sweep::move_tasks(STORE, "eve", "q", "p", TaskFilter::new());
                    let done = store.run(step).unwrap();
                    assert_eq!(done.next, None);
                    swept.add(done.tasks as usize);
                },
                |store: &Store| {
                    if store.modify("ann", Modification::new().change(change("r", "a", 0))) {
                        store.modify("ann", Modification::new().change(change("q", "a", 1)));
                    }
                },
                move |store: &Store| {
                    store.modify("bob", Modification::new().delete(TaskId::new("b", 0)));
                    let copied = store.snapshot();
                    lock(&taken).push(copied);
                    store.claim("bob", &["q"], 1);
                },
            ],
        );
        let moved: Vec<_> = store.list("p").into_iter().filter(|task| &*task.id != "d").collect();
        assert_eq!(moved.len() as u64, count.get());
        moved.iter().for_each(|task| lock(&store.books).make(false, &task.id, task.version));
        store.check(&lock(&snapshot));
    });
}

/// A paused queue that holds nothing, and that other steps create and remove at the same time.
#[test]
fn a_pause_of_a_queue_that_runs_empty() {
    in_random_schedules(4_000, || {
        let snapshot = Arc::new(Mutex::new(Vec::new()));
        let taken = snapshot.clone();
        let store = at_once(
            store_with(&[("p", "a")]),
            steps![
                |store: &Store| {
                    store.run(Pause::new(STORE, "p", true)).unwrap();
                    assert!(store.claim("ann", &["p"], 1).is_empty(), "it is paused");
                    store.run(Pause::new(STORE, "p", false)).unwrap();
                    store.run(Pause::new(STORE, "r", true)).unwrap();
                },
                |store: &Store| {
                    store.modify("bob", Modification::new().delete(TaskId::new("a", 0)));
                    store.stats();
                },
                move |store: &Store| {
                    let copied = store.snapshot();
                    lock(&taken).push(copied);
                    assert!(store.modify("eve", Modification::new().insert(task("r", "b"))));
                },
            ],
        );
        assert!(store.claim("ann", &["r"], 1).is_empty(), "it is paused");
        store.check(&lock(&snapshot));
    });
}

/// Queues that are emptied while a snapshot is taken, and never used again.
#[test]
fn a_snapshot_keeps_no_queue_for_good() {
    struct Emptying<'a>(&'a Store, Vec<Task>);
    impl Snapshot for Emptying<'_> {
        fn begin(&mut self) -> u64 {
            1
        }
        fn record(&mut self, _: &[u8]) {
            let of = self.1.drain(..).fold(Modification::new(), |of, task| of.delete(&task));
            assert!(self.0.modify("ann", of));
        }
    }
    in_all(|| {
        let queues: Vec<_> = (0..20).map(|number| format!("q{number}")).collect();
        let queues: Vec<_> = queues.iter().map(|queue| (queue.as_str(), queue.as_str())).collect();
        let store = store_with(&queues);
        let tasks = queues[1..].iter().map(|(_, id)| store.fetch(id).unwrap()).collect();
        store.state.snapshot(&mut Emptying(&store, tasks));
        let left = store.state.queues.all().len();
        assert!(left <= 2, "{left} queues are in the table, of which one holds a task");
        store.check(&[]);
    });
}

/// Random steps, while a snapshot is taken.
#[test]
fn anything_and_a_snapshot() {
    in_random_schedules(4_000, || {
        let snapshot = Arc::new(Mutex::new(Vec::new()));
        let taken = snapshot.clone();
        let store = store_with(&[("p", "a"), ("p", "b"), ("q", "c"), ("r", "d")]);
        assert!(store.modify("setup", Modification::new().insert_doc(doc("e"))));
        let store = at_once(
            store,
            steps![
                |store: &Store| (0..4).for_each(|_| any_step(store, "ann")),
                |store: &Store| (0..4).for_each(|_| any_step(store, "bob")),
                move |store: &Store| {
                    any_step(store, "eve");
                    let copied = store.snapshot();
                    lock(&taken).push(copied);
                },
            ],
        );
        store.check(&lock(&snapshot));
        (0..3).for_each(|_| any_step(&store, "ann"));
        let later = store.snapshot();
        let all: Vec<_> = lock(&snapshot).drain(..).chain([later]).collect();
        store.check(&all);
    });
}

/// A random step, with the current versions, which other steps may change before it runs.
fn any_step(store: &Store, who: &str) {
    const IDS: [&str; 4] = ["a", "b", "c", "d"];
    const QUEUES: [&str; 3] = ["p", "q", "r"];
    let mut random = shuttle::rand::thread_rng();
    let mut one_of = |count: usize| random.gen_range(0..count);
    match one_of(9) {
        0 => drop(store.claim(who, &["p", "q", "r"], 1 + one_of(2))),
        1 => drop(store.stats()),
        2 => drop(store.claim_docs(who)),
        3 => {
            if let Some(task) = store.fetch(IDS[one_of(4)]) {
                store.renew(who, &[&task], &[]);
            }
        }
        4 => {
            let queue = QUEUES[one_of(3)];
            match one_of(2) {
                0 => store.run(Pause::new(STORE, queue, true)),
                _ => store.run(Pause::new(STORE, queue, false)),
            }
            .unwrap();
        }
        _ => {
            let mut of = Modification::new();
            let first = one_of(4);
            for number in 0..1 + one_of(3) {
                let id = IDS[(first + number) % 4];
                let queue = QUEUES[one_of(3)];
                of = match store.fetch(id) {
                    None => of.insert(task(queue, id)),
                    Some(found) => match one_of(4) {
                        0 => of.delete(&found),
                        1 => of.depend(&found),
                        _ => of.change(found.change().queue(queue)),
                    },
                };
            }
            if one_of(3) == 0 {
                let docs = store.state.fetch_docs("n", &["e".into()], false);
                of = match docs.first() {
                    None => of.insert_doc(doc("e")),
                    Some(found) if one_of(2) == 0 => of.delete_doc(found),
                    Some(found) => of.change_doc(found.change().content("3")),
                };
            }
            store.modify(who, of);
        }
    }
}
