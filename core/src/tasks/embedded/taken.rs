//! The ids of tasks that have ended and whose deduplication windows are not over.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;

use super::journal::Changes;
use super::locks::{AtomicU64, Lock};
use super::queue::Record;
use crate::tasks::DEDUP_IDS_MAX;

/// How many ids whose time is over a step forgets while it holds the lock.
const FORGOTTEN_A_HOLD: usize = 256;

/// Ids, each taken until a time. An id whose time is over is free, even while it is here.
// Lock order: after the shards of the index. An id is added before it leaves the index, and looked up while its shard
// of the index is locked; so an insert finds the id of a task that ends in one of the two.
pub(super) struct Taken {
    ids: Lock<Ids>,
    /// When the first one is free, `NEVER` if there is none; a step that need not lock the ids reads this. It is written
    /// under their lock.
    first_ms: AtomicU64,
}

const NEVER: u64 = u64::MAX;

/// An id, behind the time until which it is taken.
pub(super) type Until = (u64, Arc<str>);

#[derive(Default)]
struct Ids {
    until_ms: HashMap<Arc<str>, u64>,
    in_order: BTreeSet<Until>,
}

impl Default for Taken {
    fn default() -> Self {
        Self { ids: Lock::default(), first_ms: AtomicU64::new(NEVER) }
    }
}

impl Taken {
    /// Whether an insert is refused for this id.
    pub(super) fn holds(&self, id: &str, now_ms: u64) -> bool {
        let until_ms = || self.ids.lock().until_ms.get(id).copied();
        !self.is_empty() && until_ms().is_some_and(|until_ms| until_ms > now_ms)
    }

    /// Takes the id of a task that has ended now, or when it expired.
    pub(super) fn end(&self, task: &Record, now_ms: u64, changes: &mut Changes) {
        let ended_ms = match task.expires_ms {
            0 => now_ms,
            expires_ms => expires_ms.min(now_ms),
        };
        let until_ms = ended_ms + u64::from(task.dedup_window_ms);
        if until_ms > now_ms {
            changes.taken(&task.id, until_ms);
            self.add(task.id.clone(), until_ms);
        }
    }

    /// Takes an id until this time, or as long as it is taken already.
    pub(super) fn add(&self, id: Arc<str>, until_ms: u64) {
        let mut ids = self.ids.lock();
        let known_ms = ids.until_ms.get(&id).copied().unwrap_or(0);
        if known_ms >= until_ms {
            return;
        }
        ids.until_ms.insert(id.clone(), until_ms);
        ids.in_order.remove(&(known_ms, id.clone()));
        ids.in_order.insert((until_ms, id));
        if ids.in_order.len() > DEDUP_IDS_MAX {
            ids.forget_first();
        }
        self.publish(&ids);
    }

    /// Forgets some of those whose time is over.
    pub(super) fn forget(&self, now_ms: u64) {
        if self.first_ms.load(Ordering::Acquire) > now_ms {
            return;
        }
        let mut ids = self.ids.lock();
        let in_order = ids.in_order.iter().take(FORGOTTEN_A_HOLD);
        let over = in_order.take_while(|(until_ms, _)| *until_ms <= now_ms).count();
        (0..over).for_each(|_| ids.forget_first());
        self.publish(&ids);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first_ms.load(Ordering::Acquire) == NEVER
    }

    /// Up to `max` of them after this one, in the order of their times.
    pub(super) fn page(&self, after: Option<&Until>, max: usize) -> Vec<Until> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.ids.lock();
        ids.in_order.range((from, Bound::Unbounded)).take(max).cloned().collect()
    }

    fn publish(&self, ids: &Ids) {
        let first_ms = ids.in_order.first().map_or(NEVER, |(first_ms, _)| *first_ms);
        self.first_ms.store(first_ms, Ordering::Release);
    }
}

impl Ids {
    fn forget_first(&mut self) {
        if let Some((_, id)) = self.in_order.pop_first() {
            self.until_ms.remove(&id);
        }
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    fn ids(taken: &Taken) -> Vec<(u64, String)> {
        let page = taken.page(None, 10);
        page.into_iter().map(|(until_ms, id)| (until_ms, id.to_string())).collect()
    }

    #[test]
    fn an_id_is_taken_once_until_the_latest_of_its_times() {
        let taken = Taken::default();
        assert!(taken.is_empty() && !taken.holds("a", 0));
        for (id, until_ms) in [("a", 20), ("b", 30), ("a", 40), ("b", 10), ("c", 5)] {
            taken.add(id.into(), until_ms);
        }
        let all = [(5, "c".to_owned()), (30, "b".to_owned()), (40, "a".to_owned())];
        assert_eq!(ids(&taken), all);
        let pages = std::iter::successors(taken.page(None, 1).pop(), |last| {
            taken.page(Some(last), 1).pop()
        });
        assert!(pages.map(|(_, id)| id).eq(["c", "b", "a"].map(Arc::from)));
        assert!(taken.holds("b", 29) && !taken.holds("b", 30) && !taken.holds("x", 0));
    }

    #[test]
    fn what_is_over_is_forgotten_some_at_a_time() {
        let taken = Taken::default();
        for number in 1..FORGOTTEN_A_HOLD as u64 + 3 {
            taken.add(number.to_string().into(), number);
        }
        taken.add("last".into(), 1_000);
        taken.forget(500);
        assert_eq!(taken.page(None, 10).len(), 3);
        taken.forget(FORGOTTEN_A_HOLD as u64 + 1);
        assert_eq!(ids(&taken)[1], (1_000, "last".to_owned()));
        taken.forget(999);
        assert!(!taken.is_empty());
        taken.forget(1_000);
        assert!(taken.is_empty() && taken.ids.lock().until_ms.is_empty());
    }

    #[test]
    fn of_too_many_the_one_that_would_be_free_first_is_free() {
        let taken = Taken::default();
        (0..DEDUP_IDS_MAX as u64)
            .for_each(|number| taken.add(number.to_string().into(), number + 10));
        assert!(taken.holds("0", 1));
        taken.add("new".into(), 11);
        assert!(!taken.holds("0", 1) && taken.holds("1", 1) && taken.holds("new", 1));
        // It would be the first one itself.
        taken.add("newer".into(), 11);
        assert!(!taken.holds("1", 1) && taken.holds("new", 1) && taken.holds("newer", 1));
        assert_eq!(taken.ids.lock().until_ms.len(), DEDUP_IDS_MAX);
    }
}
