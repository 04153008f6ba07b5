//! What is left after a crash: short runs of the chaos program, and damage done on purpose.

#![allow(clippy::unwrap_used, reason = "a test has failed where what it needs is not there")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use millpond::ick::{Entry, Set};
use millpond::{Client, Error, ErrorKind, Retry};

const CHAOS: &str = env!("CARGO_BIN_EXE_millpond-chaos");

fn chaos(arguments: &[&str]) {
    let output = Command::new(CHAOS).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn a_killed_engine_has_what_it_acknowledged_and_nothing_else() {
    chaos(&["file", "--kills", "25"]);
}

#[test]
fn a_killed_redis_and_killed_producers_lose_nothing_and_repeat_nothing() {
    chaos(&["redis", "--kills", "5"]);
}

#[test]
fn a_consumer_that_stood_still_for_longer_than_its_lease_commits_nothing() {
    chaos(&["fold"]);
}

#[test]
fn killed_producers_consumers_servers_and_engines_lose_no_event_and_repeat_none_that_ended() {
    chaos(&["events", "--kills", "8"]);
}

#[test]
fn killed_and_stopped_holders_of_locks_servers_and_engines_leave_one_holder_at_a_time() {
    chaos(&["volatile", "--kills", "8"]);
}

#[test]
fn a_fleet_that_is_killed_keeps_within_its_rate() {
    chaos(&["recruiter", "--kills", "4"]);
}

fn url(directory: &Path) -> String {
    format!("file:{}", directory.display())
}

/// What a directory holds, by Ick and set; `None` for an Ick that is not there.
type Contents = Vec<Option<[Vec<Entry>; 2]>>;

const ICKS: [&str; 2] = ["files", "other"];

fn contents(client: &Client) -> Result<Contents, Error> {
    let of = |name: &str| {
        let ick = client.ick(name);
        let Some(stats) = ick.stats()? else { return Ok(None) };
        let sets = [ick.peek(Set::Producer, 1_000)?, ick.peek(Set::Consumer, 1_000)?];
        let counted = [stats.producer_size as usize, stats.consumer_size as usize];
        assert_eq!(counted, [sets[0].len(), sets[1].len()], "counters equal contents");
        Ok(Some(sets))
    };
    ICKS.into_iter().map(of).collect()
}

/// A log of a few steps as a kill leaves it, and what the Icks held after each step, with the
/// log's length then.
struct Recorded {
    log: Vec<u8>,
    name: PathBuf,
    states: Vec<(usize, Contents)>,
}

/// Every kind of step there is, each acknowledged before the next.
fn record() -> Recorded {
    let directory = tempfile::tempdir().unwrap();
    let client = millpond::connect(&url(directory.path())).unwrap();
    let log = log_of(directory.path());
    let mut states = Vec::new();
    let mut note = || {
        let bytes = fs::read(&log).unwrap();
        let written = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        states.push((written, contents(&client).unwrap()));
    };
    let [files, other] = ICKS.map(|name| client.ick(name));
    note();
    files.add([(2.0, "b"), (1.0, "a"), (3.0, "c")]).unwrap();
    note();
    files.reserve(2).unwrap();
    note();
    other.add([(7.0, "x")]).unwrap();
    note();
    files.add([(0.5, "a"), (0.5, "c")]).unwrap();
    note();
    files.commit(["a"]).unwrap();
    note();
    files.exchange_backwash(1, ["b"]).unwrap();
    note();
    other.delete().unwrap();
    note();
    other.add([(8.0, "y")]).unwrap();
    note();
    let log_bytes = fs::read(&log).unwrap();
    let name = log.file_name().unwrap().into();
    Recorded { log: log_bytes, name, states }
}

fn log_of(directory: &Path) -> PathBuf {
    let logs = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let mut logs: Vec<_> =
        logs.filter(|path| path.extension().is_some_and(|ending| ending == "log")).collect();
    logs.sort();
    logs.pop().unwrap()
}

impl Recorded {
    /// Opens a directory with these bytes for a log.
    fn open(&self, log: &[u8]) -> Result<Contents, Error> {
        self.open_with(log, "")
    }

    fn open_with(&self, log: &[u8], options: &str) -> Result<Contents, Error> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(&self.name), log).unwrap();
        let client = millpond::connect(&(url(directory.path()) + options))?;
        let found = contents(&client)?;
        drop(client);
        // What was found once stays: recovery has written it to disk.
        assert_eq!(contents(&millpond::connect(&url(directory.path()))?)?, found);
        Ok(found)
    }

    /// The state after the last step that a log of this length holds completely.
    fn state_at(&self, bytes: usize) -> &Contents {
        &self.states.iter().rev().find(|(end, _)| *end <= bytes).unwrap().1
    }

    /// Where the last three steps begin.
    fn tail(&self) -> usize {
        self.states[self.states.len() - 4].0
    }

    fn end(&self) -> usize {
        self.states[self.states.len() - 1].0
    }
}

#[test]
fn a_log_that_ends_at_any_byte_is_reported_and_opens_with_repair_to_the_steps_before_it() {
    let recorded = record();
    for end in recorded.tail()..=recorded.end() {
        let error = recorded.open(&recorded.log[..end]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "cut at byte {end}: {error}");
        assert!(error.to_string().contains(&format!("at byte {end}:")), "{error}");
        let found = recorded.open_with(&recorded.log[..end], "?repair").unwrap();
        assert_eq!(found, *recorded.state_at(end), "cut at byte {end}");
        // A write that was torn in a file that had grown ahead of it.
        let mut zeroed = recorded.log.clone();
        zeroed[end..].fill(0);
        let found = recorded.open(&zeroed).unwrap();
        // The last byte of a step may have been a zero anyway.
        let whole = recorded.log[end..].iter().take_while(|byte| **byte == 0).count();
        assert_eq!(found, *recorded.state_at(end + whole), "zeros from byte {end}");
    }
}

#[test]
fn a_wrong_byte_anywhere_in_the_last_steps_is_reported_or_costs_the_last_step_alone() {
    let recorded = record();
    let (last, state) = &recorded.states[recorded.states.len() - 2];
    for at in recorded.tail()..recorded.end() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = recorded.log.clone();
            damaged[at] ^= flip;
            match recorded.open(&damaged) {
                // Nothing behind it proves that the last write was ever whole.
                Ok(found) if at >= *last => assert_eq!(found, *state, "byte {at} ^ {flip:#x}"),
                Ok(found) => panic!("byte {at} ^ {flip:#x} went unnoticed: {found:?}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}"),
            }
        }
    }
}

#[test]
fn damage_in_the_middle_names_the_file_and_the_place_and_changes_nothing() {
    let recorded = record();
    let (begin, _) = recorded.states[1];
    let (end, _) = recorded.states[2];
    for at in begin..end {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(&recorded.name);
        let mut damaged = recorded.log.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        let error = millpond::connect(&url(directory.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()), "{text}");
        assert!(text.contains(&format!("byte {begin}")), "{text}");
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
}

/// A directory as a process leaves it that closed it, or was killed, after 300 acknowledged steps.
fn written(sync: &str, closed: bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let client = millpond::connect(&format!("{}?sync={sync}", url(directory.path()))).unwrap();
    let ick = client.ick("files");
    for step in 0..300 {
        ick.add([(f64::from(step), format!("member {step}"))]).unwrap();
    }
    match closed {
        true => client.close().unwrap(),
        false => std::mem::forget(client),
    }
    directory
}

/// The attack that found 268 of 268 cuts unnoticed: cuts the log at random, and opens it.
#[test]
fn a_random_cut_of_the_log_is_reported() {
    let mut random = 11_u64;
    for (sync, closed) in [("always", false), ("always", true), ("never", true), ("never", false)] {
        let directory = written(sync, closed);
        let log = log_of(directory.path());
        let bytes = fs::read(&log).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        let mut told = [0; 3];
        for _ in 0..67 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let copy = tempfile::tempdir().unwrap();
            let cut = (random >> 33) as usize % end;
            fs::write(copy.path().join(log.file_name().unwrap()), &bytes[..cut]).unwrap();
            match millpond::connect(&url(copy.path())) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                    told[0] += 1;
                }
                Ok(client) => {
                    let recovery = client.recovery().unwrap();
                    assert!(!recovery.closed);
                    assert_eq!(recovery.suspicion.is_some(), recovery.torn_bytes > 0);
                    told[if recovery.torn_bytes > 0 { 1 } else { 2 }] += 1;
                }
            }
        }
        match (sync, closed) {
            // What was never on disk may be cut off by a crash, and between two records it leaves
            // no trace: that is documented. Each record takes some 70 bytes.
            ("never", false) => assert!(told[1] >= 50 && told[2] <= 5, "{told:?}"),
            _ => assert_eq!(told, [67, 0, 0], "sync={sync}, closed: {closed}"),
        }
    }
}

#[test]
fn what_opening_found_is_returned_and_warned_of() {
    use std::sync::{Arc, Mutex};
    let killed = written("never", false);
    let bytes = fs::read(log_of(killed.path())).unwrap();
    let directory = killed.path().join("copy");
    let connect = || {
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let kept = warnings.clone();
        let options = millpond::Options::file(&directory)
            .on_warning(move |text| kept.lock().unwrap().push(text.to_owned()));
        let client = options.connect().unwrap();
        let warnings = warnings.lock().unwrap().clone();
        (client.recovery().unwrap(), warnings)
    };
    let (found, warnings) = connect();
    assert_eq!((found.records, found.torn_bytes, found.closed), (0, 0, true));
    assert_eq!((found.suspicion, warnings), (None, vec![]));

    let log = log_of(&directory);
    fs::write(&log, &bytes[..bytes.len() - 5]).unwrap();
    let (found, warnings) = connect();
    assert_eq!((found.records, found.snapshot_bytes, found.closed), (299, 0, false));
    assert!(found.torn_bytes > 40 && found.log_bytes > 10_000, "{found:?}");
    let suspicion = found.suspicion.unwrap();
    assert!(suspicion.contains(&format!("{} bytes behind", found.torn_bytes)), "{suspicion}");
    assert!(suspicion.contains(&log.display().to_string()), "{suspicion}");
    assert_eq!(warnings, [suspicion]);

    // It was cut off, and the client closed.
    let (found, warnings) = connect();
    assert_eq!((found.records, found.torn_bytes, found.closed), (299, 0, true));
    assert_eq!((found.suspicion, warnings), (None, vec![]));
    assert_eq!(millpond::connect("memory:").unwrap().recovery(), None);
}

/// A child of the chaos program, which is killed with its value.
struct Helper(Child);

impl Helper {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn lines(&mut self) -> impl Iterator<Item = String> + use<> {
        BufReader::new(self.0.stdout.take().unwrap()).lines().map(Result::unwrap)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Both fail only for a child that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_second_process_gets_the_holder_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(directory.path());
    let mut holder = Helper::start(CHAOS, &["hold", &url]);
    assert_eq!(holder.lines().next().as_deref(), Some("ready"));
    let error = millpond::connect(&url).unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Locked, Retry::Later));
    assert!(error.to_string().contains(&format!("process {};", holder.0.id())), "{error}");
    assert!(error.to_string().contains("Use redis: to share queues"), "{error}");
    drop(holder);
    millpond::connect(&url).unwrap();
}

#[test]
fn a_disk_that_refuses_a_write_ends_the_engine_and_keeps_what_was_acknowledged() {
    for sync in ["always", "100ms", "never"] {
        let directory = tempfile::tempdir().unwrap();
        let url = url(directory.path());
        // A limit on the size of files, with its signal ignored, fails a write: EFBIG. With
        // sync=always the file grows by a megabyte at a time, so the limit is more than one.
        let limited = "trap '' XFSZ; ulimit -f 3000; exec \"$@\"";
        let filled = format!("{url}?sync={sync}");
        let mut child = Helper::start("sh", &["-c", limited, "sh", CHAOS, "fill", &filled]);
        let (mut begun, mut acknowledged) = (0, 0);
        let mut after = Vec::new();
        for line in child.lines() {
            match line.split_once(' ').unwrap() {
                ("i", number) => begun = number.parse::<u64>().unwrap() + 1,
                ("a", number) => acknowledged = number.parse::<u64>().unwrap() + 1,
                ("error", error) => assert!(error.starts_with("STORAGE "), "{error}"),
                ("after", kind) => after.push(kind.to_owned()),
                other => panic!("{other:?}"),
            }
        }
        assert!(child.0.wait().unwrap().success());
        assert_eq!(after, ["STORAGE"; 4], "sync={sync}");
        assert!(acknowledged > 100 && begun == acknowledged + 1, "{acknowledged} of {begun}");
        let ick = millpond::connect(&url).unwrap().ick("filled");
        let found = ick.peek(Set::Producer, 1_000_000).unwrap().into_iter();
        let mut numbers: Vec<u64> = found
            .map(|entry| {
                let member = String::from_utf8(entry.member).unwrap();
                member.split_once('-').unwrap().0.parse().unwrap()
            })
            .collect();
        numbers.sort_unstable();
        let kept = numbers.len() as u64;
        assert!(numbers.into_iter().eq(0..kept), "sync={sync}: a hole");
        assert!(kept == acknowledged || kept == begun, "sync={sync}: {kept} of {acknowledged}");
    }
}
