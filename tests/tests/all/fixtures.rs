//! Data that earlier versions wrote still loads. A release adds a folder to `fixtures/` by
//! `MILLPOND_WRITE_FIXTURE=tests/fixtures/file-<version> cargo test -p millpond-tests --test all fixtures`,
//! and never touches an old one; with `tasks-<version>` in place of `file-<version>` it writes those of task stores.

#[path = "fixtures/tasks.rs"]
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use millpond::ick::Set;
use millpond::{ManualClock, Options};

/// Makes one of everything that a journal can hold.
fn write(directory: &Path) -> Result<(), millpond::Error> {
    let clock = Arc::new(ManualClock::at(1_763_691_473_123_456));
    let client = Options::file(directory).clock(clock).connect()?;
    let ick = client.ick("files");
    ick.add([(2.0, "b"), (1.0, "a"), (f64::INFINITY, "late"), (-0.5, "\u{e9}")])?;
    ick.add([(0.25, "b")])?;
    ick.add([(None, "now")])?;
    ick.reserve(2)?;
    ick.add([(9.0, "a"), (9.0, "b")])?;
    ick.exchange(3, ["\u{e9}"])?;
    client.ick([0xff, 0x00]).add([(5e-324, [0x00, 0xff])])?;
    client.ick("folded").add([(3.0, "x"), (4.0, "y")])?;
    client.ick("folded").reserve(2)?;
    client.ick("folded").reserve_backwash(1)?;
    client.ick("gone").add([(1.0, "a")])?;
    client.ick("gone").delete()?;
    client.ick("leased").add([(1.0, "a")])?;
    std::mem::forget(client.ick("leased").lease(Duration::from_secs(3600))?);
    client.close()
}

fn check(directory: &Path, torn_bytes: u64) -> Result<(), millpond::Error> {
    let clock = Arc::new(ManualClock::at(1_763_691_473_123_456));
    let client = Options::file(directory).clock(clock.clone()).connect()?;
    let recovery = client.recovery().expect("a directory was opened");
    assert_eq!((recovery.closed, recovery.torn_bytes), (torn_bytes == 0, torn_bytes));
    assert_eq!(recovery.suspicion.is_some(), torn_bytes > 0);
    let set = |name: &[u8], set| -> Result<Vec<(Vec<u8>, f64)>, millpond::Error> {
        let entries = client.ick(name).peek(set, 99)?;
        Ok(entries.into_iter().map(|entry| (entry.member, entry.score)).collect())
    };
    let pair = |member: &str, score: f64| (member.as_bytes().to_vec(), score);
    assert_eq!(set(b"files", Set::Producer)?, [pair("late", f64::INFINITY)]);
    assert_eq!(
        set(b"files", Set::Consumer)?,
        [pair("b", 0.25), pair("a", 1.0), pair("now", 1_763_691_473.123_456)]
    );
    assert_eq!(set(&[0xff, 0x00], Set::Producer)?, [(vec![0x00, 0xff], 5e-324)]);
    assert_eq!(set(b"folded", Set::Producer)?, [pair("y", 4.0)]);
    assert_eq!(set(b"folded", Set::Consumer)?, [pair("x", 3.0)]);
    assert_eq!(client.ick("gone").stats()?, None);
    assert!(client.ick("leased").lease(Duration::from_secs(1))?.is_none());
    clock.advance(Duration::from_secs(3601));
    assert!(client.ick("leased").lease(Duration::from_secs(1))?.is_some());
    client.close()?;
    // As this version left it.
    let recovery = Options::file(directory).connect()?.recovery().expect("a directory was opened");
    assert_eq!((recovery.closed, recovery.torn_bytes, recovery.suspicion), (true, 0, None));
    Ok(())
}

#[test]
fn the_data_of_every_version_loads() {
    if let Some(directory) = to_write("file-") {
        write(&directory).expect("the fixture can be written");
        std::fs::remove_file(directory.join("lock")).expect("the lock is no data");
    }
    for fixture in fixtures("file-") {
        let copy = copy_of(&fixture);
        check(copy.path(), 0).unwrap_or_else(|error| panic!("{}: {error:?}", fixture.display()));
    }
}

#[test]
fn the_task_stores_of_every_version_load() {
    if let Some(directory) = to_write("tasks-") {
        tasks::write(&directory).expect("the fixture can be written");
    }
    for fixture in fixtures("tasks-") {
        tasks::check(&fixture).unwrap_or_else(|error| panic!("{}: {error:?}", fixture.display()));
    }
}

/// The folder that a fixture is to be written to, if it is one of this kind.
fn to_write(kind: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os("MILLPOND_WRITE_FIXTURE")?);
    let name = directory.file_name()?.to_str()?;
    name.starts_with(kind)
        .then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(&directory))
}

/// The folders of this kind, of which there is one at least.
fn fixtures(kind: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"));
    let all = all.expect("there are fixtures").map(|entry| entry.expect("it can be read").path());
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(kind))
    };
    let found: Vec<_> = all.filter(is_it).collect();
    assert!(!found.is_empty(), "no fixture of {kind}");
    found
}

/// Format 1 has no state, and says that it was closed by a last frame of 44 bytes.
#[test]
fn a_torn_end_of_the_first_format_is_told() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/file-0.1");
    let copy = copy_of(&fixture);
    let log = copy.path().join("00000000000000000001.log");
    let bytes = std::fs::read(&log).expect("the log can be read");
    std::fs::write(&log, &bytes[..bytes.len() - 1]).expect("the log can be written");
    check(copy.path(), 43).expect("it opens");
}

fn copy_of(fixture: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("there is a place for files");
    for file in std::fs::read_dir(fixture).expect("a fixture is a folder") {
        let file = file.expect("the folder can be read");
        std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("it is copied");
    }
    copy
}
