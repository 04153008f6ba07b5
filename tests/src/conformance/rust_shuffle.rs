//! The adapter for Rust: the calls of shuffle queues.

use std::time::Duration;

use millpond::Client;
use millpond::shuffle::{
    Deadline, Job, Message, MessageId, Receipt, ShuffleConsumer, ShuffleQueue, Stats, Stream,
    TrackKeys, shard,
};
use serde_json::{Value, json};

use crate::rust::{Failure, list, string, text, unknown, unsupported};
use crate::rust_jobs::{Held, Outcome, handled, worker};
use crate::rust_tasks::{duration, given};
use crate::value::wire_bytes;

type Result<T> = std::result::Result<T, Failure>;

/// The streams of a shard.
pub(crate) fn shard_of(request: &Value) -> Result<Value> {
    let (streams, per_shard) =
        (number(&request["streams"])?, number(&request["streams_per_shard"])?);
    Ok(json!(shard(streams, per_shard, string(&request["shard_key"])?)?))
}

/// Makes one call on a queue, or on a consumer of it.
pub(crate) fn result(client: &Client, on: &Value, call: &str, request: &Value) -> Result<Value> {
    let queue = &queue(client, on)?;
    Ok(match call {
        "write" => {
            receipt(queue.write(string(&request["shard_key"])?, fields(&request["fields"])?)?)
        }
        "write_many" => {
            let message = |message: &Value| Ok((string(&message[0])?, fields(&message[1])?));
            let receipts = queue.write_many(list(&request["messages"], message)?)?;
            receipts.into_iter().map(receipt).collect()
        }
        "write_tracked" => {
            let (key, fields) = (string(&request["shard_key"])?, fields(&request["fields"])?);
            let (field, deadline) = (string(&request["track_field"])?, deadline(request)?);
            receipt(queue.write_tracked(key, fields, field, deadline)?)
        }
        "write_tracked_many" => {
            let message = |message: &Value| Ok((string(&message[0])?, fields(&message[1])?));
            let messages = list(&request["messages"], message)?;
            let (field, deadline) = (string(&request["track_field"])?, deadline(request)?);
            let receipts = queue.write_tracked_many(messages, field, deadline)?;
            receipts.into_iter().map(receipt).collect()
        }
        "resize" => json!(queue.resize(number(&request["streams"])?)?),
        "delete_tracked" => {
            queue.delete_tracked(string(&request["value"])?)?.map_or(Value::Null, receipt)
        }
        "cordon_deadline_exceeded" => {
            let values = queue.cordon_deadline_exceeded(duration(&request["within_ms"])?)?;
            values.into_iter().map(wire_bytes).collect()
        }
        "gc" => gc(queue, &request["time_digits"])?,
        "read" | "read_many" => read(&consumer(queue, request)?, call, request)?,
        "ack" => json!(consumer(queue, request)?.ack(receipts(request)?)?),
        "ack_and_delete" => json!(consumer(queue, request)?.ack_and_delete(receipts(request)?)?),
        "ack_each" => json!(consumer(queue, request)?.ack_each(receipts(request)?)?),
        "ack_and_delete_each" => {
            json!(consumer(queue, request)?.ack_and_delete_each(receipts(request)?)?)
        }
        "release" => {
            let times = (duration(&request["min_idle_ms"])?, duration(&request["delay_ms"])?);
            json!(consumer(queue, request)?.release(receipts(request)?, times.0, times.1)?)
        }
        "reject" => {
            let reason = text(&request["reason"])?;
            json!(consumer(queue, request)?.reject(receipts(request)?, reason)?)
        }
        "renew" => json!(consumer(queue, request)?.renew(receipts(request)?)?),
        "reclaim" => {
            let reclaimed = consumer(queue, request)?
                .reclaim(duration(&request["min_idle_ms"])?, number(&request["max"])?)?;
            let messages: Value = reclaimed.messages.iter().map(message).collect();
            json!({"messages": messages, "dead": reclaimed.dead})
        }
        "drain" | "run" => handle(client, queue, call, request)?,
        "len" => json!(queue.len()?),
        "backlog" => json!(queue.backlog()?),
        "pending_count" => json!(queue.pending_count(string(&request["group"])?)?),
        "stats" => stats(&queue.stats(string(&request["group"])?)?),
        "dead_letters" => {
            let max = number(&request["max"])?;
            let letters = match &request["after"] {
                Value::Null => queue.dead_letters(max)?,
                after => queue.dead_letters_after(max, text(after)?.parse::<MessageId>()?)?,
            };
            letters
                .iter()
                .map(|letter| {
                    json!({
                        "id": letter.id.to_string(), "group": wire_bytes(&letter.group),
                        "consumer": wire_bytes(&letter.consumer), "deliveries": letter.deliveries,
                        "message": message(&letter.message), "reason": letter.reason,
                    })
                })
                .collect()
        }
        "delete_dead_letters" => {
            json!(queue.delete_dead_letters(letters(request)?)?)
        }
        "redrive" => {
            let receipts = queue.redrive(letters(request)?)?;
            receipts.into_iter().map(|found| found.map_or(Value::Null, receipt)).collect()
        }
        "remove_idle_consumers" => {
            json!(queue.remove_idle_consumers(duration(&request["min_idle_ms"])?)?)
        }
        other => return Err(unknown(other)),
    })
}

fn queue(client: &Client, request: &Value) -> Result<ShuffleQueue> {
    let mut queue = client.shuffle_queue(string(&request["name"])?);
    if !request["streams"].is_null() {
        queue = queue.streams(number(&request["streams"])?);
    }
    if !request["streams_per_shard"].is_null() {
        queue = queue.streams_per_shard(number(&request["streams_per_shard"])?);
    }
    if !request["ttl_ms"].is_null() {
        queue = queue.ttl(duration(&request["ttl_ms"])?);
    }
    if !request["dead_ttl_ms"].is_null() {
        queue = queue.dead_ttl(duration(&request["dead_ttl_ms"])?);
    }
    Ok(match text_or_empty(&request["track_keys"])? {
        "queue" => queue.track_keys(TrackKeys::Queue),
        "global" | "" => queue,
        _ => return Err(unsupported("other tracking keys than an enum has")),
    })
}

fn consumer(queue: &ShuffleQueue, request: &Value) -> Result<ShuffleConsumer> {
    let mut consumer = queue.consumer(string(&request["group"])?, string(&request["consumer"])?);
    if let Some(deliveries) = given(&request["max_deliveries"]) {
        consumer = consumer.max_deliveries(number(deliveries)?);
    }
    let prefer = match &request["prefer_stream"] {
        Value::Null => None,
        stream => Some(number(stream)?),
    };
    Ok(consumer.prefer_stream(prefer).default_stream(request["default_stream"] == true))
}

impl Held for Job {
    fn shown(&self) -> (&'static str, Value) {
        ("message", message(self.message()))
    }

    fn is_lost(&self) -> bool {
        Job::is_lost(self)
    }

    fn time_left(&self) -> Option<Duration> {
        Job::time_left(self)
    }

    fn claim_docs(&self, _: &Value, _: &mut Vec<Value>) -> Result<()> {
        Ok(())
    }
}

/// Has a worker do the jobs of a request by a handler, until nothing is available or until it is stopped.
fn handle(client: &Client, queue: &ShuffleQueue, call: &str, request: &Value) -> Result<Value> {
    if list(&request["jobs"], Ok)?.iter().any(|said| said["then"] == "finish") {
        return Err(unsupported("a modification as the end of a message"));
    }
    let mut worker = worker!(consumer(queue, request)?.worker(), request);
    if let Some(backoff) = given(&request["backoff_ms"]) {
        worker = worker.backoff(duration(backoff)?);
    }
    if let Some(most) = given(&request["backoff_max_ms"]) {
        worker = worker.backoff_max(duration(most)?);
    }
    let worker = worker.delete(request["delete"] == true);
    Ok(handled!(worker, Job, client, call, request, |outcome: Outcome| outcome.map(drop)))
}

/// What waits is the loop here.
fn read(consumer: &ShuffleConsumer, call: &str, request: &Value) -> Result<Value> {
    let max = if call == "read" { 1 } else { number(&request["max"])? };
    let messages = if !request["wait_ms"].is_null() {
        let mut messages = consumer.messages(max).wait(duration(&request["wait_ms"])?);
        messages.next().transpose()?.unwrap_or_default()
    } else if call == "read" {
        consumer.read()?.into_iter().collect()
    } else {
        consumer.read_many(max)?
    };
    Ok(messages.iter().map(message).collect())
}

fn gc(queue: &ShuffleQueue, digits: &Value) -> Result<Value> {
    let digits = if digits.is_null() { None } else { Some(number(digits)?) };
    let mut garbage = queue.gc().time_digits(digits);
    let mut seen = Vec::new();
    for values in garbage.by_ref() {
        seen.extend(values?.into_iter().map(wire_bytes));
    }
    Ok(json!({"scanned": garbage.scanned(), "deleted": garbage.deleted(), "seen": seen}))
}

fn receipt(receipt: Receipt) -> Value {
    json!({"stream": stream(receipt.stream), "id": receipt.id.to_string()})
}

fn stream(stream: Stream) -> Option<u32> {
    match stream {
        Stream::Default => None,
        Stream::Number(number) => Some(number),
    }
}

fn message(message: &Message) -> Value {
    let pair = |(field, value): &(Vec<u8>, Vec<u8>)| json!([wire_bytes(field), wire_bytes(value)]);
    let fields: Value = message.fields.iter().map(pair).collect();
    json!({
        "stream": stream(message.stream), "id": message.id.to_string(), "fields": fields,
        "deliveries": message.deliveries,
    })
}

fn stats(stats: &Stats) -> Value {
    let streams: Value = stats
        .streams
        .iter()
        .map(|s| json!({"len": s.len, "pending": s.pending, "lag": s.lag}))
        .collect();
    json!({"len": stats.len(), "pending": stats.pending(), "lag": stats.lag(), "streams": streams})
}

fn receipts(request: &Value) -> Result<Vec<Receipt>> {
    list(&request["messages"], |receipt| {
        let stream = match &receipt["stream"] {
            Value::Null => Stream::Default,
            number => Stream::Number(self::number(number)?),
        };
        Ok(Receipt { stream, id: text(&receipt["id"])?.parse()? })
    })
}

fn letters(request: &Value) -> Result<Vec<MessageId>> {
    list(&request["letters"], |id| Ok(text(id)?.parse()?))
}

fn fields(fields: &Value) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    list(fields, |pair| Ok((string(&pair[0])?, string(&pair[1])?)))
}

fn deadline(request: &Value) -> Result<Option<Deadline>> {
    match &request["deadline"] {
        Value::Null => Ok(None),
        at => Ok(Some(at.as_i64().ok_or_else(|| unsupported("a deadline that is no i64"))?)),
    }
}

fn text_or_empty(value: &Value) -> Result<&str> {
    if value.is_null() { Ok("") } else { text(value) }
}

fn number<T: TryFrom<u64>>(value: &Value) -> Result<T> {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| unsupported("a number of another type"))
}
