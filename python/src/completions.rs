//! How results reach an event loop.
//!
//! The core wakes a call on its own threads, which never take the interpreter's lock: they put
//! the call's number on a list and make a file descriptor readable if the list was empty. The
//! loop watches the descriptor, so a whole pipeline of results costs it one wake-up, and a thread
//! that wakes a loop that has ended, or a process that is ending, does no harm.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use millpond::Result;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::errors;
use crate::wakeup::Wakeup;

/// For how long calls may return at once before the loop has to run. Awaiting a future that is
/// done does not let it run, and the embedded engine is done with nearly every call.
const AT_ONCE_MAX: Duration = Duration::from_millis(1);

/// The calls of one event loop that are under way.
#[pyclass(frozen, module = "millpond._native")]
pub(crate) struct Completions {
    awake: Arc<Awake>,
    pending: Mutex<HashMap<u64, Pending>>,
    next: AtomicU64,
    /// When the first call returned at once since the loop has drained.
    at_once_since: Mutex<Option<Instant>>,
}

/// The numbers of the calls that have results.
struct Awake {
    list: Mutex<Vec<u64>>,
    wakeup: Wakeup,
}

struct Pending {
    future: Py<PyAny>,
    waker: Waker,
    call: Box<dyn Call>,
}

/// A call under way, whatever it returns.
trait Call: Send {
    fn poll(&mut self, py: Python<'_>, context: &mut Context<'_>) -> Poll<PyResult<Py<PyAny>>>;
}

struct Converted<F, C> {
    future: F,
    convert: Option<C>,
}

impl<T, F, C> Call for Converted<F, C>
where
    F: Future<Output = Result<T>> + Unpin + Send,
    C: FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send,
{
    fn poll(&mut self, py: Python<'_>, context: &mut Context<'_>) -> Poll<PyResult<Py<PyAny>>> {
        let polled = errors::catch(|| Ok(Pin::new(&mut self.future).poll(context)));
        let answer = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(answer)) => answer,
            Err(error) => Err(error),
        };
        let converted = match (answer, self.convert.take()) {
            (Ok(answer), Some(convert)) => convert(py, answer),
            (Ok(_), None) => Ok(py.None()),
            (Err(error), _) => Err(errors::exception(py, &error)),
        };
        Poll::Ready(converted)
    }
}

/// Wakes one call.
struct Caller {
    awake: Arc<Awake>,
    number: u64,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut list = lock(&self.awake.list);
        list.push(self.number);
        if list.len() == 1 {
            self.awake.wakeup.wake();
        }
    }
}

#[pymethods]
impl Completions {
    /// Resolves the futures of the calls that have results; the loop calls it.
    fn drain(&self, py: Python<'_>) {
        self.awake.wakeup.clear();
        *lock(&self.at_once_since) = None;
        let awake = std::mem::take(&mut *lock(&self.awake.list));
        for number in awake {
            // No lock is held while Python code may run: it may start another call.
            let Some(mut pending) = lock(&self.pending).remove(&number) else { continue };
            let resolved = match is_done(pending.future.bind(py)) {
                Ok(true) => Ok(()),
                Ok(false) => {
                    let mut context = Context::from_waker(&pending.waker);
                    match pending.call.poll(py, &mut context) {
                        Poll::Ready(answer) => resolve(pending.future.bind(py), answer),
                        Poll::Pending => {
                            let waker = pending.waker.clone();
                            lock(&self.pending).insert(number, Pending { waker, ..pending });
                            Ok(())
                        }
                    }
                }
                Err(failure) => Err(failure),
            };
            if let Err(failure) = resolved {
                failure.write_unraisable(py, None);
            }
        }
    }

    /// Drops a call whose future was cancelled, which might never be woken.
    fn forget_cancelled(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if !future.call_method0("cancelled")?.is_truthy()? {
            return Ok(());
        }
        let mut pending = lock(&self.pending);
        let found = pending.iter().find(|(_, pending)| pending.future.is(future));
        let number = found.map(|(number, _)| *number);
        let forgotten = number.and_then(|number| pending.remove(&number));
        drop(pending);
        drop(forgotten);
        Ok(())
    }
}

impl Completions {
    /// Those of the event loop that runs on this thread.
    pub(crate) fn of_running_loop(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
        static LOOPS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        let running = running_loop(py)?;
        let loops = LOOPS.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
        if let Some(known) = loops.get_item(&running)? {
            return Ok(known.cast_into::<Self>()?);
        }
        // A closed loop never comes back. The calls that it left behind reference it, and are
        // dropped with it here.
        for other in loops.keys() {
            if other.call_method0("is_closed")?.is_truthy()?
                && let Some(gone) = loops.get_item(&other)?
            {
                loops.del_item(&other)?;
                let left = std::mem::take(&mut *lock(&gone.cast::<Self>()?.get().pending));
                drop(left);
            }
        }
        let awake = Awake { list: Mutex::default(), wakeup: Wakeup::new()? };
        let made = Self {
            awake: Arc::new(awake),
            pending: Mutex::default(),
            next: AtomicU64::new(0),
            at_once_since: Mutex::default(),
        };
        let made = Bound::new(py, made)?;
        let fd = made.get().awake.wakeup.fd();
        running.call_method1("add_reader", (fd, made.getattr("drain")?))?;
        loops.set_item(&running, &made)?;
        Ok(made)
    }

    /// Drops a call as soon as its future is cancelled, instead of when it is woken.
    pub(crate) fn forget_when_cancelled(py: Python<'_>, future: &Py<PyAny>) -> PyResult<()> {
        let future = future.bind(py);
        if !is_done(future)? {
            let forget = Self::of_running_loop(py)?.getattr("forget_cancelled")?;
            future.call_method1("add_done_callback", (forget,))?;
        }
        Ok(())
    }

    /// A future of the running loop for a call that has been started.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl Future<Output = Result<T>> + Unpin + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        let future = running_loop(py)?.call_method0(intern!(py, "create_future"))?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let waker = Waker::from(Arc::new(Caller { awake: self.awake.clone(), number }));
        let mut call = Converted { future: call, convert: Some(convert) };
        if self.has_to_let_the_loop_run() {
            // Polled when the loop has run, and not now: a call that is cancelled meanwhile has
            // no result yet.
            waker.wake_by_ref();
        } else if let Poll::Ready(answer) = call.poll(py, &mut Context::from_waker(&waker)) {
            // What the embedded engine has done already needs no wake-up.
            lock(&self.at_once_since).get_or_insert_with(Instant::now);
            resolve(&future, answer)?;
            return Ok(future.unbind());
        }
        // Also what was woken above is found: the loop drains on this thread, later.
        let pending = Pending { future: future.clone().unbind(), waker, call: Box::new(call) };
        lock(&self.pending).insert(number, pending);
        Ok(future.unbind())
    }

    fn has_to_let_the_loop_run(&self) -> bool {
        lock(&self.at_once_since).is_some_and(|since| since.elapsed() >= AT_ONCE_MAX)
    }
}

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let running = RUNNING.get_or_try_init(py, || {
        PyResult::Ok(py.import("asyncio")?.getattr("get_running_loop")?.unbind())
    })?;
    running.bind(py).call0()
}

/// Whether a future has a result already, or was cancelled and wants none.
fn is_done(future: &Bound<'_, PyAny>) -> PyResult<bool> {
    future.call_method0(intern!(future.py(), "done"))?.is_truthy()
}

fn resolve(future: &Bound<'_, PyAny>, answer: PyResult<Py<PyAny>>) -> PyResult<()> {
    let py = future.py();
    match answer {
        Ok(answer) => future.call_method1(intern!(py, "set_result"), (answer,))?,
        Err(failure) => {
            future.call_method1(intern!(py, "set_exception"), (failure.into_value(py),))?
        }
    };
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
