//! The pauses before the subscriber or the stream watcher connects again.

use std::time::{Duration, Instant};

use crate::runtime::backoff::Backoff;
use crate::runtime::random;

/// They begin anew once a connection has lasted for the longest of them.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(500), most: Duration::from_secs(30) };

pub(super) struct Reconnect {
    pauses: u32,
    began: Instant,
}

impl Reconnect {
    /// For a connection that is made now.
    pub(super) fn begin() -> Self {
        Self { pauses: 0, began: Instant::now() }
    }

    /// Waits after a connection broke; the next one is made then.
    pub(super) async fn wait(&mut self) {
        if self.began.elapsed() > PAUSES.most {
            self.pauses = 0;
        }
        tokio::time::sleep(PAUSES.delay(self.pauses, random::quick())).await;
        self.pauses = self.pauses.saturating_add(1);
        self.began = Instant::now();
    }
}
