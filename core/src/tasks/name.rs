//! The name of a store and the keys that follow from it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::{tagged_name, unmarked};

/// What the key that all others of a store begin with ends with.
const KIND: &[u8] = b":tasks";

/// The name of a store, with the Redis key that all its keys begin with. They carry the name as their hash tag, or
/// the tag that the name contains, so that a store lies in one cluster slot.
// Holds the bytes rather than a shared reference: threads that use one store would contend for its reference count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(SmallVec<[u8; 48]>);

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self(tagged_name("the store's name", name, KIND)?.into()))
    }

    /// The name of the store whose keys begin with this one; nothing for a key that belongs to no store.
    pub(super) fn of_key(key: &[u8]) -> Option<Vec<u8>> {
        let tagged = unmarked(key.strip_suffix(KIND)?, KIND);
        let bare = tagged.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
        let is_it = |name: &&[u8]| Self::new(name).is_ok_and(|name| name.as_bytes() == key);
        bare.filter(is_it).or(Some(&*tagged).filter(is_it)).map(<[u8]>::to_vec)
    }

    /// The key that all others begin with.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The keys of every step: those that a store has once. The keys of its queues and namespaces are built in the
    /// scripts, as only the records say which these are. While a cluster moves a slot, a step waits if some of its
    /// keys exist and some do not. The last key never exists, so no step runs on a store that is partly on another
    /// node.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        ["", ":values", ":meta", ":queues", ":levels", ":expiry", ":none"]
            .map(|end| self.with(end))
            .to_vec()
    }

    /// Those, and the ones for documents.
    pub(super) fn keys_with_docs(&self) -> Vec<Arc<[u8]>> {
        let mut keys = self.keys();
        keys.extend([":docs", ":contents", ":namespaces"].map(|end| self.with(end)));
        keys
    }

    fn with(&self, end: &str) -> Arc<[u8]> {
        [&self.0, end.as_bytes()].concat().into()
    }

    /// What listeners for a queue wait for: the channel of its announcements.
    pub(super) fn topic(&self, queue: &str) -> Arc<[u8]> {
        [&self.0, b":queue:".as_slice(), queue.as_bytes()].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_carry_a_tag() {
        for (name, key) in [
            ("shop", "{shop}:tasks"),
            ("{shop}:eu", "{shop}:eu:tasks"),
            ("a{b}c", "a{b}c:tasks"),
            ("a}b", "{a}b}:tasks"),
            ("{shop}:tasks", "{shop}:_tasks:tasks"),
            ("{shop}:_tasks:x", "{shop}:__tasks:x:tasks"),
        ] {
            assert!(Name::new(b"}shop").is_err());
            assert_eq!(Name::new(name.as_bytes()).unwrap().as_bytes(), key.as_bytes(), "{name}");
            assert_eq!(Name::of_key(key.as_bytes()).unwrap(), name.as_bytes());
        }
        assert_eq!(&*Name::new(b"shop").unwrap().topic("in"), b"{shop}:tasks:queue:in");
    }
}
