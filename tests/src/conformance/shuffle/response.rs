//! An adapter's response, with the names that a case has for messages.

use millpond_tests::shuffle::model::{Collected, Fields, StreamCounts, Text};
use millpond_tests::shuffle::trace::{Ids, text};
use serde_json::Value;

use crate::Result;
use crate::adapter::Response;
use crate::value::bytes;

use super::result::{Failed, Letter, Message, Place, StepResult};
use super::step::Call;

/// Reads the response to a call on this queue. One that cannot be expressed is none.
pub(super) fn read(call: &Call, response: &Response, ids: &Ids) -> Result<Option<StepResult>> {
    match response {
        Response::Result(result) => {
            let read = result_of(call, result, ids);
            let shown: String = result.to_string().chars().take(500).collect();
            read.map(Some).ok_or_else(|| format!("no result of this call: {shown}"))
        }
        Response::Error(refusal) => {
            let failed = Failed::Kind(refusal.kind, refusal.message.clone());
            Ok(Some(StepResult::Error(failed)))
        }
        Response::Unsupported(_) => Ok(None),
    }
}

fn result_of(call: &Call, result: &Value, ids: &Ids) -> Option<StepResult> {
    Some(match call {
        Call::Write { to, .. } => StepResult::Written(vec![place(&to.name, result, ids)?]),
        Call::WriteMany { to, .. } => {
            StepResult::Written(list(result, |receipt| place(&to.name, receipt, ids))?)
        }
        Call::Read { by, .. } => StepResult::Messages(match result {
            Value::Null => Vec::new(),
            Value::Object(_) => vec![message(&by.name, result, ids)?],
            _ => list(result, |found| message(&by.name, found, ids))?,
        }),
        Call::Reclaim { by, .. } => StepResult::Reclaimed {
            messages: list(&result["messages"], |found| message(&by.name, found, ids))?,
            dead: result["dead"].as_u64()?,
        },
        Call::AckEach { .. } => StepResult::Flags(list(result, Value::as_bool)?),
        Call::Redrive(to, _) => StepResult::Redriven(list(result, |found| match found {
            Value::Null => Some(None),
            found => place(&to.name, found, ids).map(Some),
        })?),
        Call::Ack { .. }
        | Call::Renew { .. }
        | Call::Release { .. }
        | Call::Reject { .. }
        | Call::RemoveIdleConsumers(..)
        | Call::Resize(_)
        | Call::DeleteDeadLetters(..)
        | Call::Len(_)
        | Call::Backlog(_)
        | Call::PendingCount(..) => StepResult::Number(result.as_u64()?),
        Call::Stats(..) => {
            let streams = list(&result["streams"], stream_counts)?;
            let sums = stream_counts(result)?;
            let sum = |of: fn(&StreamCounts) -> u64| streams.iter().map(of).sum::<u64>();
            let is_sum = (sums.len, sums.pending, sums.lag)
                == (sum(|s| s.len), sum(|s| s.pending), sum(|s| s.lag));
            is_sum.then_some(StepResult::Stats(streams))?
        }
        Call::DeadLetters(name, ..) => {
            StepResult::DeadLetters(list(result, |found| letter(name, found, ids))?)
        }
        Call::DeleteTracked { .. } if result.is_null() => StepResult::Deleted(None),
        Call::DeleteTracked { of, .. } => StepResult::Deleted(Some(place(&of.name, result, ids)?)),
        Call::Cordon { .. } => StepResult::Values(list(result, string)?),
        Call::Gc { .. } => {
            let mut seen = list(&result["seen"], string)?;
            seen.sort();
            let (scanned, deleted) = (result["scanned"].as_u64()?, result["deleted"].as_u64()?);
            StepResult::Collected(Collected { scanned, deleted, seen })
        }
        Call::Redis(_) => return None,
    })
}

/// Where the messages of a response to a write are: streams' keys and real ids.
pub(super) fn receipts(call: &Call, response: &Response) -> Vec<(Text, Text)> {
    let Response::Result(result) = response else { return Vec::new() };
    let receipt =
        |name: &str, receipt: &Value| Some((key(name, receipt)?, string(&receipt["id"])?));
    match call {
        Call::Write { to, .. } => receipt(&to.name, result).into_iter().collect(),
        Call::WriteMany { to, .. } => {
            list(result, |found| receipt(&to.name, found)).unwrap_or_default()
        }
        Call::Redrive(to, _) => {
            let found = result.as_array().into_iter().flatten();
            found.filter_map(|found| receipt(&to.name, found)).collect()
        }
        _ => Vec::new(),
    }
}

/// The ids of dead letters of a response.
pub(super) fn letters(response: &Response) -> Vec<String> {
    let Response::Result(result) = response else { return Vec::new() };
    list(result, |letter| letter["id"].as_str().map(str::to_owned)).unwrap_or_default()
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(item).collect()
}

fn string(value: &Value) -> Option<Text> {
    bytes(value).ok().map(text)
}

/// The key of the stream of a message or receipt.
fn key(name: &str, found: &Value) -> Option<Text> {
    match found.get("stream")? {
        Value::Null => Some(name.to_owned()),
        number => Some(format!("{name}:s{}", number.as_u64()?)),
    }
}

fn place(name: &str, found: &Value, ids: &Ids) -> Option<Place> {
    let key = key(name, found)?;
    let id = ids.named(&key, found["id"].as_str()?);
    Some((key, id))
}

fn message(name: &str, found: &Value, ids: &Ids) -> Option<Message> {
    let pair = |pair: &Value| Some((string(&pair[0])?, string(&pair[1])?));
    let fields: Fields = list(&found["fields"], pair)?;
    let (at, deliveries) = (place(name, found, ids)?, found["deliveries"].as_u64()?);
    Some(Message { at, fields, deliveries })
}

fn letter(name: &str, found: &Value, ids: &Ids) -> Option<Letter> {
    // Its own id is one of another stream, which only has to be one.
    let (time, number) = found["id"].as_str()?.split_once('-')?;
    let _: (u64, u64) = (time.parse().ok()?, number.parse().ok()?);
    Some(Letter {
        message: message(name, &found["message"], ids)?,
        group: string(&found["group"])?,
        consumer: string(&found["consumer"])?,
        deliveries: found["deliveries"].as_u64()?,
        reason: string(&found["reason"])?,
    })
}

fn stream_counts(found: &Value) -> Option<StreamCounts> {
    let number = |name: &str| found[name].as_u64();
    Some(StreamCounts { len: number("len")?, pending: number("pending")?, lag: number("lag")? })
}
