//! One namespace: its documents in the order of their keys, and the claimants that hold them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;

use super::counts::Counts;
use super::queue::NOBODY;
use super::registry::Content;
use crate::tasks::{Doc, DocPosition, DocQuery};

/// The position of a document: its keys and its id.
type SortKey = (Arc<str>, Arc<str>, Arc<str>);

/// A namespace.
#[derive(Default)]
pub(super) struct Namespace {
    docs: BTreeMap<SortKey, Doc>,
    keys: HashMap<Arc<str>, (Arc<str>, Arc<str>)>,
    /// Documents that have a claimant, by the time until which they are held; some of these times have passed.
    held: BTreeSet<(u64, Arc<str>)>,
}

impl Content for Namespace {
    fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    fn counts(&self) -> Counts {
        Counts {
            size: self.docs.len() as u64,
            claimed: self.held.len() as u64,
            until_ms: self.held.first().map_or(u64::MAX, |(at_ms, _)| *at_ms),
            ..Counts::default()
        }
    }
}

impl Namespace {
    pub(super) fn get(&self, id: &str) -> Option<&Doc> {
        let (id, (key, secondary)) = self.keys.get_key_value(id)?;
        self.docs.get(&(key.clone(), secondary.clone(), id.clone()))
    }

    /// Inserts a document, or replaces the one with the same id.
    pub(super) fn put(&mut self, doc: Doc) {
        self.remove(&doc.id);
        if !doc.claimant.is_empty() {
            self.held.insert((doc.at_ms, doc.id.clone()));
        }
        self.keys.insert(doc.id.clone(), (doc.key.clone(), doc.secondary_key.clone()));
        self.docs.insert((doc.key.clone(), doc.secondary_key.clone(), doc.id.clone()), doc);
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Doc> {
        let (id, (key, secondary)) = self.keys.remove_entry(id)?;
        let doc = self.docs.remove(&(key, secondary, id))?;
        if !doc.claimant.is_empty() {
            self.held.remove(&(doc.at_ms, doc.id.clone()));
        }
        Some(doc)
    }

    /// The documents with this primary key, by secondary key.
    pub(super) fn of_key<'a>(&'a self, key: &'a Arc<str>) -> impl Iterator<Item = &'a Doc> {
        let first = (key.clone(), NOBODY.clone(), NOBODY.clone());
        self.docs.range(first..).take_while(move |(place, _)| place.0 == *key).map(|(_, doc)| doc)
    }

    /// The first `max` documents that match the query.
    pub(super) fn page(&self, query: &DocQuery, max: usize) -> Vec<&Doc> {
        let from = |key: &Arc<str>| (key.clone(), NOBODY.clone(), NOBODY.clone());
        let start = query.start.as_ref().map(from);
        let after = query.after.as_ref().map(|after: &DocPosition| {
            (after.key.clone(), after.secondary_key.clone(), after.id.clone())
        });
        let first = match (start, after) {
            (Some(start), Some(after)) if after < start => Bound::Included(start),
            (_, Some(after)) => Bound::Excluded(after),
            (Some(start), None) => Bound::Included(start),
            (None, None) => Bound::Unbounded,
        };
        let is_before_end =
            |doc: &&Doc| query.end.as_ref().is_none_or(|end: &Arc<str>| doc.key < *end);
        let docs = self.docs.range((first, Bound::Unbounded)).map(|(_, doc)| doc);
        docs.take_while(is_before_end).take(max).collect()
    }

    /// Stops counting documents whose time has passed.
    pub(super) fn count_held(&mut self, now_ms: u64) {
        while self.held.first().is_some_and(|(at_ms, _)| *at_ms <= now_ms) {
            self.held.pop_first();
        }
    }

    /// All documents, by their keys.
    pub(super) fn docs(&self) -> impl Iterator<Item = &Doc> {
        self.docs.values()
    }
}
