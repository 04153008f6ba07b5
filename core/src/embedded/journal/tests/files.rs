//! What else can be in the directory, and who may see it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use super::*;

const PRECIOUS: &[u8] = b"a file of somebody else";

/// Opens on a thread, as a pipe in the place of a file could hold it for ever.
fn open_in_time(dir: &Path) -> Result<()> {
    let (done, opened) = mpsc::channel();
    let dir = dir.to_owned();
    std::thread::spawn(move || done.send(open(&dir).map(drop)));
    opened.recv_timeout(Duration::from_secs(60)).expect("it opens or fails, and does not hang")
}

/// A directory with a log, and one with a snapshot too.
fn sample(with_snapshot: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    put(&journal, "a");
    if with_snapshot {
        journal.snapshot(&mut |out| out.record(b"a")).unwrap();
    }
    journal.close().unwrap();
    dir
}

fn expect_refused(result: Result<()>, path: &Path, what: &str) {
    let error: Error = result.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
    let text = error.message();
    assert!(text.contains(&path.display().to_string()) && text.contains(what), "{text}");
}

#[test]
fn a_link_or_a_pipe_in_the_place_of_a_file_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    for (with_snapshot, name) in [
        (false, "lock"),
        (false, "00000000000000000001.log"),
        (true, "00000000000000000002.log"),
        (true, "00000000000000000002.snapshot"),
    ] {
        let dir = sample(with_snapshot);
        let path = dir.path().join(name);
        // What the link leads to would do as well as the file.
        fs::rename(&path, &precious).unwrap();
        let before = fs::read(&precious).unwrap();
        symlink(&precious, &path).unwrap();
        expect_refused(open_in_time(dir.path()), &path, "a symbolic link");
        assert_eq!(fs::read(&precious).unwrap(), before, "{name}");

        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        expect_refused(open_in_time(dir.path()), &path, "no regular file");
    }
}

#[test]
fn nothing_is_written_through_a_link_to_an_unfinished_file() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    fs::write(&precious, PRECIOUS).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let trap = |name: &str| symlink(&precious, dir.path().join(name)).unwrap();
    trap("00000000000000000001.log.tmp");
    let (journal, _, _) = open(dir.path()).unwrap();
    put(&journal, "a");
    trap("00000000000000000002.log.tmp");
    trap("00000000000000000002.snapshot.tmp");
    journal.snapshot(&mut |out| out.record(b"a")).unwrap();
    put(&journal, "b");
    drop(journal);
    trap("00000000000000000009.log.tmp");
    assert_eq!(open(dir.path()).unwrap().2, [snapshot(["a"]), log(2, ["b"])].concat());
    assert_eq!(fs::read(&precious).unwrap(), PRECIOUS);
    assert_eq!(files(dir.path()).len(), 2);
}

#[test]
fn nothing_is_written_to_a_lock_that_is_another_name_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, PRECIOUS).unwrap();
    let queues = dir.path().join("queues");
    fs::create_dir(&queues).unwrap();
    fs::hard_link(&precious, queues.join("lock")).unwrap();
    drop(open(&queues).unwrap());
    assert_eq!(fs::read(&precious).unwrap(), PRECIOUS);
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_created_is_for_its_owner_alone() {
    let outside = tempfile::tempdir().unwrap();
    let dir = outside.path().join("new").join("queues");
    let (journal, recovery, _) = open(&dir).unwrap();
    assert_eq!(recovery.warnings, [""; 0]);
    put(&journal, "a");
    journal.snapshot(&mut |out| out.record(b"a")).unwrap();
    for directory in [&dir, dir.parent().unwrap()] {
        assert_eq!(mode(directory), 0o700, "{}", directory.display());
    }
    let mut names: Vec<_> = fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "a log, a snapshot and the lock: {names:?}");
    for name in names {
        assert_eq!(mode(&name), 0o600, "{}", name.display());
    }
}

#[test]
fn a_directory_that_others_can_enter_is_warned_about() {
    let dir = sample(false);
    for (rights, warned) in [(0o700, false), (0o750, true), (0o701, true), (0o777, true)] {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(rights)).unwrap();
        let (_journal, recovery, _) = open(dir.path()).unwrap();
        assert_eq!(recovery.warnings.len(), usize::from(warned), "{rights:o}");
        assert_eq!(recovery.suspicion, None, "it says nothing about the data");
        for warning in recovery.warnings {
            let shown = dir.path().display();
            assert!(warning.contains(&format!("{shown} (mode {rights:04o})")), "{warning}");
            assert!(warning.contains(&format!("chmod 700 {shown}")), "{warning}");
        }
    }
}
