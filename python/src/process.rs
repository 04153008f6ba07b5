//! What concerns the whole process: forks, and the signals that Python handlers wait for.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The thread on which Python runs signal handlers.
static MAIN_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What a signal handler raised while a call was waiting.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Tells the core about forks, and asks Python about signals while a call waits. Once a process.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if WATCHING.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let main = py.import("threading")?.call_method0("main_thread")?.getattr("ident")?;
    MAIN_THREAD.store(main.extract()?, Ordering::Release);
    // SAFETY: the handler touches two atomic numbers, which is allowed in the child of a process
    // with threads, and it lives as long as this library, which Python never unloads.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    if refused != 0 {
        return Err(PyOSError::new_err((refused, "no room for a fork handler")));
    }
    millpond::on_interrupt(is_main_thread, interrupted);
    Ok(())
}

/// Runs code that is written in Python. Where a daemon thread waits in it for the interpreter's lock and the program
/// ends, Python before 3.14 unwinds the thread's stack, which would abort the process when it comes to a call of ours:
/// the thread stops here instead, as it does with later versions.
pub(crate) fn running_python<T>(code: impl FnOnce() -> T) -> T {
    struct Stop;

    impl Drop for Stop {
        fn drop(&mut self) {
            while !std::thread::panicking() {
                std::thread::park();
            }
        }
    }

    let stop = Stop;
    let result = code();
    std::mem::forget(stop);
    result
}

extern "C" fn forked() {
    MAIN_THREAD.store(this_thread(), Ordering::Release);
    millpond::after_fork_in_child();
}

fn this_thread() -> usize {
    // SAFETY: the call has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Only the main thread runs handlers; the others, the core's own among them, never touch the
/// interpreter while they wait.
fn is_main_thread() -> bool {
    this_thread() == MAIN_THREAD.load(Ordering::Acquire)
}

/// Whether a signal handler raised something, so that the waiting call is to stop.
fn interrupted() -> bool {
    let checked = Python::try_attach(|py| py.check_signals());
    match checked {
        Some(Err(raised)) => {
            RAISED.set(Some(raised));
            true
        }
        _ => false,
    }
}

/// What a signal handler raised during the call that this thread has just made.
pub(crate) fn take_raised() -> Option<PyErr> {
    RAISED.take()
}
