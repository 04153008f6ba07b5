//! A queue tracker on a server: what its keys hold, and what it does with those of others.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use millpond::ErrorKind;
use millpond::tracker::{IDS_MAX, LIMIT_DEFAULT};
use millpond_tests::servers::{Cluster, Redis};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_keys_hold_what_the_documentation_says() {
    let server = Redis::start();
    let tracker = millpond::connect(&server.url()).unwrap().queue_tracker("t");
    tracker.add(["a", "b"]).unwrap();
    tracker.advance("", ["7"], ["c"], 1, MINUTE).unwrap();
    tracker.advance("7", ["8"], [""], 1, MINUTE).unwrap();
    tracker.advance("8", [""; 0], [""; 0], 1, Duration::ZERO).unwrap();
    let sample = tracker.sample(1).unwrap();
    let field = |field| server.cli(&["HGET", "{t}:tracker", field]).text();
    assert_eq!([field("version"), field("row"), field("rounds")], ["tracker.v1", "", "1"]);
    assert_eq!([field("stamp"), field("sampled")], [sample.stamp.to_string(), field("stamp")]);
    assert_eq!(server.cli(&["HLEN", "{t}:tracker"]).integer(), 6);
    let score = server.cli(&["ZSCORE", "{t}:tracker:ids", "a"]).text();
    assert_eq!(score, sample.stamp.to_string());
    assert_eq!(server.cli(&["ZCARD", "{t}:tracker:ids"]).integer(), 3);
    // Nothing has a time to live, and nothing is left of what is cleared.
    for key in ["{t}:tracker", "{t}:tracker:ids"] {
        assert_eq!(server.cli(&["TTL", key]).integer(), -1);
    }
    tracker.clear().unwrap();
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    // What only reads, or finds nothing, writes nothing.
    tracker.sample(1).unwrap();
    tracker.remove(["a"], ["a"], 1).unwrap();
    tracker.stats().unwrap();
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
}

#[test]
fn keys_of_others_are_an_error() {
    let server = Redis::start();
    let tracker = millpond::connect(&server.url()).unwrap().queue_tracker("t");
    let kinds = || {
        let errors = [
            tracker.add(["a"]).map(drop),
            tracker.advance("", ["1"], ["a"], 1, MINUTE).map(drop),
            tracker.sample(1).map(drop),
            tracker.remove(["a"], ["a"], 1).map(drop),
            tracker.stats().map(drop),
            tracker.clear().map(drop),
        ];
        let mut kinds: Vec<_> = errors.map(|result| result.unwrap_err().kind()).into();
        kinds.dedup();
        kinds
    };
    for key in ["{t}:tracker", "{t}:tracker:ids"] {
        server.cli(&["SET", key, "1"]);
        assert_eq!(kinds(), [ErrorKind::WrongType]);
        server.cli(&["DEL", key]);
    }
    server.cli(&["HSET", "{t}:tracker", "version", "tracker.v9"]);
    assert_eq!(kinds(), [ErrorKind::IncompatibleVersion]);
    server.cli(&["HSET", "{t}:tracker", "version", "tracker.v1", "stamp", "many"]);
    assert_eq!(kinds(), [ErrorKind::Corrupt]);
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 1);
}

/// The largest calls.
#[test]
fn a_thousand_ids_are_one_step() {
    let server = Redis::start();
    let tracker = millpond::connect(&server.url()).unwrap().queue_tracker("t");
    let ids: Vec<String> = (0..IDS_MAX).map(|number| format!("{number:0>512}")).collect();
    tracker.add(&ids).unwrap();
    let scanned = tracker.advance("", &ids, &ids, IDS_MAX, MINUTE).unwrap();
    assert_eq!((scanned.rows, scanned.added, scanned.more), (1_000, 0, true));
    assert_eq!(tracker.ids(0, 1).unwrap().len(), IDS_MAX);
    assert_eq!(tracker.are_queued(&ids).unwrap(), [true; IDS_MAX]);
    let sample = tracker.sample(IDS_MAX).unwrap();
    assert_eq!(tracker.remove(&sample.ids, &sample.ids, sample.stamp).unwrap().removed, 1_000);
}

/// The keys of a tracker lie in one slot, and its name may have a tag.
#[test]
fn a_cluster_has_trackers() {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url()).unwrap();
    for name in ["plain", "{tag}:ids", "other"] {
        let tracker = client.queue_tracker(name);
        let scanned = tracker
            .scan(LIMIT_DEFAULT, MINUTE, |_, _| Ok::<_, millpond::Error>(vec![(1, "a"), (2, "b")]));
        assert_eq!(scanned.unwrap().added, 2);
        let pruned = tracker.prune(LIMIT_DEFAULT, |ids| Ok::<_, millpond::Error>(ids.to_vec()));
        assert_eq!(pruned.unwrap().removed, 2);
        assert_eq!(tracker.stats().unwrap().ids, 0);
    }
}
