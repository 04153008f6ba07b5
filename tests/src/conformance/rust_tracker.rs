//! The adapter for Rust: the calls of a queue tracker, and what a request says of the functions that it calls.

use millpond::Client;
use millpond::tracker::{LIMIT_DEFAULT, Pruned, QueueTracker, ROUND_DEFAULT, Scanned};
use serde_json::{Value, json};

use crate::rust::{Failure, list, string, text, unknown, unsupported};
use crate::rust_tasks::{duration, given};
use crate::value::wire_bytes;

type Result<T> = std::result::Result<T, Failure>;

/// What a function of the program fails with.
type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Makes a call on the tracker.
pub(crate) fn result(client: &Client, on: &Value, call: &str, request: &Value) -> Result<Value> {
    let tracker = client.queue_tracker(string(&on["name"])?);
    let ids = || list(&request["ids"], string);
    let limit = given(&request["limit"]).map(size).transpose()?.unwrap_or(LIMIT_DEFAULT);
    let round_min = given(&request["round_min_ms"]).map(duration).transpose()?;
    let round_min = round_min.unwrap_or(ROUND_DEFAULT);
    Ok(match call {
        "add" => {
            tracker.add(ids()?)?;
            Value::Null
        }
        "is_queued" => json!(tracker.is_queued(string(&request["id"])?)?),
        "are_queued" => json!(tracker.are_queued(ids()?)?),
        "len" => json!(tracker.len()?),
        "stats" => stats(&tracker.stats()?),
        "begin_scan" => stats(&tracker.begin_scan(limit, round_min)?),
        "ids" => {
            let after = given(&request["after"]).and_then(Value::as_u64).unwrap_or_default();
            let ids = tracker.ids(after, limit)?;
            ids.iter().map(|of| json!({"id": wire_bytes(&of.id), "stamp": of.stamp})).collect()
        }
        "clear" => json!(tracker.clear()?),
        "advance" => {
            let rows = list(&request["rows"], string)?;
            let after = text(&request["after"])?;
            scanned(tracker.advance(after, rows, ids()?, limit, round_min)?)
        }
        "sample" => {
            let sample = tracker.sample(limit)?;
            let ids: Value = sample.ids.iter().map(wire_bytes).collect();
            json!({"ids": ids, "stamp": sample.stamp})
        }
        "remove" => {
            let (sampled, stamp) = (list(&request["sampled"], string)?, &request["stamp"]);
            pruned(tracker.remove(ids()?, sampled, stamp.as_u64().unwrap_or_default())?)
        }
        "scan" => {
            let mut seen = Value::Null;
            let rows = list(&request["rows"], |row| Ok((place(&row[0]), string(&row[1])?)))?;
            let read = |after: Option<&str>, limit: usize| {
                seen = json!({"after": after, "limit": limit});
                meanwhile(&tracker, request).map(|()| rows)
            };
            let done = tracker.scan(limit, round_min, read);
            called(seen, done.map(scanned))?
        }
        "prune" => {
            let mut seen = Value::Null;
            let done = list(&request["done"], string)?;
            let check = |ids: &[Vec<u8>]| {
                seen = ids.iter().map(wire_bytes).collect();
                meanwhile(&tracker, request).map(|()| done)
            };
            let done = tracker.prune(limit, check);
            called(seen, done.map(pruned))?
        }
        other => return Err(unknown(other)),
    })
}

/// What a function does besides what it returns.
fn meanwhile(tracker: &QueueTracker, request: &Value) -> std::result::Result<(), AnyError> {
    if let Some(ids) = given(&request["adds"]) {
        let ids = list(ids, string).map_err(|_| "the ids are none")?;
        tracker.add(ids)?;
    }
    match request["raises"].as_str() {
        Some(message) => Err(message.into()),
        None => Ok(()),
    }
}

/// What a function got, and what the call came to.
fn called(seen: Value, done: std::result::Result<Value, AnyError>) -> Result<Value> {
    match done {
        Ok(result) => Ok(json!({"seen": seen, "result": result})),
        Err(error) => match error.downcast::<millpond::Error>() {
            Ok(error) => Err(Failure::Error(*error)),
            Err(other) => Ok(json!({"seen": seen, "raised": other.to_string()})),
        },
    }
}

fn place(row: &Value) -> String {
    row.as_str().map_or_else(|| row.to_string(), str::to_owned)
}

fn stats(stats: &millpond::tracker::TrackerStats) -> Value {
    json!({"ids": stats.ids, "rounds": stats.rounds, "oldest": stats.oldest, "row": stats.row})
}

fn scanned(scanned: Scanned) -> Value {
    json!({"rows": scanned.rows, "added": scanned.added, "more": scanned.more})
}

fn pruned(pruned: Pruned) -> Value {
    json!({"checked": pruned.checked, "removed": pruned.removed})
}

fn size(value: &Value) -> Result<usize> {
    let size = value.as_u64().and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| unsupported("a number of another type"))
}
