//! The table of queues: states by kind and name.

use std::any::Any;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use crossbeam_utils::CachePadded;
use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync::{read, write};
use crate::step::{State, States};

/// Shards of the table, each with its own lock, so that threads seldom meet.
const SHARDS: usize = 16;

/// Makes an empty state of the kind with this number in the journal, if there is such a kind.
pub(super) type EmptyState = fn(kind: u8) -> Option<Arc<dyn State>>;

/// The states of all queues of an engine.
pub(super) struct Table {
    empty_state: EmptyState,
    hasher: DefaultHashBuilder,
    shards: [CachePadded<RwLock<Shard>>; SHARDS],
}

type Shard = HashMap<Key, Arc<dyn State>>;

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: u8,
    pub(super) name: Box<[u8]>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        KeyRef(self.kind, &self.name).hash(hasher);
    }
}

/// A key that borrows its name, so that looking up makes no copy.
#[derive(Hash)]
struct KeyRef<'a>(u8, &'a [u8]);

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.kind && *self.1 == *key.name
    }
}

impl Table {
    pub(super) fn new(empty_state: EmptyState) -> Self {
        Self { empty_state, hasher: DefaultHashBuilder::default(), shards: Default::default() }
    }

    pub(super) fn empty_state(&self) -> EmptyState {
        self.empty_state
    }

    /// The state of a queue, and whether it was made for this call.
    pub(super) fn state<S: State + Default>(&self, name: &[u8]) -> (Arc<S>, bool) {
        let kind = S::kind();
        let (state, made) = self.find_or_make(kind, name, || Arc::new(S::default()));
        let state: Arc<dyn Any + Send + Sync> = state;
        (state.downcast().expect("a kind's number belongs to one type of state"), made)
    }

    fn find_or_make(
        &self,
        kind: u8,
        name: &[u8],
        make: impl FnOnce() -> Arc<dyn State>,
    ) -> (Arc<dyn State>, bool) {
        let shard = self.shard(kind, name);
        if let Some(state) = read(shard).get(&KeyRef(kind, name)) {
            return (state.clone(), false);
        }
        let mut shard = write(shard);
        let mut made = false;
        let state = shard.entry(Key { kind, name: name.into() }).or_insert_with(|| {
            made = true;
            make()
        });
        (state.clone(), made)
    }

    /// Evicts the state of a queue that is as if it had never been used, unless a step works on it or
    /// `kept` is set.
    pub(super) fn evict_if_unused(&self, kind: u8, name: &[u8], kept: &AtomicBool) {
        let mut shard = write(self.shard(kind, name));
        // Read under the lock: a state that is evicted while this is being set was not used since.
        if kept.load(Ordering::Acquire) {
            return;
        }
        let key = KeyRef(kind, name);
        // A step holds a reference to its state, which it takes under this lock.
        if shard.get(&key).is_some_and(|state| Arc::strong_count(state) == 1 && state.is_unused()) {
            shard.remove(&key);
        }
    }

    /// Every queue, at about this moment.
    pub(super) fn all(&self) -> Vec<(Key, Arc<dyn State>)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let shard = read(shard);
            all.extend(shard.iter().map(|(key, state)| (key.clone(), state.clone())));
        }
        all
    }

    fn shard(&self, kind: u8, name: &[u8]) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(KeyRef(kind, name)) as usize % SHARDS]
    }
}

impl States for Table {
    fn state_of_kind(&self, kind: u8, name: &[u8]) -> Result<Arc<dyn State>> {
        if let Some(state) = read(self.shard(kind, name)).get(&KeyRef(kind, name)) {
            return Ok(state.clone());
        }
        let empty = (self.empty_state)(kind).ok_or_else(|| {
            let message = format!(
                "the journal holds a queue of kind {kind}, which this version does not know"
            );
            Error::new(ErrorKind::IncompatibleVersion, message)
        })?;
        Ok(self.find_or_make(kind, name, || empty).0)
    }

    fn names_of_kind(&self, kind: u8) -> Vec<Box<[u8]>> {
        let all = self.all().into_iter();
        let used = all.filter(|(key, state)| key.kind == kind && !state.is_unused());
        used.map(|(key, _)| key.name).collect()
    }
}
