//! Counts of a queue or a namespace, which are read without its lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The counts of a queue, or of a namespace as far as they apply to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) size: u64,
    pub(super) available: u64,
    pub(super) claimed: u64,
    pub(super) retrying: u64,
    pub(super) future: u64,
    pub(super) max_claims: u64,
    pub(super) is_paused: bool,
    pub(super) oldest_available_ms: Option<u64>,
    pub(super) first_lease_end_ms: Option<u64>,
    /// Until when the counts stay valid if nothing changes, excluding that time.
    pub(super) until_ms: u64,
}

/// Counts that the holder of the lock publishes and every thread can read: a sequence lock.
#[derive(Default)]
pub(super) struct Published {
    /// Odd while the numbers are written.
    writes: AtomicU64,
    numbers: [AtomicU64; 10],
}

impl Published {
    /// For one writer at a time.
    pub(super) fn publish(&self, counts: &Counts) {
        let writes = self.writes.load(Ordering::Relaxed);
        self.writes.store(writes + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (number, new) in self.numbers.iter().zip(counts.numbers()) {
            number.store(new, Ordering::Relaxed);
        }
        self.writes.store(writes + 2, Ordering::Release);
    }

    /// The counts, all from the same moment; nothing if they are being written.
    pub(super) fn read(&self) -> Option<Counts> {
        let writes = self.writes.load(Ordering::Acquire);
        let numbers = self.numbers.each_ref().map(|number| number.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let is_whole = writes.is_multiple_of(2) && self.writes.load(Ordering::Relaxed) == writes;
        is_whole.then(|| Counts::of(numbers))
    }
}

impl Counts {
    /// The published numbers. A time is stored plus 1, and 0 is none, as in counts that were never published.
    fn numbers(&self) -> [u64; 10] {
        let time = |at_ms: Option<u64>| at_ms.map_or(0, |at_ms| at_ms + 1);
        [
            self.size,
            self.available,
            self.claimed,
            self.retrying,
            self.future,
            self.max_claims,
            self.is_paused.into(),
            time(self.oldest_available_ms),
            time(self.first_lease_end_ms),
            self.until_ms,
        ]
    }

    fn of(numbers: [u64; 10]) -> Self {
        let [
            size,
            available,
            claimed,
            retrying,
            future,
            max_claims,
            paused,
            oldest,
            lease,
            until_ms,
        ] = numbers;
        let time = |number: u64| number.checked_sub(1);
        Self {
            size,
            available,
            claimed,
            retrying,
            future,
            max_claims,
            is_paused: paused > 0,
            oldest_available_ms: time(oldest),
            first_lease_end_ms: time(lease),
            until_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn are_read_whole_or_not_at_all() {
        let (published, is_over) = (Published::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=1_000_000 {
                    published.publish(&Counts {
                        size: n,
                        available: n,
                        claimed: n,
                        retrying: n,
                        future: n,
                        max_claims: n,
                        is_paused: true,
                        oldest_available_ms: Some(n),
                        first_lease_end_ms: Some(n),
                        until_ms: n,
                    });
                }
                is_over.store(true, Ordering::Relaxed);
            });
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                let Some(counts) = published.read() else { continue };
                let n = counts.size;
                assert!(n >= last, "{n} after {last}");
                let all = [counts.available, counts.claimed, counts.future, counts.max_claims];
                assert!(all.iter().all(|number| *number == n), "{counts:?}");
                assert_eq!(counts.until_ms, n);
                let times = [counts.oldest_available_ms, counts.first_lease_end_ms];
                assert_eq!(times, [(n > 0).then_some(n); 2]);
                last = n;
            }
        });
        assert_eq!(published.read().map(|counts| counts.size), Some(1_000_000));
    }
}
