//! The adapter for Rust: one JSON request per line in, one JSON response per line out.

use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::thread;

use millpond::ick::{Entry, Ick, Set, Stats};
use millpond::{Client, Error};
use serde_json::{Value, json};

use crate::value::{bytes, score, wire_bytes, wire_score};
use crate::{rust_events, rust_recruiter, rust_shuffle, rust_tasks, rust_tracker, rust_volatile};

/// Why a request has no result.
pub(crate) enum Failure {
    Error(Error),
    /// Rust cannot express this: it would not compile.
    Unsupported(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Handles requests until there are no more.
pub(crate) fn serve() -> std::io::Result<()> {
    let mut client = None;
    let mut output = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let mut response = respond(result(&mut client, &request));
        response["id"] = request["id"].clone();
        writeln!(output, "{response}")?;
        output.flush()?;
    }
    Ok(())
}

/// A response without the id of its request.
pub(crate) fn respond(result: Result<Value, Failure>) -> Value {
    match result {
        Ok(result) => json!({"result": result}),
        Err(Failure::Unsupported(why)) => json!({"unsupported": why}),
        Err(Failure::Error(error)) => json!({"error": {
            "code": error.kind().code(), "name": error.kind().name(),
            "message": error.to_string(),
            "dependency": error.dependency().map(rust_tasks::dependency),
        }}),
    }
}

/// Makes the call of one request.
fn result(open: &mut Option<Client>, request: &Value) -> Result<Value, Failure> {
    let call = request["call"].as_str().unwrap_or_default();
    if call == "open" || call == "close" {
        rust_recruiter::forget();
        if let Some(client) = open.take() {
            client.close()?;
        }
        if call == "open" {
            *open = Some(millpond::connect(text(&request["url"])?)?);
        }
        return Ok(Value::Null);
    }
    let client = open.as_ref().ok_or_else(|| unsupported("a client that is not open"))?;
    if call == "later" {
        later(client.clone(), request)?;
        return Ok(Value::Null);
    }
    perform(client, request)
}

/// Makes the call of a request after a while, on a thread of its own.
fn later(client: Client, request: &Value) -> Result<(), Failure> {
    let (after, request) = (rust_tasks::duration(&request["ms"])?, request["request"].clone());
    thread::spawn(move || {
        thread::sleep(after);
        if let Err(Failure::Error(error)) = perform(&client, &request) {
            eprintln!("{request}: {error}");
        }
    });
    Ok(())
}

/// Makes the calls of one request on a client.
pub(crate) fn perform(client: &Client, request: &Value) -> Result<Value, Failure> {
    let calls = request["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ([first, ..], [.., last]) = (calls, calls) else { return Err(unknown("nothing")) };
    // On what the calls are, and the arguments of those that come after, together.
    let (on, mut request) = (&first[1], json!({}));
    for (name, value) in calls.iter().skip(1).filter_map(|call| call[1].as_object()).flatten() {
        request[name] = value.clone();
    }
    let (call, request) = (last[0].as_str().unwrap_or_default(), &request);
    match first[0].as_str().unwrap_or_default() {
        "ick" => ick(&client.ick(string(&on["name"])?), call, request),
        "shuffle_queue" => rust_shuffle::result(client, on, call, request),
        "events" => rust_events::result(client, on, call, request),
        "volatile_hash" | "volatile_hashes" => rust_volatile::result(client, calls, request),
        "recruiter" => rust_recruiter::result(client, on, call, request),
        "queue_tracker" => rust_tracker::result(client, on, call, request),
        "shard" => rust_shuffle::shard_of(on),
        "tasks" => rust_tasks::result(client, on, call, request),
        "task_stores" => Ok(client.task_stores()?.into_iter().map(wire_bytes).collect()),
        other => Err(unknown(other)),
    }
}

fn ick(ick: &Ick, call: &str, request: &Value) -> Result<Value, Failure> {
    let backwash = request["backwash"] == true;
    Ok(match call {
        "add" => {
            let added = ick.add(list(&request["pairs"], pair)?)?;
            json!({"new": added.new, "lowered": added.lowered})
        }
        "reserve" if backwash => entries(ick.reserve_backwash(size(&request["max"])?)?),
        "reserve" => entries(ick.reserve(size(&request["max"])?)?),
        "commit" => json!(ick.commit(list(&request["members"], string)?)?),
        "exchange" => {
            let (max, members) = (size(&request["max"])?, list(&request["members"], string)?);
            entries(if backwash {
                ick.exchange_backwash(max, members)?
            } else {
                ick.exchange(max, members)?
            })
        }
        "stats" => ick.stats()?.map_or(Value::Null, |found| stats(&found)),
        "unlink" => json!(ick.unlink()?),
        "delete" => json!(ick.delete()?),
        "peek" => {
            let set = if request["set"] == "producer" { Set::Producer } else { Set::Consumer };
            entries(ick.peek(set, size(&request["max"])?)?)
        }
        other => return Err(unknown(other)),
    })
}

/// There is no such call, which is no matter of types.
pub(crate) fn unknown(call: &str) -> Failure {
    Failure::Unsupported(format!("the call {call} is not known"))
}

fn entries(entries: Vec<Entry>) -> Value {
    let pair = |entry: &Entry| json!([wire_bytes(&entry.member), wire_score(entry.score)]);
    entries.iter().map(pair).collect()
}

fn stats(stats: &Stats) -> Value {
    let mut fields = json!({
        "ver": wire_bytes(&stats.version),
        "key": wire_bytes(&stats.key),
        "pset_key": wire_bytes(&stats.producer_key),
        "cset_key": wire_bytes(&stats.consumer_key),
        "pset_size": stats.producer_size,
        "cset_size": stats.consumer_size,
        "total_size": stats.total_size(),
    });
    let ranges = [
        ("pset", stats.producer_range),
        ("cset", stats.consumer_range),
        ("total", stats.total_range()),
    ];
    for (set, range) in ranges {
        if let Some((min, max)) = range {
            fields[format!("{set}_min")] = wire_score(min);
            fields[format!("{set}_max")] = wire_score(max);
        }
    }
    fields
}

fn pair(pair: &Value) -> Result<(f64, Vec<u8>), Failure> {
    let score = score(&pair[0]).map_err(|_| unsupported("a score that is no f64"))?;
    Ok((score, string(&pair[1])?))
}

pub(crate) fn string(value: &Value) -> Result<Vec<u8>, Failure> {
    bytes(value).map_err(|_| unsupported("a name or member that is no string"))
}

pub(crate) fn text(value: &Value) -> Result<&str, Failure> {
    value.as_str().ok_or_else(|| unsupported("a URL that is no string"))
}

fn size(value: &Value) -> Result<u64, Failure> {
    value.as_u64().ok_or_else(|| unsupported("a size that is no u64"))
}

pub(crate) fn list<'a, T>(
    values: &'a Value,
    item: impl Fn(&'a Value) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    values.as_array().into_iter().flatten().map(item).collect()
}

pub(crate) fn unsupported(what: &str) -> Failure {
    Failure::Unsupported(format!("Rust's types refuse {what}"))
}
