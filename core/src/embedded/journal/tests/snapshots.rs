//! Snapshots: what each crash leaves, what damage does, and how much disk they keep in use.

use std::fs;

use super::*;

/// A journal of three records, a snapshot of the first two as one, and one more.
fn sample() -> (tempfile::TempDir, Journal) {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open(dir.path()).unwrap();
    put(&journal, "a");
    put(&journal, "b");
    journal.snapshot(&mut |out| out.record(b"ab")).unwrap();
    put(&journal, "c");
    (dir, journal)
}

fn expected() -> Records {
    [snapshot(["ab"]), log(3, ["c"])].concat()
}

#[test]
fn a_snapshot_takes_the_place_of_the_log() {
    let (dir, journal) = sample();
    assert_eq!(files(dir.path()), ["00000000000000000002.log", "00000000000000000002.snapshot"]);
    assert_eq!(open(crash(dir.path()).path()).unwrap().2, expected());
    drop(journal);
    assert_eq!(open(dir.path()).unwrap().2, expected());
}

#[test]
fn an_empty_snapshot_is_a_snapshot() {
    let (dir, journal) = sample();
    journal.snapshot(&mut |_| Ok(())).unwrap();
    put(&journal, "d");
    assert_eq!(open(crash(dir.path()).path()).unwrap().2, log(4, ["d"]));
}

#[test]
fn a_large_snapshot_comes_back_in_order() {
    let (dir, journal) = sample();
    let records: Vec<_> = (0..200_000_u32).map(|i| i.to_le_bytes().repeat(5)).collect();
    journal.snapshot(&mut |out| records.iter().try_for_each(|r| out.record(r))).unwrap();
    assert_eq!(open(crash(dir.path()).path()).unwrap().2, snapshot(&records));
}

#[test]
fn a_crash_at_any_instant_leaves_the_old_set_or_the_new() {
    let (dir, journal) = sample();
    // In the middle: the new log is there, and the snapshot has no name yet.
    let mut middle = Vec::new();
    journal
        .snapshot(&mut |out| {
            middle.push(crash(dir.path()));
            out.record(&vec![1; 2 << 20])?;
            put(&journal, "d");
            middle.push(crash(dir.path()));
            Ok(())
        })
        .unwrap();
    assert!(files(middle[1].path()).iter().any(|name| name.ends_with(".snapshot.tmp")));
    for (image, more) in middle.iter().zip([&[][..], &["d"]]) {
        let image = crash(image.path());
        let (journal, recovery, records) = open(image.path()).unwrap();
        assert_eq!(records, [expected(), log(4, more)].concat());
        assert_eq!(recovery.torn_bytes, 0);
        assert!(!files(image.path()).iter().any(|name| name.ends_with(".tmp")));
        // The next snapshot finds the number of the lost one free.
        journal.snapshot(&mut |out| out.record(b"new")).unwrap();
        assert_eq!(open(crash(image.path()).path()).unwrap().2, snapshot(["new"]));
    }
    // At the end: the snapshot has its name, and some or all of the old files are there still.
    let new = [snapshot([vec![1; 2 << 20]]), log(4, ["d"])].concat();
    let old = ["00000000000000000002.log", "00000000000000000002.snapshot"];
    for left in [&old[..], &old[..1], &old[1..], &[]] {
        let image = crash(dir.path());
        for name in left {
            fs::copy(middle[1].path().join(name), image.path().join(name)).unwrap();
        }
        assert_eq!(open(image.path()).unwrap().2, new);
        assert_eq!(files(image.path()), files(dir.path()), "the old files are removed");
    }
}

#[test]
fn a_crash_before_a_new_log_has_its_name_changes_nothing() {
    let (dir, _journal) = sample();
    for part in [&b""[..], b"MILL"] {
        let image = crash(dir.path());
        fs::write(image.path().join("00000000000000000003.log.tmp"), part).unwrap();
        assert_eq!(open(image.path()).unwrap().2, expected());
        assert_eq!(files(image.path()), files(dir.path()));
    }
}

#[test]
fn missing_files_are_reported() {
    let (dir, journal) = sample();
    let mut both = None;
    journal
        .snapshot(&mut |_| {
            both = Some(crash(dir.path()));
            Ok(())
        })
        .unwrap();
    let both = both.unwrap();
    let gone = |image: &tempfile::TempDir, path: &dyn Fn(&Path, u64) -> PathBuf, number| {
        let image = crash(image.path());
        fs::remove_file(path(image.path(), number)).unwrap();
        expect_damage(image.path(), "a missing file");
    };
    gone(&dir, &log_path, 3);
    gone(&both, &log_path, 2);
    gone(&both, &log_path, 3);
    gone(&both, &snapshot_path, 2);
    gone(&dir, &snapshot_path, 3);
}

#[test]
fn a_flipped_byte_or_a_cut_anywhere_in_a_snapshot_is_reported() {
    let (dir, _journal) = sample();
    let bytes = fs::read(snapshot_path(dir.path(), 2)).unwrap();
    let image = crash(dir.path());
    for at in 0..bytes.len() {
        for content in [&flipped(&bytes, at, 0x20)[..], &bytes[..at], &[&bytes[..], &[0]].concat()]
        {
            fs::write(snapshot_path(image.path(), 2), content).unwrap();
            expect_damage(image.path(), &format!("byte {at}"));
        }
    }
    fs::write(snapshot_path(image.path(), 2), &bytes).unwrap();
    assert_eq!(open(image.path()).unwrap().2, expected());
}

#[test]
fn a_snapshot_that_lacks_a_frame_is_damage() {
    use crate::embedded::journal::frame::HEADER_BYTES;
    let (dir, journal) = sample();
    let records: Vec<_> = (0..3_u8).map(|i| vec![i; 1 << 20]).collect();
    journal.snapshot(&mut |out| records.iter().try_for_each(|r| out.record(r))).unwrap();
    let path = snapshot_path(dir.path(), 3);
    let bytes = fs::read(&path).unwrap();
    // Each record has a frame of its own, with three bytes for its length.
    let frame = HEADER_BYTES + 3 + (1 << 20);
    let head = super::super::head::HEAD_BYTES as usize;
    for i in 0..3 {
        let image = crash(dir.path());
        let without = [&bytes[..head + i * frame], &bytes[head + (i + 1) * frame..]].concat();
        fs::write(snapshot_path(image.path(), 3), without).unwrap();
        let error = expect_damage(image.path(), "a missing frame");
        assert!(error.message().contains("a part of the snapshot is missing"), "{error}");
    }
}

#[test]
fn a_log_that_is_not_the_newest_has_no_torn_tail() {
    let (dir, journal) = sample();
    let mut both = None;
    journal
        .snapshot(&mut |_| {
            put(&journal, "d");
            both = Some(crash(dir.path()));
            Ok(())
        })
        .unwrap();
    let both = both.unwrap();
    let bytes = fs::read(log_path(both.path(), 2)).unwrap();
    for length in 0..bytes.len() {
        fs::write(log_path(both.path(), 2), &bytes[..length]).unwrap();
        expect_damage(both.path(), &format!("cut at {length}"));
    }
    // Nothing is missing here, but no crash explains what is there.
    fs::write(log_path(both.path(), 2), [&bytes[..], b"more"].concat()).unwrap();
    let error = expect_damage(both.path(), "bytes behind the end");
    assert!(error.message().contains("newer logs follow"), "{error}");
}

#[test]
fn a_log_that_ends_before_the_snapshot_was_made_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _, _) = open_with(dir.path(), options(SyncMode::Never)).unwrap();
    put(&journal, "a");
    journal
        .snapshot(&mut |out| {
            // A step during the snapshot, whose effect the copy holds.
            journal.append(b"b");
            out.record(b"ab")
        })
        .unwrap();
    let image = crash(dir.path());
    assert_eq!(open(image.path()).unwrap().2, [snapshot(["ab"]), log(2, ["b"])].concat());
    let image = crash(dir.path());
    let bytes = log_bytes(image.path(), 2);
    fs::write(log_path(image.path(), 2), &bytes[..bytes.len() - 1]).unwrap();
    expect_damage(image.path(), "a log that is too short");

    // A repair goes on behind the records that the snapshot may hold.
    let repair = Options { repair: true, ..options(SyncMode::Never) };
    let (journal, recovery, records) = open_with(image.path(), repair).unwrap();
    assert_eq!(records, snapshot(["ab"]));
    assert!(recovery.suspicion.is_some());
    assert_eq!(put(&journal, "c"), 3);
    let again = open(crash(image.path()).path()).unwrap();
    assert_eq!((again.2, again.1.suspicion), ([snapshot(["ab"]), log(3, ["c"])].concat(), None));
}

#[test]
fn a_failed_snapshot_leaves_the_journal_usable() {
    let (dir, journal) = sample();
    let error = journal
        .snapshot(&mut |out| {
            out.record(b"half")?;
            Err(Error::new(ErrorKind::Internal, "no more"))
        })
        .unwrap_err();
    assert_eq!(error.message(), "no more");
    put(&journal, "d");
    assert!(!files(dir.path()).iter().any(|name| name.ends_with(".tmp")));
    let both = [expected(), log(4, ["d"])].concat();
    assert_eq!(open(crash(dir.path()).path()).unwrap().2, both);
    journal.snapshot(&mut |out| out.record(b"abcd")).unwrap();
    assert_eq!(open(crash(dir.path()).path()).unwrap().2, snapshot(["abcd"]));
    assert_eq!(files(dir.path()).len(), 2);
}

#[test]
fn a_close_gives_up_a_snapshot_that_is_under_way() {
    let (dir, journal) = sample();
    std::thread::scope(|scope| {
        let (begun, wait) = std::sync::mpsc::channel();
        let journal = &journal;
        let taking = scope.spawn(move || {
            journal.snapshot(&mut |out| {
                begun.send(()).unwrap();
                // Endless, unless the close ends it.
                loop {
                    out.record(&[0; 5000])?;
                }
            })
        });
        wait.recv().unwrap();
        journal.close().unwrap();
        assert_eq!(taking.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    });
    assert_eq!(open(dir.path()).unwrap().2, expected());
}

#[test]
fn churn_stays_within_three_times_the_live_data() {
    let dir = tempfile::tempdir().unwrap();
    let floor = 64 << 10;
    let options = Options { log_bytes_min: floor, ..options(SyncMode::Never) };
    let (mut journal, _, _) = open_with(dir.path(), options).unwrap();
    let live = vec![3; 1 << 20];
    let used = || -> u64 {
        let sizes = files(dir.path()).into_iter();
        sizes.map(|name| fs::metadata(dir.path().join(name)).unwrap().len()).sum()
    };
    let mut taken = 0;
    for round in 0..20_000_u32 {
        put(&journal, vec![round as u8; 1000]);
        if round % 5000 == 4999 {
            // A reopen counts what it finds.
            drop(journal);
            journal = open_with(dir.path(), options).unwrap().0;
        }
        if journal.wants_snapshot() {
            journal
                .snapshot(&mut |out| {
                    live.chunks(1000).try_for_each(|record| out.record(record))?;
                    assert!(used() < 3 * (live.len() as u64 + floor), "while it is taken");
                    Ok(())
                })
                .unwrap();
            taken += 1;
            assert!(!journal.wants_snapshot());
        }
        if round % 100 == 0 {
            assert!(used() < 2 * live.len() as u64 + 2 * floor, "{} in round {round}", used());
        }
    }
    assert!((15..30).contains(&taken), "{taken} snapshots");
}
