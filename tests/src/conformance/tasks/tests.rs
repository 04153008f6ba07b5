//! The kit's part for task stores: tests of what stores are compared with.

use millpond::tasks::{Modification, NewDoc, NewTask, TaskStore};
use serde_json::{Value, json};

use super::invariants;
use super::names::Names;
use super::pattern;
use super::plan::Plan;
use super::raw;
use super::record::{self, Item};
use crate::backend::Backend;

const STORE: &str = "shop";

/// Something of everything that a store can hold.
fn fill(store: &TaskStore) {
    let all = Modification::new()
        .insert(NewTask::new("q").id("t").value("1"))
        .insert(NewTask::new("q").id("high").priority(5).at_ms(7))
        .insert(NewTask::new("q").id("low").priority(1).at_ms(8))
        .insert(NewTask::new("p").id("ends").ttl(std::time::Duration::from_secs(3_600)))
        .insert(NewTask::new("c").id("claimed"))
        .insert_doc(NewDoc::new("n", "k").id("d").content("1"))
        .insert_doc(NewDoc::new("m", "k").id("held"));
    store.modify(all).unwrap();
    store.claim(["c"], std::time::Duration::from_secs(60)).unwrap().unwrap();
    store.claim_docs("m", ["k"], std::time::Duration::from_secs(60)).unwrap();
}

fn problem(backend: &mut Backend) -> Option<String> {
    invariants::problem(&raw::read(backend).unwrap(), &[STORE.to_owned()].into())
}

/// Commands that each break a store, with `P` for what its keys begin with.
const BREAKS: [&str; 39] = [
    "ZADD P:at:0:q 5 t",
    "ZREM P:at:0:q t",
    "ZADD P:at:0:p 7 high",
    "ZADD P:at:0:none 7 none",
    "ZADD P:at:5:q 9 high",
    "ZADD P:claimed:c 5 claimed",
    "ZREM P:claimed:c claimed",
    "ZADD P:claimed:q 7 high",
    "HSET P:claims:c 1 2",
    "HSET P:claims:c 2 1",
    "DEL P:claims:c",
    "DEL P:levels",
    "HSET P:levels q 15",
    "HSET P:levels q 50",
    "HSET P:levels q 5",
    "HSET P:levels none 5",
    "ZADD P:expiry 5 ends",
    "DEL P:expiry",
    "HSET P:values none 1",
    "ZADD P:taken 1.5 gone",
    "HSET P:taken gone 1",
    "ZADD P:queues 0 none",
    "ZADD P:queues 1 q",
    "ZREM P:queues q",
    "DEL P:meta",
    "HSET P:meta version tasks.v2",
    "HDEL P t",
    "HSET P t record",
    "HDEL P:docs n\0d",
    "ZREM P:keys:n k\0\0d",
    "ZADD P:keys:n 0 k\0\0e",
    "ZADD P:held:n 5 d",
    "DEL P:held:m",
    "ZREM P:namespaces n",
    "ZADD P:namespaces 0 none",
    "HSET P:contents n\0none 1",
    "SET P:at:0:none x",
    "EXPIRE P:values 1000",
    "SET {shop}:other x",
];

#[test]
fn whatever_breaks_a_store_is_noticed() {
    let mut backend = Backend::start("redis").unwrap();
    let client = millpond::connect(&backend.url()).unwrap();
    let store = client.tasks(STORE);
    for command in BREAKS {
        backend.server(b"").unwrap().call(&["FLUSHALL"]).unwrap();
        fill(&store);
        assert_eq!(problem(&mut backend), None);
        let words = command.split(' ').map(|word| match word.strip_prefix('P') {
            Some(rest) if rest.is_empty() || rest.starts_with(':') => {
                format!("{{shop}}:tasks{rest}")
            }
            _ => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        let reply = backend.server(b"").unwrap().call(&words).unwrap();
        assert_eq!(reply.error(), None, "{command}");
        assert!(problem(&mut backend).is_some(), "{command}");
    }
}

#[test]
fn an_empty_store_is_sound() {
    let mut backend = Backend::start("redis").unwrap();
    assert_eq!(problem(&mut backend), None);
    let store = millpond::connect(&backend.url()).unwrap().tasks(STORE);
    let task = store.insert("q", "1").unwrap();
    store.modify(Modification::new().delete(&task)).unwrap();
    assert_eq!(problem(&mut backend), None);
}

#[test]
fn records_are_read_to_their_end() {
    let text = |text: &str| Item::Text(text.into());
    let record = b"\x94\xa2ab\x07\xcf\0\0\x01\0\0\0\0\0\xd1\x01\x00";
    let items = vec![text("ab"), Item::Number(7), Item::Number(1 << 40), Item::Number(256)];
    assert_eq!(record::read(record), Ok(items));
    let long = [b"\xdc\x00\x01\xda\x01\x2c".as_slice(), &[b'x'; 300]].concat();
    assert_eq!(record::read(&long), Ok(vec![text(&"x".repeat(300))]));
    for wrong in [b"\x92\x01".as_slice(), b"\x91\x01\x02", b"\x91\xa5ab", b"\x91\xff", b"\x01", b""]
    {
        assert!(record::read(wrong).is_err(), "{wrong:?}");
    }
}

fn fits(pattern: &Value, found: &Value) -> bool {
    pattern::compare(pattern, found, &mut Names::default()).is_ok()
}

#[test]
fn patterns_fit_what_they_say_and_nothing_else() {
    for (pattern, fitting, other) in [
        (json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"b": 2})),
        (json!({"a": null}), json!({"b": 2}), json!({"a": 0})),
        (json!({}), json!({"a": 1}), json!([])),
        (json!([1, 2]), json!([1, 2]), json!([1, 2, 3])),
        (json!([1, 2]), json!([1, 2]), json!([2, 1])),
        (json!({"$any_order": [1, 2]}), json!([2, 1]), json!([1, 1])),
        (json!({"$any_order": [1, 2]}), json!([2, 1]), json!([2, 1, 2])),
        (json!({"$between": [1, 3]}), json!(3), json!(4)),
        (json!({"$between": [1, 3]}), json!(1), json!("2")),
        (json!({"$between": [1, 3]}), json!(1.5), json!(0.5)),
        (json!({"$hex": 4}), json!("00ff"), json!("00FF")),
        (json!({"$hex": 4}), json!("1234"), json!("12345")),
        (json!({"$begins": "ab"}), json!("abc"), json!("xabc")),
        (json!({"$ends": "bc"}), json!("abc"), json!("abcx")),
        (json!({"$not": 1}), json!(2), json!(1)),
        (json!({"$one_of": [1, {"a": 2}]}), json!({"a": 2}), json!({"a": 3})),
        (json!({"$all": {"a": 1}}), json!([{"a": 1}, {"a": 1}]), json!([{"a": 1}, {"a": 2}])),
        (json!({"$all": 1, "count": 2}), json!([1, 1]), json!([1])),
        (json!({"$as": "x", "is": 1}), json!(1), json!(2)),
        (json!({"$any": true}), json!(1), Value::Null),
    ] {
        assert!(fits(&pattern, &fitting), "{pattern} and {fitting}");
        let is_any = pattern.get("$any").is_some();
        assert_eq!(fits(&pattern, &other), is_any, "{pattern} and {other}");
    }
    assert!(!fits(&json!({"$anything": true}), &json!(1)), "there is no such pattern");
}

#[test]
fn names_are_filled_in() {
    let mut names = Names::default();
    names.name("t", json!({"id": "a", "list": [{"at": 5}]}));
    names.count("i", 3);
    let list = json!([0, {"$each": [1, 3], "of": {"id": "t{n}", "number": {"$": "n"}}}]);
    for (value, filled) in [
        (json!({"$": "t.list.0.at"}), json!(5)),
        (json!({"$": "t.list.0.at", "plus": -2}), json!(3)),
        (json!({"$": "t.list.0.at", "plus": [-1, 4]}), json!({"$between": [4, 9]})),
        (json!("a{i}-{j}"), json!("a3-{j}")),
        (json!({"$text": "ab", "times": 2}), json!("abab")),
        (json!({"$text": "ab", "times": 2, "around": "\""}), json!("\"abab\"")),
        (list, json!([0, {"id": "t1", "number": 1}, {"id": "t2", "number": 2}])),
    ] {
        assert_eq!(names.filled(&value), Ok(filled), "{value}");
    }
    for wrong in [json!({"$": "u"}), json!({"$": "t.none"}), json!({"$": "t.id", "plus": 1})] {
        assert!(names.filled(&wrong).is_err(), "{wrong}");
    }
    pattern::compare(&json!([{"$as": "one"}, 2]), &json!([7, 2]), &mut names).unwrap();
    assert_eq!(names.filled(&json!({"$": "one"})), Ok(json!(7)));
}

#[test]
fn a_case_that_says_nothing_is_none() {
    for step in [
        json!({"call": "tasks_claim"}),
        json!({"call": "tasks_clame", "returns": null}),
        json!({"call": "sleep"}),
        json!({"call": "repeat", "times": 2, "steps": [{"call": "tasks_time"}]}),
        json!({"call": "tasks_claims", "returns": [], "meanwhile": {"call": "tasks_insert"}}),
    ] {
        assert!(Plan::read(&json!({"steps": [step]})).is_err(), "{step}");
    }
    assert!(Plan::read(&json!({"steps": [{"call": "tasks_time", "as": "now"}]})).is_ok());
}
