//! What recovery of a directory returns of a task store: every field, with and without a snapshot,
//! after torn writes, in a bounded time and from a bounded space.

#![allow(clippy::unwrap_used, reason = "a test has failed where what it needs is not there")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millpond::tasks::{
    Doc, DocQuery, Filter, Modification, NamespaceStats, NewDoc, NewTask, Position, QueueStats,
    Task, TaskId, TaskQuery, TaskStore,
};
use millpond::{Client, ErrorKind, ManualClock, Options, SyncMode};
use tempfile::TempDir;

const QUEUES: [&str; 4] = ["inbox", "work/é", "done", "bulk"];
const NAMESPACES: [&str; 2] = ["accounts", "élan"];
/// The ids of [`steps`].
const IDS: [&str; 9] =
    ["plain", "null", "full", "later", "short", "far", "next", "once", "once more"];
const START_US: u64 = 1_763_691_473_123_456;
const LEASE: Duration = Duration::from_secs(600);
/// What a busy machine takes to write ten megabytes.
const SNAPSHOT_MAX: Duration = Duration::from_secs(60);

/// All that a store says of itself.
#[derive(Debug, PartialEq)]
struct Contents {
    tasks: Vec<Task>,
    docs: Vec<Doc>,
    queues: Vec<QueueStats>,
    namespaces: Vec<NamespaceStats>,
    /// Which ids are taken.
    taken: Vec<TaskId>,
}

fn contents(store: &TaskStore) -> Contents {
    let (mut tasks, mut docs) = (Vec::new(), Vec::new());
    for queue in QUEUES {
        let page = store.list(queue, TaskQuery::new().limit(10_000)).unwrap();
        assert_eq!(page.next, None);
        tasks.extend(page.tasks);
    }
    for namespace in NAMESPACES {
        docs.extend(store.list_docs(namespace, DocQuery::new().limit(10_000)).unwrap().docs);
    }
    // By their ids they are the same.
    if !tasks.is_empty() {
        assert_eq!(store.fetch(tasks.iter().map(|task| &task.id)).unwrap(), tasks);
    }
    let queues = store.queue_stats(Filter::new()).unwrap();
    assert_eq!(queues.iter().map(|stats| stats.size).sum::<u64>(), tasks.len() as u64);
    // It is refused in any case.
    let probe = Modification::new().depend(TaskId::new("missing", 0));
    let probe = IDS.into_iter().fold(probe, |all, id| all.insert(NewTask::new("inbox").id(id)));
    let taken = store.modify(probe).unwrap_err().dependency().unwrap().inserts.clone();
    let namespaces = store.namespace_stats(Filter::new()).unwrap();
    Contents { tasks, docs, queues, namespaces, taken }
}

fn open(directory: &Path, clock: &Arc<ManualClock>) -> Result<Client, millpond::Error> {
    Options::file(directory).sync(SyncMode::Never).clock(clock.clone()).connect()
}

/// A directory as a kill leaves it: a kill is one instant, so nothing is taken that a snapshot changed
/// while it was copied.
fn killed(directory: &Path) -> TempDir {
    loop {
        let (copy, names) = (tempfile::tempdir().unwrap(), files(directory));
        let copied = |name: &String| fs::copy(directory.join(name), copy.path().join(name)).is_ok();
        if names.iter().all(copied) && files(directory) == names {
            return copy;
        }
    }
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name != "lock");
    names.sort();
    names
}

fn newest(directory: &Path, ending: &str) -> Option<PathBuf> {
    let name = files(directory).into_iter().rfind(|name| name.ends_with(ending))?;
    Some(directory.join(name))
}

/// Every kind of step, and every field, `note`d after each.
fn steps(client: &Client, clock: &ManualClock, note: &mut dyn FnMut(&TaskStore)) {
    let ann = client.tasks("shop").claimant("ann");
    let bob = client.tasks("shop").claimant("bob");
    let now_ms = START_US / 1_000;
    let tick = || clock.advance(Duration::from_millis(7));
    let inserts = Modification::new()
        .insert(NewTask::new("inbox").id("plain"))
        .insert(NewTask::new("inbox").id("null").value("null"))
        .insert(
            NewTask::new("inbox")
                .id("full")
                .value(r#"{"é": [1e300, "\u0000"]}"#)
                .at_ms(3)
                .attempt(u32::MAX)
                .err("one\ntwo é")
                .priority(9)
                .ttl(Duration::from_secs(9_000)),
        )
        .insert(
            NewTask::new("work/é")
                .id("later")
                .value("1")
                .after(Duration::from_secs(60))
                .priority(1),
        )
        .insert(NewTask::new("work/é").id("short").ttl(Duration::from_millis(50)))
        .insert(
            NewTask::new("done")
                .id("far")
                .at_ms(253_402_300_799_999)
                .value(format!("{:?}", "x".repeat(70_000))),
        )
        .insert_doc(
            NewDoc::new("accounts", "ann")
                .id("d1")
                .secondary_key("2026")
                .content(r#"{"balance": 7}"#),
        )
        .insert_doc(NewDoc::new("accounts", "ann").id("d2"))
        .insert_doc(NewDoc::new("élan", "k é").id("d1").content("null"))
        .insert_doc(NewDoc::new("élan", "").id("d3").content("[]"));
    ann.modify(inserts).unwrap();
    note(&ann);
    tick();
    let claimed = ann.claim_many(["inbox"], LEASE, 2).unwrap();
    assert_eq!(&*claimed[0].id, "full", "it has the highest priority");
    note(&ann);
    tick();
    ann.renew(claimed.iter().map(Task::handle), [], LEASE).unwrap();
    note(&ann);
    tick();
    let docs = bob.claim_docs("accounts", ["ann"], LEASE).unwrap();
    note(&ann);
    tick();
    bob.renew([], docs.iter().map(Doc::handle), LEASE * 2).unwrap();
    note(&ann);
    tick();
    // A step that was refused leaves nothing.
    let held =
        Modification::new().delete(&ann.fetch(["full"]).unwrap()[0]).insert(NewTask::new("done"));
    assert_eq!(bob.modify(held).unwrap_err().kind(), ErrorKind::Dependency);
    note(&ann);
    let task = |id: &str| ann.fetch([id]).unwrap().remove(0);
    let docs = bob.fetch_docs("accounts", ["d1", "d2"]).unwrap();
    let all = Modification::new()
        .change(task("full").change().queue("done").retry("three").after(Duration::from_secs(5)))
        .change(task("far").change().queue("inbox").no_value())
        .depend(&task("plain"))
        .insert(NewTask::new("work/é").id("next").value("2"))
        .depend_doc(&docs[1]);
    ann.modify(all).unwrap();
    note(&ann);
    tick();
    let of_docs = Modification::new()
        .change_doc(docs[0].change().content("8"))
        .change_doc(docs[1].change().after(LEASE))
        .delete_doc(&bob.fetch_docs("élan", ["d3"]).unwrap()[0]);
    bob.modify(of_docs).unwrap();
    note(&ann);
    clock.advance(Duration::from_millis(100));
    assert!(ann.fetch(["short"]).unwrap().is_empty(), "it has expired");
    note(&ann);
    // Two whose ids stay taken, of which one has expired; that of the first is free again soon.
    let once = |id: &str| NewTask::new("work/é").id(id).dedup_window(Duration::from_millis(150));
    let more = once("once more").ttl(Duration::from_millis(5)).dedup_window(LEASE);
    ann.modify(Modification::new().insert(once("once")).insert(more)).unwrap();
    note(&ann);
    ann.modify(Modification::new().change(task("once").change().queue("done"))).unwrap();
    note(&ann);
    tick();
    assert!(ann.fetch(["once more"]).unwrap().is_empty(), "it has expired");
    note(&ann);
    ann.modify(Modification::new().delete(&task("once"))).unwrap();
    note(&ann);
    let taken = contents(&ann).taken;
    assert!(["once", "once more"].iter().all(|id| taken.contains(&TaskId::new(id, 0))));
    // The id is free again, and goes to another queue.
    ann.insert("inbox", "3").unwrap();
    note(&ann);
    ann.modify(Modification::new().insert(NewTask::new("done").id("short").value("4"))).unwrap();
    note(&ann);
    tick();
    clock.advance(Duration::from_millis(150));
    let taken = contents(&ann).taken;
    assert!(
        !taken.contains(&TaskId::new("once", 0)) && taken.contains(&TaskId::new("once more", 0))
    );
    // A release, by a renewal for no time.
    ann.renew([task("full").handle()], [], Duration::ZERO).unwrap();
    note(&ann);
    tick();
    let last = Modification::new()
        .delete(&task("short"))
        .change(task("next").change().queue("done"))
        .change(task("later").change().at_ms(now_ms + 90_000).attempt(3).err("late"))
        .change_doc(bob.fetch_docs("élan", ["d1"]).unwrap()[0].change().content("\"é\"").release());
    ann.modify(last).unwrap();
    note(&ann);
}

/// Inserts and deletes a task with much data until a snapshot was taken, and waits until it is finished.
fn churn_until_snapshot(store: &TaskStore, directory: &Path) {
    let value = format!("{:?}", "y".repeat(100_000));
    let before = newest(directory, ".snapshot");
    let began = Instant::now();
    loop {
        let task = store.insert("bulk", &value).unwrap();
        store.modify(Modification::new().delete(&task)).unwrap();
        let is_finished = newest(directory, ".tmp").is_none() && files(directory).len() == 2;
        if is_finished && newest(directory, ".snapshot") != before {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no snapshot: {:?}", files(directory));
    }
}

#[test]
fn every_field_comes_back() {
    for snapshots in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(START_US));
        let client = open(directory.path(), &clock).unwrap();
        let mut noted = 0;
        steps(&client, &clock, &mut |store| {
            noted += 1;
            // Now and then what came before is in a snapshot, and what comes after is in the log.
            if snapshots && noted % 4 == 1 {
                churn_until_snapshot(store, directory.path());
            }
            let before = contents(store);
            let copy = killed(directory.path());
            let again = open(copy.path(), &clock).unwrap();
            assert_eq!(contents(&again.tasks("shop")), before, "killed after step {noted}");
            again.close().unwrap();
            let again = open(copy.path(), &clock).unwrap();
            assert_eq!(contents(&again.tasks("shop")), before, "closed after step {noted}");
        });
        assert_eq!(newest(directory.path(), ".snapshot").is_some(), snapshots);
        assert!(noted > 10);
    }
}

#[test]
fn a_log_that_ends_at_any_byte_holds_whole_steps() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_US));
    let client = open(directory.path(), &clock).unwrap();
    let log = newest(directory.path(), ".log").unwrap();
    let mut states = vec![(fs::read(&log).unwrap().len(), contents(&client.tasks("shop")))];
    steps(&client, &clock, &mut |store| {
        // What it says may have been recorded as well: that something has expired.
        let found = contents(store);
        states.push((fs::read(&log).unwrap().len(), found));
    });
    let bytes = fs::read(&log).unwrap();
    // The last steps at every byte, those before where they begin and end.
    let tail = states[states.len() - 5].0;
    let borders = states.iter().flat_map(|(end, _)| [*end, end + 1, end.saturating_sub(1)]);
    let first = states[0].0;
    let mut ends: Vec<_> = borders.filter(|end| (first..=bytes.len()).contains(end)).collect();
    ends.extend(tail..=bytes.len());
    let place = tempfile::tempdir().unwrap();
    for end in ends {
        let torn = place.path().join(end.to_string());
        fs::create_dir_all(&torn).unwrap();
        fs::write(torn.join(log.file_name().unwrap()), &bytes[..end]).unwrap();
        let (_, expected) = states.iter().rev().find(|(whole, _)| *whole <= end).unwrap();
        let again = open(&torn, &clock).unwrap();
        let found = contents(&again.tasks("shop"));
        // What has expired by now was there then.
        let is_left = |task: &&Task| {
            task.expires_ms.is_none_or(|ms| ms > again.tasks("shop").time().unwrap())
        };
        let left: Vec<_> = expected.tasks.iter().filter(is_left).collect();
        assert_eq!(found.tasks.iter().collect::<Vec<_>>(), left, "cut at byte {end}");
        assert_eq!(found.docs, expected.docs, "cut at byte {end}");
        // By a task then, and by one that has expired now.
        let is_taken = |of: &Contents| of.taken.contains(&TaskId::new("once more", 0));
        assert_eq!(is_taken(&found), is_taken(expected), "cut at byte {end}");
        drop(again);
        fs::remove_dir_all(&torn).unwrap();
    }
}

#[test]
fn a_killed_process_and_a_killed_server_have_what_they_acknowledged_and_nothing_by_half() {
    let chaos = env!("CARGO_BIN_EXE_millpond-chaos");
    let output = Command::new(chaos).args(["tasks", "--kills", "18"]).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Unoptimised it takes ten times as long.
const MANY: usize = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// Much more than it takes; a minute or more is a walk that grows with the square.
const RECOVERY_MAX: Duration = Duration::from_secs(60);

/// The processor time of this thread, in steps of 10 ms: others may want the machine as well.
fn thread_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

#[test]
fn many_tasks_are_back_soon() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_US));
    let client = open(directory.path(), &clock).unwrap();
    let store = client.tasks("shop").claimant("ann");
    for batch in 0..MANY / 1_000 {
        let mut of = Modification::new();
        for number in 0..1_000 {
            let queue = QUEUES[number % QUEUES.len()];
            let task = NewTask::new(queue)
                .id(format!("{batch}-{number}"))
                .value(r#"{"order": 7, "of": "ann"}"#);
            of = of.insert(task.at_ms(1 + number as u64));
        }
        store.modify(of).unwrap();
    }
    let leased = store.claim_many(QUEUES, LEASE, 1_000).unwrap();
    let copy = killed(directory.path());
    drop((store, client));
    for (place, how) in [(copy.path(), "a kill"), (directory.path(), "a close")] {
        let (began, before) = (Instant::now(), thread_time());
        let client = open(place, &clock).unwrap();
        let (elapsed, took) = (began.elapsed(), thread_time() - before);
        let bytes: u64 =
            files(place).iter().map(|f| fs::metadata(place.join(f)).unwrap().len()).sum();
        println!("{MANY} tasks after {how}: {took:?} of work in {elapsed:?}, {bytes} bytes");
        let store = client.tasks("shop");
        let stats = store.queue_stats(Filter::new()).unwrap();
        assert_eq!(stats.iter().map(|stats| stats.size).sum::<u64>(), MANY as u64);
        assert_eq!(stats.iter().map(|stats| stats.claimed).sum::<u64>(), leased.len() as u64);
        assert!(took < RECOVERY_MAX, "{MANY} tasks took {took:?}");
    }
}

/// Claims, renewals, moves, deletes and inserts, while the number of tasks stays the same.
///
/// A snapshot is written beside the steps, and how long that takes is the disk's: the large steps wait
/// for one that is due, so that what is measured is the journal's.
#[test]
fn the_log_stays_within_three_times_the_live_data() {
    const TASKS: usize = 10_000;
    const VALUE_BYTES: usize = 900;
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_US));
    let client = open(directory.path(), &clock).unwrap();
    let store = client.tasks("shop").claimant("ann");
    let value = format!("{:?}", "z".repeat(VALUE_BYTES));
    let new = |id: usize| {
        NewTask::new(QUEUES[id % 4]).id(format!("t{id}")).value(&value).at_ms(id as u64)
    };
    for first in (0..TASKS).step_by(1_000) {
        let of = (first..first + 1_000).fold(Modification::new(), |of, id| of.insert(new(id)));
        store.modify(of).unwrap();
    }
    let size = || -> u64 {
        let names = files(directory.path()).into_iter();
        // It may be removed in between.
        names.filter_map(|name| Some(fs::metadata(directory.path().join(name)).ok()?.len())).sum()
    };
    let values = (TASKS * VALUE_BYTES) as u64;
    let (mut most, mut most_of_all, mut written, mut next) = (0, 0, 0_u64, TASKS);
    let mut numbers = std::collections::BTreeSet::new();
    while written < 12 * values {
        let claimed = store.claim_many(QUEUES, LEASE, 50).unwrap();
        store.renew(claimed.iter().map(Task::handle), [], LEASE).unwrap();
        let mut of = Modification::new();
        for (number, task) in claimed.iter().enumerate() {
            let held = Task { version: task.version + 1, ..task.clone() };
            of = match number % 2 {
                0 => of.delete(&held),
                _ => of
                    .change(held.change().queue(QUEUES[next % 4]).value(&value).at_ms(next as u64)),
            };
            if number % 2 == 0 {
                of = of.insert(new(next));
            }
            next += 1;
        }
        store.modify(of).unwrap();
        written += (claimed.len() * (VALUE_BYTES + 100)) as u64;
        most = most.max(
            newest(directory.path(), ".log").map_or(0, |log| fs::metadata(log).unwrap().len()),
        );
        most_of_all = most_of_all.max(size());
        let log = newest(directory.path(), ".log");
        if log.as_ref().is_some_and(|log| fs::metadata(log).unwrap().len() > values * 4 / 3) {
            let began = Instant::now();
            while newest(directory.path(), ".log") == log {
                assert!(began.elapsed() < SNAPSHOT_MAX, "no snapshot after {SNAPSHOT_MAX:?}");
                // A step begins the one that is due, if the one before was still under way.
                store.modify(Modification::new().insert(NewTask::new("tick").id("tick"))).unwrap();
                let tick = store.list("tick", TaskQuery::new()).unwrap();
                store.modify(Modification::new().delete(&tick.tasks[0])).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        numbers.insert(log);
    }
    let stats = store.queue_stats(Filter::new()).unwrap();
    assert_eq!(stats.iter().map(|stats| stats.size).sum::<u64>(), TASKS as u64);
    // What has to be there is what a snapshot holds.
    let snapshot = newest(directory.path(), ".snapshot").unwrap();
    let live = fs::metadata(snapshot).unwrap().len();
    println!(
        "live data {live} bytes; the log at most {most}, all files at most {most_of_all}; {} snapshots",
        numbers.len() - 1
    );
    assert!(numbers.len() > 5, "{numbers:?}");
    assert!(most < 3 * live, "the log had {most} bytes, and {live} are live");
    assert!(most_of_all < 5 * live, "the files had {most_of_all} bytes, and {live} are live");
}

/// A position in a list holds over a restart, as the order does.
#[test]
fn pages_go_on_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(START_US));
    let client = open(directory.path(), &clock).unwrap();
    let of = (0..25).fold(Modification::new(), |of, number| {
        of.insert(
            NewTask::new("inbox")
                .id(format!("t{number:02}"))
                .at_ms(number / 3)
                .priority(number as u8 % 3),
        )
    });
    client.tasks("shop").modify(of).unwrap();
    let first = client.tasks("shop").list("inbox", TaskQuery::new().limit(10)).unwrap();
    drop(client);
    let client = open(directory.path(), &clock).unwrap();
    let after: Position = first.next.unwrap();
    let rest = client.tasks("shop").list("inbox", TaskQuery::new().after(after)).unwrap();
    let ids: Vec<_> =
        first.tasks.iter().chain(&rest.tasks).map(|task| task.id.to_string()).collect();
    assert_eq!(ids, (0..25).map(|number| format!("t{number:02}")).collect::<Vec<_>>());
}
