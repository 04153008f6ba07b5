//! What takes a second process: the lock, a kill and a disk that refuses. The child is this test
//! binary, run again with the child's name and directory in the environment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

const ROLE: &str = "MILLPOND_JOURNAL_TEST_ROLE";
const DIR: &str = "MILLPOND_JOURNAL_TEST_DIR";

fn start(role: &str, dir: &Path, through: &[&str]) -> Child {
    let test = module_path!().split_once("::").unwrap().1.to_owned() + "::child";
    let binary = std::env::current_exe().unwrap();
    let mut command = match through.split_first() {
        Some((shell, arguments)) => {
            let mut command = Command::new(shell);
            command.args(arguments).arg(binary);
            command
        }
        None => Command::new(binary),
    };
    command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIR, dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// The lines that the child says, without those of the test harness.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output = BufReader::new(child.stdout.take().unwrap());
    output
        .lines()
        .map_while(std::result::Result::ok)
        .filter_map(|line| line.split_once("say ").map(|(_, said)| said.to_owned()))
}

fn say(line: impl std::fmt::Display) {
    // One write, so that a kill never leaves half a line.
    std::io::stdout().write_all(format!("say {line}\n").as_bytes()).unwrap();
}

/// Does nothing in a usual run of the tests.
#[test]
fn child() {
    let (Ok(role), Some(dir)) = (std::env::var(ROLE), std::env::var_os(DIR)) else { return };
    let dir = PathBuf::from(dir);
    match role.as_str() {
        "hold" => {
            let (_journal, _, _) = open(&dir).unwrap();
            say("held");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "write" => write_for_ever(&dir, SyncMode::Always),
        "write unsynced" => write_for_ever(&dir, SyncMode::Never),
        "fill" => fill(&dir),
        "stuck" => fill_and_get_stuck(&dir),
        "descriptors" => run_out_of_descriptors(&dir),
        role => panic!("no such role: {role}"),
    }
}

#[test]
fn a_second_open_is_refused_here_and_in_another_process() {
    let dir = tempfile::tempdir().unwrap();
    let held = |pid: u32| {
        let error = open_error(dir.path());
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.message().contains(&dir.path().display().to_string()), "{error}");
        assert!(error.message().contains(&pid.to_string()), "{error}");
    };
    let (journal, _, _) = open(dir.path()).unwrap();
    held(std::process::id());
    journal.close().unwrap();

    let mut child = start("hold", dir.path(), &[]);
    assert_eq!(lines(&mut child).next().unwrap(), "held");
    held(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    open(dir.path()).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn removing_or_writing_the_lock_file_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let mut child = start("hold", dir.path(), &[]);
    assert_eq!(lines(&mut child).next().unwrap(), "held");
    let held = || {
        let error = open_error(dir.path());
        assert_eq!(error.kind(), ErrorKind::Locked);
        let named = format!("is held by process {};", child.id());
        assert!(error.message().contains(&named), "{error}");
        assert!(error.message().contains("Use redis: to share queues"), "{error}");
    };
    // A process id that an earlier holder could have left, and one that is nobody's.
    for text in ["1\n", "4000000000\n"] {
        fs::write(&lock, text).unwrap();
        held();
    }
    fs::remove_file(&lock).unwrap();
    held();
    fs::write(&lock, "").unwrap();
    held();
    child.kill().unwrap();
    child.wait().unwrap();
    open(dir.path()).unwrap();
}

#[cfg(unix)]
#[test]
fn a_fork_elsewhere_in_the_process_does_not_keep_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Between fork and exec each child holds a copy of every open file.
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(Command::new("true").status().unwrap().success());
            }
        });
        let refuse = |_: Source, _: &[u8]| Err(crate::Error::new(ErrorKind::Internal, "refused"));
        let outcome = std::panic::catch_unwind(|| {
            for _ in 0..300 {
                // One that closes, and one that fails to open.
                put(&open_with(dir.path(), options(SyncMode::Never)).unwrap().0, "record");
                let opened = Journal::open(dir.path(), Options::default(), &mut refuse.clone());
                assert_eq!(opened.err().unwrap().kind(), ErrorKind::Internal);
            }
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        outcome.unwrap();
    });
}

/// Four threads write and say each record once it is acknowledged, with snapshots in between
/// that hold all sequences so far.
fn write_for_ever(dir: &Path, sync: SyncMode) {
    let options = Options { log_bytes_min: 20_000, ..options(sync) };
    let (journal, _, records) = open_with(dir, options).unwrap();
    let live = std::sync::Mutex::new(sequences(&records));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let ticket = {
                        let mut live = live.lock().unwrap();
                        let ticket = journal.append(&[9; 50]);
                        live.insert(ticket.sequence());
                        ticket
                    };
                    journal.wait(ticket).unwrap();
                    say(ticket.sequence());
                    if journal.wants_snapshot() {
                        journal
                            .snapshot(&mut |out| {
                                let copy = live.lock().unwrap().clone();
                                copy.iter().try_for_each(|n| out.record(&n.to_le_bytes()))
                            })
                            .unwrap();
                    }
                }
            });
        }
    });
}

fn sequences(records: &Records) -> std::collections::BTreeSet<u64> {
    let sequence = |(source, record): &(Source, Vec<u8>)| match source {
        Source::Log(sequence) => *sequence,
        Source::Snapshot => u64::from_le_bytes(record[..].try_into().unwrap()),
    };
    records.iter().map(sequence).collect()
}

#[test]
fn a_kill_at_any_instant_loses_nothing_that_was_acknowledged() {
    for role in ["write", "write unsynced"] {
        let dir = tempfile::tempdir().unwrap();
        let mut acknowledged = std::collections::BTreeSet::new();
        for round in 0..12 {
            let mut child = start(role, dir.path(), &[]);
            let mut said = lines(&mut child);
            acknowledged.extend(said.by_ref().take(1 + round * 97).map(|n| number(&n)));
            child.kill().unwrap();
            acknowledged.extend(said.map(|n| number(&n)));
            child.wait().unwrap();
            let (_journal, _, records) = open(dir.path()).unwrap();
            let found = sequences(&records);
            assert!(acknowledged.is_subset(&found), "{role}: lost in round {round}");
            assert_eq!(found.len() as u64, *found.last().unwrap(), "{role}: a hole");
        }
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// Writes until the disk refuses, and on.
fn fill(dir: &Path) {
    let (journal, _, _) = open_with(dir, options(SyncMode::Never)).unwrap();
    let error = loop {
        let ticket = journal.append(&[7; 1000]);
        match journal.wait(ticket) {
            Ok(()) => say(ticket.sequence()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Storage);
    let after = journal.append(b"after");
    for error in [
        journal.wait(after).unwrap_err(),
        journal.snapshot(&mut |_| Ok(())).unwrap_err(),
        journal.close().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
    }
    say("refused");
}

#[cfg(unix)]
#[test]
fn a_disk_that_refuses_stops_the_journal_at_what_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    // A limit on the size of files, with its signal ignored, fails the write half-way: EFBIG.
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    let mut child = start("fill", dir.path(), &["sh", "-c", limited, "sh"]);
    let mut said: Vec<_> = lines(&mut child).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!(said.pop().unwrap(), "refused");
    assert!(!said.is_empty());
    let (_journal, recovery, records) = open(dir.path()).unwrap();
    assert_eq!(recovery.torn_bytes, 0, "the failed write left a part");
    assert_eq!(records, log(1, vec![[7; 1000]; said.len()]));
}

/// Sets the largest size that this process may give a file.
#[cfg(target_os = "linux")]
fn limit_files(bytes: &str) {
    let (pid, limit) = (std::process::id().to_string(), format!("--fsize={bytes}:"));
    let set = Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap();
    assert!(set.success());
}

/// Has the disk refuse the cut as well.
fn fill_and_get_stuck(dir: &Path) {
    let (journal, _, _) = open_with(dir, options(SyncMode::Never)).unwrap();
    put(&journal, "before");
    #[cfg(target_os = "linux")]
    limit_files("0");
    let refused = journal.append(b"refused");
    journal.wait(refused).unwrap_err();
    #[cfg(target_os = "linux")]
    limit_files("1000000");
    let replay = &mut |_: Source, _: &[u8]| Ok(());
    for _ in 0..2 {
        let error = journal.resume(replay).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
        assert!(error.message().ends_with("nothing is written any more"), "{error}");
    }
    say("stuck");
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_cut_back_stays_stopped_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = start("stuck", dir.path(), &["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
    assert_eq!(lines(&mut child).collect::<Vec<_>>(), ["stuck"]);
    assert!(child.wait().unwrap().success());
    assert_eq!(open(dir.path()).unwrap().2, log(1, ["before"]));
}

/// Takes a snapshot when no file can be opened, and again when one can.
fn run_out_of_descriptors(dir: &Path) {
    let options = Options { log_bytes_min: 20_000, ..options(SyncMode::Always) };
    let (journal, _, _) = open_with(dir, options).unwrap();
    let mut live = Vec::new();
    let mut grow = || {
        for _ in 0..30 {
            put(&journal, [5; 1000]);
            live.extend([5; 1000]);
        }
        live.clone()
    };
    grow();
    assert!(journal.wants_snapshot());
    let mut taken = Vec::new();
    let error = loop {
        match fs::File::open("/dev/null") {
            Ok(file) => taken.push(file),
            Err(error) => break error,
        }
    };
    let error = journal.snapshot(&mut |_| panic!("{error}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
    assert!(!journal.wants_snapshot(), "it is put off until the log has grown");
    let live = grow();
    assert!(journal.wants_snapshot());
    drop(taken);
    journal.snapshot(&mut |out| live.chunks(1000).try_for_each(|r| out.record(r))).unwrap();
    put(&journal, "after");
    say("done");
    std::process::abort();
}

#[cfg(unix)]
#[test]
fn a_rotation_without_descriptors_is_put_off() {
    let dir = tempfile::tempdir().unwrap();
    let mut child =
        start("descriptors", dir.path(), &["sh", "-c", "ulimit -n 40; exec \"$@\"", "sh"]);
    assert_eq!(lines(&mut child).collect::<Vec<_>>(), ["done"]);
    child.wait().unwrap();
    let expected = [snapshot(vec![[5; 1000]; 60]), log(61, ["after"])].concat();
    assert_eq!(open(dir.path()).unwrap().2, expected);
    assert_eq!(files(dir.path()).len(), 2);
}
