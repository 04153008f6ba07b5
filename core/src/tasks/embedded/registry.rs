//! A sharded registry: queues, or namespaces, by their names, each behind its own lock.

use std::hash::BuildHasher;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_utils::CachePadded;
use hashbrown::HashMap;

use super::counts::{Counts, Published};
use super::locks::{
    AtomicBool, AtomicUsize, Hashes, Lock, MutexGuard, SharedLock, or_in_schedules,
};

/// Each shard has its own lock, so that threads rarely contend.
const SHARDS: usize = or_in_schedules(16, 2);

/// How many empty entries may be kept for their next use, in addition to as many as are in use.
const EMPTY_KEPT: usize = or_in_schedules(64, 0);

type Shard<T> = HashMap<Arc<str>, Arc<Registered<T>>, Hashes>;

/// The value that is kept under a name.
pub(super) trait Content: Default {
    fn is_empty(&self) -> bool;

    fn counts(&self) -> Counts;
}

/// Entries by name. An empty entry counts as absent. It is kept for its next use until there are too many, since a
/// queue usually becomes empty and fills again.
// Lock order: an entry before a shard, never the other way round: a lookup releases the shard before the
// entry is locked, and looks the name up again if the entry has been removed by then.
#[derive(Default)]
pub(super) struct Registry<T> {
    hasher: Hashes,
    shards: [SharedLock<Shard<T>>; SHARDS],
    /// Entries in the shards.
    count: AtomicUsize,
    /// How many of them are empty.
    empty: AtomicUsize,
    /// Set while no entry may be removed.
    is_kept: AtomicBool,
    /// How often an entry was inserted or removed.
    changes: AtomicUsize,
    /// All entries by name, and what `changes` was before they were collected.
    in_order: CachePadded<Lock<(usize, InOrder<T>)>>,
}

/// Entries in the order of their names. The names are copies, so that handing them out does not touch reference
/// counts on cache lines that are read by threads that work with the entries.
type InOrder<T> = Arc<[(Arc<str>, Arc<Registered<T>>)]>;

/// An entry: what is registered under a name.
pub(super) struct Registered<T> {
    pub(super) name: Arc<str>,
    /// The counts, as of the last change of the entry.
    // On separate cache lines, so that reading the counts does not touch those that workers need.
    counts: CachePadded<Published>,
    inner: Lock<Inner<T>>,
}

#[derive(Default)]
struct Inner<T> {
    content: T,
    /// It has been removed: look the name up again.
    is_removed: bool,
    /// Whether the registry counts it as empty.
    is_counted_empty: bool,
}

impl<T: Content> Registry<T> {
    pub(super) fn find(&self, name: &str) -> Option<Arc<Registered<T>>> {
        self.shard(name).read().get(name).cloned()
    }

    pub(super) fn find_or_make(&self, name: &Arc<str>) -> Arc<Registered<T>> {
        if let Some(found) = self.find(name) {
            return found;
        }
        let mut shard = self.shard(name).write();
        let made = shard.entry(name.clone()).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.empty.fetch_add(1, Ordering::Relaxed);
            let inner = Inner { is_counted_empty: true, ..Inner::default() };
            let counts = CachePadded::default();
            Arc::new(Registered { name: name.clone(), counts, inner: Lock::new(inner) })
        });
        // Before the shard is released, so that a thread that reads this number finds the entry.
        self.changes.fetch_add(1, Ordering::AcqRel);
        made.clone()
    }

    /// Runs a function on the entry with this name, locked; returns nothing if there is none.
    pub(super) fn with<R>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Guard<'_, T>) -> R,
    ) -> Option<R> {
        loop {
            let named = self.find(name)?;
            if let Some(mut guard) = named.lock() {
                let done = work(&mut guard);
                self.used(&mut guard);
                return Some(done);
            }
        }
    }

    /// All entries, in no particular order, as of about this moment, including empty ones.
    pub(super) fn all(&self) -> Vec<Arc<Registered<T>>> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.read().values().cloned());
        }
        all
    }

    /// As [`all`](Self::all), sorted by name; may include entries that have been removed since, which are empty.
    pub(super) fn in_order(&self) -> InOrder<T> {
        let mut known = self.in_order.lock();
        let changes = self.changes.load(Ordering::Acquire);
        if known.0 != changes {
            let with_copy = |named: Arc<Registered<T>>| (Arc::<str>::from(&*named.name), named);
            let mut all: Vec<_> = self.all().into_iter().map(with_copy).collect();
            all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            *known = (changes, all.into());
        }
        known.1.clone()
    }

    /// Whether all entries are empty.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == self.empty.load(Ordering::Acquire)
    }

    /// Stops or resumes the removal of entries.
    pub(super) fn keep(&self, is_kept: bool) {
        self.is_kept.store(is_kept, Ordering::SeqCst);
        match is_kept {
            // Removals that began before this was set have ended.
            true => self.shards.iter().for_each(|shard| drop(shard.write())),
            // Entries that became empty in the meantime may never be used again.
            false => {
                for named in self.all() {
                    if let Some(mut guard) = named.lock() {
                        self.used(&mut guard);
                    }
                }
            }
        }
    }

    /// Counts an entry that has been used, and removes it if there are too many empty ones. What was done to it must
    /// have been recorded before.
    pub(super) fn used(&self, guard: &mut Guard<'_, T>) {
        let is_empty = guard.inner.content.is_empty();
        match (std::mem::replace(&mut guard.inner.is_counted_empty, is_empty), is_empty) {
            (true, false) => drop(self.empty.fetch_sub(1, Ordering::AcqRel)),
            (false, true) => drop(self.empty.fetch_add(1, Ordering::AcqRel)),
            _ => {}
        }
        if is_empty {
            let empty = self.empty.load(Ordering::Acquire);
            if empty > EMPTY_KEPT && empty * 2 > self.count.load(Ordering::Acquire) {
                self.remove(guard);
            }
        }
    }

    fn remove(&self, guard: &mut Guard<'_, T>) {
        let mut shard = self.shard(&guard.named.name).write();
        if guard.inner.is_removed || self.is_kept.load(Ordering::SeqCst) {
            return;
        }
        shard.remove(&guard.named.name);
        guard.inner.is_removed = true;
        // A list that still contains it keeps only the name.
        guard.inner.content = T::default();
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.empty.fetch_sub(1, Ordering::AcqRel);
    }

    fn shard(&self, name: &str) -> &SharedLock<Shard<T>> {
        &self.shards[self.hasher.hash_one(name) as usize % SHARDS]
    }
}

#[cfg(all(test, shuttle))]
impl<T: Content> Registry<T> {
    /// Compares the counts with the entries, while nothing else runs.
    pub(super) fn check(&self) {
        let all = self.all();
        let is_empty = |named: &&Arc<Registered<T>>| named.inner.lock().content.is_empty();
        assert_eq!(self.count.load(Ordering::SeqCst), all.len(), "entries");
        assert_eq!(self.empty.load(Ordering::SeqCst), all.iter().filter(is_empty).count(), "empty");
        for named in all {
            let inner = named.inner.lock();
            assert!(!inner.is_removed, "{} is registered and removed", named.name);
            assert_eq!(inner.is_counted_empty, inner.content.is_empty(), "{}", named.name);
        }
    }
}

impl<T: Content> Registered<T> {
    /// Locks it; nothing if it has been removed.
    pub(super) fn lock(self: &Arc<Self>) -> Option<Guard<'_, T>> {
        let inner = self.inner.lock();
        (!inner.is_removed).then(|| Guard { named: self, inner, is_changed: false })
    }

    /// The counts at this time, without locking the entry; nothing if it must be locked for that.
    pub(super) fn counts(&self, now_ms: u64) -> Option<Counts> {
        self.counts.read().filter(|counts| now_ms < counts.until_ms || counts.size == 0)
    }
}

/// A locked entry. Its counts are published before it is unlocked.
pub(super) struct Guard<'a, T: Content> {
    named: &'a Arc<Registered<T>>,
    inner: MutexGuard<'a, Inner<T>>,
    /// Whether the entry may have changed.
    is_changed: bool,
}

impl<T: Content> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.is_changed {
            self.named.counts.publish(&self.inner.content.counts());
        }
    }
}

impl<'a, T: Content> Guard<'a, T> {
    /// The entry that is locked.
    pub(super) fn entry(&self) -> &'a Arc<Registered<T>> {
        self.named
    }

    pub(super) fn name(&self) -> &'a Arc<str> {
        &self.named.name
    }
}

impl<T: Content> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner.content
    }
}

impl<T: Content> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.is_changed = true;
        &mut self.inner.content
    }
}
