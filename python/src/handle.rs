//! One body for two kinds of callers: those that block and those with an event loop.

use std::future::{Future, Ready};

use millpond::Result;
use pyo3::prelude::*;

use crate::completions::Completions;
use crate::errors;

/// A handle of the core's, as the callers of a client need it.
pub(crate) enum Handle<B, A> {
    Blocking(B),
    Async(A),
}

/// Calls the core through a [`Handle`] and converts its result: at once for callers that
/// block, through a future of the running event loop for the others.
macro_rules! call {
    ($py:expr, $handle:expr, |$core:ident| $call:expr, $convert:expr) => {
        match $handle {
            $crate::handle::Handle::Blocking($core) => {
                $crate::handle::block($py, || $call, $convert)
            }
            $crate::handle::Handle::Async($core) => $crate::handle::start($py, || $call, $convert),
        }
    };
}

/// A [`Handle`] made from another one by the same expression.
macro_rules! derive {
    ($handle:expr, |$core:ident| $make:expr) => {
        match $handle {
            $crate::handle::Handle::Blocking($core) => $crate::handle::Handle::Blocking($make),
            $crate::handle::Handle::Async($core) => $crate::handle::Handle::Async($make),
        }
    };
}

/// What a [`Handle`] returns at once, to any kind of caller.
macro_rules! either {
    ($handle:expr, |$core:ident| $question:expr) => {
        match $handle {
            $crate::handle::Handle::Blocking($core) => $question,
            $crate::handle::Handle::Async($core) => $question,
        }
    };
}

pub(crate) use {call, derive, either};

/// Calls the core on this thread, without the interpreter's lock.
pub(crate) fn block<T: Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T> + Send,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let answer = py.detach(|| errors::catch(call));
    convert(py, errors::answer(py, answer)?)
}

/// Starts a call and returns the event loop's future for it. The interpreter's lock is kept: a
/// call only hands the step over, and a thread that releases the lock may wait long to get it
/// back.
pub(crate) fn start<T: Send + 'static, F: Future<Output = Result<T>> + Unpin + Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> F,
    convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    let completions = Completions::of_running_loop(py)?;
    let started = errors::answer(py, errors::catch(|| Ok(call())))?;
    completions.get().start(py, started, convert)
}

/// Panics where the core might, so that a test can show what happens then.
#[pyfunction(name = "_panic")]
pub(crate) fn panic(py: Python<'_>, is_async: bool) -> PyResult<Py<PyAny>> {
    match is_async {
        false => block(py, || -> Result<()> { panic!("on request") }, |py, ()| Ok(py.None())),
        true => start(py, || -> Ready<Result<()>> { panic!("on request") }, |py, ()| Ok(py.None())),
    }
}
