//! The guarantees of a task store, on the embedded engine; the conformance cases check both engines.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::*;
use crate::{Client, ManualClock, Options, RunEvent};

const MINUTE: Duration = Duration::from_secs(60);

fn store() -> TaskStore {
    crate::connect("memory:").unwrap().tasks("shop").claimant("ann")
}

fn with_clock() -> (Arc<ManualClock>, Client) {
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    (clock, client)
}

#[test]
fn a_worker_that_lost_its_lease_cannot_commit() {
    let (clock, client) = with_clock();
    let (ann, bob) = (client.tasks("shop").claimant("ann"), client.tasks("shop").claimant("bob"));
    ann.insert("inbox", "1").unwrap();
    let first = ann.claim(["inbox"], MINUTE).unwrap().unwrap();
    assert_eq!(bob.claim(["inbox"], MINUTE).unwrap(), None);
    clock.advance(MINUTE);
    let second = bob.claim(["inbox"], MINUTE).unwrap().unwrap();
    assert_eq!((second.version, second.claims), (2, 2));
    let end =
        |task: &Task| Modification::new().delete(task).insert(NewTask::new("outbox").value("2"));
    let error = ann.modify(end(&first)).unwrap_err();
    assert_eq!(error.dependency().unwrap().deletes, [first.handle()]);
    bob.modify(end(&second)).unwrap();
    assert_eq!(ann.queues(Filter::new()).unwrap(), [("outbox".into(), 1)]);
}

#[test]
fn an_expired_lease_blocks_nobody() {
    let (clock, client) = with_clock();
    let ann = client.tasks("shop").claimant("ann");
    ann.insert("inbox", "1").unwrap();
    let task = ann.claim(["inbox"], MINUTE).unwrap().unwrap();
    clock.advance(MINUTE);
    let bob = client.tasks("shop").claimant("bob");
    bob.modify(Modification::new().change(task.change().value("2"))).unwrap();
    assert_eq!(ann.fetch([&task.id]).unwrap()[0].value.as_deref(), Some("2"));
}

#[test]
fn a_leased_task_expires_too() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop");
    let task = NewTask::new("inbox").id("t").ttl(MINUTE);
    store.modify(Modification::new().insert(task.clone())).unwrap();
    let held = store.claim(["inbox"], MINUTE * 2).unwrap().unwrap();
    clock.advance(MINUTE - Duration::from_millis(1));
    assert_eq!(store.fetch(["t"]).unwrap().len(), 1);
    clock.advance(Duration::from_millis(1));
    assert!(store.fetch(["t"]).unwrap().is_empty());
    assert!(store.queue_stats(Filter::new()).unwrap().is_empty());
    assert!(store.modify(Modification::new().delete(&held)).is_err());
    store.modify(Modification::new().insert(task)).unwrap();
}

/// Whether an insert of this id is refused because it is taken, and otherwise left out; inserts nothing.
fn is_taken(store: &TaskStore, id: &str) -> bool {
    let missing = TaskId::new("missing", 0);
    let error = |task| store.modify(Modification::new().insert(task).depend(missing.clone()));
    let refused = error(NewTask::new("probe").id(id)).unwrap_err();
    let skipped = error(NewTask::new("probe").id(id).skip_colliding()).unwrap_err();
    assert_eq!(skipped.dependency().unwrap().inserts, []);
    let dependency = refused.dependency().unwrap();
    assert_eq!(dependency.depends, [missing]);
    dependency.has_collisions()
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_id_is_taken_until_the_window_of_its_task_is_over() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop");
    let insert = |task| store.modify(Modification::new().insert(task));
    let task = || NewTask::new("inbox").id("t").dedup_window(MINUTE);
    let delete = |task: &Task| store.modify(Modification::new().delete(task)).unwrap();
    let first = insert(task()).unwrap().inserted.remove(0);
    clock.advance(MINUTE * 2);
    assert!(is_taken(&store, "t"), "it exists");
    delete(&first);
    for step in [MS, MINUTE - MS * 2] {
        clock.advance(step);
        let error = insert(NewTask::new("other").id("t")).unwrap_err();
        let dependency = error.dependency().unwrap();
        assert_eq!(
            *dependency,
            Dependency { inserts: vec![TaskId::new("t", 0)], ..Dependency::default() }
        );
        assert_eq!(error.message(), "task t exists already, or its id is not free yet");
        let other = NewTask::new("other").id("other");
        let both = Modification::new().insert(task().skip_colliding()).insert(other);
        let done = store.modify(both).unwrap();
        assert_eq!(done.inserted.iter().map(|task| &*task.id).collect::<Vec<_>>(), ["other"]);
        delete(&done.inserted[0]);
    }
    assert!(client.task_stores().unwrap().is_empty(), "it holds nothing");
    clock.advance(MS);
    // This one has no window, and nothing is left of that of the one before.
    let second = insert(NewTask::new("other").id("t")).unwrap().inserted.remove(0);
    assert_eq!((second.version, &*second.queue), (0, "other"));
    delete(&second);
    assert!(!is_taken(&store, "t"));
    // A part of a millisecond is one.
    let short = insert(task().dedup_window(Duration::from_nanos(1))).unwrap().inserted.remove(0);
    delete(&short);
    assert!(is_taken(&store, "t"));
    clock.advance(MS);
    assert!(!is_taken(&store, "t"));
}

/// Whatever ends a task, its window begins then; what is no end begins none.
#[test]
fn every_end_of_a_task_begins_its_window() {
    type End = fn(&TaskStore, &ManualClock);
    let ends: [(&str, End); 8] = [
        ("a delete", |store, _| {
            let task = store.fetch(["t"]).unwrap().remove(0);
            store.modify(Modification::new().delete(&task)).unwrap();
        }),
        ("a job that is done", |store, _| {
            assert_eq!(store.worker(["q"]).drain(|_| ()).unwrap().done, 1);
        }),
        ("jobs that are done together", |store, _| {
            store.insert("q", "1").unwrap();
            assert_eq!(store.worker(["q"]).prefetch(2).drain(|_| ()).unwrap().done, 2);
        }),
        ("a purge", |store, _| {
            assert_eq!(store.purge("q", TaskFilter::new()).unwrap().tasks, 1);
        }),
        ("a cancellation by force", |store, _| {
            store.claim(["q"], MINUTE).unwrap().unwrap();
            assert_eq!(store.cancel_force(["t"]).unwrap(), [true]);
        }),
        ("a redrive, and an end after it", |store, _| {
            let fail = |_: &Job| -> Result<(), &str> { Err("broken") };
            assert_eq!(store.worker(["q"]).max_attempts(1).drain(fail).unwrap().dead, 1);
            assert_eq!(store.redrive("q/err", "q", TaskFilter::new()).unwrap().tasks, 1);
            assert_eq!(store.worker(["q"]).drain(|_| ()).unwrap().done, 1);
        }),
        ("retries and changes, and an end after them", |store, _| {
            for queue in ["q", "p", "p"] {
                let task = store.fetch(["t"]).unwrap().remove(0);
                let change = task.change().retry("broken").queue(queue).headers([("n", "v")]);
                store.modify(Modification::new().change(change)).unwrap();
            }
            store.claim(["p"], Duration::ZERO).unwrap().unwrap();
            assert_eq!(store.move_tasks("p", "q", TaskFilter::new()).unwrap().tasks, 1);
            assert_eq!(store.worker(["q"]).drain(|_| ()).unwrap().done, 1);
        }),
        // Nobody looks at it before.
        ("its time to live", |store, clock| {
            let task = store.fetch(["t"]).unwrap().remove(0);
            store.modify(Modification::new().delete(&task)).unwrap();
            clock.advance(MINUTE);
            let task = NewTask::new("q").id("t").dedup_window(MINUTE).ttl(MS * 5);
            store.modify(Modification::new().insert(task)).unwrap();
            clock.advance(MS * 5);
        }),
    ];
    for (what, end) in ends {
        let (clock, client) = with_clock();
        let store = client.tasks("shop").claimant("ann");
        let task = NewTask::new("q").id("t").dedup_window(MINUTE);
        store.modify(Modification::new().insert(task)).unwrap();
        clock.advance(MINUTE * 3);
        end(&store, &clock);
        assert!(store.fetch(["t"]).unwrap().is_empty(), "{what}");
        assert!(is_taken(&store, "t"), "{what}");
        clock.advance(MINUTE - MS);
        assert!(is_taken(&store, "t"), "{what}");
        clock.advance(MS);
        assert!(!is_taken(&store, "t"), "{what}");
    }
}

/// A task has ended when its time to live was over, not when that was noticed.
#[test]
fn the_window_of_a_task_that_has_expired_does_not_wait_for_a_step() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop");
    let task = |id: &str| NewTask::new("q").id(id).ttl(MINUTE).dedup_window(MINUTE);
    store.modify(Modification::new().insert(task("a")).insert(task("b"))).unwrap();
    clock.advance(MINUTE * 2 - MS);
    assert!(is_taken(&store, "a"));
    clock.advance(MS);
    assert!(!is_taken(&store, "a") && !is_taken(&store, "b"));
    store.modify(Modification::new().insert(task("b"))).unwrap();
    clock.advance(MINUTE * 3);
    assert!(!is_taken(&store, "b"));
}

/// From the log after a kill and from what a close leaves.
#[test]
fn ids_of_ended_tasks_come_back_from_disk() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let open = || Options::file(directory.path()).clock(clock.clone()).connect().unwrap();
    let task = |id: &str| NewTask::new("q").id(id).dedup_window(MINUTE);
    let client = open();
    let store = client.tasks("shop");
    let all = Modification::new().insert(task("gone")).insert(task("later")).insert(task("moved"));
    let expires = task("expires").ttl(MS);
    let inserted = store.modify(all.insert(expires)).unwrap().inserted;
    let moved = inserted[2].change().queue("p");
    store.modify(Modification::new().delete(&inserted[0]).change(moved)).unwrap();
    clock.advance(MS);
    assert!(store.fetch(["expires"]).unwrap().is_empty());
    let mut client = Some(client);
    drop(store);
    for round in 0..3 {
        match round {
            1 => drop(client.take()),
            _ => client.take().unwrap().close().unwrap(),
        }
        client = Some(open());
        let store = client.as_ref().unwrap().tasks("shop");
        for id in ["gone", "later", "moved", "expires"] {
            assert!(is_taken(&store, id), "{id} in round {round}");
        }
        assert_eq!(store.fetch(["gone", "expires", "later", "moved"]).unwrap().len(), 2);
    }
    let store = client.as_ref().unwrap().tasks("shop");
    for queue in ["p", "q"] {
        assert_eq!(store.purge(queue, TaskFilter::new()).unwrap().tasks, 1);
    }
    drop(store);
    client.take().unwrap().close().unwrap();
    let client = open();
    let store = client.tasks("shop");
    assert!(is_taken(&store, "later") && is_taken(&store, "moved"));
    clock.advance(MINUTE - MS);
    assert!(!is_taken(&store, "gone") && is_taken(&store, "later"));
    clock.advance(MS);
    assert!(!is_taken(&store, "later") && !is_taken(&store, "moved"));
}

#[test]
fn counts_follow_the_clock() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop");
    for minutes in 0..600_u32 {
        let task = NewTask::new("inbox").after(MINUTE * minutes);
        store.modify(Modification::new().insert(task)).unwrap();
    }
    store.claim(["inbox"], MINUTE * 1_000).unwrap().unwrap();
    for _ in 0..3 {
        let stats = &store.queue_stats(Filter::new()).unwrap()[0];
        assert_eq!((stats.size, stats.claimed, stats.max_claims), (600, 1, 1));
        assert_eq!(stats.available + stats.future, 599);
        let now_ms = store.time().unwrap();
        let tasks = store.list("inbox", TaskQuery::new()).unwrap().tasks;
        let due = tasks.iter().filter(|task| task.at_ms <= now_ms).count();
        assert_eq!(stats.available, due as u64);
        let first_at = |is: &dyn Fn(&&Task) -> bool| tasks.iter().find(is).map(|task| task.at_ms);
        assert_eq!(stats.oldest_available_ms, first_at(&|task| task.at_ms <= now_ms));
        assert_eq!(stats.first_lease_end_ms, first_at(&|task| task.claims > 0));
        clock.advance(MINUTE * 280);
    }
}

/// Over all priorities, and as the clock advances and leases expire.
#[test]
fn the_oldest_are_those_of_now() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop").claimant("ann");
    let start_ms = store.time().unwrap();
    let oldest = || {
        let stats = store.queue_stats(Filter::new().exact("q")).unwrap().pop()?;
        let since = |at_ms: Option<u64>| at_ms.map(|at_ms| at_ms as i64 - start_ms as i64);
        Some((since(stats.oldest_available_ms), since(stats.first_lease_end_ms)))
    };
    let task = |id: &str, at_ms: u64| NewTask::new("q").id(id).at_ms(start_ms + at_ms);
    store.modify(Modification::new().insert(task("later", 5_000))).unwrap();
    assert_eq!(oldest(), Some((None, None)));
    clock.advance(Duration::from_secs(6));
    assert_eq!(oldest(), Some((Some(5_000), None)));
    let high = NewTask::new("q").id("high").at_ms(start_ms - 1).priority(9);
    store.modify(Modification::new().insert(high)).unwrap();
    assert_eq!(oldest(), Some((Some(-1), None)));
    let held = store.claim(["q"], MINUTE).unwrap().unwrap();
    assert_eq!(oldest(), Some((Some(5_000), Some(66_000))));
    store.claim(["q"], MINUTE * 2).unwrap().unwrap();
    assert_eq!(oldest(), Some((None, Some(66_000))));
    store.renew([held.handle()], [], MINUTE * 3).unwrap();
    assert_eq!(oldest(), Some((None, Some(126_000))));
    clock.advance(MINUTE * 2);
    assert_eq!(oldest(), Some((Some(126_000), Some(186_000))));
    let tasks = store.fetch(["high", "later"]).unwrap();
    store.modify(tasks.iter().fold(Modification::new(), |m, task| m.delete(task))).unwrap();
    assert_eq!(oldest(), None);
}

#[test]
fn high_priorities_go_first() {
    let store = store();
    for priority in [0, 9, 5, 9, 0] {
        let task = NewTask::new("inbox").priority(priority);
        store.modify(Modification::new().insert(task)).unwrap();
    }
    let tasks = store.claim_many(["inbox"], MINUTE, 10).unwrap();
    let priorities: Vec<u8> = tasks.iter().map(|task| task.priority).collect();
    assert_eq!(priorities, [9, 9, 5, 0, 0]);
}

#[test]
fn an_iterator_without_an_end_is_refused_as_it_is_read() {
    use std::iter::repeat;
    let store = store();
    let names = (0..=FILTER_NAMES_MAX).map(|n| n.to_string());
    let filter = names.fold(Filter::new(), |filter, name| filter.prefix(name));
    for (result, says) in [
        (store.claim(repeat("q"), MINUTE).map(drop), "at most 1000 queues"),
        (store.fetch(repeat("t")).map(drop), "at most 10000 ids"),
        (store.fetch_docs("n", repeat("d")).map(drop), "at most 10000 ids"),
        (store.renew(repeat(TaskId::new("t", 0)), [], MINUTE).map(drop), "100000 are allowed"),
        (store.queues(filter).map(drop), "at most 10000 names"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(says), "{error}");
    }
}

#[test]
fn json_that_some_language_cannot_read_is_refused() {
    let store = store();
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    let objects = |depth: usize| [r#"{"a":"#.repeat(depth), "1".into(), "}".repeat(depth)].concat();
    for (json, says) in [
        (nested(JSON_DEPTH_MAX + 1), "nested more than 100 deep"),
        (objects(JSON_DEPTH_MAX + 1), "nested more than 100 deep"),
        (nested(100_000), "nested more than 100 deep"),
        (r#""\ud800""#.to_owned(), "hex escape"),
        (r#""\udc00""#.to_owned(), "surrogate in hex escape"),
        (r#"["\ud83d\ud83d"]"#.to_owned(), "surrogate in hex escape"),
        (r#"{"\ud800":1}"#.to_owned(), "hex escape"),
        ("1e309".to_owned(), "number out of range"),
        ("[-1.8e308]".to_owned(), "number out of range"),
        ("9".repeat(309), "number out of range"),
        ("1".repeat(5_000), "number out of range"),
        ("Infinity".to_owned(), "expected value"),
    ] {
        let error = store.insert("inbox", &json).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        let message = error.message();
        assert!(message.starts_with("the value is not a JSON text that every language can read"));
        assert!(message.contains(says), "{message}");
    }
    for json in [
        nested(JSON_DEPTH_MAX),
        objects(JSON_DEPTH_MAX),
        r#"{"\ud83d\ude00":"\u0000","\u0000":"\ud83d\ude00"}"#.to_owned(),
        r#"{"a":1,"a":2}"#.to_owned(),
        "9007199254740993".to_owned(),
        "1".repeat(309),
        format!("1{}e-5000", "0".repeat(5_000)),
        "1.7976931348623157e308".to_owned(),
        f64::MAX.to_string(),
        "-1e-400".to_owned(),
    ] {
        assert_eq!(store.insert("inbox", &json).unwrap().value.as_deref(), Some(&*json));
    }
}

#[test]
fn what_no_store_could_do_is_refused() {
    let store = store();
    let new = || NewTask::new("inbox").id("t");
    let handle = || TaskId::new("t", 0);
    let doc = || NewDoc::new("n", "k");
    let headers = |count: usize, bytes: usize| {
        (0..count).map(move |number| (format!("h{number}"), vec![0; bytes]))
    };
    for (modification, says) in [
        (Modification::new().insert(NewTask::new("")), "the queue's name is empty"),
        (
            Modification::new().insert(NewTask::new("millpond:q")),
            "the queue's name begins with \"millpond:\", which is reserved",
        ),
        (
            Modification::new().insert_doc(NewDoc::new("millpond:n", "k")),
            "the namespace begins with \"millpond:\", which is reserved",
        ),
        (
            Modification::new().insert(new().header("millpond:h", "v")),
            "a header's name begins with \"millpond:\", which is reserved",
        ),
        (Modification::new().insert(new().id("")), "the id is empty"),
        (Modification::new().insert(new().id("x".repeat(65))), "the id has 65 characters; 64"),
        (Modification::new().insert(new().id("a\0")), "the id holds a NUL character"),
        (Modification::new().insert(new().value("{")), "the value is not a JSON text"),
        (Modification::new().insert(new().value("1 2")), "the value is not a JSON text"),
        (Modification::new().insert(new().priority(10)), "the priority is 10"),
        (Modification::new().insert(new().ttl(Duration::ZERO)), "a millisecond or more"),
        (
            Modification::new().insert(new().dedup_window(DEDUP_WINDOW_MAX + MINUTE)),
            "the deduplication window is 604860s; 604800s are allowed",
        ),
        (Modification::new().insert(new().header("", "v")), "a header's name is empty"),
        (Modification::new().insert(new().headers(headers(65, 1))), "up to 64 headers"),
        (Modification::new().insert(new().header("n", [0; HEADERS_BYTES_MAX])), "have 16385 bytes"),
        (
            Modification::new().change(TaskChange::new(handle(), "q").headers([("", "v")])),
            "a header's name is empty",
        ),
        (Modification::new().insert(new().after(Duration::MAX)), "100 years are allowed"),
        (Modification::new().insert(new().at_ms(u64::MAX)), "behind the year 9999"),
        (Modification::new().insert(new()).insert(new()), "task t is named twice"),
        (Modification::new().delete(handle()).depend(handle()), "task t is named twice"),
        (Modification::new().insert(new()).delete(handle()), "task t is named twice"),
        (Modification::new().insert_doc(NewDoc::new("", "k")), "the namespace is empty"),
        (
            Modification::new().insert_doc(NewDoc::new("n", "k").content("nul")),
            "the content is not a JSON text",
        ),
        (Modification::new().insert_doc(NewDoc::new("n", "")), "without a key needs an id"),
        (Modification::new().put_doc(NewDoc::new("n", "k")), "that is put needs a content"),
        (
            Modification::new().insert_doc(NewDoc::new("n", "k")).put_doc(doc().content("1")),
            "document n/k is named twice",
        ),
        (
            Modification::new()
                .delete_doc(DocId::new("n", "d", 0))
                .insert_doc(NewDoc::new("n", "k").id("d")),
            "document n/d is named twice",
        ),
    ] {
        let error = store.modify(modification).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    assert!(store.clone().claimant("").insert("inbox", "1").is_err());
    assert!(store.claim([""; 0], MINUTE).is_err());
    assert!(store.claim_many(["inbox"], MINUTE, 0).is_err());
    assert!(store.renew([], [], MINUTE).is_err());
    assert!(store.cancel([""; 0]).is_err());
    assert!(store.cancel([""]).is_err());
    assert!(store.claim_docs("n", [""], MINUTE).is_err());
    assert!(store.get_doc("n", "").is_err());
    assert!(store.are_empty(Filter::new()).is_err());
    assert!(store.list("inbox", TaskQuery::new().limit(0)).is_err());
    let filter = TaskFilter::new;
    for (result, says) in [
        (store.purge("", filter()), "the queue's name is empty"),
        (store.purge("q", filter().limit(0)), "the limit has to be 1 to 2000"),
        (store.purge("q", filter().limit(SWEEP_TASKS_MAX + 1)), "the limit has to be 1 to 2000"),
        (store.purge("q", filter().claimant("")), "the claimant is empty"),
        (store.purge("q", filter().err("x".repeat(ERR_BYTES_MAX + 1))), "err has 65537 bytes"),
        (
            store.purge("q", filter().after(Position { at_ms: u64::MAX, id: "t".into() })),
            "behind the year 9999",
        ),
        (store.move_tasks("q", "", filter()), "the queue's name is empty"),
        (store.move_tasks("q", "q", filter()), "in the queue where they are to go"),
        (store.redrive("q", "q", filter()), "in the queue where they are to go"),
        (store.clone().claimant("").purge("q", filter()), "the claimant is empty"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    assert!(store.queues(Filter::new()).unwrap().is_empty());
}

#[test]
fn a_modification_of_nothing_succeeds() {
    assert_eq!(store().modify(Modification::new()).unwrap(), Modified::default());
}

#[test]
fn a_seed_that_runs_twice_makes_one_document_of_a_key() {
    let store = store();
    let seed = || {
        let account = NewDoc::new("accounts", "ann").content("100");
        store.modify(Modification::new().insert_doc(account))
    };
    seed().unwrap();
    let error = seed().unwrap_err();
    let dependency = error.dependency().expect("it says what is taken");
    assert_eq!(dependency.doc_inserts, [DocId::new("accounts", "ann", 0)]);
    assert_eq!(store.claim_docs("accounts", ["ann"], MINUTE).unwrap().len(), 1);
}

#[test]
fn keys_make_readable_ids_and_each_pair_its_own() {
    let id = |key: &str, secondary: &str| DocKey::from((key, secondary)).id().unwrap();
    assert_eq!(&*id("users/7", ""), "users/7");
    assert_eq!(&*id("ann", "2026|1"), "ann|2026|1");
    assert_eq!(&*id("a|b", "50%"), "a%7Cb|50%");
    let parts = ["", "a", "|", "%", "%7C", "%25", "2"];
    let two = |part: &'static str| parts.iter().map(move |other| format!("{part}{other}"));
    let texts: Vec<String> = parts.iter().flat_map(|part| two(part)).collect();
    let mut pairs = std::collections::HashMap::new();
    for key in texts.iter().filter(|key| !key.is_empty()) {
        for secondary in &texts {
            let pair = (key.clone(), secondary.clone());
            let other = pairs.insert(id(key, secondary), pair.clone());
            assert!(other.as_ref().is_none_or(|other| *other == pair), "{other:?} {pair:?}");
        }
    }
}

#[test]
fn the_longest_keys_make_an_id() {
    let store = store();
    let (key, secondary) = ("|".repeat(KEY_CHARS_MAX), "é".repeat(KEY_CHARS_MAX));
    let doc = NewDoc::new("n", &key).secondary_key(&secondary).content("1");
    let put = store.put_doc(doc).unwrap();
    assert_eq!(put.id.chars().count(), DOC_ID_CHARS_MAX);
    assert_eq!(store.get_doc("n", (&key, &secondary)).unwrap().as_ref(), Some(&put));
    assert_eq!(store.get_doc("n", &key).unwrap(), None);
    let page = store.list_docs("n", DocQuery::new().after(&put)).unwrap();
    assert!(page.docs.is_empty());
    store.modify(Modification::new().delete_doc(&put)).unwrap();
    let long = NewDoc::new("n", "k").id("x".repeat(DOC_ID_CHARS_MAX + 1));
    assert!(store.modify(Modification::new().insert_doc(long)).is_err());
}

#[test]
fn a_document_is_put_over_its_own_content_alone() {
    let (ann, bob) = (store(), store());
    let new = |content: &str| NewDoc::new("n", "k").content(content);
    let first = ann.put_doc(new("1")).unwrap();
    let second = ann.put_doc(new("2")).unwrap();
    // The clock may advance between the two.
    let (content, modified_ms) = (Some("2".into()), second.modified_ms);
    assert_eq!(second, Doc { version: 1, content, modified_ms, ..first.clone() });
    assert_eq!(bob.get_doc("n", "k").unwrap(), None, "every memory: is a store of its own");

    let bob = ann.clone().claimant("bob");
    let held = ann.claim_docs("n", ["k"], MINUTE).unwrap().remove(0);
    let error = bob.put_doc(new("3")).unwrap_err();
    assert!(error.dependency().unwrap().only_claims());
    assert_eq!(error.dependency().unwrap().doc_claims, [held.handle()]);
    let third = ann.put_doc(new("3")).unwrap();
    assert_eq!((third.version, &*third.claimant, third.at_ms), (3, "ann", held.at_ms));

    // A document with other keys is another document.
    let error = ann.put_doc(NewDoc::new("n", "other").id("k").content("4")).unwrap_err();
    assert_eq!(error.dependency().unwrap().doc_inserts, [third.handle()]);
    ann.put_doc(NewDoc::new("n", "other").id("mine").content("4")).unwrap();
    assert_eq!(ann.get_doc("n", "other").unwrap(), None);
    assert_eq!(ann.get_doc("n", "mine").unwrap(), None);
    assert_eq!(ann.get_doc("n", "k").unwrap(), Some(third));
}

#[test]
fn a_document_is_put_as_part_of_a_modification() {
    let store = store();
    let put = || Modification::new().put_doc(NewDoc::new("n", "k").content("1"));
    let missing = DocId::new("n", "gone", 0);
    assert!(store.modify(put().delete_doc(missing)).is_err());
    assert_eq!(store.get_doc("n", "k").unwrap(), None);
    let insert = NewDoc::new("n", "l");
    let done = store.modify(put().insert_doc(insert.clone())).unwrap();
    assert_eq!(done.inserted_docs.len(), 2);
    let done = store.modify(put().insert_doc(insert.skip_colliding())).unwrap();
    let versions: Vec<_> = done.inserted_docs.iter().map(|doc| (&*doc.id, doc.version)).collect();
    assert_eq!(versions, [("k", 1)]);
}

#[test]
fn a_job_puts_the_document_that_it_holds() {
    let store = store();
    store.put_doc(NewDoc::new("n", "k").content("1")).unwrap();
    store.insert("inbox", "1").unwrap();
    let job = store.worker(["inbox"]).jobs().next().unwrap().unwrap();
    let held = job.claim_docs("n", ["k"]).unwrap().remove(0);
    let put = Modification::new().put_doc(NewDoc::new("n", "k").content("2"));
    let done = job.finish(job.delete().put_doc(NewDoc::new("n", "l").content("3"))).unwrap();
    assert_eq!((done.inserted_docs.len(), done.changed_docs.len()), (1, 1));

    store.insert("inbox", "1").unwrap();
    let job = store.worker(["inbox"]).jobs().next().unwrap().unwrap();
    job.claim_docs("n", ["k"]).unwrap();
    let done = job.finish(put).unwrap();
    let doc = &done.changed_docs[0];
    assert_eq!((doc.version, &*doc.claimant), (held.version + 3, ""));
    assert_eq!(store.get_doc("n", "k").unwrap().unwrap().content.as_deref(), Some("2"));
}

#[test]
fn a_due_task_wakes_a_waiting_consumer() {
    let store = store();
    let task = NewTask::new("inbox").after(Duration::from_millis(60));
    let task = store.modify(Modification::new().insert(task)).unwrap().inserted.remove(0);
    let mut claims = store.claims(["inbox"]).wait(MINUTE);
    let claimed = claims.next().unwrap().unwrap();
    // The embedded engine never polls: the task can only have arrived through the wake-up.
    assert_eq!(claimed[0].id, task.id);
}

/// Moving the clock wakes everything that waits: claims, blocking or not, and runs.
#[test]
fn an_advance_wakes_those_that_wait_for_what_is_due_then() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let (clock, client) = with_clock();
    let store = client.tasks("shop");
    let waiting = store.clone();
    let blocking = std::thread::spawn(move || {
        let mut claims = waiting.claims(["inbox"]).wait(MINUTE);
        claims.next().expect("the time is not over").unwrap().len()
    });
    let waiting = client.to_async().tasks("shop");
    let future = std::thread::spawn(move || {
        let mut claims = waiting.claims(["inbox"]).wait(MINUTE);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let batch = runtime.block_on(claims.next());
        batch.expect("the time is not over").unwrap().len()
    });
    let worker = store.worker(["mail"]);
    let stop = worker.clone();
    let run =
        std::thread::spawn(move || worker.run(|_| -> () { stop.stop(Duration::from_secs(10)) }));
    // Whether or not they are already waiting, they are woken or see the new time.
    std::thread::sleep(Duration::from_millis(50));
    let due = |queue| NewTask::new(queue).after(HOUR);
    let tasks = ["inbox", "inbox", "mail"].map(due).into_iter();
    store.modify(tasks.fold(Modification::new(), Modification::insert)).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    clock.advance(HOUR - Duration::from_millis(1));
    assert_eq!(store.worker(["inbox", "mail"]).drain(|_| ()).unwrap().done, 0);
    assert!(!blocking.is_finished() && !future.is_finished() && !run.is_finished());
    clock.advance(Duration::from_millis(1));
    assert_eq!((blocking.join().unwrap(), future.join().unwrap()), (1, 1));
    run.join().unwrap().unwrap();
}

#[test]
fn an_earlier_task_wakes_a_consumer_that_waits_for_a_later_one() {
    let store = store();
    let insert = |store: &TaskStore, id: &str, ms: u64| {
        let task = NewTask::new("inbox").id(id).after(Duration::from_millis(ms));
        store.modify(Modification::new().insert(task)).unwrap();
    };
    insert(&store, "later", 3_600_000);
    let other = store.clone();
    let waiter = std::thread::spawn(move || other.claims(["inbox"]).wait(MINUTE).next());
    std::thread::sleep(Duration::from_millis(50));
    insert(&store, "sooner", 50);
    let claimed = waiter.join().unwrap().expect("it is woken").unwrap();
    assert_eq!(&*claimed[0].id, "sooner");
}

#[test]
fn each_of_many_that_wait_gets_one() {
    let store = store();
    let waiters: Vec<_> = (0..8)
        .map(|_| {
            let mut claims = store.claims(["inbox", "other"]).wait(MINUTE);
            std::thread::spawn(move || claims.next().unwrap().unwrap().remove(0).id)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    store.modify((0..4).fold(Modification::new(), |m, _| m.insert(NewTask::new("inbox")))).unwrap();
    let soon = || NewTask::new("other").after(Duration::from_millis(30));
    store.modify((0..4).fold(Modification::new(), |m, _| m.insert(soon()))).unwrap();
    let mut ids: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8);
}

/// Claims that wait for a paused queue are woken when it is resumed, for tasks that are available and for tasks that
/// become due later.
#[test]
fn a_pause_ends_for_those_that_wait() {
    let store = store();
    store.pause("inbox").unwrap();
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let mut claims = store.claims(["inbox"]).wait(MINUTE);
            std::thread::spawn(move || claims.next().unwrap().unwrap().remove(0))
        })
        .collect();
    let later = NewTask::new("inbox").id("later").after(Duration::from_millis(300));
    let now = NewTask::new("inbox").id("now");
    store.modify(Modification::new().insert(now).insert(later)).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(store.fetch(["now"]).unwrap()[0].claims, 0);
    store.resume("inbox").unwrap();
    let start = Instant::now();
    let mut ids: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap().id).collect();
    ids.sort();
    assert_eq!(ids.iter().map(|id| &**id).collect::<Vec<_>>(), ["later", "now"]);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn only_claims_stop_at_a_paused_queue() {
    let (clock, client) = with_clock();
    let store = client.tasks("shop").claimant("ann");
    let paused = || -> Vec<(Arc<str>, u64)> {
        let stats = store.queue_stats(Filter::new()).unwrap().into_iter();
        stats.filter(|stats| stats.paused).map(|stats| (stats.queue, stats.size)).collect()
    };
    store.insert("inbox", "1").unwrap();
    store.insert("other", "2").unwrap();
    let held = store.claim(["inbox"], MINUTE).unwrap().unwrap();
    for queue in ["inbox", "none", "inbox"] {
        store.pause(queue).unwrap();
    }
    assert_eq!(paused(), [("inbox".into(), 1), ("none".into(), 0)]);
    assert!(store.are_empty(Filter::new().exact("none")).unwrap());
    assert!(!store.are_empty(Filter::new().prefix("")).unwrap());
    let renewed = store.renew([held.handle()], [], MINUTE).unwrap();
    clock.advance(MINUTE);
    store.insert("inbox", "3").unwrap();
    let stats = store.queue_stats(Filter::new().exact("inbox")).unwrap().remove(0);
    assert_eq!((stats.available, stats.paused), (2, true));
    let claimed = store.claim_many(["inbox", "none", "other"], MINUTE, 10).unwrap();
    assert_eq!(claimed.iter().map(|task| &*task.queue).collect::<Vec<_>>(), ["other"]);
    store.modify(Modification::new().delete(renewed.tasks[0].clone())).unwrap();
    for queue in ["inbox", "none", "never"] {
        store.resume(queue).unwrap();
    }
    assert_eq!(paused(), []);
    assert_eq!(store.claim_many(["inbox"], MINUTE, 10).unwrap().len(), 1);
    assert!(store.pause("").is_err());
}

/// All steps of a sweep; returns how many tasks each took.
fn sweep_all(
    mut filter: TaskFilter,
    mut step: impl FnMut(TaskFilter) -> Result<Swept>,
) -> Vec<u64> {
    let mut counts = Vec::new();
    loop {
        let swept = step(filter.clone()).unwrap();
        counts.push(swept.tasks);
        match swept.next {
            Some(next) => filter = filter.after(next),
            None => return counts,
        }
    }
}

#[test]
fn a_queue_is_purged_step_by_step_of_what_nobody_holds() {
    let (clock, client) = with_clock();
    let (ann, bob) = (client.tasks("shop").claimant("ann"), client.tasks("shop").claimant("bob"));
    let numbered = |store: &TaskStore, from: u64, to: u64| {
        let task =
            |n: u64| NewTask::new("q").id(format!("{n:05}")).priority((n % 3) as u8).at_ms(n);
        store.modify((from..to).fold(Modification::new(), |m, n| m.insert(task(n)))).unwrap();
    };
    numbered(&ann, 0, 1_000);
    bob.claim_many(["q"], MINUTE, 100).unwrap();
    let later = NewTask::new("q").id("later").after(MINUTE);
    bob.modify(Modification::new().insert(later)).unwrap();
    let counts = sweep_all(TaskFilter::new().limit(301), |filter| ann.purge("q", filter));
    assert_eq!((counts.len(), counts.iter().sum()), (4, 900_u64));
    let stats = ann.queue_stats(Filter::new()).unwrap().remove(0);
    assert_eq!((stats.size, stats.claimed, stats.future), (101, 100, 1));
    let none = ann.purge("q", TaskFilter::new()).unwrap();
    assert_eq!(none, Swept::default());
    let all = ann.purge("q", TaskFilter::new().claimed().include_held()).unwrap();
    assert_eq!((all.tasks, all.next), (100, None));
    assert_eq!(bob.purge("q", TaskFilter::new()).unwrap().tasks, 1, "it is its own");
    assert_eq!(ann.purge("q", TaskFilter::new()).unwrap(), Swept::default());
    // Tasks that change between the steps are not processed twice.
    numbered(&ann, 0, 10);
    let first = ann.purge("q", TaskFilter::new().limit(5)).unwrap();
    assert_eq!(first.next.as_ref().unwrap().at_ms, 4);
    numbered(&ann, 3, 4);
    let rest = ann.purge("q", TaskFilter::new().after(first.next.unwrap())).unwrap();
    assert_eq!((rest.tasks, rest.next), (5, None));
    clock.advance(MINUTE);
    assert_eq!(ann.list("q", TaskQuery::new()).unwrap().tasks.len(), 1);
}

#[test]
fn a_filter_lets_through_what_it_says() {
    let (_, client) = with_clock();
    let (ann, bob) = (client.tasks("shop").claimant("ann"), client.tasks("shop").claimant("bob"));
    let fill = || {
        ann.purge("q", TaskFilter::new().include_held()).unwrap();
        let task = |id: &str| NewTask::new("q").id(id);
        for (store, id) in [(&ann, "ann's"), (&bob, "bob's")] {
            store.modify(Modification::new().insert(task(id).err(id))).unwrap();
            store.claim(["q"], MINUTE).unwrap().unwrap();
        }
        let later = |id: &str| task(id).after(MINUTE);
        ann.modify(Modification::new().insert(later("ann's later"))).unwrap();
        bob.modify(Modification::new().insert(later("bob's later"))).unwrap();
        ann.modify(Modification::new().insert(task("free").err("a"))).unwrap();
    };
    let filter = TaskFilter::new;
    for (filter, expected) in [
        (filter(), &["ann's", "ann's later", "free"][..]),
        (filter().available(), &["free"]),
        (filter().claimed(), &["ann's"]),
        (filter().future(), &["ann's later"]),
        (filter().available().future(), &["ann's later", "free"]),
        (filter().claimant("bob"), &["free"]),
        (filter().claimant("bob").include_held(), &["bob's", "bob's later", "free"]),
        (filter().claimant("bob").claimed().include_held(), &["bob's"]),
        (filter().err("a"), &["ann's", "free"]),
        (filter().err("ann's"), &["ann's"]),
        (filter().err("b"), &[]),
        (filter().err("b").include_held(), &["bob's"]),
    ] {
        fill();
        let swept = ann.move_tasks("q", "out", filter.clone()).unwrap();
        assert_eq!((swept.tasks as usize, swept.next), (expected.len(), None), "{filter:?}");
        let moved = ann.list("out", TaskQuery::new()).unwrap().tasks;
        let mut moved: Vec<&str> = moved.iter().map(|task| &*task.id).collect();
        moved.sort_unstable();
        assert_eq!(moved, expected, "{filter:?}");
        ann.purge("out", TaskFilter::new().include_held()).unwrap();
    }
}

#[test]
fn what_is_moved_stays_as_it_is_and_what_is_redriven_begins_anew() {
    let (_, client) = with_clock();
    let store = client.tasks("shop").claimant("ann");
    let task = |id: &str| NewTask::new("q").id(id).value("[1]").attempt(3).err("e").priority(4);
    let later = task("later").after(MINUTE);
    let old = task("old").at_ms(7).ttl(MINUTE);
    store.modify(Modification::new().insert(later).insert(old)).unwrap();
    let before = store.list("q", TaskQuery::new()).unwrap().tasks;
    let [ann, eve] = ["ann", "eve"].map(|claimant| store.clone().claimant(claimant));
    assert_eq!(eve.move_tasks("q", "p", TaskFilter::new().include_held()).unwrap().tasks, 2);
    let moved = store.list("p", TaskQuery::new()).unwrap().tasks;
    let changed =
        |task: &Task| Task { queue: "p".into(), version: task.version + 1, ..task.clone() };
    assert_eq!(moved, before.iter().map(changed).collect::<Vec<_>>());
    // The claimant of the task in the future still holds it.
    assert_eq!(ann.redrive("p", "q", TaskFilter::new()).unwrap().tasks, 2);
    let redriven = store.list("q", TaskQuery::new()).unwrap().tasks;
    let anew = |task: &Task| Task {
        version: task.version + 2,
        attempt: 0,
        err: "".into(),
        ..task.clone()
    };
    assert_eq!(redriven, before.iter().map(anew).collect::<Vec<_>>());
}

/// Its worker finds that it has lost the task.
#[test]
fn a_leased_task_is_moved_from_under_its_job_if_it_is_said() {
    let store = store();
    store.insert("q", "1").unwrap();
    let job = store.worker(["q"]).jobs().next().unwrap().unwrap();
    assert_eq!(store.move_tasks("q", "p", TaskFilter::new()).unwrap().tasks, 0);
    assert_eq!(store.move_tasks("q", "p", TaskFilter::new().include_held()).unwrap().tasks, 1);
    assert_eq!(job.done().unwrap_err().kind(), ErrorKind::LeaseLost);
    let task = store.list("p", TaskQuery::new()).unwrap().tasks.remove(0);
    assert_eq!((task.claims, task.at_ms), (1, job.task().at_ms));
}

#[test]
fn headers_stay_until_a_change_sets_others() {
    let store = store();
    let task = NewTask::new("q").header("b", [0, 0xff]).header("a", "old").header("a", "new");
    let most = (0..HEADERS_MAX).map(|number| (format!("{number:03}"), [7; 253]));
    let most = NewTask::new("most").headers(most);
    let done = store.modify(Modification::new().insert(task).insert(most)).unwrap();
    let (headers, most) = (&done.inserted[0].headers, &done.inserted[1].headers);
    assert_eq!(headers.iter().collect::<Vec<_>>(), [("a", &b"new"[..]), ("b", &[0, 0xff])]);
    assert_eq!((most.len(), most.get("063")), (64, Some(&[7; 253][..])));
    assert_eq!(
        (headers.get("c"), store.insert("q", "1").unwrap().headers.is_empty()),
        (None, true)
    );

    let job =
        store.worker(["q"]).jobs().find(|job| job.as_ref().unwrap().task().headers.len() == 2);
    job.unwrap().unwrap().retry("e").unwrap();
    store.move_tasks("q", "r", TaskFilter::new().include_held()).unwrap();
    store.redrive("r", "q", TaskFilter::new().include_held()).unwrap();
    let find = || store.fetch([&done.inserted[0].id]).unwrap().remove(0);
    assert_eq!(find().headers, *headers);
    let change = find().change().queue("s").headers([("c", "v")]);
    let changed = store.modify(Modification::new().change(change)).unwrap().changed.remove(0);
    assert_eq!(changed.headers.iter().collect::<Vec<_>>(), [("c", &b"v"[..])]);
    let none = changed.change().headers([("", ""); 0]);
    let changed = store.modify(Modification::new().change(none)).unwrap().changed.remove(0);
    assert_eq!((changed.headers, find().headers), (Headers::NONE, Headers::NONE));
}

#[test]
fn a_cancel_reaches_who_has_the_task_and_nobody_else() {
    let (clock, client) = with_clock();
    let (ann, bob) = (client.tasks("shop").claimant("ann"), client.tasks("shop").claimant("bob"));
    let task = |id: &str| NewTask::new("q").id(id);
    let modification = Modification::new().insert(task("a")).insert(task("b").after(MINUTE));
    ann.modify(modification).unwrap();
    assert_eq!(bob.cancel(["a", "b", "c"]).unwrap(), [false; 3], "nobody has claimed them");
    let claimed = ann.claim(["q"], MINUTE).unwrap().unwrap();
    assert_eq!(bob.cancel(["b", "a", "a"]).unwrap(), [false, true, true]);
    assert_eq!(ann.fetch(["a"]).unwrap(), std::slice::from_ref(&claimed), "it stays as it is");
    let renewed = ann.renew([claimed.handle()], [], MINUTE).unwrap();
    assert_eq!(renewed.cancelled, std::slice::from_ref(&claimed.id));
    let renewed = ann.renew(renewed.tasks, [], MINUTE).unwrap();
    assert_eq!(renewed.cancelled.len(), 1, "also with the next renewal");

    // The note ends with the claim: after the next claim or a change, the task has another holder.
    clock.advance(MINUTE);
    assert_eq!(bob.cancel(["a"]).unwrap(), [false], "the lease is over");
    let claimed = bob.claim_many(["q"], MINUTE, 2).unwrap();
    let ids = || claimed.iter().map(Task::handle);
    assert!(bob.renew(ids(), [], MINUTE).unwrap().cancelled.is_empty());
    assert_eq!(ann.cancel(["a", "b"]).unwrap(), [true; 2]);
    let both = bob.fetch(["a", "b"]).unwrap();
    let changes = both.iter().map(|task| task.change().after(MINUTE));
    let changed = bob.modify(changes.fold(Modification::new(), Modification::change)).unwrap();
    assert_eq!(ann.cancel(["a"]).unwrap(), [false], "it is put off, and nobody works on it");
    let renewed = bob.renew(changed.changed.iter().map(Task::handle), [], MINUTE).unwrap();
    assert!(renewed.cancelled.is_empty());
}

/// A claim that hangs is taken away; what its holder does later is refused.
#[test]
fn a_claimed_task_is_cancelled_by_force() {
    let (_, client) = with_clock();
    let (ann, bob) = (client.tasks("shop").claimant("ann"), client.tasks("shop").claimant("bob"));
    let task = |id: &str| NewTask::new("q").id(id);
    ann.modify(Modification::new().insert(task("a")).insert(task("b").after(MINUTE))).unwrap();
    let claimed = ann.claim(["q"], MINUTE).unwrap().unwrap();
    assert_eq!(bob.cancel_force(["b", "a", "a", "c"]).unwrap(), [false, true, false, false]);
    assert_eq!(bob.fetch(["a", "b"]).unwrap().len(), 1, "what nobody has claimed stays");
    let renewed = ann.renew([claimed.handle()], [], MINUTE).unwrap_err();
    let done = ann.modify(Modification::new().delete(claimed.handle())).unwrap_err();
    assert_eq!([renewed.kind(), done.kind()], [ErrorKind::Dependency; 2]);
    assert_eq!(bob.cancel_force(["a"]).unwrap(), [false], "repeated");
}

#[test]
fn a_job_learns_that_it_is_cancelled() {
    let store = store();
    let id = store.insert("q", "1").unwrap().id;
    let worker = store.worker(["q"]).lease(Duration::from_secs(1));
    let job = worker.jobs().next().unwrap().unwrap();
    assert_eq!((job.is_cancelled(), store.cancel([&id]).unwrap()), (false, vec![true]));
    let start = Instant::now();
    while !job.is_cancelled() {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!job.is_lost());
    job.done().unwrap();
}

#[test]
fn whoever_waits_gets_what_is_moved() {
    let store = store();
    let claims = || store.claims(["inbox"]).wait(MINUTE);
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let mut claims = claims();
            std::thread::spawn(move || claims.next().unwrap().unwrap().remove(0).id)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(50));
    let task = || NewTask::new("inbox/err").attempt(1);
    store.modify((0..4).fold(Modification::new(), |m, _| m.insert(task()))).unwrap();
    assert_eq!(store.redrive("inbox/err", "inbox", TaskFilter::new()).unwrap().tasks, 4);
    let start = Instant::now();
    waiters.into_iter().for_each(|waiter| drop(waiter.join().unwrap()));
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_job_is_renewed_until_it_ends() {
    let store = store();
    store.insert("inbox", "1").unwrap();
    store
        .modify(Modification::new().insert_doc(NewDoc::new("n", "k").id("d").content("1")))
        .unwrap();
    let worker = store.worker(["inbox"]).lease(Duration::from_secs(2));
    let job = worker.jobs().next().unwrap().unwrap();
    let docs = job.claim_docs("n", ["k"]).unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(!job.is_lost());
    assert!(job.handle().version >= 3, "{:?}", job.handle());
    let change = docs[0].change().content("2").release();
    let done = job.finish(job.delete().change_doc(change)).unwrap();
    assert_eq!(done.changed_docs[0].content.as_deref(), Some("2"));
    assert!(store.queues(Filter::new()).unwrap().is_empty());
    assert_eq!(store.namespace_stats(Filter::new()).unwrap()[0].claimed, 0);
}

#[test]
fn a_job_whose_task_was_changed_is_lost() {
    let store = store();
    store.insert("inbox", "1").unwrap();
    let worker = store.worker(["inbox"]).lease(Duration::from_millis(100));
    let job = worker.jobs().next().unwrap().unwrap();
    let same = store.clone().claimant(&job.task().claimant);
    loop {
        // A renewal may happen in between.
        let change = store.fetch([&job.task().id]).unwrap()[0].change().after(MINUTE);
        if same.modify(Modification::new().change(change)).is_ok() {
            break;
        }
    }
    let (lost, is_lost) = mpsc::channel();
    let also = lost.clone();
    job.on_lost(move || lost.send("before").unwrap());
    assert_eq!(is_lost.recv_timeout(Duration::from_secs(30)), Ok("before"));
    assert!(job.is_lost());
    job.on_lost(move || also.send("after").unwrap());
    assert_eq!(is_lost.try_recv(), Ok("after"), "it is called at once");
    assert_eq!(job.claim_docs("n", ["k"]).unwrap_err().kind(), ErrorKind::LeaseLost);
    assert_eq!(job.done().unwrap_err().kind(), ErrorKind::LeaseLost);
}

#[test]
fn a_job_that_ends_before_its_lease_is_lost_tells_nobody() {
    let store = store();
    let ends: [fn(Job); 3] =
        [|job| drop(job.done().unwrap()), |job| drop(job.release().unwrap()), drop];
    for end in ends {
        store.insert("inbox", "1").unwrap();
        let job = store.worker(["inbox"]).jobs().next().unwrap().unwrap();
        let (lost, is_lost) = mpsc::channel();
        job.on_lost(move || lost.send(()).unwrap());
        assert_eq!(is_lost.try_recv(), Err(mpsc::TryRecvError::Empty));
        end(job);
        assert_eq!(is_lost.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}

#[test]
fn a_job_that_is_not_renewed_any_more_is_lost_when_its_lease_is_over() {
    const LEASE: Duration = Duration::from_millis(400);
    let client = crate::connect("memory:").unwrap();
    let store = client.tasks("shop");
    store.insert("inbox", "1").unwrap();
    let job = store.worker(["inbox"]).lease(LEASE).jobs().next().unwrap().unwrap();
    let (lost, is_lost) = mpsc::channel();
    job.on_lost(move || lost.send(Instant::now()).unwrap());
    client.close().unwrap();
    let claimed = Instant::now();
    let lost_at = is_lost.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(job.is_lost());
    assert!(lost_at.duration_since(claimed) > LEASE / 2, "not before");
}

#[test]
fn what_fails_is_tried_again_and_then_put_aside() {
    let store = store();
    store.insert("inbox", "1").unwrap();
    let none = Duration::ZERO;
    let worker = store.worker(["inbox"]).backoff(none).max_attempts(3);
    let mut seen = 0;
    worker
        .drain(|_| {
            seen += 1;
            Err::<(), _>(Failure::Retry(format!("no {seen}")))
        })
        .unwrap();
    assert_eq!(seen, 3);
    let tasks = store.list("inbox/err", TaskQuery::new()).unwrap().tasks;
    assert_eq!(
        (tasks[0].attempt, &*tasks[0].err, tasks[0].claims),
        (3, "no 1\nno 2\nexhausted: no 3", 3)
    );
}

#[test]
fn a_run_waits_again_when_there_is_nothing_left() {
    let store = store();
    store.insert("inbox", "1").unwrap();
    let worker = store.worker(["inbox"]).tell_all(true);
    let run = worker.start();
    for _ in 0..2 {
        let Some(RunEvent::Job(job)) = run.next().unwrap() else { panic!("it is over") };
        run.end(&job, Err(Failure::ReleaseAfter(Duration::from_millis(20)))).unwrap();
        assert!(matches!(run.next(), Ok(Some(RunEvent::Report(_)))));
    }
    worker.stop(Duration::ZERO);
    assert!(run.next().unwrap().is_none());
}

#[test]
fn what_ends_its_workers_is_put_aside_unseen() {
    let store = store();
    store.insert("inbox", "1").unwrap();
    for _ in 0..2 {
        store.claim(["inbox"], Duration::ZERO).unwrap().unwrap();
    }
    let worker = store.worker(["inbox"]).max_crashes(2).error_queue("dead");
    let drained = worker.drain(|_| -> () { panic!("nobody sees it") }).unwrap();
    assert_eq!(drained, JobCounts { dead: 1, ..Default::default() });
    let tasks = store.list("dead", TaskQuery::new()).unwrap().tasks;
    assert_eq!(&*tasks[0].err, "crashed: claimed 2 times without an end");
}

/// Only expired leases count against a task: the end of each job resets the count, on disk as well.
#[test]
fn releases_and_retries_are_no_claims_without_an_end() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file:{}", directory.path().display());
    let mut client = crate::connect(&url).unwrap();
    client.tasks("shop").insert("inbox", "1").unwrap();
    let again = |client: &mut Client| {
        client.close().unwrap();
        *client = crate::connect(&url).unwrap();
        client.tasks("shop")
    };
    let none = Duration::ZERO;
    let worker = |store: &TaskStore| store.worker(["inbox"]).max_crashes(2).backoff(none);
    for n in 0..6 {
        let store = again(&mut client);
        // Twice it is not ended, which is the most that is allowed.
        let first = worker(&store).jobs().next().unwrap().unwrap();
        let same = store.claimant(&first.task().claimant);
        same.renew([first.handle()], [], Duration::from_millis(1)).unwrap();
        drop(first);
        let store = again(&mut client);
        let job = worker(&store).wait(MINUTE).jobs().next().unwrap().unwrap();
        assert_eq!(job.task().claims, 2 * n + 2);
        match n % 3 {
            0 => job.release_after(none),
            1 => job.retry("e"),
            _ => job.finish(Modification::new().change(job.task().change())),
        }
        .unwrap();
    }
    let store = again(&mut client);
    for _ in 0..2 {
        store.claim(["inbox"], none).unwrap().unwrap();
    }
    let store = again(&mut client);
    worker(&store).drain(|_| -> () { panic!("nobody sees it") }).unwrap();
    let task = store.claim(["inbox/err"], MINUTE).unwrap().unwrap();
    assert_eq!(&*task.err, "e\ne\ncrashed: claimed 2 times without an end");
    // A task that was moved back starts afresh.
    store.modify(Modification::new().change(task.change().queue("inbox"))).unwrap();
    let mut seen = 0;
    worker(&store)
        .drain(|job| {
            seen += 1;
            job.delete()
        })
        .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn each_job_has_a_claimant_of_its_own() {
    let long = "é".repeat(ID_CHARS_MAX);
    for (claimant, kept) in [("ann", "ann"), (&*long, &long[..2 * 42])] {
        let store = store().claimant(claimant);
        let inserts = (0..50).fold(Modification::new(), |m, _| m.insert(NewTask::new("q")));
        store.modify(inserts).unwrap();
        let jobs: Vec<_> = store.worker(["q"]).jobs().map(Result::unwrap).collect();
        let claimants: std::collections::HashSet<_> =
            jobs.iter().map(|job| job.task().claimant.clone()).collect();
        assert_eq!(claimants.len(), 50);
        for of_job in claimants {
            let number = of_job.strip_prefix(kept).and_then(|rest| rest.strip_prefix('/')).unwrap();
            assert!(number.len() == 16 && u64::from_str_radix(number, 16).is_ok(), "{number}");
        }
    }
    for claimant in ["", &"x".repeat(ID_CHARS_MAX + 1)] {
        let error = store().claimant(claimant).worker(["q"]).jobs().next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

/// However the worker starts, and before it claims anything.
#[test]
fn a_worker_of_no_jobs_at_a_time_is_refused() {
    let (_, client) = with_clock();
    let store = client.tasks("shop");
    store.insert("in", "1").unwrap();
    let worker = store.worker(["in"]).concurrency(0).prefetch(1);
    let refused = [
        worker.run(|_: &Job| ()).unwrap_err(),
        worker.drain(|_: &Job| ()).unwrap_err(),
        worker.jobs().next().unwrap().unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with("concurrency is 0; "), "{error}");
    }
    assert_eq!(store.queue_stats(Filter::new()).unwrap()[0].claimed, 0);
}

/// What a job holds belongs to no other claimant, not even to that of its store; what the end of the job postpones
/// does.
#[test]
fn a_job_ends_only_by_itself() {
    let store = store();
    store.insert("q", "1").unwrap();
    let job = store.worker(["q"]).jobs().next().unwrap().unwrap();
    let error = store.modify(job.delete()).unwrap_err();
    assert_eq!(error.dependency().unwrap().claims, [job.handle()]);
    let later = NewTask::new("q").id("later").after(MINUTE);
    job.finish(Modification::new().change(job.task().change().after(MINUTE)).insert(later))
        .unwrap();
    assert!(job.is_ended());
    for task in store.fetch([&*job.task().id, "later"]).unwrap() {
        assert_eq!(&*task.claimant, "ann");
        store.modify(Modification::new().delete(&task)).unwrap();
    }
}

/// Otherwise a job that is over would hold it until the lease expires.
#[test]
fn a_document_that_an_end_depends_on_is_released() {
    let store = store();
    store.insert("q", "1").unwrap();
    store.modify(Modification::new().insert_doc(NewDoc::new("n", "k").id("d"))).unwrap();
    let job = store.worker(["q"]).jobs().next().unwrap().unwrap();
    let docs = job.claim_docs("n", ["k"]).unwrap();
    job.finish(job.delete().depend_doc(&docs[0])).unwrap();
    assert_eq!(store.claim_docs("n", ["k"], MINUTE).unwrap().len(), 1);
}

/// A job whose handler passes on the error that refused its end.
#[test]
fn an_end_that_is_refused_for_a_document_is_an_attempt_only_the_twentieth_time() {
    let store = store();
    store.insert("q", "1").unwrap();
    let worker = store.worker(["q"]).max_attempts(1).wait(MINUTE);
    let mut jobs = worker.jobs();
    for time in 1..=CONFLICTS_MAX {
        let job = jobs.next().unwrap().unwrap();
        assert_eq!((job.task().attempt, &*job.task().queue), (0, "q"), "time {time}");
        let stale = Modification::new().delete_doc(DocId::new("n", "none", 7));
        let error = job.finish(stale).unwrap_err();
        assert_eq!(error.message(), "document n/none is not at version 7 any more");
        let task = job.fail(&error.to_string()).unwrap().changed.remove(0);
        let is_dead = &*task.queue == "q/err";
        assert_eq!(is_dead, time == CONFLICTS_MAX, "time {time}");
        let delay = task.at_ms - task.modified_ms;
        assert!(is_dead || (10..=100).contains(&delay), "{delay} ms");
    }
    assert!(store.list("q/err", TaskQuery::new()).unwrap().tasks[0].err.starts_with("exhausted"));
}

/// A worker counts conflicts for a bounded number of tasks, and none of the others is retried forever.
#[test]
fn conflicts_of_many_tasks_end() {
    let store = store();
    let count = 1_500;
    store
        .modify((0..count).fold(Modification::new(), |of, _| of.insert(NewTask::new("q"))))
        .unwrap();
    let worker = store.worker(["q"]).max_attempts(1).prefetch(500);
    let stale = || Modification::new().delete_doc(DocId::new("n", "none", 7));
    let counts = worker.drain(|_| stale()).unwrap();
    assert_eq!((counts.dead, counts.done), (count, 0));
}

/// An insert of a document that exists is refused permanently.
#[test]
fn an_insert_of_a_document_that_is_there_is_an_attempt() {
    let store = store();
    store.put_doc(NewDoc::new("n", "k").content("1")).unwrap();
    store.insert("q", "1").unwrap();
    let again = || Modification::new().insert_doc(NewDoc::new("n", "k"));
    assert_eq!(store.worker(["q"]).max_attempts(1).drain(|_| again()).unwrap().dead, 1);
}

/// A refusal for anything but documents is not a conflict, even if documents are among the reasons.
#[test]
fn an_end_that_is_refused_for_a_task_is_an_attempt() {
    let store = store();
    store.insert("q", "1").unwrap();
    let job = store.worker(["q"]).jobs().next().unwrap().unwrap();
    let stale = Modification::new().depend(TaskId::new("none", 7));
    let error = job.finish(stale.delete_doc(DocId::new("n", "none", 7))).unwrap_err();
    let both =
        "task none is not at version 7 any more; document n/none is not at version 7 any more";
    assert_eq!(error.message(), both);
    assert_eq!(job.fail(&error.to_string()).unwrap().changed[0].attempt, 1);
}

#[test]
fn a_job_waits_for_documents_no_longer_than_it_may() {
    let second = Duration::from_secs(1);
    assert_eq!(job::docs_wait(second, u64::MAX), second);
    let waits: Vec<_> =
        (0..100).map(|draw: u64| job::docs_wait(Duration::MAX, draw << 57)).collect();
    assert!(waits.iter().all(|wait| (DOCS_WAIT_MAX / 2..=DOCS_WAIT_MAX).contains(wait)));
    assert!(waits.iter().any(|wait| *wait != waits[0]), "two that wait for each other");
}

#[test]
fn a_long_refusal_names_the_first_and_counts_the_others() {
    let store = store();
    let ids = (0..13).map(|number| TaskId::new(format!("t{number}"), 0));
    let error = store.modify(ids.fold(Modification::new(), Modification::delete)).unwrap_err();
    assert!(error.message().starts_with("task t0 is not at version 0 any more; task t1 is"));
    assert!(error.message().ends_with("task t9 is not at version 0 any more; and 3 more"));
    assert_eq!(error.dependency().unwrap().deletes.len(), 13);
}

#[test]
fn backoff_doubles_up_to_its_most() {
    let store = store();
    let worker =
        store.worker(["q"]).backoff(Duration::from_secs(8)).backoff_max(MINUTE).max_attempts(0);
    let task = store.insert("q", "1").unwrap();
    for (attempt, most) in [(0, 8), (1, 16), (2, 32), (3, 60), (40, 60)] {
        let tried = Task { attempt, ..task.clone() };
        for draw in [0, 1 << 63, u64::MAX] {
            let When::After(delay) = worker.policy().failed(&tried, "e", None, draw).at else {
                panic!("it is put off");
            };
            assert!(delay <= Duration::from_secs(most) && delay >= Duration::from_secs(most) / 2);
        }
    }
}

#[test]
fn too_long_an_account_of_failures_loses_its_oldest_part() {
    let task = store().insert("q", "1").unwrap();
    let change = task.change().retry("old").retry(&"é".repeat(ERR_BYTES_MAX / 2)).retry("new");
    assert!(change.err.len() <= ERR_BYTES_MAX && change.err.ends_with("é\nnew"));
    assert_eq!(change.attempt, 3);
}

#[test]
fn everything_comes_back_from_disk() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file:{}", directory.path().display());
    let look = |client: &Client| {
        let store = client.tasks("shop");
        (
            store.list("inbox", TaskQuery::new()).unwrap(),
            store.list("outbox", TaskQuery::new()).unwrap(),
            store.list("again", TaskQuery::new()).unwrap(),
            store.list_docs("n", DocQuery::new()).unwrap(),
            store.queue_stats(Filter::new()).unwrap(),
            store.namespace_stats(Filter::new()).unwrap(),
        )
    };
    let client = crate::connect(&url).unwrap();
    let store = client.tasks("shop").claimant("ann");
    for number in 0..20 {
        let task = NewTask::new("inbox")
            .value(format!("[{number}]"))
            .priority(number % 3)
            .attempt(7)
            .err("e")
            .ttl(MINUTE * 60)
            .headers((0..number % 3).map(|name| (name.to_string(), [name, 0xff])));
        store.modify(Modification::new().insert(task)).unwrap();
    }
    let tasks = store.claim_many(["inbox"], MINUTE, 5).unwrap();
    let renewed = store.renew([tasks[0].handle()], [], MINUTE * 2).unwrap();
    assert_eq!(renewed.tasks[0].version, 2);
    store
        .modify(
            Modification::new()
                .delete(&tasks[1])
                .change(tasks[2].change().queue("outbox").no_value())
                .insert_doc(NewDoc::new("n", "k").id("d").content("null"))
                .insert_doc(NewDoc::new("n", "k").id("e").secondary_key("2")),
        )
        .unwrap();
    store.claim_docs("n", ["k"], MINUTE).unwrap();
    let ids = |tasks: &[Task]| tasks.iter().map(|task| task.id.clone()).collect::<Vec<_>>();
    assert_eq!(store.cancel(ids(&tasks)).unwrap(), [true, false, false, true, true]);
    let ended = tasks[4].change().headers([("set", "again")]);
    store.modify(Modification::new().change(ended)).unwrap();
    let swept = store.redrive("inbox", "again", TaskFilter::new().limit(8)).unwrap();
    assert!(
        swept.tasks > 0 && store.purge("again", TaskFilter::new().limit(2)).unwrap().tasks == 2
    );
    for queue in ["inbox", "resumed", "empty"] {
        store.pause(queue).unwrap();
    }
    store.resume("resumed").unwrap();
    let before = look(&client);
    let paused: Vec<_> = before.4.iter().map(|stats| (&*stats.queue, stats.paused)).collect();
    assert_eq!(paused, [("again", false), ("empty", true), ("inbox", true), ("outbox", false)]);
    client.close().unwrap();
    drop((store, client));
    let client = crate::connect(&url).unwrap();
    assert_eq!(look(&client), before);
    let store = client.tasks("shop").claimant("ann");
    assert_eq!(store.fetch([&tasks[2].id]).unwrap()[0].value, None);
    let held = [renewed.tasks[0].clone(), tasks[3].handle()];
    let renewed = store.renew(held, [], MINUTE).unwrap();
    assert_eq!(renewed.cancelled, [tasks[0].id.clone(), tasks[3].id.clone()]);
}

/// Statistics are read without a lock, and yet each thread reads its own writes.
#[test]
fn statistics_are_of_now_while_others_read_and_work() {
    let store = store();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let counted = |queue: &str| {
        let stats = store.queue_stats(Filter::new().exact(queue)).unwrap();
        stats.first().map_or([0; 4], |s| [s.size, s.available, s.claimed, s.max_claims.into()])
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    for stats in store.queue_stats(Filter::new()).unwrap() {
                        let later = stats.claimed + stats.retrying + stats.future;
                        assert_eq!(stats.size, stats.available + later);
                    }
                    store.list("q", TaskQuery::new()).unwrap();
                }
            });
        }
        for n in 1..1_000 {
            store.insert("q", "1").unwrap();
            assert_eq!(counted("q"), [n, n, 0, 0]);
        }
        for n in 1..1_000 {
            store.claim(["q"], MINUTE).unwrap().unwrap();
            assert_eq!(counted("q"), [999, 999 - n, n, 1]);
        }
        // Created again each time.
        for _ in 1..1_000 {
            let task = store.insert("other", "1").unwrap();
            assert_eq!(counted("other"), [1, 1, 0, 0]);
            store.modify(Modification::new().delete(&task)).unwrap();
            assert_eq!(counted("other"), [0; 4]);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A page over several priorities, each continuing after a position whose time other tasks share.
#[test]
fn pages_of_many_priorities_and_one_time_are_whole() {
    let (_, client) = with_clock();
    let store = client.tasks("shop");
    for first in (0..4_000).step_by(1_000) {
        let task = |n: u32| NewTask::new("q").id(format!("{n:05}")).priority((n % 3) as u8);
        store
            .modify((first..first + 1_000).fold(Modification::new(), |m, n| m.insert(task(n))))
            .unwrap();
    }
    for limit in [1, 64, 1_023, 1_024, 1_025, 3_999, 4_000] {
        let mut query = TaskQuery::new().limit(limit);
        let mut found = Vec::new();
        loop {
            let page = store.list("q", query.clone()).unwrap();
            assert!(page.tasks.len() == limit || page.next.is_none());
            found.extend(page.tasks.into_iter().map(|task| task.id));
            match page.next {
                Some(next) => query = query.after(next),
                None => break,
            }
        }
        assert_eq!(found.len(), 4_000, "pages of {limit}");
        assert!(found.is_sorted(), "pages of {limit}");
    }
}

/// The future of its handler is dropped, and the task is gone.
#[tokio::test]
async fn a_cancelled_job_ends_while_it_runs() {
    let store = crate::aio::connect("memory:").unwrap().tasks("shop");
    let id = store.insert("in", "1").await.unwrap().id;
    let worker = store.worker(["in"]).lease(Duration::from_millis(300));
    let stop = worker.clone();
    let worker = worker.tell_all(true).on_report(move |report| {
        assert_eq!(report.kind, crate::ReportKind::Cancelled);
        stop.stop(Duration::ZERO);
    });
    worker
        .run(async |_| {
            assert_eq!(store.cancel([&id]).await.unwrap(), [true]);
            std::future::pending::<()>().await;
        })
        .await
        .unwrap();
    assert!(store.queues(Filter::new()).await.unwrap().is_empty());
}

/// On tokio, nothing that the worker creates is ready in a poll that has used up its budget; the worker ends that
/// poll. Only the multi-threaded runtime wakes a task that has no budget left before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_async_worker_goes_on_after_handlers_that_use_up_the_budget_of_a_poll() {
    const JOBS: usize = 50;
    let store = crate::aio::connect("memory:").unwrap().tasks("shop");
    for _ in 0..JOBS {
        store.insert("in", "1").await.unwrap();
    }
    let worker = store.worker(["in"]).concurrency(10);
    let begun = std::cell::Cell::new(0);
    worker
        .run(async |_| {
            begun.set(begun.get() + 1);
            if begun.get() == JOBS {
                worker.stop(Duration::MAX);
            }
            while tokio::task::coop::has_budget_remaining() {
                tokio::task::coop::consume_budget().await;
            }
        })
        .await
        .unwrap();
    assert!(store.queues(Filter::new()).await.unwrap().is_empty());
}

/// An async handler has the same outcomes as a blocking one; a job that the handler ended itself stays as it is.
#[tokio::test]
async fn an_async_worker_ends_jobs_as_its_handler_says() {
    let store = crate::aio::connect("memory:").unwrap().tasks("shop");
    for number in ["1", "2", "3", "4"] {
        store.insert("in", number).await.unwrap();
    }
    let refused = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = refused.clone();
    let worker = store.worker(["in"]).backoff(MINUTE).backoff_max(MINUTE);
    let worker = worker.on_report(move |report| {
        let value = report.job.as_ref().and_then(|job| job.task().value.clone());
        told.lock().unwrap().extend(report.error.as_ref().map(|error| (value, error.kind())));
    });
    let work = async |job: &crate::tasks::Job<crate::Async>| -> Result<_, Failure> {
        match job.task().value.as_deref() {
            Some("1") => Ok(job.delete().insert(NewTask::new("out"))),
            Some("2") => Err(Failure::Error("broken".into())),
            Some("3") => {
                job.move_to("aside", "by hand").await?;
                Err(Failure::Error("nobody reads this".into()))
            }
            _ => Ok(job.delete().delete(TaskId::new("missing", 0))),
        }
    };
    worker.drain(work).await.unwrap();
    assert_eq!(*refused.lock().unwrap(), [(Some("4".into()), ErrorKind::Dependency)]);
    assert_eq!(store.list("out", TaskQuery::new()).await.unwrap().tasks.len(), 1);
    let aside = store.list("aside", TaskQuery::new()).await.unwrap().tasks;
    assert_eq!((aside.len(), &*aside[0].err), (1, "by hand"));
    let left = store.list("in", TaskQuery::new()).await.unwrap().tasks;
    let errs: Vec<_> =
        left.iter().map(|task| (task.attempt, task.err.starts_with("broken"))).collect();
    assert_eq!(errs.iter().filter(|(attempt, _)| *attempt == 1).count(), 2);
    assert_eq!(errs.iter().filter(|(_, is_broken)| *is_broken).count(), 1);
}
