//! Steps as requests to an adapter.

use std::collections::HashMap;

use millpond_tests::shuffle::model::{Fields, Text};
use millpond_tests::shuffle::trace::bytes;
use serde_json::{Value, json};

use crate::Result;
use crate::wire::{CONSUMER, QUEUE, calls, labelled};

use super::step::{Call, Deadline, Reader, Step, Target, Tracked, Tracking};

/// Where messages really are, by their names: the stream's key and the id.
pub(super) type Places = HashMap<Text, (Text, Text)>;

/// The request for a step; `letters` are the ids of dead letters, and `now` is the time in seconds.
pub(super) fn request(step: &Step, places: &Places, letters: &[String], now: i64) -> Result<Value> {
    let mut queue;
    let (mut consumer, mut of_call) = (json!({}), json!({}));
    let letter = |number: usize| {
        let id = letters.get(number).map(|id| json!(id));
        id.ok_or_else(|| format!("there is no dead letter {number} yet"))
    };
    let call = match &step.call {
        Call::Write { to, message, tracked } => {
            queue = writing(to);
            of_call["shard_key"] = wire(&message.key);
            of_call["fields"] = fields(&message.fields);
            track(&mut queue, &mut of_call, tracked.as_ref(), now);
            if tracked.is_some() { "write_tracked" } else { "write" }
        }
        Call::WriteMany { to, messages, tracked } => {
            queue = writing(to);
            let messages = messages.iter().map(|m| json!([wire(&m.key), fields(&m.fields)]));
            of_call["messages"] = messages.collect();
            track(&mut queue, &mut of_call, tracked.as_ref(), now);
            if tracked.is_some() { "write_tracked_many" } else { "write_many" }
        }
        Call::Resize(to) => {
            queue = writing(to);
            of_call["streams"] = queue["streams"].take();
            "resize"
        }
        Call::Read { by, max, block_ms, .. } => {
            (queue, consumer) = reading(by);
            consumer["prefer_stream"] = json!(by.prefer);
            consumer["default_stream"] = json!(by.default_stream);
            of_call["wait_ms"] = json!(block_ms);
            if *max == 1 && !step.raw.contains_key("max") {
                "read"
            } else {
                of_call["max"] = json!(max);
                "read_many"
            }
        }
        Call::Ack { by, ids, delete } => {
            (queue, consumer) = reading(by);
            of_call["messages"] = receipts(&by.name, ids, places)?;
            if *delete { "ack_and_delete" } else { "ack" }
        }
        Call::AckEach { by, ids, delete } => {
            (queue, consumer) = reading(by);
            of_call["messages"] = receipts(&by.name, ids, places)?;
            if *delete { "ack_and_delete_each" } else { "ack_each" }
        }
        Call::Renew { by, ids } => {
            (queue, consumer) = reading(by);
            of_call["messages"] = receipts(&by.name, ids, places)?;
            "renew"
        }
        Call::Release { by, ids, min_idle_ms, delay_ms } => {
            (queue, consumer) = reading(by);
            let messages = receipts(&by.name, ids, places)?;
            of_call =
                json!({"messages": messages, "min_idle_ms": min_idle_ms, "delay_ms": delay_ms});
            "release"
        }
        Call::Reject { by, ids, reason, dead_ttl_ms } => {
            (queue, consumer) = reading(by);
            queue["dead_ttl_ms"] = json!(dead_ttl_ms);
            of_call["messages"] = receipts(&by.name, ids, places)?;
            of_call["reason"] = json!(String::from_utf8_lossy(&bytes(reason)));
            "reject"
        }
        Call::Reclaim { by, min_idle_ms, max, max_deliveries, dead_ttl_ms } => {
            (queue, consumer) = reading(by);
            queue["dead_ttl_ms"] = json!(dead_ttl_ms);
            consumer["max_deliveries"] = json!(max_deliveries);
            of_call = json!({"min_idle_ms": min_idle_ms, "max": max});
            "reclaim"
        }
        Call::Len(name) => {
            queue = json!({"name": wire(name)});
            "len"
        }
        Call::Backlog(name) => {
            queue = json!({"name": wire(name)});
            "backlog"
        }
        Call::PendingCount(name, group) => {
            queue = json!({"name": wire(name)});
            of_call["group"] = wire(group);
            "pending_count"
        }
        Call::Stats(name, group) => {
            queue = json!({"name": wire(name)});
            of_call["group"] = wire(group);
            "stats"
        }
        Call::DeadLetters(name, max, after) => {
            queue = json!({"name": wire(name)});
            of_call["max"] = json!(max);
            of_call["after"] = json!(after.map(letter).transpose()?);
            "dead_letters"
        }
        Call::DeleteDeadLetters(name, numbers) => {
            queue = json!({"name": wire(name)});
            of_call["letters"] = numbers.iter().copied().map(letter).collect::<Result<_>>()?;
            "delete_dead_letters"
        }
        Call::Redrive(to, numbers) => {
            queue = writing(to);
            of_call["letters"] = numbers.iter().copied().map(letter).collect::<Result<_>>()?;
            "redrive"
        }
        Call::RemoveIdleConsumers(name, min_idle_ms) => {
            queue = json!({"name": wire(name)});
            of_call["min_idle_ms"] = json!(min_idle_ms);
            "remove_idle_consumers"
        }
        Call::DeleteTracked { of, value } => {
            queue = tracking(of);
            of_call["value"] = wire(value);
            "delete_tracked"
        }
        Call::Cordon { of, within } => {
            queue = tracking(of);
            of_call["within_ms"] = json!(within.saturating_mul(1_000));
            "cordon_deadline_exceeded"
        }
        Call::Gc { of, digits } => {
            queue = tracking(of);
            of_call["time_digits"] = json!(digits);
            "gc"
        }
        Call::Redis(_) => return Err("a raw command is no request".to_owned()),
    };
    for arguments in [&mut queue, &mut consumer, &mut of_call] {
        let arguments = arguments.as_object_mut().ok_or("arguments are an object")?;
        arguments.retain(|_, value| !value.is_null());
    }
    for (name, value) in &step.raw {
        let arguments = match name.as_str() {
            of_queue if QUEUE.contains(&of_queue) => &mut queue,
            of_consumer if CONSUMER.contains(&of_consumer) => &mut consumer,
            _ => &mut of_call,
        };
        arguments[name] = value.clone();
    }
    Ok(if consumer["consumer"] == Value::Null && !step.raw.contains_key("consumer") {
        calls([("shuffle_queue", queue), (call, of_call)])
    } else {
        calls([("shuffle_queue", queue), ("consumer", consumer), (call, of_call)])
    })
}

fn writing(to: &Target) -> Value {
    json!({
        "name": wire(&to.name), "streams": to.streams, "streams_per_shard": to.per_shard,
        "ttl_ms": to.ttl_ms,
    })
}

fn track(queue: &mut Value, of_call: &mut Value, tracked: Option<&Tracked>, now: i64) {
    let Some(tracked) = tracked else { return };
    queue["track_keys"] = track_keys(&tracked.of);
    of_call["track_field"] = wire(&tracked.field);
    of_call["deadline"] = match tracked.deadline {
        Deadline::Default => Value::Null,
        Deadline::At(at) => json!(at),
        Deadline::FromNow(from_now) => json!(now + from_now),
    };
}

/// The arguments of the queue and of the consumer.
fn reading(by: &Reader) -> (Value, Value) {
    let queue = json!({"name": wire(&by.name), "ttl_ms": by.ttl_ms});
    (queue, json!({"group": wire(&by.group), "consumer": wire(&by.consumer)}))
}

fn tracking(of: &Tracking) -> Value {
    json!({"name": wire(&of.name), "track_keys": track_keys(of)})
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

fn fields(fields: &Fields) -> Value {
    fields.iter().map(|(field, value)| json!([wire(field), wire(value)])).collect()
}

fn wire(text: &str) -> Value {
    labelled(bytes(text))
}
