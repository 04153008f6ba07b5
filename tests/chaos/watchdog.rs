//! Ends a run that hangs: a test that never fails is worse than one that does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a run may make no progress.
const PATIENCE: Duration = Duration::from_secs(120);

static STARTED: OnceLock<Instant> = OnceLock::new();
static ALIVE_MS: AtomicU64 = AtomicU64::new(0);

/// Watches from now on.
pub(crate) fn start() {
    alive();
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let quiet = elapsed_ms() - ALIVE_MS.load(Ordering::Relaxed);
            if u128::from(quiet) > PATIENCE.as_millis() {
                eprintln!("nothing has moved for {PATIENCE:?}: the run hangs");
                std::process::exit(3);
            }
        }
    });
}

/// Reports progress.
pub(crate) fn alive() {
    ALIVE_MS.store(elapsed_ms(), Ordering::Relaxed);
}

fn elapsed_ms() -> u64 {
    let started = STARTED.get_or_init(Instant::now);
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
}
