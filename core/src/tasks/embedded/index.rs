//! Where each task is, by its id: the only thing that all queues of a store share.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashMap;

use super::locks::{Hashes, Lock, MutexGuard, or_in_schedules};
use super::queue::{Queue, Slot};
use super::registry::Registered;

/// Shards of the index, each with its own lock.
const SHARDS: usize = or_in_schedules(64, 2);

pub(super) type Shard = HashMap<Arc<str>, Location, Hashes>;

/// Tasks by id.
// Lock order: queues and namespaces before shards of the index, and shards by their numbers. What the index says of a
// task stays true while its queue is locked.
pub(super) struct Index {
    hasher: Hashes,
    shards: [Lock<Shard>; SHARDS],
}

impl Default for Index {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Lock::default());
        Self { hasher: Hashes::default(), shards }
    }
}

/// Where a task is.
#[derive(Clone)]
pub(super) struct Location {
    pub(super) queue: Arc<Registered<Queue>>,
    pub(super) slot: Slot,
}

impl Index {
    /// Where this task is, at this moment.
    pub(super) fn find(&self, id: &str) -> Option<Location> {
        self.shard_of(id).get(id).cloned()
    }

    /// The shard of this id, locked.
    pub(super) fn shard_of(&self, id: &str) -> MutexGuard<'_, Shard> {
        self.shards[self.number(id)].lock()
    }

    /// Locks the shards of these ids.
    pub(super) fn lock<'i>(&self, ids: impl Iterator<Item = &'i Arc<str>>) -> LockedShards<'_> {
        let mut numbers: Vec<usize> = ids.map(|id| self.number(id)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let lock = |number: usize| (number, self.shards[number].lock());
        LockedShards { index: self, shards: numbers.into_iter().map(lock).collect() }
    }

    /// Where all tasks are.
    #[cfg(all(test, shuttle))]
    pub(super) fn all(&self) -> Vec<(Arc<str>, Location)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().iter().map(|(id, location)| (id.clone(), location.clone())));
        }
        all
    }

    /// The number of the shard of this id.
    fn number(&self, id: &str) -> usize {
        self.hasher.hash_one(id) as usize % SHARDS
    }
}

/// Shards of the index that are locked together.
pub(super) struct LockedShards<'a> {
    index: &'a Index,
    shards: Vec<(usize, MutexGuard<'a, Shard>)>,
}

impl LockedShards<'_> {
    /// The shard of this id, which must be one of the step's ids.
    pub(super) fn shard_of(&mut self, id: &str) -> &mut Shard {
        let number = self.index.number(id);
        let at = self.shards.binary_search_by_key(&number, |(number, _)| *number);
        &mut self.shards[at.expect("the shard of every id of a step is locked")].1
    }
}
