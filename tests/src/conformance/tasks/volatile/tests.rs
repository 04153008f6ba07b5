//! The kit's part for volatile hashes: tests of what their keys are compared with.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::layout::{self, keys_of};
use super::{check_stored, check_stored_step};
use crate::backend::Backend;
use crate::tasks::raw;

const NAME: &str = "pages";
const MINUTE: Duration = Duration::from_secs(60);

fn call(backend: &mut Backend, command: &str) {
    let words: Vec<_> = command.split(' ').map(|word| word.replace("{p}", "{pages}")).collect();
    let reply = backend.server(b"").unwrap().call(&words).unwrap();
    assert_eq!(reply.error(), None, "{command}");
}

/// What is wrong with what there is now, if what there was before was right.
fn problem(backend: &mut Backend) -> Option<String> {
    let keys = raw::read(backend).unwrap();
    let names = [NAME.as_bytes().to_vec()];
    layout::check(names.iter(), &BTreeMap::new(), &keys).err()
}

/// Commands that each break a hash.
const BREAKS: [&str; 22] = [
    "HDEL vhash-map:{p} a",
    "HSET vhash-map:{p} c 1",
    "DEL vhash-map:{p}",
    "ZREM vhash-zset:{p} a",
    "ZADD vhash-zset:{p} 1 c",
    "DEL vhash-zset:{p}",
    "HDEL vhash-lock:{p} a",
    "HSET vhash-lock:{p} a junk",
    "DEL vhash-lock:{p}",
    "ZREM vhash-lockz:{p} a",
    "ZADD vhash-lockz:{p} 1 a",
    "ZADD vhash-lockz:{p} 1 c",
    "DEL vhash-meta:{p}",
    "HDEL vhash-meta:{p} version",
    "HSET vhash-meta:{p} version vhash.v2",
    "HSET vhash-meta:{p} fence 1",
    "DEL vhash-lock:{p} vhash-lockz:{p}",
    "PEXPIRE vhash-map:{p} 1000000",
    "PEXPIRE vhash-meta:{p} 1000000",
    "SET vhash-maps:{p} x",
    "HSET vhash-map:pages a 1",
    "RENAME vhash-zset:{p} vhash-zset:pages",
];

#[test]
fn whatever_breaks_a_hash_is_noticed() {
    let mut backend = Backend::start("redis").unwrap();
    let hash = millpond::connect(&backend.url()).unwrap().volatile_hash(NAME);
    for command in BREAKS {
        call(&mut backend, "FLUSHALL");
        hash.set_many([("a", "1"), ("b", "2")], MINUTE).unwrap();
        hash.acquire("a", "me", MINUTE).unwrap();
        hash.acquire("b", "me", MINUTE).unwrap();
        assert_eq!(problem(&mut backend), None);
        let before = raw::read(&mut backend).unwrap();
        call(&mut backend, command);
        assert!(problem(&mut backend).is_some(), "{command}");
        // What was wrong before the library did anything is not its fault.
        let after = raw::read(&mut backend).unwrap();
        let names = [NAME.as_bytes().to_vec()];
        assert!(layout::check(names.iter(), &before, &after).is_err(), "{command}");
        assert_eq!(layout::check(names.iter(), &after, &after), Ok(()), "{command}");
    }
}

#[test]
fn what_a_key_holds_is_compared() {
    let mut backend = Backend::start("redis").unwrap();
    let hash = millpond::connect(&backend.url()).unwrap().volatile_hash(NAME);
    hash.set("a", "1", MINUTE).unwrap();
    hash.acquire("l", "me", MINUTE).unwrap();
    let keys = raw::read(&mut backend).unwrap();
    let fits = |step| check_stored(&step, &keys).is_ok();
    assert!(fits(json!({"map": ["a"], "zset": ["a"], "lock": ["l"], "lockz": ["l"]})));
    assert!(fits(json!({"meta": ["version", "fence"]})));
    assert!(fits(json!({"name": "other", "map": [], "meta": []})));
    for wrong in [
        json!({"map": []}),
        json!({"map": ["a", "b"]}),
        json!({"zset": ["l"]}),
        json!({"lock": []}),
        json!({"lockz": ["a"]}),
        json!({"meta": []}),
        json!({"name": "other", "map": ["a"]}),
    ] {
        assert!(!fits(wrong.clone()), "{wrong}");
    }
    assert!(check_stored_step(&json!({"call": "stored", "map": []})).is_ok());
    assert!(check_stored_step(&json!({"call": "stored", "name": "other"})).is_err());
    assert!(check_stored_step(&json!({"call": "stored", "maps": []})).is_err());
}

#[test]
fn keys_follow_from_the_name() {
    for (name, end) in [("a", "{a}"), ("{a}b", "{a}b"), ("{}a", "{{}a}"), ("a}b{", "{a}b{}")] {
        let [map, .., meta] = keys_of(name.as_bytes());
        assert_eq!(map, format!("vhash-map:{end}").into_bytes());
        assert_eq!(meta, format!("vhash-meta:{end}").into_bytes());
    }
}
