//! A map in memory whose entries expire, in the order in which they do so.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::step::Timestamp;

/// The key of an entry, shared between the map and the order.
pub(super) type Key = Arc<[u8]>;

/// Entries by key, and their keys by expiry and then by their bytes. An entry that has expired is kept until it is
/// removed.
pub(super) struct Expiring<V> {
    entries: HashMap<Key, Entry<V>>,
    order: BTreeSet<(Timestamp, Key)>,
}

/// A value, and the time from which it is expired.
pub(super) struct Entry<V> {
    pub(super) value: V,
    pub(super) expires: Timestamp,
}

impl<V> Expiring<V> {
    /// How many entries there are, expired or not.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries are live. It walks through those that are not.
    pub(super) fn live_len(&self, now: Timestamp) -> usize {
        let expired = self.order.iter().take_while(|(expires, _)| *expires <= now);
        self.len() - expired.count()
    }

    /// The entry of a key, if it is live.
    pub(super) fn live(&self, key: &[u8], now: Timestamp) -> Option<&Entry<V>> {
        self.entries.get(key).filter(|entry| now < entry.expires)
    }

    /// Puts an entry in place of another one of the key.
    pub(super) fn put(&mut self, key: &[u8], value: V, expires: Timestamp) {
        let key = self.take_from_order(key).unwrap_or_else(|| Arc::from(key));
        self.order.insert((expires, key.clone()));
        self.entries.insert(key, Entry { value, expires });
    }

    /// Changes when an entry expires; returns whether there is one.
    pub(super) fn touch(&mut self, key: &[u8], expires: Timestamp) -> bool {
        let Some(key) = self.take_from_order(key) else { return false };
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.expires = expires;
        }
        self.order.insert((expires, key));
        true
    }

    /// Removes the entry of a key; returns it if there was one.
    pub(super) fn remove(&mut self, key: &[u8]) -> Option<Entry<V>> {
        let (key, entry) = self.entries.remove_entry(key)?;
        self.order.remove(&(entry.expires, key));
        Some(entry)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The entry that expires first: when, and its key.
    pub(super) fn first(&self) -> Option<(Timestamp, Key)> {
        self.order.first().cloned()
    }

    /// The same, if it has expired.
    pub(super) fn first_expired(&self, now: Timestamp) -> Option<(Timestamp, Key)> {
        self.first().filter(|(expires, _)| *expires <= now)
    }

    /// The live entries that come after a position, in the order in which they expire.
    pub(super) fn live_after(
        &self,
        position: Option<(Timestamp, &[u8])>,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Key, &Entry<V>)> {
        let after = position.map(|(expires, key)| (expires, Key::from(key)));
        let keys = self.order.range((after.map_or(Unbounded, Excluded), Unbounded));
        let entries = keys.filter_map(move |(_, key)| self.entries.get_key_value(key));
        entries.skip_while(move |(_, entry)| entry.expires <= now)
    }

    /// All entries, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Entry<V>)> {
        self.entries.iter()
    }

    fn take_from_order(&mut self, key: &[u8]) -> Option<Key> {
        let (key, entry) = self.entries.get_key_value(key)?;
        let place = (entry.expires, key.clone());
        self.order.remove(&place);
        Some(place.1)
    }
}

impl<V> Default for Expiring<V> {
    fn default() -> Self {
        Self { entries: HashMap::default(), order: BTreeSet::default() }
    }
}
