//! Retries: until a deadline, or until something else is free.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::runtime::backoff::Backoff;
use crate::runtime::random;

/// The delays of an operation that is retried until a deadline.
pub(crate) struct Retries {
    backoff: Backoff,
    /// `None` for a wait without a limit.
    deadline: Option<Instant>,
    before: u32,
}

impl Retries {
    /// Retries for this long, from now on.
    pub(crate) fn within(time: Duration, backoff: Backoff) -> Self {
        Self { backoff, deadline: Instant::now().checked_add(time), before: 0 }
    }

    /// The delay before the next retry; `None` when the time is over.
    pub(crate) fn next_delay(&mut self) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let delay = self.backoff.delay(self.before, random::quick());
        self.before += 1;
        match left {
            Some(Duration::ZERO) => None,
            left => Some(left.map_or(delay, |left| delay.min(left))),
        }
    }
}

/// The jobs that a loop has postponed for a short time because others held something that they need. Nothing here is
/// behind a lock, so that the children of forks can use it.
pub(crate) struct Contention {
    backoff: Backoff,
    /// How much later than recorded here a job may become available, by the clock of a server.
    slack: Duration,
    began: Instant,
    /// How many jobs were postponed in a row.
    releases: AtomicU32,
    /// Until when the last of them is postponed, in milliseconds from `began`.
    until_ms: AtomicU64,
}

impl Contention {
    pub(crate) fn new(backoff: Backoff, slack: Duration) -> Self {
        let (releases, until_ms) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { backoff, slack, began: Instant::now(), releases, until_ms }
    }

    /// How long to postpone another job.
    pub(crate) fn delay(&self) -> Duration {
        let before = self.releases.fetch_add(1, Ordering::Relaxed);
        self.put_off(self.backoff.delay(before, random::quick()))
    }

    /// Records that a job is postponed for this time.
    pub(crate) fn put_off(&self, delay: Duration) -> Duration {
        let until = self.began.elapsed() + delay + self.slack;
        self.until_ms.fetch_max(until.as_millis() as u64, Ordering::Relaxed);
        delay
    }

    /// A job got everything that it needed.
    pub(crate) fn is_over(&self) {
        self.releases.store(0, Ordering::Relaxed);
    }

    /// How long until all postponed jobs are available again, if they were not at this time: a step that was sent then
    /// may have been too early to find them, however late its result is handled.
    pub(crate) fn left(&self, at: Instant) -> Option<Duration> {
        let until = Duration::from_millis(self.until_ms.load(Ordering::Relaxed));
        let was_left = until > at.saturating_duration_since(self.began);
        was_left.then(|| until.saturating_sub(self.began.elapsed()))
    }

    /// How long the loop has existed.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_was_sent_too_early_found_nothing() {
        let backoff = Backoff { first: Duration::from_millis(1), most: Duration::from_millis(1) };
        let contention = Contention::new(backoff, Duration::from_millis(1));
        contention.put_off(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(contention.left(contention.began), Some(Duration::ZERO));
        assert_eq!(contention.left(Instant::now()), None);
    }
}
