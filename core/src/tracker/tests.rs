//! What a queue tracker promises, on the embedded engine with a clock that is set by hand. The names in the comments
//! are those of the rules in its specification.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::{ErrorKind, ManualClock, Options};

const SECOND: Duration = Duration::from_secs(1);
const START: u64 = 1_700_000_000_000_000;

fn tracker() -> (QueueTracker, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(START));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    (client.queue_tracker("k"), clock)
}

/// Rows of a table, each with its id.
type Rows = Vec<(i64, String)>;

/// The page that a query would return.
fn page(table: &[(i64, String)], after: Option<&str>, limit: usize) -> Result<Rows> {
    let after: i64 = after.map_or(i64::MIN, |row| row.parse().unwrap());
    Ok(table.iter().filter(|(row, _)| *row > after).take(limit).cloned().collect())
}

fn table(rows: impl IntoIterator<Item = i64>) -> Rows {
    rows.into_iter().map(|row| (row, format!("id {row}"))).collect()
}

fn tracked(tracker: &QueueTracker) -> BTreeSet<String> {
    let ids = tracker.ids(0, IDS_MAX).unwrap().into_iter();
    ids.map(|tracked| String::from_utf8(tracked.id).unwrap()).collect()
}

/// T1, S24.
#[test]
fn a_scan_that_another_one_has_overtaken_changes_nothing() {
    let (tracker, _) = tracker();
    let advance = |after, row| tracker.advance(after, [row], [row], 1, SECOND).unwrap();
    assert_eq!(advance("", "1"), Scanned { rows: 1, added: 1, more: true });
    assert_eq!(advance("", "2"), Scanned { rows: 0, added: 0, more: true });
    assert_eq!((tracker.stats().unwrap().row.as_deref(), tracker.len().unwrap()), (Some("1"), 1));
    assert_eq!(advance("1", "2"), Scanned { rows: 1, added: 1, more: true });
    // Other changes of the set do not interfere.
    tracker.add(["9"]).unwrap();
    assert_eq!(advance("2", "3"), Scanned { rows: 1, added: 1, more: true });
}

/// T2.
#[test]
fn a_page_that_was_added_already_is_not_added_again() {
    let (tracker, _) = tracker();
    let advance = || tracker.advance("", ["1", "2"], ["a", "b"], 2, SECOND).unwrap();
    assert_eq!(advance(), Scanned { rows: 2, added: 2, more: true });
    let stats = tracker.stats().unwrap();
    assert_eq!(advance(), Scanned { rows: 2, added: 0, more: true });
    assert_eq!(tracker.stats().unwrap(), stats);
}

/// T3, T4, G1, S23.
#[test]
fn an_id_that_is_added_while_it_is_checked_stays() {
    let (tracker, _) = tracker();
    tracker.add(["a", "b", "c"]).unwrap();
    let pruned = tracker.prune(3, |ids| {
        tracker.add(["a"])?;
        tracker.scan(9, SECOND, |_, _| Ok::<_, crate::Error>(vec![(7, "b")]))?;
        Ok::<_, AnyError>(ids.to_vec())
    });
    assert_eq!(pruned.unwrap(), Pruned { checked: 3, removed: 1 });
    assert_eq!(tracker.are_queued(["a", "b", "c"]).unwrap(), [true, true, false]);
}

/// T5.
#[test]
fn prunes_at_the_same_time_have_different_ids() {
    let (tracker, _) = tracker();
    tracker.add(["a", "b", "c"]).unwrap();
    let (one, other) = (tracker.sample(2).unwrap(), tracker.sample(2).unwrap());
    assert_eq!((one.ids.len(), other.ids.as_slice()), (2, [b"c".to_vec()].as_slice()));
    assert!(other.stamp > one.stamp);
    assert_eq!(tracker.remove(&one.ids, &one.ids, one.stamp).unwrap().removed, 2);
    assert_eq!(tracker.remove(&other.ids, &other.ids, other.stamp).unwrap().removed, 1);
}

/// T6, G3, S26.
#[test]
fn every_id_is_checked_within_one_pass() {
    let (tracker, clock) = tracker();
    for number in 0..103 {
        tracker.add([format!("{number}")]).unwrap();
        clock.advance(Duration::from_micros(number % 2));
    }
    let mut seen = BTreeSet::new();
    for _ in 0..5 {
        let pruned = tracker.prune(25, |ids| {
            seen.extend(ids.to_vec());
            Ok::<_, crate::Error>(Vec::<Vec<u8>>::new())
        });
        assert_eq!(pruned.unwrap().removed, 0);
    }
    assert_eq!(seen.len(), 103);
}

/// T7, S21, S22.
#[test]
fn a_prune_removes_nothing_that_it_did_not_check() {
    let (tracker, _) = tracker();
    tracker.add(["a", "b", "c"]).unwrap();
    let wrong = tracker.prune(3, |ids| {
        Ok::<_, crate::Error>(vec![ids[0].clone(), b"other".to_vec(), b"another".to_vec()])
    });
    let message = wrong.unwrap_err().to_string();
    assert_eq!(message, "tracker.remove: 2 of the ids to remove were not sampled");
    assert_eq!(tracker.len().unwrap(), 3);
}

/// T8, S19, S25.
#[test]
fn a_round_finds_what_the_one_before_missed() {
    let (tracker, clock) = tracker();
    let mut rows = table((1..=7).filter(|row| *row != 3));
    let scan = |rows: &Rows| tracker.scan(3, SECOND * 60, |after, limit| page(rows, after, limit));
    let found = |scanned: std::result::Result<Scanned, AnyError>| {
        let Scanned { rows, added, more } = scanned.unwrap();
        (rows, added, more)
    };
    assert_eq!([found(scan(&rows)), found(scan(&rows))], [(3, 3, true), (3, 3, true)]);
    // The end: the scan starts again, since no round has ended before.
    assert_eq!(found(scan(&rows)), (0, 0, false));
    let stats = tracker.stats().unwrap();
    assert_eq!((stats.row, stats.rounds), (None, 1));
    // A row that was committed late, and another with a high number.
    rows = table(1..=8);
    assert_eq!([found(scan(&rows)), found(scan(&rows))], [(3, 1, true), (3, 0, true)]);
    // At the end too early for another round: the scan stays there, and adds new rows.
    assert_eq!([found(scan(&rows)), found(scan(&rows))], [(2, 1, false), (0, 0, false)]);
    rows.extend(table([9]));
    assert_eq!(found(scan(&rows)), (1, 1, false));
    assert_eq!(tracker.stats().unwrap().row.as_deref(), Some("9"));
    clock.advance(SECOND * 60);
    assert_eq!(found(scan(&rows)), (0, 0, false));
    assert_eq!(tracker.stats().unwrap().row, None);
    assert_eq!(tracked(&tracker).len(), 9);
}

/// T9.
#[test]
fn a_scan_can_stay_at_the_end() {
    let (tracker, clock) = tracker();
    let rows = table(1..=2);
    let scan = || tracker.scan(3, ROUND_MAX, |after, limit| page(&rows, after, limit)).unwrap();
    assert_eq!([scan().rows, scan().rows], [2, 0]);
    clock.advance(SECOND * 86_400 * 365);
    assert_eq!([scan().rows, tracker.stats().unwrap().rounds], [0, 0]);
}

/// T10.
#[test]
fn an_error_of_the_program_changes_nothing() {
    let (tracker, _) = tracker();
    tracker.add(["a", "b", "c"]).unwrap();
    let before = tracker.stats().unwrap();
    let failed = tracker.scan(3, SECOND, |_, _| Err::<Rows, _>("no database"));
    assert_eq!(failed.unwrap_err().to_string(), "no database");
    assert_eq!(tracker.stats().unwrap(), before);

    // Not the same ids together again, since one of them may be the reason.
    let mut checked = Vec::new();
    let mut prune = |fails: bool| {
        let pruned = tracker.prune(2, |ids| {
            checked.push(ids.len());
            if fails { Err("no database") } else { Ok(Vec::<Vec<u8>>::new()) }
        });
        assert_eq!(pruned.is_err(), fails);
    };
    for fails in [true, true, false, false] {
        prune(fails);
    }
    assert_eq!((checked, tracker.len().unwrap()), (vec![2, 1, 1, 2], 3));
}

/// T11.
#[test]
fn nothing_queued_is_no_error() {
    let (tracker, _) = tracker();
    let scanned = tracker.scan(3, SECOND, |after, limit| {
        assert_eq!((after, limit), (None, 3));
        Ok::<Rows, crate::Error>(Vec::new())
    });
    assert_eq!(scanned.unwrap(), Scanned::default());
    let never = |_: &[Vec<u8>]| -> Result<Vec<Vec<u8>>> { panic!("nothing is to be checked") };
    assert_eq!(tracker.prune(3, never).unwrap(), Pruned::default());
    assert_eq!(tracker.ids(0, 1).unwrap(), []);
    assert_eq!(tracker.clear().unwrap(), 0);
    // A row without an id moves the scan.
    let scanned = tracker.scan(1, SECOND, |_, _| Ok::<_, crate::Error>(vec![("a", "")])).unwrap();
    assert_eq!(scanned, Scanned { rows: 1, added: 0, more: true });
    assert_eq!(tracker.stats().unwrap().row.as_deref(), Some("a"));
}

#[test]
fn ids_of_one_stamp_are_on_one_page() {
    let (tracker, _) = tracker();
    tracker.add(["a"]).unwrap();
    tracker.add(["c", "b", "d"]).unwrap();
    tracker.add(["e"]).unwrap();
    let (mut pages, mut after) = (Vec::new(), 0);
    while let Some(last) = {
        let page = tracker.ids(after, 2).unwrap();
        pages.push(page.iter().map(|id| char::from(id.id[0])).collect::<String>());
        page.last().map(|id| id.stamp)
    } {
        after = last;
    }
    assert_eq!(pages, ["abcd", "e", ""]);
}

#[test]
fn clear_forgets_all() {
    let (tracker, _) = tracker();
    tracker.add(["a", "b"]).unwrap();
    tracker.scan(1, SECOND, |_, _| Ok::<_, crate::Error>(vec![(1, "a")])).unwrap();
    let sample = tracker.sample(2).unwrap();
    assert_eq!(tracker.clear().unwrap(), 2);
    assert_eq!(tracker.stats().unwrap(), TrackerStats::default());
    assert_eq!(tracker.remove(&sample.ids, &sample.ids, sample.stamp).unwrap().removed, 0);
}

#[test]
fn wrong_arguments_are_refused() {
    let (tracker, _) = tracker();
    let long = "x".repeat(ROW_BYTES_MAX + 1);
    let many = || std::iter::repeat_n("a", IDS_MAX + 1);
    let (none, one): ([&str; 0], _) = ([], ["a"]);
    let results = [
        tracker.add(none).map(drop),
        tracker.add([""]).map(drop),
        tracker.add([&long[..ID_BYTES_MAX + 1]]).map(drop),
        tracker.add(many()).map(drop),
        tracker.are_queued(none).map(drop),
        tracker.is_queued("").map(drop),
        tracker.ids(0, 0).map(drop),
        tracker.ids(0, IDS_MAX + 1).map(drop),
        tracker.sample(0).map(drop),
        tracker.remove(one, none, 1).map(drop),
        tracker.remove(many(), many(), 1).map(drop),
        tracker.advance("", one, none, 2, SECOND).map(drop),
        tracker.advance("", none, one, 2, SECOND).map(drop),
        tracker.advance("", [""], one, 2, SECOND).map(drop),
        tracker.advance("", [&long], one, 2, SECOND).map(drop),
        tracker.advance(&long, one, one, 2, SECOND).map(drop),
        tracker.advance("", [b"\xff"], one, 2, SECOND).map(drop),
        tracker.advance("", one, one, 0, SECOND).map(drop),
        tracker.advance("", one, one, 2, ROUND_MAX + SECOND).map(drop),
        tracker.advance("", many(), many(), 2, SECOND).map(drop),
        tracker.advance("a", one, one, 1, SECOND).map(drop),
        tracker.client.queue_tracker("").add(one).map(drop),
        tracker.client.queue_tracker("").stats().map(drop),
    ];
    for (number, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidArgument, "{number}");
    }
    let never = |_: Option<&str>, _| -> Result<Rows> { panic!("it is refused before") };
    assert!(tracker.scan(0, SECOND, never).is_err());
    assert!(tracker.scan(1, ROUND_MAX + SECOND, never).is_err());
    tracker.add(std::iter::repeat_n(&long[..ID_BYTES_MAX], IDS_MAX)).unwrap();
    assert_eq!(tracker.len().unwrap(), 1);
}
