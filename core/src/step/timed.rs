//! A map in memory whose entries have a time each, such as their expiry, in the order of these times.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use hashbrown::HashMap;

use super::Timestamp;

/// The key of an entry, shared between the map and the order.
pub(crate) type Key = Arc<[u8]>;

/// Entries by key, and their keys by time and then by their bytes. An entry is live before its time, which the caller
/// checks; it is kept until it is removed.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Timed<V> {
    entries: HashMap<Key, Entry<V>>,
    order: BTreeSet<(Timestamp, Key)>,
}

/// A value and its time.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Entry<V> {
    pub(crate) value: V,
    pub(crate) time: Timestamp,
}

impl<V> Timed<V> {
    /// How many entries there are, live or not.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries are live. It walks through those that are not.
    pub(crate) fn live_len(&self, now: Timestamp) -> usize {
        let others = self.order.iter().take_while(|(time, _)| *time <= now);
        self.len() - others.count()
    }

    /// The entry of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry<V>> {
        self.entries.get(key)
    }

    /// The entry of a key, if it is live.
    pub(crate) fn live(&self, key: &[u8], now: Timestamp) -> Option<&Entry<V>> {
        self.get(key).filter(|entry| now < entry.time)
    }

    /// Puts an entry in place of another one of the key.
    pub(crate) fn put(&mut self, key: &[u8], value: V, time: Timestamp) {
        let key = self.take_from_order(key).unwrap_or_else(|| Arc::from(key));
        self.order.insert((time, key.clone()));
        self.entries.insert(key, Entry { value, time });
    }

    /// Changes the time of an entry; returns whether there is one.
    pub(crate) fn touch(&mut self, key: &[u8], time: Timestamp) -> bool {
        let Some(key) = self.take_from_order(key) else { return false };
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.time = time;
        }
        self.order.insert((time, key));
        true
    }

    /// Removes the entry of a key; returns it if there was one.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<Entry<V>> {
        let (key, entry) = self.entries.remove_entry(key)?;
        self.order.remove(&(entry.time, key));
        Some(entry)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The first entry: its time and its key.
    pub(crate) fn first(&self) -> Option<(Timestamp, Key)> {
        self.order.first().cloned()
    }

    /// The same, if it is not live.
    pub(crate) fn first_expired(&self, now: Timestamp) -> Option<(Timestamp, Key)> {
        self.first().filter(|(time, _)| *time <= now)
    }

    /// The live entries that come after a position, in the order of their times.
    pub(crate) fn live_after(
        &self,
        position: Option<(Timestamp, &[u8])>,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Key, &Entry<V>)> {
        let after = position.map(|(time, key)| (time, Key::from(key)));
        let keys = self.order.range((after.map_or(Unbounded, Excluded), Unbounded));
        let entries = keys.filter_map(move |(_, key)| self.entries.get_key_value(key));
        entries.skip_while(move |(_, entry)| entry.time <= now)
    }

    /// The times and keys of the entries from a time on, in their order.
    pub(crate) fn order_from(&self, time: Timestamp) -> impl Iterator<Item = &(Timestamp, Key)> {
        self.order.range((time, Key::default())..)
    }

    /// All entries, in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry<V>)> {
        self.entries.iter()
    }

    fn take_from_order(&mut self, key: &[u8]) -> Option<Key> {
        let (key, entry) = self.entries.get_key_value(key)?;
        let place = (entry.time, key.clone());
        self.order.remove(&place);
        Some(place.1)
    }
}

impl<V> Default for Timed<V> {
    fn default() -> Self {
        Self { entries: HashMap::default(), order: BTreeSet::default() }
    }
}
