//! Steps as requests to an adapter.

use std::collections::HashMap;

use millpond_tests::shuffle::model::{Fields, Text};
use millpond_tests::shuffle::trace::bytes;
use serde_json::{Value, json};

use crate::Result;
use crate::value::wire_bytes;

use super::step::{Call, Deadline, Reader, Step, Target, Tracked, Tracking};

/// Where messages really are, by their names: the stream's key and the id.
pub(super) type Places = HashMap<Text, (Text, Text)>;

/// The request for a step; `letters` are the ids of dead letters, and `now` is the time in seconds.
pub(super) fn request(step: &Step, places: &Places, letters: &[String], now: i64) -> Result<Value> {
    let mut request = match &step.call {
        Call::Write { to, message, tracked: None } => {
            let mut request = writing("shuffle_write", to);
            request["shard_key"] = wire(&message.key);
            request["fields"] = fields(&message.fields);
            request
        }
        Call::Write { to, message, tracked: Some(tracked) } => {
            let mut request = writing("shuffle_write_tracked", to);
            request["shard_key"] = wire(&message.key);
            request["fields"] = fields(&message.fields);
            track(&mut request, tracked, now);
            request
        }
        Call::Resize(to) => writing("shuffle_resize", to),
        Call::WriteMany { to, messages, tracked } => {
            let call = match tracked {
                None => "shuffle_write_many",
                Some(_) => "shuffle_write_tracked_many",
            };
            let mut request = writing(call, to);
            if let Some(tracked) = tracked {
                track(&mut request, tracked, now);
            }
            let messages = messages.iter().map(|m| json!([wire(&m.key), fields(&m.fields)]));
            request["messages"] = messages.collect();
            request
        }
        Call::Read { by, max, block_ms, .. } => {
            let mut request = reading("shuffle_read", by);
            request["max"] = json!(max);
            request["block"] = block_ms.map_or(Value::Null, |ms| seconds(ms as i64));
            request["prefer_stream"] = json!(by.prefer);
            request["default_stream"] = json!(by.default_stream);
            request
        }
        Call::Ack { by, ids, delete } => {
            let mut request = reading("shuffle_ack", by);
            request["receipts"] = receipts(&by.name, ids, places)?;
            request["delete"] = json!(delete);
            request
        }
        Call::Extend { by, ids } => {
            let mut request = reading("shuffle_extend", by);
            request["receipts"] = receipts(&by.name, ids, places)?;
            request
        }
        Call::Reclaim { by, min_idle_ms, max, max_deliveries, dead_ttl_ms } => {
            let mut request = reading("shuffle_reclaim", by);
            request["dead_ttl"] = dead_ttl_ms.map_or(Value::Null, seconds);
            request["min_idle"] = seconds(*min_idle_ms);
            request["max"] = json!(max);
            request["max_deliveries"] = json!(max_deliveries);
            request
        }
        Call::Len(name) => json!({"call": "shuffle_len", "name": wire(name)}),
        Call::Backlog(name) => json!({"call": "shuffle_backlog", "name": wire(name)}),
        Call::PendingCount(name, group) => {
            json!({"call": "shuffle_pending_count", "name": wire(name), "group": wire(group)})
        }
        Call::Stats(name, group) => {
            json!({"call": "shuffle_stats", "name": wire(name), "group": wire(group)})
        }
        Call::DeadLetters(name, max) => {
            json!({"call": "shuffle_dead_letters", "name": wire(name), "max": max})
        }
        Call::DeleteDeadLetters(name, numbers) => {
            let id = |number: &usize| {
                let id = letters.get(*number);
                id.ok_or_else(|| format!("there is no dead letter {number} yet"))
            };
            let ids: Vec<_> = numbers.iter().map(id).collect::<Result<_>>()?;
            json!({"call": "shuffle_delete_dead_letters", "name": wire(name), "ids": ids})
        }
        Call::DeleteTracked { of, value } => {
            let mut request = tracking("shuffle_delete_tracked", of);
            request["value"] = wire(value);
            request
        }
        Call::Cordon { of, within } => {
            let mut request = tracking("shuffle_cordon", of);
            request["within"] = json!(within);
            request
        }
        Call::Gc { of, digits } => {
            let mut request = tracking("shuffle_gc", of);
            request["time_digits"] = json!(digits);
            request
        }
        Call::Redis(_) => return Err("a raw command is no request".to_owned()),
    };
    for (argument, value) in &step.raw {
        request[argument] = value.clone();
    }
    Ok(request)
}

fn writing(call: &str, to: &Target) -> Value {
    json!({
        "call": call, "name": wire(&to.name), "streams": to.streams,
        "streams_per_shard": to.per_shard, "ttl": to.ttl_ms.map_or(Value::Null, seconds),
    })
}

fn track(request: &mut Value, tracked: &Tracked, now: i64) {
    request["track_field"] = wire(&tracked.field);
    request["track_keys"] = track_keys(&tracked.of);
    request["deadline"] = match tracked.deadline {
        Deadline::Default => Value::Null,
        Deadline::At(at) => json!(at),
        Deadline::FromNow(from_now) => json!(now + from_now),
    };
}

fn reading(call: &str, by: &Reader) -> Value {
    json!({
        "call": call, "name": wire(&by.name), "ttl": by.ttl_ms.map_or(Value::Null, seconds),
        "group": wire(&by.group), "consumer": wire(&by.consumer),
    })
}

fn tracking(call: &str, of: &Tracking) -> Value {
    json!({"call": call, "name": wire(&of.name), "track_keys": track_keys(of)})
}

fn track_keys(of: &Tracking) -> Value {
    json!(if of.is_global { "global" } else { "queue" })
}

fn receipts(name: &str, ids: &[Text], places: &Places) -> Result<Value> {
    let receipt = |id: &Text| {
        let (key, real) = places.get(id).ok_or_else(|| format!("there is no message {id} yet"))?;
        Ok(json!({"stream": stream_number(name, key), "id": real}))
    };
    ids.iter().map(receipt).collect()
}

/// The number of a stream, or null for the default one.
fn stream_number(name: &str, key: &str) -> Value {
    let number = key.strip_prefix(name).and_then(|rest| rest.strip_prefix(":s"));
    number.and_then(|number| number.parse::<u64>().ok()).map_or(Value::Null, Value::from)
}

/// Whole seconds as a whole number.
fn seconds(ms: i64) -> Value {
    if ms % 1_000 == 0 { json!(ms / 1_000) } else { json!(ms as f64 / 1_000.0) }
}

fn fields(fields: &Fields) -> Value {
    fields.iter().map(|(field, value)| json!([wire(field), wire(value)])).collect()
}

fn wire(text: &str) -> Value {
    wire_bytes(bytes(text))
}
