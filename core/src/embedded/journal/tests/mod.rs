mod concurrency;
mod damage;
#[cfg(unix)]
mod files;
mod process;
mod snapshots;

use std::fs;
use std::path::{Path, PathBuf};

use super::{Journal, Options, Source, SyncMode};
use crate::error::{Error, ErrorKind, Result};
use crate::recovery::Recovery;

pub(super) type Records = Vec<(Source, Vec<u8>)>;

fn options(sync: SyncMode) -> Options {
    Options { sync, ..Options::default() }
}

fn open(dir: &Path) -> Result<(Journal, Recovery, Records)> {
    open_with(dir, Options::default())
}

fn open_with(dir: &Path, options: Options) -> Result<(Journal, Recovery, Records)> {
    let mut records = Vec::new();
    let (journal, recovery) = Journal::open(dir, options, &mut |source, record| {
        records.push((source, record.to_vec()));
        Ok(())
    })?;
    assert_eq!(recovery.records, records.len() as u64);
    Ok((journal, recovery, records))
}

/// Appends a record and waits for it.
fn put(journal: &Journal, record: impl AsRef<[u8]>) -> u64 {
    let ticket = journal.append(record.as_ref());
    journal.wait(ticket).unwrap();
    ticket.sequence()
}

/// What replay gives for these records in a log that begins with this sequence.
fn log(first: u64, records: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Records {
    let numbered = (first..).zip(records);
    numbered.map(|(sequence, r)| (Source::Log(sequence), r.as_ref().to_vec())).collect()
}

fn snapshot(records: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Records {
    records.into_iter().map(|r| (Source::Snapshot, r.as_ref().to_vec())).collect()
}

/// What a process that is killed now would leave: the files as they are, without the lock.
fn crash(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files(dir) {
        fs::copy(dir.join(&file), copy.path().join(&file)).unwrap();
    }
    copy
}

/// The journal's files, sorted, without the lock.
fn files(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name != "lock");
    names.sort();
    names
}

/// Why it cannot be opened.
fn open_error(dir: &Path) -> Error {
    open(dir).map(|found| found.2).unwrap_err()
}

fn expect_damage(dir: &Path, what: &str) -> Error {
    let error = open(dir).map(|found| found.2).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
    error
}

/// The same bytes with one that differs in these bits.
fn flipped(bytes: &[u8], at: usize, bits: u8) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= bits;
    damaged
}

fn log_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(super::files::Kind::Log.name(number))
}

fn snapshot_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(super::files::Kind::Snapshot.name(number))
}

/// The log's bytes without the space that was grown ahead.
fn log_bytes(dir: &Path, number: u64) -> Vec<u8> {
    let mut bytes = fs::read(log_path(dir, number)).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes
}

#[test]
fn records_come_back_after_a_crash_and_after_a_close() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, recovery, records) = open(dir.path()).unwrap();
    assert!(records.is_empty() && recovery.torn_bytes == 0);
    assert_eq!(put(&journal, "one"), 1);
    assert_eq!(put(&journal, ""), 2);
    assert_eq!(put(&journal, vec![0; 300]), 3);
    let expected = log(1, [b"one".to_vec(), vec![], vec![0; 300]]);

    let copy = crash(dir.path());
    let (_copied, recovery, records) = open(copy.path()).unwrap();
    assert_eq!((records, recovery.torn_bytes), (expected.clone(), 0));

    for _ in 0..3 {
        journal.close().unwrap();
        let (again, recovery, records) = open(dir.path()).unwrap();
        assert_eq!((records, recovery.torn_bytes), (expected.clone(), 0));
        again.close().unwrap();
    }
    let (journal, _, _) = open(dir.path()).unwrap();
    assert_eq!(put(&journal, "four"), 4);
    drop(journal);
    let (_, _, records) = open(dir.path()).unwrap();
    assert_eq!(records.last().unwrap(), &(Source::Log(4), b"four".to_vec()));
}

#[test]
fn a_drop_writes_what_was_appended_and_not_awaited() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    journal.append(b"left");
    drop(journal);
    assert_eq!(open(dir.path()).unwrap().2, log(1, ["left"]));
}

#[test]
fn a_closed_journal_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    let before = journal.append(b"before");
    journal.close().unwrap();
    journal.close().unwrap();
    journal.wait(before).unwrap();
    let after = journal.append(b"after");
    assert_eq!(journal.wait(after).unwrap_err().kind(), ErrorKind::Closed);
    let error = journal.snapshot(&mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(!journal.wants_snapshot());
    assert_eq!(open(dir.path()).unwrap().2, log(1, ["before"]));
}

#[test]
fn large_records_and_large_batches_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    let large: Vec<u8> = (0..80_000_000_u32).map(|i| (i % 251) as u8).collect();
    for i in 0..100_000_u32 {
        journal.append(&i.to_le_bytes());
    }
    put(&journal, &large);
    put(&journal, "behind");
    let copy = crash(dir.path());
    let (_journal, recovery, records) = open(copy.path()).unwrap();
    assert_eq!(recovery.torn_bytes, 0);
    assert_eq!(records.len(), 100_002);
    for (i, (source, record)) in (0_u32..).zip(&records[..100_000]) {
        assert_eq!((*source, &record[..]), (Source::Log(u64::from(i) + 1), &i.to_le_bytes()[..]));
    }
    assert!(records[100_000].1 == large);
    assert_eq!(records[100_001].1, b"behind");
}

#[test]
fn an_error_of_the_replay_leaves_the_files_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    put(&journal, "one");
    let copy = crash(dir.path());
    let before = fs::read(log_path(copy.path(), 1)).unwrap();
    let refused = Journal::open(copy.path(), Options::default(), &mut |_, _| {
        Err(Error::new(ErrorKind::IncompatibleVersion, "a newer record"))
    });
    assert_eq!(refused.err().unwrap().message(), "a newer record");
    assert!(before == fs::read(log_path(copy.path(), 1)).unwrap());
    assert_eq!(open(copy.path()).unwrap().2, log(1, ["one"]));
}
