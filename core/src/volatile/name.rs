//! The name of a volatile hash and the keys that follow from it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::tagged_name;

/// The name of a volatile hash, as all its Redis keys end with it: in braces, unless it contains a {tag}, so that the
/// keys lie in one cluster slot.
// Holds the bytes rather than a shared reference: threads that use one hash would contend for its reference count.
#[derive(Clone, Debug)]
pub(super) struct Name(SmallVec<[u8; 48]>);

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self(tagged_name("the name", name, b"", b"")?.into()))
    }

    /// What all keys end with.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The keys of the fields: their values and their expiries.
    pub(super) fn field_keys(&self) -> Vec<Arc<[u8]>> {
        ["vhash-map:", "vhash-zset:"].map(|kind| self.with(kind)).to_vec()
    }

    /// Those, and the keys of the locks.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        let mut keys = self.field_keys();
        keys.extend(["vhash-lock:", "vhash-lockz:", "vhash-meta:"].map(|kind| self.with(kind)));
        keys
    }

    fn with(&self, kind: &str) -> Arc<[u8]> {
        [kind.as_bytes(), &self.0].concat().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V17: a name without braces works, and a {tag} is kept.
    #[test]
    fn keys_carry_a_tag() {
        for (name, end) in [
            ("user:1", "{user:1}"),
            ("{user}:1", "{user}:1"),
            ("a{b}c", "a{b}c"),
            ("a}b", "{a}b}"),
            ("{}a", "{{}a}"),
        ] {
            let keys = Name::new(name.as_bytes()).unwrap().keys();
            let expected = ["map", "zset", "lock", "lockz", "meta"];
            let expected = expected.map(|kind| format!("vhash-{kind}:{end}").into_bytes());
            assert!(keys.iter().map(|key| &**key).eq(expected.iter().map(Vec::as_slice)), "{name}");
        }
        assert!(Name::new(b"}a").is_err());
        assert!(Name::new(b"").is_err());
    }
}
