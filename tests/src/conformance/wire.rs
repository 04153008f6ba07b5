//! A request of calls, as an adapter has it: the first on the client, each other on what the one before it returned.

use serde_json::{Map, Value, json};

use crate::value::wire_bytes;

/// The arguments of a call that are not about the store or the job.
const STORE: [&str; 2] = ["store", "claimant"];

/// The arguments of a shuffle queue, and of a consumer of it.
pub(crate) const QUEUE: [&str; 6] =
    ["name", "streams", "streams_per_shard", "ttl_ms", "dead_ttl_ms", "track_keys"];
pub(crate) const CONSUMER: [&str; 5] =
    ["group", "consumer", "prefer_stream", "default_stream", "max_deliveries"];

/// The volatile hash of a request that names none.
pub(crate) const HASH: &str = "pages";

/// The arguments of a volatile hash that are bytes, or lists of them.
const BYTES: [&str; 4] = ["field", "fields", "value", "token"];

/// The queue tracker of a request that names none.
pub(crate) const TRACKER: &str = "orders";

/// The arguments of a queue tracker that are ids, or lists of them.
const IDS: [&str; 5] = ["id", "ids", "sampled", "done", "adds"];

/// The calls of a shuffle queue that are made on a consumer, or on a worker of it.
const OF_CONSUMER: [&str; 5] = ["read_many", "ack", "reclaim", "drain", "run"];

/// The arguments of a worker; a lease is one as well, but only there.
const WORKER: [&str; 14] = [
    "queues",
    "lease_ms",
    "wait_ms",
    "max_attempts",
    "max_crashes",
    "backoff_ms",
    "backoff_max_ms",
    "error_queue",
    "key_range",
    "concurrency",
    "prefetch",
    "timeout_ms",
    "budget_ms",
    "delete",
];

/// The request that makes these calls.
pub(crate) fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let calls = calls.into_iter().map(|(call, arguments)| json!([call, arguments]));
    json!({"calls": calls.collect::<Value>()})
}

/// The request for a call of an Ick.
pub(crate) fn of_ick(name: &Value, call: &str, arguments: Value) -> Value {
    calls([("ick", json!({"name": name})), (call, arguments)])
}

/// Bytes, which an adapter tells from text.
pub(crate) fn labelled(bytes: impl AsRef<[u8]>) -> Value {
    match wire_bytes(bytes) {
        Value::String(text) => json!({"utf8": text}),
        encoded => encoded,
    }
}

/// Whether this is what an adapter says of a call, or an argument of it, that it does not have: no matter of types.
pub(crate) fn is_unknown(why: &str) -> bool {
    why.starts_with("the call ") && (why.ends_with(" is not known") || why.contains(" takes no "))
}

/// The request for a step of a case in patterns, whose arguments are in one list there.
pub(crate) fn of_step(step: &Value) -> Value {
    match step["call"].as_str().unwrap_or_default() {
        "task_stores" => calls([("task_stores", json!({}))]),
        call => match call.split_once('_') {
            Some(("shuffle", call)) => of_shuffle(call, step),
            Some(("events", call)) => of_events(call, step),
            Some(("vhash", call)) => of_volatile(call, step),
            Some(("steal", call)) => of_recruiter(call, step),
            Some(("tracker", call)) => of_tracker(call, step),
            _ => of_tasks(step),
        },
    }
}

/// The request for a call of a shuffle queue, by default of one consumer of one queue that a cluster has in one slot.
fn of_shuffle(call: &str, step: &Value) -> Value {
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    rest.retain(|_, value| !value.is_null());
    rest.entry("name").or_insert_with(|| json!("{q}"));
    let mut on = vec![("shuffle_queue", taken(&mut rest, &QUEUE).into())];
    if OF_CONSUMER.contains(&call) {
        rest.entry("group").or_insert_with(|| json!("g"));
        rest.entry("consumer").or_insert_with(|| json!("A"));
        on.push(("consumer", taken(&mut rest, &CONSUMER).into()));
    }
    if let "drain" | "run" = call {
        on.push(("worker", worker(&mut rest)));
        rest = Map::from_iter([("jobs".to_owned(), jobs(&rest))]);
    }
    calls(on.into_iter().chain([(call, rest.into())]))
}

/// The request for a call of events, by default of one queue.
fn of_events(call: &str, step: &Value) -> Value {
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    rest.retain(|_, value| !value.is_null());
    let name = rest.remove("name").unwrap_or_else(|| json!("orders"));
    let mut on = vec![("events", json!({"name": name}))];
    if let "drain" | "run" = call {
        on.push(("worker", worker(&mut rest)));
        rest = Map::from_iter([("jobs".to_owned(), jobs(&rest))]);
    }
    if let Some(delivery) = rest.get_mut("delivery") {
        *delivery = receipt(delivery);
    }
    if let Some(Value::Array(deliveries)) = rest.get_mut("deliveries") {
        deliveries.iter_mut().for_each(|delivery| *delivery = receipt(delivery));
    }
    calls(on.into_iter().chain([(call, rest.into())]))
}

/// What ends the delivery of an event that was received.
fn receipt(event: &Value) -> Value {
    json!({"id": event["id"], "token": as_bytes(&event["token"])})
}

/// The request for a call of a volatile hash, by default of one, or of a family and a hash in it. Fields, values and
/// tokens are bytes.
fn of_volatile(call: &str, step: &Value) -> Value {
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    rest.retain(|_, value| !value.is_null());
    let mut take = |name: &str| rest.remove(name);
    let on: Vec<_> = match (take("name"), take("family"), take("shards"), take("base")) {
        (None, Some(family), shards, base) => {
            let mut family = json!({"name": family});
            if let Some(shards) = shards {
                family["shards"] = shards;
            }
            let hash = base.map(|base| ("hash", json!({"base": as_bytes(&base)})));
            [("volatile_hashes", family)].into_iter().chain(hash).collect()
        }
        (name, ..) => {
            vec![("volatile_hash", json!({"name": name.unwrap_or_else(|| json!(HASH))}))]
        }
    };
    for (_, value) in rest.iter_mut().filter(|(name, _)| BYTES.contains(&name.as_str())) {
        *value = as_bytes(value);
    }
    if let Some(after) = rest.get_mut("after") {
        after["field"] = as_bytes(&after["field"]);
    }
    calls(on.into_iter().chain([(call, rest.into())]))
}

/// The request for a call of a recruiter. What a handler runs is on the same one, unless it names another.
fn of_recruiter(call: &str, step: &Value) -> Value {
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    let name = rest.remove("name").unwrap_or_default();
    let turns = rest.get_mut("handler").and_then(Value::as_array_mut);
    for turn in turns.into_iter().flatten() {
        let requests = turn.get_mut("run").and_then(Value::as_array_mut);
        for request in requests.into_iter().flatten() {
            let is_of_one = |call: &str| call.starts_with("steal_");
            if request["call"].as_str().is_some_and(is_of_one) && request["name"].is_null() {
                request["name"] = name.clone();
            }
            *request = of_step(request);
        }
    }
    calls([("recruiter", json!({"name": name})), (call, rest.into())])
}

/// The request for a call of a queue tracker, by default of one. Ids are bytes; of a row that a scan finds, the second.
fn of_tracker(call: &str, step: &Value) -> Value {
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    let name = rest.remove("name").unwrap_or_else(|| json!(TRACKER));
    for (_, value) in rest.iter_mut().filter(|(name, _)| IDS.contains(&name.as_str())) {
        *value = as_bytes(value);
    }
    if let ("scan", Some(Value::Array(rows))) = (call, rest.get_mut("rows")) {
        rows.iter_mut().for_each(|row| row[1] = as_bytes(&row[1]));
    }
    calls([("queue_tracker", json!({"name": name})), (call, rest.into())])
}

/// Texts as bytes, also those in lists.
fn as_bytes(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"utf8": text}),
        Value::Array(items) => items.iter().map(as_bytes).collect(),
        encoded => encoded.clone(),
    }
}

/// The request for a call of a task store.
pub(crate) fn of_tasks(step: &Value) -> Value {
    let call = step["call"].as_str().unwrap_or_default();
    let call = call.strip_prefix("tasks_").unwrap_or(call);
    let mut rest = step.as_object().cloned().unwrap_or_default();
    rest.remove("call");
    let store = taken(&mut rest, &STORE);
    let store = json!({"name": store.get("store"), "claimant": store.get("claimant")});
    rest.retain(|_, value| !value.is_null());
    let tasks = ("tasks", present(store));
    let arguments = match call {
        "work" | "drain" | "run" => {
            let worker = worker(&mut rest);
            return calls([tasks, ("worker", worker), (call, json!({"jobs": jobs(&rest)}))]);
        }
        "modify" => json!({"modification": modification(&rest.into())}),
        "put_doc" => rest.remove("doc").unwrap_or_default(),
        "list" | "purge" | "move_tasks" | "redrive" => {
            if let Some(claimant) = rest.remove("only_claimant") {
                rest.insert("claimant".to_owned(), claimant);
            }
            rest.into()
        }
        "renew" => modification(&rest.into()),
        _ => rest.into(),
    };
    calls([tasks, (call, present(arguments))])
}

/// Takes the arguments of a worker.
fn worker(from: &mut Map<String, Value>) -> Value {
    let mut worker = taken(from, &WORKER);
    if let Some(Value::Array(backoff)) = worker.remove("backoff_ms") {
        for (name, ms) in ["backoff_ms", "backoff_max_ms"].into_iter().zip(backoff) {
            worker.insert(name.to_owned(), ms);
        }
    }
    worker.into()
}

fn jobs(of: &Map<String, Value>) -> Value {
    of.get("jobs").and_then(Value::as_array).into_iter().flatten().map(job).collect()
}

/// A job of a worker, which makes requests of its own.
fn job(said: &Value) -> Value {
    let mut said = said.clone();
    if let Some(requests) = said["run"].as_array() {
        said["run"] = requests.iter().map(of_step).collect();
    }
    if said["err"].is_null() && ["retry", "move", "reject"].iter().any(|then| said["then"] == *then)
    {
        said["err"] = json!("");
    }
    if said["modification"].is_object() {
        said["modification"] = modification(&said["modification"]);
    }
    present(said)
}

/// The lists of a modification, with the handles of tasks and documents that are more than that.
fn modification(lists: &Value) -> Value {
    let mut lists = lists.clone();
    for (name, list) in lists.as_object_mut().into_iter().flatten() {
        let handle: &[&str] = match name.as_str() {
            "deletes" | "depends" | "tasks" => &["id", "version"],
            "doc_deletes" | "doc_depends" | "docs" => &["namespace", "id", "version"],
            _ => continue,
        };
        for entry in list.as_array_mut().into_iter().flatten() {
            if let Value::Object(fields) = entry {
                *entry = taken(fields, handle).into();
            }
        }
    }
    present(lists)
}

/// Takes what there is of these names.
fn taken(from: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    names.iter().filter_map(|name| from.remove_entry(*name)).collect()
}

/// The same without what is null: it is not given, and the library has a default of its own.
fn present(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(name, value)| (name, present(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(present).collect(),
        plain => plain,
    }
}
