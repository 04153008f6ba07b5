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

/// The same as the bytes that go over a connection, after ASKING where a redirection said so.
pub(super) fn packed(invocation: &Invocation, with_source: bool, asking: bool) -> Vec<u8> {
    let script = &invocation.script;
    let (command, script): (&[u8], _) = match with_source {
        true => (b"EVAL", script.source()),
        false => (b"EVALSHA", script.sha1()),
    };
    let words = 3 + invocation.keys.len() + invocation.args.len();
    let mut out =
        Vec::with_capacity(96 + script.len() + invocation.args.total_bytes() + 48 * words);
    if asking {
        out.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
    }
    put_length(b'*', words, &mut out);
    put_word(command, &mut out);
    put_word(script.as_bytes(), &mut out);
    put_word(invocation.keys.len().to_string().as_bytes(), &mut out);
    invocation.keys.iter().for_each(|key| put_word(key, &mut out));
    invocation.args.iter().for_each(|argument| put_word(argument, &mut out));
    out
}

/// A command of a few words, as bytes.
pub(super) fn packed_words(words: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    put_length(b'*', words.len(), &mut out);
    words.iter().for_each(|word| put_word(word.as_bytes(), &mut out));
    out
}

fn put_word(word: &[u8], out: &mut Vec<u8>) {
    put_length(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

fn put_length(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n");
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
