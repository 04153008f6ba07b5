//! Runs steps over a connection of [redis-rs](::redis) that the program already has, with its pool, TLS and
//! credentials. Requires the feature `redis-rs`.
//!
//! ```no_run
//! use millpond::{ick, redis_rs};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = redis::Client::open("redis://localhost")?.get_connection()?;
//! let added = redis_rs::run(&mut connection, &ick::Add::new("files", [(5.0, "a.txt")])?)?;
//! assert_eq!(added.new, 1);
//! # Ok(()) }
//! ```
//!
//! Only a [`Client`](crate::Client) reconnects, waits, runs loops and renews leases. On a cluster, use a connection to
//! the node that has the queue's slot: redis-rs' cluster client sends a call again after a dropped connection, so a
//! step could run twice.

use ::redis::{Cmd, ConnectionLike, RedisError, RedisResult, Value, aio};

use crate::error::{Error, ErrorKind, Result};
use crate::step::{Invocation, Operation, Reply};

/// Runs a step over a blocking connection.
///
/// # Errors
/// Those of the step, and `CONNECTION_LOST` for any failure in redis-rs: the step may have been done.
pub fn run<O: Operation>(connection: &mut impl ConnectionLike, step: &O) -> Result<O::Output> {
    let invocation = step.invocation();
    let mut call = Call::default();
    loop {
        let reply = call.command(&invocation).query(connection);
        if let Some(reply) = call.judge(reply) {
            return finish(step, reply);
        }
    }
}

/// Runs a step over an async connection.
///
/// # Errors
/// As [`run`].
pub async fn run_async<O: Operation>(
    connection: &mut impl aio::ConnectionLike,
    step: &O,
) -> Result<O::Output> {
    let invocation = step.invocation();
    let mut call = Call::default();
    loop {
        let reply = call.command(&invocation).query_async(connection).await;
        if let Some(reply) = call.judge(reply) {
            return finish(step, reply);
        }
    }
}

fn finish<O: Operation>(step: &O, reply: Result<Reply>) -> Result<O::Output> {
    reply.and_then(|reply| step.decode(reply)).map_err(|error| error.in_operation(O::NAME))
}

/// A step on its way.
#[derive(Default)]
struct Call {
    /// The server does not know the script.
    with_source: bool,
}

impl Call {
    fn command(&self, invocation: &Invocation) -> Cmd {
        let mut command = match self.with_source {
            true => ::redis::cmd("EVAL").arg(invocation.script.source()).to_owned(),
            false => ::redis::cmd("EVALSHA").arg(invocation.script.sha1()).to_owned(),
        };
        command.arg(invocation.keys.len());
        invocation.keys.iter().for_each(|key| {
            command.arg(&**key);
        });
        invocation.args.iter().for_each(|argument| {
            command.arg(argument);
        });
        command
    }

    /// What the server replied; `None` if the step was not done and has to be sent again.
    fn judge(&mut self, result: RedisResult<Value>) -> Option<Result<Reply>> {
        let error = match result {
            Ok(value) => return Some(Ok(reply(value))),
            Err(error) => error,
        };
        match error.code() {
            Some("NOSCRIPT") if !self.with_source => {
                self.with_source = true;
                None
            }
            Some("AGAIN") => None,
            Some(_) => Some(Ok(Reply::Error(text(&error)))),
            None => Some(Err(lost(error))),
        }
    }
}

/// A server's error as it was sent, its code first.
fn text(error: &RedisError) -> String {
    let code = error.code().unwrap_or("ERR");
    error.detail().map_or(code.to_owned(), |detail| format!("{code} {detail}"))
}

fn lost(error: RedisError) -> Error {
    let message = "redis-rs could not finish the call; it may have been done";
    Error::new(ErrorKind::ConnectionLost, message).with_source(error)
}

/// A value of RESP 2 or RESP 3.
fn reply(value: Value) -> Reply {
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
        Value::Array(values) | Value::Set(values) => {
            Reply::Array(values.into_iter().map(reply).collect())
        }
        // Nothing that a script returns.
        other => Reply::Error(format!("ERR unexpected value {other:?}")),
    }
}
