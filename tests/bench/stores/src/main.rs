//! Measures Millpond's journal, fjall and redb at the work of a durable queue engine that keeps
//! its data in memory: `README.md` says how to run it.

mod damage;
mod store;

// The journal and what it uses, compiled as they are in Millpond.
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../../../../core/src/error.rs"]
mod error;
#[allow(dead_code)]
#[path = "../../../../core/src/embedded/journal/mod.rs"]
mod journal;
#[allow(dead_code)]
#[path = "../../../../core/src/recovery.rs"]
mod recovery;
#[allow(dead_code)]
#[path = "../../../../core/src/runtime/sync.rs"]
mod sync;
#[allow(dead_code)]
#[path = "../../../../core/src/options/sync_mode.rs"]
mod sync_mode;

mod options {
    pub(crate) use crate::sync_mode::SyncMode;
}

mod runtime {
    pub(crate) use crate::sync;
}

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Fjall, Ours, Redb, Store};

/// What a step writes: 60 bytes in all.
type Key = [u8; 8];
type Value = [u8; 52];
type Live = BTreeMap<Vec<u8>, Vec<u8>>;

const MEMBERS: u64 = 1_000_000;

fn main() {
    println!("| | journal | fjall | redb |");
    println!("| --- | --- | --- | --- |");
    let columns = [measure::<Ours>(), measure::<Fjall>(), measure::<Redb>()];
    for row in 0..columns[0].len() {
        let cells: Vec<_> = columns.iter().map(|column| column[row].1.as_str()).collect();
        println!("| {} | {} |", columns[0][row].0, cells.join(" | "));
    }
}

fn measure<S: Store + 'static>() -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut row = |name, cell: String| {
        eprintln!("{}: {name}: {cell}", S::NAME);
        rows.push((name, cell));
    };
    row("1 record a commit, fsync", rate(commits::<S>(1, 1, true)));
    row("1,000 records a commit, fsync", rate(commits::<S>(1, 1000, true)));
    row("1 record a commit, fsync, 16 threads", rate(commits::<S>(16, 1, true)));
    row("1 record a commit, no fsync", rate(commits::<S>(1, 1, false)));
    row("1,000 records a commit, no fsync", rate(commits::<S>(1, 1000, false)));
    let (crashed, closed, checked) = recovery::<S>();
    row("load 1,000,000 members after a crash", format!("{:.2} s", crashed.as_secs_f64()));
    row("load 1,000,000 members after a close", format!("{:.2} s", closed.as_secs_f64()));
    row("full check of 1,000,000 members on demand", checked);
    let (peak, end) = churn::<S>();
    row("disk under churn, largest", format!("{peak:.1} x live"));
    row("disk under churn, at the end", format!("{end:.1} x live"));
    for (name, cell) in damage::report::<S>() {
        row(name, cell);
    }
    rows
}

fn records(from: u64, count: u64) -> Vec<(Key, Value)> {
    (from..from + count).map(|n| (n.to_be_bytes(), value(n))).collect()
}

/// Bytes that do not compress, as a payload may be.
fn value(n: u64) -> Value {
    let mut state = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
}

/// Records per second: the best of three tries of about a second each.
fn commits<S: Store + 'static>(threads: u64, batch: u64, sync: bool) -> f64 {
    let attempt = |_| {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(S::open(dir.path()).expect("an empty directory"));
        let started = Instant::now();
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let store = Arc::clone(&store);
                std::thread::spawn(move || {
                    let mut done = 0;
                    while started.elapsed() < Duration::from_secs(1) {
                        store.commit(&records((thread << 32) + done, batch), &[], sync);
                        done += batch;
                    }
                    done
                })
            })
            .collect();
        let done: u64 = workers.into_iter().map(|worker| worker.join().expect("a count")).sum();
        done as f64 / started.elapsed().as_secs_f64()
    };
    (0..3).map(attempt).fold(0.0, f64::max)
}

fn rate(per_second: f64) -> String {
    if per_second < 100_000.0 {
        format!("{:.1} k/s", per_second / 1e3)
    } else {
        format!("{:.2} M/s", per_second / 1e6)
    }
}

/// How long it takes to have a million members in memory again, after a kill and after a close.
fn recovery<S: Store>() -> (Duration, Duration, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = S::open(dir.path()).expect("an empty directory");
    for from in (0..MEMBERS).step_by(1000) {
        store.commit(&records(from, 1000), &[], from + 1000 == MEMBERS);
    }
    let image = crash(dir.path());
    drop(store);
    let load = |dir: &Path| {
        let started = Instant::now();
        let store = S::open(dir).expect("a sound store");
        let live = store.load().expect("a sound store");
        let took = started.elapsed();
        assert_eq!(live.len() as u64, MEMBERS);
        took
    };
    let times = (load(image.path()), load(dir.path()));
    let store = S::open(dir.path()).expect("a sound store");
    let started = Instant::now();
    let checked = match store.check() {
        Some(sound) => {
            let took = started.elapsed();
            assert!(sound, "{}: the check did not pass, so its time means nothing", S::NAME);
            format!("{:.2} s", took.as_secs_f64())
        }
        None => "none".to_owned(),
    };
    (times.0, times.1, checked)
}

/// A queue of 500,000 members through which five million pass: bytes on disk for each live one.
fn churn<S: Store>() -> (f64, f64) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = S::open_small(dir.path()).expect("an empty directory");
    let (live, passing, step) = (500_000_u64, 5_000_000_u64, 100_u64);
    let mut peak = 0;
    for from in (0..passing).step_by(step as usize) {
        let gone = from.saturating_sub(live)..(from + step).saturating_sub(live);
        let gone: Vec<_> = gone.map(u64::to_be_bytes).collect();
        store.commit(&records(from, step), &gone, from % 10_000 == 0);
        if from % 10_000 == 0 {
            peak = peak.max(disk(dir.path()));
        }
    }
    let end = disk(dir.path());
    let bytes = (live * 60) as f64;
    (peak.max(end).max(store.peak()) as f64 / bytes, end as f64 / bytes)
}

/// Bytes that the files take, without the holes in them.
fn disk(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    files(dir).iter().filter_map(|path| fs::metadata(path).ok()).map(|m| m.blocks() * 512).sum()
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").filter_map(std::result::Result::ok) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// The files as a process that is killed now would leave them.
fn crash(dir: &Path) -> tempfile::TempDir {
    let image = tempfile::tempdir().expect("a directory");
    for path in files(dir) {
        let to = image.path().join(path.strip_prefix(dir).expect("a file below it"));
        fs::create_dir_all(to.parent().expect("a file has a parent")).expect("a directory");
        fs::copy(path, to).expect("a copy");
    }
    image
}
