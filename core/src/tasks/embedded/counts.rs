//! Counts of a queue or a namespace, which are read without its lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// What is counted in a queue or, as far as it has that, in a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) size: u64,
    pub(super) available: u64,
    pub(super) claimed: u64,
    pub(super) future: u64,
    pub(super) max_claims: u64,
    /// Until when it stays like this if nobody changes anything; not at that time and later.
    pub(super) until_ms: u64,
}

/// Counts that the holder of the lock publishes and every thread can read: a sequence lock.
#[derive(Default)]
pub(super) struct Published {
    /// Odd while the numbers are written.
    writes: AtomicU64,
    numbers: [AtomicU64; 6],
}

impl Published {
    /// For one writer at a time.
    pub(super) fn publish(&self, counts: &Counts) {
        let Counts { size, available, claimed, future, max_claims, until_ms } = *counts;
        let writes = self.writes.load(Ordering::Relaxed);
        self.writes.store(writes + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (number, new) in
            self.numbers.iter().zip([size, available, claimed, future, max_claims, until_ms])
        {
            number.store(new, Ordering::Relaxed);
        }
        self.writes.store(writes + 2, Ordering::Release);
    }

    /// The counts, all of one moment; nothing if they are being written.
    pub(super) fn read(&self) -> Option<Counts> {
        let writes = self.writes.load(Ordering::Acquire);
        let [size, available, claimed, future, max_claims, until_ms] =
            self.numbers.each_ref().map(|number| number.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let is_whole = writes.is_multiple_of(2) && self.writes.load(Ordering::Relaxed) == writes;
        is_whole.then_some(Counts { size, available, claimed, future, max_claims, until_ms })
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
                        future: n,
                        max_claims: n,
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
                last = n;
            }
        });
        assert_eq!(published.read().map(|counts| counts.size), Some(1_000_000));
    }
}
