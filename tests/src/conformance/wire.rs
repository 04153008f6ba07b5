//! A request of calls, as an adapter has it: the first on the client, each other on what the one before it returned.

use serde_json::{Map, Value, json};

use crate::value::wire_bytes;

/// The arguments of a call that are not about the store or the job.
const STORE: [&str; 2] = ["store", "claimant"];

/// The arguments of a worker; a lease is one as well, but only there.
const WORKER: [&str; 8] = [
    "queues",
    "lease_ms",
    "wait_ms",
    "max_attempts",
    "max_claims",
    "backoff_ms",
    "backoff_max_ms",
    "error_queue",
];

/// The request that makes these calls.
pub(crate) fn calls<const N: usize>(calls: [(&str, Value); N]) -> Value {
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

/// The request for a step of a case about a task store, whose arguments are in one list there.
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
        "work" | "run" => {
            let mut worker = taken(&mut rest, &WORKER);
            if let Some(Value::Array(backoff)) = worker.remove("backoff_ms") {
                for (name, ms) in ["backoff_ms", "backoff_max_ms"].into_iter().zip(backoff) {
                    worker.insert(name.to_owned(), ms);
                }
            }
            let jobs = rest["jobs"].as_array().into_iter().flatten().map(job).collect::<Value>();
            return calls([tasks, ("worker", worker.into()), (call, json!({"jobs": jobs}))]);
        }
        "modify" => json!({"modification": modification(&rest.into())}),
        "put_doc" => rest.remove("doc").unwrap_or_default(),
        "list" => {
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

/// A job of a worker, which makes requests of its own.
fn job(said: &Value) -> Value {
    let mut said = said.clone();
    if let Some(requests) = said["run"].as_array() {
        said["run"] = requests.iter().map(of_tasks).collect();
    }
    if said["err"].is_null() && ["retry", "move"].iter().any(|then| said["then"] == *then) {
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
