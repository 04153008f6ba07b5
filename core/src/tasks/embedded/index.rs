//! Where each task is, by its id: the one thing that all queues of a store share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashMap;

use super::names::Named;
use super::queue::{Queue, Slot};
use super::sync::{Hashes, Lock, MutexGuard, or_in_schedules};

/// Parts of the index, each with its own lock.
const PARTS: usize = or_in_schedules(64, 2);

type Part = HashMap<Arc<str>, Location, Hashes>;

/// Tasks by id.
// Lock order: queues and namespaces before parts of the index, and parts by their numbers. What is
// said of a task holds for as long as its queue is locked.
#[derive(Default)]
pub(super) struct Index {
    hasher: Hashes,
    parts: Parts,
}

struct Parts([Lock<Part>; PARTS]);

impl Default for Parts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Lock::default()))
    }
}

/// Where a task is.
#[derive(Clone)]
pub(super) struct Location {
    pub(super) queue: Arc<Named<Queue>>,
    pub(super) slot: Slot,
}

impl Index {
    /// Where this task is, at this moment.
    pub(super) fn find(&self, id: &str) -> Option<Location> {
        self.parts.0[self.part(id)].lock().get(id).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        self.parts.0[self.part(id)].lock().remove(id);
    }

    pub(super) fn insert(&self, id: Arc<str>, location: Location) {
        self.parts.0[self.part(&id)].lock().insert(id, location);
    }

    /// Locks what these ids are in.
    pub(super) fn lock<'i>(&self, ids: impl Iterator<Item = &'i Arc<str>>) -> Locked<'_> {
        let mut numbers: Vec<usize> = ids.map(|id| self.part(id)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let lock = |number: usize| (number, self.parts.0[number].lock());
        Locked { index: self, parts: numbers.into_iter().map(lock).collect() }
    }

    /// Where all tasks are.
    #[cfg(all(test, shuttle))]
    pub(super) fn all(&self) -> Vec<(Arc<str>, Location)> {
        let mut all = Vec::new();
        for part in &self.parts.0 {
            all.extend(part.lock().iter().map(|(id, location)| (id.clone(), location.clone())));
        }
        all
    }

    fn part(&self, id: &str) -> usize {
        self.hasher.hash_one(id) as usize % PARTS
    }
}

/// Parts of the index that are locked together.
pub(super) struct Locked<'a> {
    index: &'a Index,
    parts: Vec<(usize, MutexGuard<'a, Part>)>,
}

impl Locked<'_> {
    pub(super) fn find(&mut self, id: &str) -> Option<&Location> {
        self.part(id).get(id)
    }

    pub(super) fn insert(&mut self, id: Arc<str>, location: Location) {
        self.part(&id).insert(id, location);
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.part(id).remove(id);
    }

    fn part(&mut self, id: &str) -> &mut Part {
        let number = self.index.part(id);
        let at = self.parts.binary_search_by_key(&number, |(number, _)| *number);
        &mut self.parts[at.expect("the part of every id of a step is locked")].1
    }
}
