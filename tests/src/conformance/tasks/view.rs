//! A store as the library lists it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::raw::Keys;
use super::store::{self, parts, prefix};
use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::value::wire_bytes;
use crate::wire;

/// All tasks by id, all documents by namespace and id, and the paused queues by name.
#[derive(Debug, PartialEq)]
pub(super) struct View {
    tasks: BTreeMap<String, Value>,
    docs: BTreeMap<(String, String), Value>,
    paused: BTreeMap<String, Value>,
}

impl View {
    /// Lists everything in a store, and compares lists and statistics.
    pub(super) fn of(adapter: &mut Adapter, store: &str) -> Result<Self> {
        let mut lister = Lister { adapter, store };
        let mut view =
            Self { tasks: BTreeMap::new(), docs: BTreeMap::new(), paused: BTreeMap::new() };
        for stats in lister.list("tasks_queue_stats")? {
            let queue = &stats["queue"];
            let tasks = lister.pages("tasks_list", "queue", queue, "tasks")?;
            check_counts(&stats, &tasks)?;
            if stats["paused"] == true {
                view.paused.insert(text(queue)?, json!(true));
            }
            for task in tasks {
                // What expires may disappear while it is being read.
                let id = text(&task["id"])?;
                if task["expires_ms"].is_null() && view.tasks.insert(id, task.clone()).is_some() {
                    return Err(format!("a task is in two queues: {task}"));
                }
            }
        }
        for stats in lister.list("tasks_namespace_stats")? {
            let namespace = &stats["namespace"];
            let docs = lister.pages("tasks_list_docs", "namespace", namespace, "docs")?;
            if stats["size"].as_u64() != Some(docs.len() as u64) {
                return Err(format!("{} documents are listed, not {stats}", docs.len()));
            }
            for doc in docs {
                view.docs.insert((text(namespace)?, text(&doc["id"])?), doc);
            }
        }
        Ok(view)
    }

    /// Whether the records of the server say the same.
    pub(super) fn compare(&self, keys: &Keys, store: &str) -> Result<()> {
        let store = store::read(keys, &prefix(store))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let optional = |bytes: Option<&Vec<u8>>| bytes.map(|bytes| text(bytes));
        let lasting = store.tasks.iter().filter(|(_, task)| task.expires_ms == 0);
        let tasks = lasting.map(|(id, task)| {
            let headers = task.headers.iter().map(|(name, of)| json!([text(name), wire_bytes(of)]));
            let headers: Value = headers.collect();
            let json = json!({
                "id": text(id), "version": task.version, "queue": text(&task.queue),
                "at_ms": task.at_ms, "created_ms": task.created_ms,
                "modified_ms": task.modified_ms, "claimant": text(&task.claimant),
                "claims": task.claims, "attempt": task.attempt, "err": text(&task.err),
                "value": optional(store.values.get(id)), "priority": task.priority,
                "expires_ms": null, "headers": headers,
            });
            (text(id), json)
        });
        let docs = store.docs.iter().map(|(namespaced, doc)| {
            let (namespace, id) = parts(namespaced);
            let json = json!({
                "namespace": text(namespace), "id": text(id), "version": doc.version,
                "key": text(&doc.key), "secondary_key": text(&doc.secondary_key),
                "content": optional(store.contents.get(namespaced)), "at_ms": doc.at_ms,
                "claimant": text(&doc.claimant), "created_ms": doc.created_ms,
                "modified_ms": doc.modified_ms,
            });
            ((text(namespace), text(id)), json)
        });
        let paused = store.paused.iter().map(|queue| (text(queue), json!(true)));
        let stored =
            Self { tasks: tasks.collect(), docs: docs.collect(), paused: paused.collect() };
        self.difference(&stored).map_or(Ok(()), |at| Err(format!("what is listed: {at}")))
    }

    /// The first task or document that is another in the two.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        fn first<K: Ord + std::fmt::Debug>(
            one: &BTreeMap<K, Value>,
            other: &BTreeMap<K, Value>,
        ) -> Option<String> {
            let key = one.keys().chain(other.keys()).find(|key| one.get(key) != other.get(key))?;
            let shown = |all: &BTreeMap<K, Value>| match all.get(key) {
                Some(value) => value.to_string(),
                None => "nothing".to_owned(),
            };
            Some(format!("{key:?} is {}\n      and not {}", shown(one), shown(other)))
        }
        first(&self.tasks, &other.tasks)
            .or_else(|| first(&self.docs, &other.docs))
            .or_else(|| first(&self.paused, &other.paused))
    }
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("no text: {value}"))
}

/// Whether statistics say what is listed, as far as that stays the same while time passes.
fn check_counts(stats: &Value, tasks: &[Value]) -> Result<()> {
    let number = |name: &str| stats[name].as_u64().unwrap_or(u64::MAX);
    let expiring = tasks.iter().any(|task| !task["expires_ms"].is_null());
    let parts = ["available", "claimed", "retrying", "future"].map(number);
    let claims = tasks.iter().filter_map(|task| task["claims"].as_u64()).max().unwrap_or(0);
    let is_same = number("size") == tasks.len() as u64 && number("max_claims") == claims;
    let sum = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
    for (time, count) in [("oldest_available_ms", "available"), ("first_lease_end_ms", "claimed")] {
        let is_none = number(count) == 0;
        let is_listed = tasks.iter().any(|task| task["at_ms"] == stats[time]);
        if stats[time].is_null() != is_none || !(is_none || is_listed || expiring) {
            return Err(format!("{time} is that of no task: {stats}"));
        }
    }
    if number("size") == sum && (is_same || expiring) {
        return Ok(());
    }
    Err(format!("{} tasks are listed, the most claimed {claims} times; not {stats}", tasks.len()))
}

struct Lister<'a> {
    adapter: &'a mut Adapter,
    store: &'a str,
}

impl Lister<'_> {
    fn list(&mut self, call: &str) -> Result<Vec<Value>> {
        let found = self.call(json!({"call": call}))?;
        Ok(found.as_array().ok_or_else(|| format!("{call} returned no list: {found}"))?.clone())
    }

    /// All pages, one after the other: in order, and nothing twice.
    fn pages(&mut self, call: &str, of: &str, name: &Value, what: &str) -> Result<Vec<Value>> {
        let mut all: Vec<Value> = Vec::new();
        let mut after = Value::Null;
        loop {
            let page = self.call(json!({"call": call, of: name, "after": after, "limit": 1000}))?;
            let items = page[what].as_array().ok_or_else(|| format!("no page: {page}"))?;
            all.extend(items.iter().cloned());
            after = page["next"].clone();
            if after.is_null() {
                break;
            }
        }
        let position = |item: &Value| {
            let part = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            let at = if what == "tasks" { item["at_ms"].as_u64() } else { None };
            (at, part("key"), part("secondary_key"), part("id"))
        };
        match all.windows(2).find(|pair| position(&pair[0]) >= position(&pair[1])) {
            Some(pair) => Err(format!("{call} {name}: {} comes before {}", pair[0], pair[1])),
            None => Ok(all),
        }
    }

    fn call(&mut self, mut request: Value) -> Result<Value> {
        request["store"] = json!(self.store);
        request["claimant"] = json!("kit");
        match self.adapter.call(wire::of_tasks(&request))? {
            Response::Result(result) => Ok(result),
            other => Err(format!("a store cannot be listed: {other:?}")),
        }
    }
}
