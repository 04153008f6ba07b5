//! Calls as redis-rs' commands, and its values as replies.

use redis::{Cmd, Value};

use crate::operation::Invocation;
use crate::reply::Reply;

/// EVALSHA, or EVAL where the server does not know the script: two round trips and still atomic,
/// where SCRIPT LOAD would take three.
pub(super) fn script(invocation: &Invocation, with_source: bool) -> Cmd {
    let mut command = if with_source {
        let mut command = Cmd::new();
        command.arg("EVAL").arg(invocation.script.source());
        command
    } else {
        let mut command = Cmd::new();
        command.arg("EVALSHA").arg(invocation.script.sha1());
        command
    };
    command.arg(invocation.keys.len());
    for key in &invocation.keys {
        command.arg(&**key);
    }
    for argument in invocation.args.iter() {
        command.arg(argument);
    }
    command
}

/// A command of a few words.
pub(super) fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(*word);
    }
    command
}

/// The text of an error reply, its code first.
pub(super) fn error_text(code: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{code} {detail}"),
        None => code.to_owned(),
    }
}

pub(super) fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(value) => Reply::Int(value),
        Value::Boolean(value) => Reply::Int(value.into()),
        Value::BulkString(bytes) => Reply::Bytes(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => {
            Reply::Bytes(text.into_bytes())
        }
        Value::Okay => Reply::Bytes(b"OK".to_vec()),
        Value::Double(value) => Reply::Bytes(value.to_string().into_bytes()),
        Value::Array(values) | Value::Set(values) | Value::Push { data: values, .. } => {
            Reply::Array(values.into_iter().map(reply).collect())
        }
        Value::Map(pairs) => Reply::Array(
            pairs.into_iter().flat_map(|(key, value)| [reply(key), reply(value)]).collect(),
        ),
        Value::Attribute { data, .. } => reply(*data),
        Value::ServerError(error) => Reply::Error(error_text(error.code(), error.details())),
        // A big number or a kind that redis-rs learns later: nothing that a script answers.
        other => Reply::Error(format!("ERR the server answered {other:?}")),
    }
}
