//! How long a call goes on that makes no progress.

use std::time::{Duration, Instant};

/// A number of tries, within a time that begins with the first of them.
pub(crate) struct Patience {
    tries: usize,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
}

impl Patience {
    /// Up to `tries` tries, for up to `timeout` if there is one.
    pub(crate) fn new(tries: usize, timeout: Option<Duration>) -> Self {
        Self { tries, timeout, deadline: None }
    }

    /// Whether the call tries once more.
    pub(crate) fn is_left(&mut self) -> bool {
        self.tries = self.tries.saturating_sub(1);
        let timeout = self.timeout.take();
        self.deadline = timeout.map_or(self.deadline, |timeout| Some(Instant::now() + timeout));
        self.tries > 0 && self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }
}
