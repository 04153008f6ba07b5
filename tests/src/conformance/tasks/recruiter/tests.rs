//! The kit's part for recruiters: tests of what their keys and their counters are compared with.

use std::collections::BTreeSet;

use millpond::recruiter::{NewJob, Recruit};
use serde_json::json;

use super::{Recruiters, check_sum, listed};
use crate::backend::Backend;
use crate::tasks::raw;

const NAME: &str = "site";

fn call(backend: &mut Backend, command: &str) {
    let words: Vec<_> =
        command.split(' ').map(|word| word.replace("{s}", "{site}:steal")).collect();
    let reply = backend.server(b"").unwrap().call(&words).unwrap();
    assert_eq!(reply.error(), None, "{command}");
}

fn problem(backend: &mut Backend) -> Option<String> {
    let mut recruiters = Recruiters::default();
    let (request, mut late) = (json!({"call": "steal_stats", "name": NAME}), BTreeSet::new());
    recruiters.note(&request, &mut late).unwrap();
    recruiters.check(&raw::read(backend).unwrap(), &late).err()
}

/// Commands that each break a recruiter with a slice of one job.
const BREAKS: [&str; 19] = [
    "HDEL {s} version",
    "HSET {s} version steal.v2",
    "HDEL {s} all",
    "HSET {s} all junk",
    "HDEL {s} j:a",
    "HSET {s} j:a junk",
    "HSET {s} other 1",
    "DEL {s}",
    "HSET {s}:stats a:other 1",
    "HSET {s}:stats :granted 1",
    "HSET {s}:stats a 1",
    "HSET {s}:stats a:granted -1",
    "HSET {s}:stats a:granted x",
    "ZADD {s}:running:a 5 9000000000000000",
    "ZADD {s}:running:a 9000000000000000 5",
    "ZADD {s}:running:b 5 1",
    "SET {s}:other x",
    "EXPIRE {s} 1000",
    "HSET {s}ing a 1",
];

#[test]
fn whatever_breaks_a_recruiter_is_noticed() {
    let mut backend = Backend::start("redis").unwrap();
    let client = millpond::connect(&backend.url()).unwrap();
    for command in BREAKS {
        call(&mut backend, "FLUSHALL");
        let job = NewJob::new("a").per_second(1.0).max_running(2);
        assert!(client.run(Recruit::new(NAME, [job])).unwrap().granted.is_some());
        assert_eq!(problem(&mut backend), None);
        call(&mut backend, command);
        assert!(problem(&mut backend).is_some(), "{command}");
    }
}

#[test]
fn every_enlistment_has_one_end() {
    let stats = json!({
        "enlisted": 7, "not_drawn": 1, "denied": 2,
        "jobs": [{"job": "a", "granted": 3, "worked": 2, "items": 9}, {"job": "b", "failed": 2}],
    });
    check_sum(&stats).unwrap();
    let listed: Vec<_> = listed(&stats).into_iter().collect();
    let expected = [
        (":denied", 2),
        (":not_drawn", 1),
        ("a:granted", 3),
        ("a:items", 9),
        ("a:worked", 2),
        ("b:failed", 2),
    ];
    assert_eq!(listed, expected.map(|(name, count)| (name.to_owned(), count)));
    for wrong in [json!({"enlisted": 1, "jobs": []}), json!({"enlisted": 0, "busy": 1, "jobs": []})]
    {
        assert!(check_sum(&wrong).is_err(), "{wrong}");
    }
}
