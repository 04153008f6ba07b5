//! What a `file:` does when its directory is moved, when the disk is full, and when the clock jumps.
//! The child is this test binary, run again with the child's name and URL in the environment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::runtime::clock::SystemClock;
use crate::tasks::{Modification, NewTask};
use crate::{Clock, Options};

/// A clock that can be set forward and does not tell of it, as the system's does not.
#[derive(Default)]
struct SetClock {
    system: SystemClock,
    ahead: AtomicU64,
}

impl Clock for SetClock {
    fn now(&self) -> u64 {
        self.system.now() + self.ahead.load(Ordering::Relaxed)
    }
}

#[test]
fn a_clock_that_is_set_forward_wakes_whoever_waits_for_a_task_of_later() {
    let clock = Arc::new(SetClock::default());
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let store = client.tasks("shop");
    let later = NewTask::new("inbox").after(Duration::from_secs(3600));
    store.modify(Modification::new().insert(later)).unwrap();
    let (begun, wait) = std::sync::mpsc::channel();
    let claiming = std::thread::spawn(move || {
        let mut claims = store.claims(["inbox"]).wait(Duration::from_secs(30));
        begun.send(()).unwrap();
        claims.next().transpose().unwrap()
    });
    wait.recv().unwrap();
    // Until it waits, there is nothing to jump over.
    std::thread::sleep(Duration::from_millis(300));
    let jumped = Instant::now();
    clock.ahead.store(3_600_000_000, Ordering::Relaxed);
    assert!(claiming.join().unwrap().is_some(), "it slept through the jump");
    assert!(jumped.elapsed() < Duration::from_secs(20));
}

/// A clock that can be set back.
struct Settable(AtomicU64);

impl Clock for Settable {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Of a clock that was a day ahead nothing is left but the times that were given out by it.
#[cfg(feature = "schedules")]
#[test]
fn delays_rates_schedules_and_expiries_follow_a_clock_that_was_ahead() {
    const SECOND: Duration = Duration::from_secs(1);
    const BEGAN: u64 = 1_790_000_040;
    let clock = Arc::new(Settable(AtomicU64::new(0)));
    let set = |seconds: u64| clock.0.store((BEGAN + seconds) * 1_000_000, Ordering::Relaxed);
    set(0);
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let events = client.events("jobs");
    let mut config = crate::events::Config::default();
    (config.rate, config.burst) = (1, 1);
    events.configure(config).unwrap();
    let minute = crate::events::Schedule::new("minute").every(60 * SECOND).payload("minute");
    events.put_schedule(minute).unwrap();
    let received = || {
        let received = events.receive(10).unwrap();
        events.ack_many(&received).unwrap();
        let text =
            |event: &crate::events::Event| String::from_utf8_lossy(&event.payload).into_owned();
        received.iter().map(text).collect::<Vec<_>>()
    };
    let (store, hash) = (client.tasks("shop"), client.volatile_hash("pages"));
    let later = |value: &str| {
        store.modify(Modification::new().insert(NewTask::new(value).after(2 * SECOND))).unwrap();
        events.publish(crate::events::NewEvent::new(value).delay(2 * SECOND)).unwrap();
        hash.set(value, "1", 3 * SECOND).unwrap();
    };
    let is_claimed = |value: &str| {
        let claim = store.claim([value], SECOND).unwrap();
        claim.is_some()
    };

    set(86_400);
    later("ahead");
    set(86_402);
    assert_eq!(received(), ["ahead"]);
    assert_eq!((is_claimed("ahead"), hash.get("ahead").unwrap().is_some()), (true, true));
    set(86_403);
    assert_eq!(received(), ["minute"]);
    set(10);
    later("back");
    set(11);
    assert_eq!((received(), is_claimed("back")), (vec![], false));
    set(12);
    assert_eq!((received(), is_claimed("back")), (vec!["back".to_owned()], true));
    assert!(hash.get("back").unwrap().is_some());
    set(13);
    assert!(hash.get("back").unwrap().is_none());
    set(60);
    assert_eq!(received(), ["minute"]);
}

/// A wait is for a span of time that a clock that was ahead said: by the one that is right something may come sooner.
#[cfg(feature = "schedules")]
#[test]
fn a_clock_that_is_set_back_wakes_whoever_waits_for_a_time() {
    const HOUR: u64 = 3_600;
    const BEGAN: u64 = 1_790_000_000 / HOUR * HOUR;
    let clock = Arc::new(Settable(AtomicU64::new(0)));
    let set = |seconds: u64| clock.0.store((BEGAN + seconds) * 1_000_000, Ordering::Relaxed);
    set(24 * HOUR + 10);
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let events = client.events("jobs");
    events.put_schedule(crate::events::Schedule::new("hour").cron("@hourly")).unwrap();
    let waiting = client.events("jobs");
    let waiting = std::thread::spawn(move || {
        let next = waiting.deliveries().wait(Duration::from_secs(300)).next();
        next.transpose().unwrap().map(|batch| batch[0].fire_at_us / 1_000_000 - BEGAN)
    });
    set(10);
    let next = || events.get_schedule("hour").unwrap().unwrap().next_us.unwrap() / 1_000_000;
    while next() != BEGAN + HOUR && !waiting.is_finished() {
        std::thread::sleep(Duration::from_millis(10));
    }
    set(HOUR);
    assert_eq!(waiting.join().unwrap(), Some(HOUR));
}

/// A record that says of itself that it has more than any memory holds is refused, whatever it is a
/// record of: nothing is believed beyond the bytes that are there.
#[test]
fn counts_and_lengths_of_records_are_not_believed() {
    let numbers: [&[u8]; 4] = [
        // 2^31, 2^62, 2^64 - 1 and, for what is read as eight bytes, all bits.
        &[0x80, 0x80, 0x80, 0x80, 0x08],
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40],
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0xff; 8],
    ];
    for kind in crate::kinds() {
        for tag in 0..=u8::MAX {
            for number in numbers {
                for small in 0..12 {
                    // The number stands behind some that are small.
                    let record = [&[tag][..], &vec![1; small], &number.repeat(3)].concat();
                    for sequence in [None, Some(1)] {
                        let state = crate::queues::empty_state(kind.number).unwrap();
                        if let Err(error) = state.replay(&record, sequence) {
                            assert_ne!(error.kind(), crate::ErrorKind::Internal, "{error}");
                        }
                    }
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_was_closed_holds_nothing_open() {
    let dir = tempfile::tempdir().unwrap();
    let open = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
        links.filter(|file| file.starts_with(dir.path())).count()
    };
    for sync in ["always", "1ms", "never"] {
        let url = format!("file:{}?sync={sync}", dir.path().display());
        let client = crate::connect(&url).unwrap();
        client.ick("files").add([(1.0, "a.txt")]).unwrap();
        assert!(open() >= 3, "the directory, the lock and the log");
        client.close().unwrap();
        assert_eq!(open(), 0, "{sync}");
        drop(client);
    }
}

#[cfg(target_os = "linux")]
mod processes {
    use std::io::{BufRead, BufReader, Write};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU32};

    use super::*;
    use crate::{Client, ErrorKind, Result, Retry};

    const ROLE: &str = "MILLPOND_ENGINE_TEST_ROLE";
    const URL: &str = "MILLPOND_ENGINE_TEST_URL";
    /// What a child removes to make room; its own limit if this is not set.
    const BALLAST: &str = "MILLPOND_ENGINE_TEST_BALLAST";

    /// What goes before the child's command, so that no file of it can be larger than 64 KiB or, with
    /// `sync=always`, than the space that is grown at first.
    const LIMITED: &str = "trap '' XFSZ; ulimit -S -f";

    fn start(role: &str, url: &str, shell: &str) -> Command {
        let test = module_path!().split_once("::").unwrap().1.to_owned() + "::child";
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}; exec \"$@\""), "sh"]);
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", &test, "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(URL, url).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

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

    fn url(dir: &Path, sync: &str) -> String {
        format!("file:{}?sync={sync}", dir.display())
    }

    fn member(number: u32) -> String {
        format!("{number:0>1000}")
    }

    fn add(client: &Client, number: u32) -> Result<()> {
        client.ick("files").add([(f64::from(number), member(number))]).map(drop)
    }

    /// The numbers of all members that a directory has.
    fn members(client: &Client) -> BTreeSet<u32> {
        let entries = client.ick("files").reserve(1_000_000).unwrap();
        entries.iter().map(|entry| entry.score as u32).collect()
    }

    /// What is in a directory after a kill of the process that has it open.
    fn members_after_kill(dir: &Path) -> BTreeSet<u32> {
        let copy = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(dir).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
        }
        let client = crate::connect(&url(copy.path(), "never")).unwrap();
        assert_eq!(client.recovery().unwrap().suspicion, None);
        members(&client)
    }

    /// Does nothing in a usual run of the tests.
    #[test]
    fn child() {
        let (Ok(role), Ok(url)) = (std::env::var(ROLE), std::env::var(URL)) else { return };
        let client = crate::connect(&url).unwrap();
        match role.as_str() {
            "go on" => go_on(&client),
            "fill" => fill(&client),
            "fill together" => fill_together(&client),
            role => panic!("no such role: {role}"),
        }
    }

    fn wait_for_line() {
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }

    /// Writes 8 MiB when told to, or until it is refused.
    fn go_on(client: &Client) {
        add(client, 0).unwrap();
        say(0);
        say("open");
        wait_for_line();
        for number in 1..8_000 {
            match add(client, number) {
                Ok(()) => say(number),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
                    say(format!("error {}", error.message()));
                    break;
                }
            }
        }
        say("done");
        wait_for_line();
    }

    #[test]
    fn a_directory_that_was_moved_away_costs_no_other_its_data() {
        let parent = tempfile::tempdir().unwrap();
        let (db, old) = (parent.path().join("db"), parent.path().join("old"));
        let mut child = start("go on", &url(&db, "never"), ":").spawn().unwrap();
        let mut said = lines(&mut child);
        assert_eq!(said.by_ref().take(2).collect::<Vec<_>>(), ["0", "open"]);
        std::fs::rename(&db, &old).unwrap();
        let other = crate::connect(&url(&db, "always")).unwrap();
        let own: BTreeSet<u32> = (10_000..11_000).collect();
        other.ick("files").add(own.iter().map(|n| (f64::from(*n), member(*n)))).unwrap();

        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        let mut acknowledged = BTreeSet::from([0]);
        let mut refused = Vec::new();
        for line in said.take_while(|line| line != "done") {
            match line.parse() {
                Ok(number) => _ = acknowledged.insert(number),
                Err(_) => refused.push(line),
            }
        }
        assert!(members_after_kill(&db) == own, "the log of another was removed");
        child.kill().unwrap();
        child.wait().unwrap();
        let moved = crate::connect(&url(&old, "never")).unwrap();
        assert!(acknowledged.is_subset(&members(&moved)), "what was acknowledged is not in `old`");
        assert!(acknowledged.len() > 3_000, "it stops before its first snapshot");
        let told = format!("error another directory is at {} now", db.display());
        assert!(refused.len() == 1 && refused[0].starts_with(&told), "{refused:?}");
        other.close().unwrap();
        assert!(members(&crate::connect(&url(&db, "always")).unwrap()) == own);
    }

    #[test]
    fn a_path_of_a_directory_that_was_moved_away_is_free_in_the_same_process() {
        let parent = tempfile::tempdir().unwrap();
        let (db, old) = (parent.path().join("db"), parent.path().join("old"));
        let first = crate::connect(&url(&db, "never")).unwrap();
        add(&first, 1).unwrap();
        std::fs::rename(&db, &old).unwrap();
        let second = crate::connect(&url(&db, "never")).unwrap();
        add(&second, 2).unwrap();
        add(&first, 3).unwrap();
        assert_eq!(members(&second), BTreeSet::from([2]));
        first.close().unwrap();
        assert_eq!(members(&crate::connect(&url(&old, "never")).unwrap()), BTreeSet::from([1, 3]));
    }

    /// Writes until it is refused, makes room, and goes on.
    fn fill(client: &Client) {
        let mut acknowledged = BTreeSet::new();
        let mut numbers = 0_u32..;
        let mut write = |acknowledged: &mut BTreeSet<u32>| {
            let number = numbers.next().unwrap();
            add(client, number).map(|()| {
                say(number);
                acknowledged.insert(number);
            })
        };
        for round in 0..3 {
            let error = loop {
                match write(&mut acknowledged) {
                    Ok(()) => assert!(acknowledged.len() < 10_000, "it is never full"),
                    Err(error) => break error,
                }
            };
            assert_eq!((error.kind(), error.retry()), (ErrorKind::Storage, Retry::Unknown));
            // It is full still, and nothing is lost by asking.
            for _ in 0..3 {
                let error = write(&mut acknowledged).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
                assert!(error.message().contains("until there is room"), "{error}");
            }
            make_room(round);
            // A write of the background that began before is perhaps refused only now.
            let begin = Instant::now();
            while let Err(error) = write(&mut acknowledged) {
                assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
                assert!(begin.elapsed() < Duration::from_secs(30), "there is room: {error}");
            }
            for _ in 0..20 {
                write(&mut acknowledged).unwrap();
            }
            assert!(members(client) == acknowledged, "memory is ahead of the disk");
        }
        say("done");
        // As a kill leaves it.
        std::process::abort();
    }

    /// The same from several threads, of which each finds out for itself.
    fn fill_together(client: &Client) {
        let (acknowledged, refused) = (Mutex::new(BTreeSet::new()), AtomicU64::new(0));
        let (numbers, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let number = numbers.fetch_add(1, Ordering::Relaxed);
                        match add(client, number) {
                            Ok(()) => {
                                say(number);
                                acknowledged.lock().unwrap().insert(number);
                            }
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
            let until = |holds: &dyn Fn() -> bool| {
                while !holds() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            for round in 0..3 {
                let before = refused.load(Ordering::Relaxed);
                until(&|| refused.load(Ordering::Relaxed) > before + 20);
                let before = acknowledged.lock().unwrap().len();
                make_room(round);
                until(&|| acknowledged.lock().unwrap().len() > before + 50);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        make_room(3);
        assert!(
            members(client) == *acknowledged.lock().unwrap(),
            "memory is not what was acknowledged"
        );
        say("done");
        std::process::abort();
    }

    fn make_room(round: u32) {
        if let Ok(ballast) = std::env::var(BALLAST) {
            let ballast = format!("{ballast}.{round}");
            return std::fs::remove_file(ballast).unwrap();
        }
        // Less than the log has before it is worth a snapshot.
        let limit = format!("--fsize={}:", (2 + round) << 20);
        let pid = std::process::id().to_string();
        let set = Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap();
        assert!(set.success());
    }

    fn expect_goes_on(dir: &Path, mut command: Command) {
        let mut child = command.spawn().unwrap();
        let mut said: Vec<_> = lines(&mut child).collect();
        child.wait().unwrap();
        assert_eq!(said.pop().as_deref(), Some("done"));
        let acknowledged: BTreeSet<u32> = said.iter().map(|n| n.parse().unwrap()).collect();
        let client = crate::connect(&url(dir, "never")).unwrap();
        assert_eq!(client.recovery().unwrap().suspicion, None);
        assert!(members(&client) == acknowledged, "it is not what was acknowledged");
    }

    #[test]
    fn a_log_that_may_not_grow_goes_on_when_it_may() {
        for (sync, blocks) in [("never", 128), ("always", 2_500), ("1ms", 128)] {
            let dir = tempfile::tempdir().unwrap();
            let limited = format!("{LIMITED} {blocks}");
            expect_goes_on(dir.path(), start("fill", &url(dir.path(), sync), &limited));
            let dir = tempfile::tempdir().unwrap();
            expect_goes_on(dir.path(), start("fill together", &url(dir.path(), sync), &limited));
        }
    }

    /// A file system of its own, of 4 MiB.
    struct SmallDisk(tempfile::TempDir);

    impl SmallDisk {
        fn mount() -> Option<Self> {
            let dir = tempfile::tempdir().unwrap();
            let mount = ["-t", "tmpfs", "-o", "size=5m,mode=700", "tmpfs"];
            let mounted = Command::new("mount").args(mount).arg(dir.path()).status();
            mounted.is_ok_and(|status| status.success()).then_some(Self(dir))
        }
    }

    impl Drop for SmallDisk {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
        }
    }

    #[test]
    fn a_full_disk_goes_on_when_there_is_room() {
        for sync in ["never", "always", "1ms"] {
            let Some(disk) = SmallDisk::mount() else {
                eprintln!("no right to mount: a full disk is tried with a limit on files alone");
                return;
            };
            let (dir, ballast) = (disk.0.path().join("db"), disk.0.path().join("ballast"));
            for round in 0..4 {
                let name = format!("{}.{round}", ballast.display());
                std::fs::write(name, vec![0; 1 << 20]).unwrap();
            }
            let mut command = start("fill", &url(&dir, sync), ":");
            command.env(BALLAST, &ballast);
            expect_goes_on(&dir, command);
        }
    }
}
