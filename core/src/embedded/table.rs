//! The table of queues: states by kind and name.

use std::any::Any;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use crossbeam_utils::CachePadded;
use hashbrown::{DefaultHashBuilder, Equivalent, HashMap};

use crate::error::{Error, ErrorKind, Result};
use crate::operation::{State, States};
use crate::{ick, shuffle, tasks};

/// Parts of the table, each with its own lock, so that threads seldom meet.
const PARTS: usize = 16;

/// The states of all queues of an engine.
pub(super) struct Table {
    hasher: DefaultHashBuilder,
    parts: [CachePadded<RwLock<Part>>; PARTS],
}

type Part = HashMap<Key, Arc<dyn State>>;

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

/// An empty state of the kind with this number in the journal.
fn empty_state(kind: u8) -> Result<Arc<dyn State>> {
    match kind {
        ick::embedded::KIND => Ok(Arc::new(ick::embedded::State::default())),
        shuffle::embedded::KIND => Ok(Arc::new(shuffle::embedded::State::default())),
        shuffle::tracking::KIND => Ok(Arc::new(shuffle::tracking::State::default())),
        tasks::embedded::KIND => Ok(Arc::new(tasks::embedded::State::default())),
        unknown => Err(Error::new(
            ErrorKind::IncompatibleVersion,
            format!(
                "the journal holds a queue of kind {unknown}, which this version does not know"
            ),
        )),
    }
}

impl Table {
    pub(super) fn new() -> Self {
        Self { hasher: DefaultHashBuilder::default(), parts: Default::default() }
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
        let part = self.part(kind, name);
        if let Some(state) = read(part).get(&KeyRef(kind, name)) {
            return (state.clone(), false);
        }
        let mut part = write(part);
        let mut made = false;
        let state = part.entry(Key { kind, name: name.into() }).or_insert_with(|| {
            made = true;
            make()
        });
        (state.clone(), made)
    }

    /// Forgets a queue if it is as if it had never been used and nobody is at work on it; not
    /// while `kept` is set.
    pub(super) fn forget_unused(&self, kind: u8, name: &[u8], kept: &AtomicBool) {
        let mut part = write(self.part(kind, name));
        // Asked under the lock: a queue that is forgotten although this is being set was not used
        // since.
        if kept.load(Ordering::Acquire) {
            return;
        }
        let key = KeyRef(kind, name);
        // Whoever works on a state holds a reference, which is taken under this lock.
        if part.get(&key).is_some_and(|state| Arc::strong_count(state) == 1 && state.is_unused()) {
            part.remove(&key);
        }
    }

    /// Every queue, at about this moment.
    pub(super) fn all(&self) -> Vec<(Key, Arc<dyn State>)> {
        let mut all = Vec::new();
        for part in &self.parts {
            let part = read(part);
            all.extend(part.iter().map(|(key, state)| (key.clone(), state.clone())));
        }
        all
    }

    fn part(&self, kind: u8, name: &[u8]) -> &RwLock<Part> {
        &self.parts[self.hasher.hash_one(KeyRef(kind, name)) as usize % PARTS]
    }
}

impl States for Table {
    fn state_of_kind(&self, kind: u8, name: &[u8]) -> Result<Arc<dyn State>> {
        if let Some(state) = read(self.part(kind, name)).get(&KeyRef(kind, name)) {
            return Ok(state.clone());
        }
        let empty = empty_state(kind)?;
        Ok(self.find_or_make(kind, name, || empty).0)
    }
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(std::sync::PoisonError::into_inner)
}
