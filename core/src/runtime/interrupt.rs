//! Interrupts calls that wait: when Ctrl-C is pressed in an interpreter, say.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

static QUESTION: OnceLock<Question> = OnceLock::new();

struct Question {
    concerns_thread: fn() -> bool,
    check: fn() -> bool,
}

/// How long a wait that no signal can end goes on before it asks whether to stop.
const SLICE: Duration = Duration::from_millis(50);

/// Installs the question that a call which waits asks now and then, and whenever a signal arrives:
/// whether to stop. The call then fails with `CANCELLED`. It is asked only on threads that
/// `concerns_thread` names: an interpreter runs signal handlers on one of its threads, and the
/// others wait without ever waking for it. The first installation stays.
///
/// This is for bindings: an interpreter has to run its signal handlers while a call waits.
pub fn on_interrupt(concerns_thread: fn() -> bool, check: fn() -> bool) {
    // A second binding in the same process asks its own interpreter, which is the same.
    let _ = QUESTION.set(Question { concerns_thread, check });
}

/// The question, if there is one and this thread is to ask it.
fn question() -> Option<fn() -> bool> {
    QUESTION.get().filter(|question| (question.concerns_thread)()).map(|question| question.check)
}

/// Asks the question; an error if the call is to stop.
pub(crate) fn check() -> Result<()> {
    match question() {
        Some(check) if check() => Err(cancelled()),
        _ => Ok(()),
    }
}

/// The error of a call that was interrupted.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the call was interrupted")
}

/// Waits until `until` by calling `wait` with a time to wait to, in slices if there is a question
/// to ask. `wait` returns whether it is done.
pub(crate) fn wait_in_slices(
    until: Option<Instant>,
    mut wait: impl FnMut(Option<Instant>) -> bool,
) -> Result<()> {
    let asks = question().is_some();
    loop {
        let slice = asks.then(|| Instant::now() + SLICE);
        let to = match (until, slice) {
            (Some(until), Some(slice)) => Some(until.min(slice)),
            (one, other) => one.or(other),
        };
        if wait(to) {
            return Ok(());
        }
        // Also after a wait that was shorter than a slice: a loop of such waits is to be interrupted too.
        check()?;
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(());
        }
    }
}
