//! Ends a run in which a case hangs: an adapter that does not respond fails its case by itself, but
//! what tests it can hang too, in a write to an adapter that reads nothing or in a call to a server.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use std::{env, fs};

/// How long a case may take, in seconds; the largest takes some. `MILLPOND_TEST_SECONDS_MAX` overrides
/// it.
const SECONDS_MAX: u64 = 600;

/// The case of each backend's thread, and when it began.
static RUNNING: Mutex<Vec<(ThreadId, String, Instant)>> = Mutex::new(Vec::new());

/// Watches from now on.
pub(crate) fn start() {
    let named = env::var("MILLPOND_TEST_SECONDS_MAX").ok().and_then(|seconds| seconds.parse().ok());
    let patience = Duration::from_secs(named.unwrap_or(SECONDS_MAX));
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(500));
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            let hanging = running.iter().find(|(_, _, began)| began.elapsed() > patience);
            if let Some((_, case, _)) = hanging {
                eprintln!("HANGS: {case} did not end within {patience:?}");
                kill_children();
                std::process::exit(3);
            }
        }
    });
}

/// Sets what this thread works on now.
pub(crate) fn begin(case: String) {
    let (thread, now) = (thread::current().id(), Instant::now());
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.retain(|(of, _, _)| *of != thread);
    running.push((thread, case, now));
}

/// Marks this thread as done.
pub(crate) fn end() {
    let thread = thread::current().id();
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _, _)| *of != thread);
}

/// An adapter that hangs does not notice that its input has ended.
fn kill_children() {
    for thread in fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|pid| pid.parse().ok()) {
            // SAFETY: `kill` touches no memory of ours. The child was listed just now, and no other
            // code waits for children while their adapters hang.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
    }
}
