//! Queues, or namespaces, by their names, each behind a lock of its own.

use std::hash::BuildHasher;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_utils::CachePadded;
use hashbrown::HashMap;

use super::counts::{Counts, Published};
use super::sync::{AtomicBool, AtomicUsize, Hashes, Lock, MutexGuard, SharedLock, or_in_schedules};

/// Parts of the table, each with its own lock, so that threads seldom meet.
const PARTS: usize = or_in_schedules(16, 2);

/// How many empty things may be kept for their next use, beside as many as are in use.
const EMPTY_KEPT: usize = or_in_schedules(64, 0);

type Part<T> = HashMap<Arc<str>, Arc<Named<T>>, Hashes>;

/// What is kept under a name.
pub(super) trait Content: Default {
    fn is_empty(&self) -> bool;

    fn counts(&self) -> Counts;
}

/// Things by name. One that is empty counts as absent; it is kept for its next use, as a queue that
/// runs empty and fills again is the usual case, until there are too many.
// Lock order: a thing before a part of the table, never the other way round: who looks a name up lets
// go of the part before the thing is locked, and looks again if it is gone by then.
pub(super) struct Names<T> {
    hasher: Hashes,
    parts: [SharedLock<Part<T>>; PARTS],
    /// Things in the table.
    count: AtomicUsize,
    /// Things in the table that are empty.
    empty: AtomicUsize,
    /// Nothing is removed meanwhile.
    is_kept: AtomicBool,
    /// How often something was put into the table or taken out.
    changes: AtomicUsize,
    /// Everything by name, and what `changes` was before that was collected.
    in_order: CachePadded<Lock<(usize, InOrder<T>)>>,
}

/// Things in the order of their names, which are copies: whoever gives them to others does not count
/// references where those who work with the things read.
type InOrder<T> = Arc<[(Arc<str>, Arc<Named<T>>)]>;

/// A thing with a name.
pub(super) struct Named<T> {
    pub(super) name: Arc<str>,
    /// What is counted, as of the last time that it was changed.
    // On lines of the cache of its own, so that reading it does not touch what those need who work.
    counts: CachePadded<Published>,
    place: Lock<Place<T>>,
}

#[derive(Default)]
struct Place<T> {
    content: T,
    /// It is not in the table any more: whoever finds this looks the name up again.
    is_gone: bool,
    /// What the table's count of empty things takes it for.
    is_counted_empty: bool,
}

impl<T: Content> Default for Names<T> {
    fn default() -> Self {
        Self {
            hasher: Hashes::default(),
            parts: std::array::from_fn(|_| SharedLock::default()),
            count: AtomicUsize::new(0),
            empty: AtomicUsize::new(0),
            is_kept: AtomicBool::new(false),
            changes: AtomicUsize::new(0),
            in_order: CachePadded::new(Lock::new((0, Arc::new([])))),
        }
    }
}

impl<T: Content> Names<T> {
    pub(super) fn find(&self, name: &str) -> Option<Arc<Named<T>>> {
        self.part(name).read().get(name).cloned()
    }

    pub(super) fn find_or_make(&self, name: &Arc<str>) -> Arc<Named<T>> {
        if let Some(found) = self.find(name) {
            return found;
        }
        let mut part = self.part(name).write();
        let made = part.entry(name.clone()).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.empty.fetch_add(1, Ordering::Relaxed);
            let place = Place { is_counted_empty: true, ..Place::default() };
            let counts = CachePadded::default();
            Arc::new(Named { name: name.clone(), counts, place: Lock::new(place) })
        });
        // Before the part is let go of, so whoever reads this number finds the thing.
        self.changes.fetch_add(1, Ordering::AcqRel);
        made.clone()
    }

    /// Does something with the thing of this name, locked; nothing if there is none.
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

    /// Everything, in no order, at about this moment; empty things as well.
    pub(super) fn all(&self) -> Vec<Arc<Named<T>>> {
        let mut all = Vec::new();
        for part in &self.parts {
            all.extend(part.read().values().cloned());
        }
        all
    }

    /// As [`all`](Self::all), by name; also some that have been removed since, which are empty.
    pub(super) fn in_order(&self) -> InOrder<T> {
        let mut known = self.in_order.lock();
        let changes = self.changes.load(Ordering::Acquire);
        if known.0 != changes {
            let mut all: Vec<_> = self
                .all()
                .into_iter()
                .map(|named| (Arc::<str>::from(&*named.name), named))
                .collect();
            all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            *known = (changes, all.into());
        }
        known.1.clone()
    }

    /// Whether there is nothing, not even something empty.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == self.empty.load(Ordering::Acquire)
    }

    /// Keeps everything in the table that is there, empty or not, until it is told not to.
    pub(super) fn keep(&self, is_kept: bool) {
        self.is_kept.store(is_kept, Ordering::SeqCst);
        match is_kept {
            // Whoever looked before this was set has removed what it wanted to.
            true => self.parts.iter().for_each(|part| drop(part.write())),
            // What was emptied meanwhile may never be used again.
            false => {
                for named in self.all() {
                    if let Some(mut guard) = named.lock() {
                        self.used(&mut guard);
                    }
                }
            }
        }
    }

    /// Counts a thing that has been used, and takes it out of the table if it is one empty thing too
    /// many. What was done to it has to be recorded before.
    pub(super) fn used(&self, guard: &mut Guard<'_, T>) {
        let is_empty = guard.place.content.is_empty();
        match (std::mem::replace(&mut guard.place.is_counted_empty, is_empty), is_empty) {
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
        let mut part = self.part(&guard.named.name).write();
        if guard.place.is_gone || self.is_kept.load(Ordering::SeqCst) {
            return;
        }
        part.remove(&guard.named.name);
        guard.place.is_gone = true;
        // A list that still has it keeps the name alone.
        guard.place.content = T::default();
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.empty.fetch_sub(1, Ordering::AcqRel);
    }

    fn part(&self, name: &str) -> &SharedLock<Part<T>> {
        &self.parts[self.hasher.hash_one(name) as usize % PARTS]
    }
}

#[cfg(all(test, shuttle))]
impl<T: Content> Names<T> {
    /// Holds what is counted against what is in the table, while nobody is at work.
    pub(super) fn check(&self) {
        let all = self.all();
        let is_empty = |named: &&Arc<Named<T>>| named.place.lock().content.is_empty();
        assert_eq!(self.count.load(Ordering::SeqCst), all.len(), "things in the table");
        assert_eq!(self.empty.load(Ordering::SeqCst), all.iter().filter(is_empty).count(), "empty");
        for named in all {
            let place = named.place.lock();
            assert!(!place.is_gone, "{} is in the table and gone", named.name);
            assert_eq!(place.is_counted_empty, place.content.is_empty(), "{}", named.name);
        }
    }
}

impl<T: Content> Named<T> {
    /// Locks it; nothing if it is not in the table any more.
    pub(super) fn lock(&self) -> Option<Guard<'_, T>> {
        let place = self.place.lock();
        (!place.is_gone).then(|| Guard { named: self, place, is_changed: false })
    }
}

impl<T> Named<T> {
    /// What is counted at this time, without locking it; nothing if it has to be locked for that.
    pub(super) fn counts(&self, now_ms: u64) -> Option<Counts> {
        self.counts.read().filter(|counts| now_ms < counts.until_ms || counts.size == 0)
    }
}

/// A thing that is locked. What is counted in it is published before it is locked no longer.
pub(super) struct Guard<'a, T: Content> {
    named: &'a Named<T>,
    place: MutexGuard<'a, Place<T>>,
    /// Perhaps.
    is_changed: bool,
}

impl<T: Content> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.is_changed {
            self.named.counts.publish(&self.place.content.counts());
        }
    }
}

impl<T: Content> Guard<'_, T> {
    pub(super) fn name(&self) -> &Arc<str> {
        &self.named.name
    }
}

impl<T: Content> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.place.content
    }
}

impl<T: Content> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.is_changed = true;
        &mut self.place.content
    }
}
