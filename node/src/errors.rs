//! Errors of the core as JavaScript takes them. The classes are written in JavaScript, one for
//! each kind, and are found by the kind's number.

use std::error::Error as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use millpond::{Error, ErrorKind, Result};
use napi::bindgen_prelude::{Env, Null, Object};

use crate::list::List;

/// Calls the core. A panic there is a bug, but it does not end the program.
pub(crate) fn catch<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::new(ErrorKind::Internal, format!("Millpond panicked: {text}")))
    })
}

/// What JavaScript makes an exception of.
pub(crate) fn failure<'env>(env: &'env Env, error: &Error) -> napi::Result<Object<'env>> {
    let mut failure = Object::new(env)?;
    failure.set("number", error.kind().code())?;
    failure.set("message", error.to_string())?;
    failure.set("operation", error.operation())?;
    match error.source() {
        Some(source) => failure.set("cause", source.to_string())?,
        None => failure.set("cause", Null)?,
    }
    if let Some(dependency) = error.dependency() {
        failure.set("dependency", List::of(env, dependency)?)?;
    }
    Ok(failure)
}

/// Throws it, for the few calls that return at once.
pub(crate) fn thrown(env: &Env, error: &Error) -> napi::Error {
    match failure(env, error).and_then(|failure| env.throw(failure)) {
        Ok(()) => napi::Error::from_status(napi::Status::PendingException),
        Err(why) => why,
    }
}
