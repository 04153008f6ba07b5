//! The name of a volatile hash and the keys that follow from it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::{check_name, tagged_name};

/// The name of a volatile hash, as all its Redis keys end with it: in braces, unless it contains a {tag}, so that the
/// keys lie in one cluster slot.
// Holds the bytes rather than a shared reference: threads that use one hash would contend for its reference count.
#[derive(Clone, Debug)]
pub(super) struct Name {
    end: SmallVec<[u8; 48]>,
    /// How many bytes of that are the shard, of a hash in a family; behind a colon follows its base.
    shard_bytes: Option<usize>,
}

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self { end: tagged_name("the name", name, b"", b"")?.into(), shard_bytes: None })
    }

    /// A shard of the family `family`; it has a name, for the hashes in it.
    pub(super) fn shard(family: &[u8], number: u32) -> Result<Self> {
        let number = format!("/{number}");
        let end = tagged_name("the name", family, number.as_bytes(), b"")?;
        Ok(Self { shard_bytes: Some(end.len()), end: end.into() })
    }

    /// The hash in a shard that this is the name of, with a base of at least one byte.
    pub(super) fn hash(&self, base: &[u8]) -> Result<Self> {
        check_name("the base", base)?;
        let end = [&self.end, b":".as_slice(), base].concat();
        Ok(Self { shard_bytes: Some(self.end.len()), end: end.into() })
    }

    /// The name of the state on the embedded engine, which is one of a whole shard.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.end[..self.shard_bytes.unwrap_or(self.end.len())]
    }

    /// What tells the hash in its shard; empty if it is in none.
    pub(super) fn base(&self) -> &[u8] {
        self.shard_bytes.and_then(|bytes| self.end.get(bytes + 1..)).unwrap_or_default()
    }

    /// The keys of the fields: their values and their expiries, and behind them the index of the shard.
    pub(super) fn field_keys(&self) -> Vec<Arc<[u8]>> {
        self.with(&["vhash-map:", "vhash-zset:"])
    }

    /// The keys of the fields and of the locks.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        self.with(&["vhash-map:", "vhash-zset:", "vhash-lock:", "vhash-lockz:", "vhash-meta:"])
    }

    /// The index of the shard: when its hashes have something to remove.
    pub(super) fn due_key(&self) -> Arc<[u8]> {
        [b"vhash-due:", self.as_bytes()].concat().into()
    }

    fn with(&self, kinds: &[&str]) -> Vec<Arc<[u8]>> {
        let keys = kinds.iter().map(|kind| [kind.as_bytes(), &self.end].concat().into());
        keys.chain(self.shard_bytes.map(|_| self.due_key())).collect()
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
        for (family, end) in [("users", "{users/3}"), ("{u}", "{u}/3")] {
            let shard = Name::shard(family.as_bytes(), 3).unwrap();
            let name = shard.hash(b"a:b").unwrap();
            assert_eq!((name.as_bytes(), name.base()), (end.as_bytes(), b"a:b".as_slice()));
            let keys = name.field_keys();
            let expected =
                [format!("map:{end}:a:b"), format!("zset:{end}:a:b"), format!("due:{end}")];
            let expected = expected.map(|key| format!("vhash-{key}").into_bytes());
            assert!(keys.iter().map(|key| &**key).eq(expected.iter().map(Vec::as_slice)), "{end}");
        }
        assert!(Name::shard(b"users", 0).unwrap().hash(b"").is_err());
        assert!(Name::new(b"}a").is_err());
        assert!(Name::new(b"").is_err());
    }
}
