use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take for anything before a test gives up on it.
///
/// The suites share small machines with compilers: the limit is there to end a hung test, not to
/// judge speed. A sentinel that was kept waiting itself does nothing for half a minute (its TILT mode).
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

const PAUSE_MAX: Duration = Duration::from_millis(50);

/// Polls `condition` until it holds, at first every millisecond, later every 50.
///
/// Polling is right here and only here: a real server offers no virtual clock to advance.
///
/// # Panics
///
/// When `condition` does not hold in three minutes; the message names `what` was waited for.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(pause);
        pause = (pause * 5 / 4).min(PAUSE_MAX);
    }
}
