//! The name of a store and the keys that follow from it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Result, ensure};
use crate::step::check_name;

/// The name of a store, with the Redis key that all its keys begin with. They carry the name as their
/// tag, or the tag that is in the name, so that a store lies in one cluster slot.
// Its bytes and no reference to them: threads that use one store would count references all the time.
#[derive(Clone, Debug)]
pub(super) struct Name(SmallVec<[u8; 48]>);

impl Name {
    /// The name `name`, of at least a byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        check_name("the store's name", name)?;
        ensure!(name[0] != b'}', "the store's name begins with a brace that closes");
        let tagged = match has_tag(name) {
            true => name.to_vec(),
            false => [b"{", name, b"}"].concat(),
        };
        Ok(Self([tagged.as_slice(), b":tasks"].concat().into()))
    }

    /// The key that all others begin with.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The keys of every step: those that a store has once. Those of its queues and namespaces are made in
    /// the scripts, as only the records say which these are. While a cluster moves a slot, a step waits of
    /// whose keys some are there and some are not. The last one never is, so no step runs on a store of which
    /// a part is elsewhere.
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

/// Whether a cluster takes a part of the name for the whole.
fn has_tag(name: &[u8]) -> bool {
    let Some(open) = name.iter().position(|byte| *byte == b'{') else { return false };
    name[open + 1..].iter().position(|byte| *byte == b'}').is_some_and(|length| length > 0)
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
        ] {
            assert!(Name::new(b"}shop").is_err());
            assert_eq!(Name::new(name.as_bytes()).unwrap().as_bytes(), key.as_bytes(), "{name}");
        }
        assert_eq!(&*Name::new(b"shop").unwrap().topic("in"), b"{shop}:tasks:queue:in");
    }
}
