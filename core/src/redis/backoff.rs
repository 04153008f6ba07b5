//! The pauses before the subscriber or the stream watcher connects again.

use std::time::{Duration, Instant};

use crate::runtime::random;

/// The first pause, with as much jitter. It doubles while connections do not last.
const PAUSE_MIN: Duration = Duration::from_millis(125);
const PAUSE_MAX: Duration = Duration::from_secs(15);

pub(super) struct Backoff {
    pause: Duration,
    began: Instant,
}

impl Backoff {
    /// For a connection that is made now.
    pub(super) fn begin() -> Self {
        Self { pause: PAUSE_MIN, began: Instant::now() }
    }

    /// Waits after a connection broke; the next one is made then.
    pub(super) async fn wait(&mut self) {
        self.pause = match self.began.elapsed() > PAUSE_MAX {
            true => PAUSE_MIN,
            false => (self.pause * 2).min(PAUSE_MAX),
        };
        let jitter = random::number() % self.pause.as_millis() as u64;
        tokio::time::sleep(self.pause + Duration::from_millis(jitter)).await;
        self.began = Instant::now();
    }
}
