//! The name of a volatile hash and the keys that follow from it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::{check_name, numbered_name, tagged_name};

/// The prefix of the keys of a family's shard, which no hash outside a family has, and the suffix of the family's name.
const FAMILY: &[u8] = b"vhashes:";
const SHARD: &[u8] = b":shard";

/// Separates the state names of shards on the embedded engine from those of hashes outside a family: the latter always
/// have a tag, and an empty one in front is not a tag.
const NO_TAG: &[u8] = b"{}";

/// The name of a volatile hash: in braces, unless it contains a {tag}, so that the keys lie in one cluster slot. All keys
/// end with it; those of a hash in a family begin with its shard, and end with its base.
// Holds the bytes rather than a shared reference: threads that use one hash would contend for its reference count.
#[derive(Clone, Debug)]
pub(super) struct Name {
    /// The name of the state on the embedded engine; for a hash in a family, followed by its base.
    bytes: SmallVec<[u8; 48]>,
    /// For a hash in a family: how many of these bytes are the name of the state.
    shard_bytes: Option<usize>,
}

impl Name {
    /// The name `name`, of at least one byte.
    pub(super) fn new(name: &[u8]) -> Result<Self> {
        Ok(Self { bytes: tagged_name("the name", name, b"")?.into(), shard_bytes: None })
    }

    /// A shard of the family `family`; the names of the hashes in it are made from it.
    pub(super) fn shard(family: &[u8], number: u32) -> Result<Self> {
        let shard = numbered_name("the name", family, number, SHARD, SHARD)?;
        let bytes = [NO_TAG, FAMILY, &shard].concat();
        Ok(Self { shard_bytes: Some(bytes.len()), bytes: bytes.into() })
    }

    /// A hash in the shard that this names, with a base of at least one byte.
    pub(super) fn hash(&self, base: &[u8]) -> Result<Self> {
        check_name("the base", base)?;
        let bytes = [self.as_bytes(), base].concat();
        Ok(Self { bytes: bytes.into(), ..*self })
    }

    /// The name of the state on the embedded engine; a shard has one state.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.shard_bytes.unwrap_or(self.bytes.len())]
    }

    /// The base that identifies the hash in its shard; empty outside a family.
    pub(super) fn base(&self) -> &[u8] {
        self.shard_bytes.map_or(&[], |bytes| &self.bytes[bytes..])
    }

    /// The keys of the fields: their values and their expiries, followed by the index of the shard if there is one.
    pub(super) fn field_keys(&self) -> Vec<Arc<[u8]>> {
        self.with(&["map", "zset"])
    }

    /// The keys of the fields and of the locks, followed by the index of the shard if there is one.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        self.with(&["map", "zset", "lock", "lockz", "meta"])
    }

    /// The index of the shard: when its hashes have something to remove.
    pub(super) fn due_key(&self) -> Arc<[u8]> {
        [&self.as_bytes()[NO_TAG.len()..], b":due"].concat().into()
    }

    fn with(&self, kinds: &[&str]) -> Vec<Arc<[u8]>> {
        let key = |kind: &&str| -> Arc<[u8]> {
            let (kind, state) = (kind.as_bytes(), self.as_bytes());
            match self.shard_bytes {
                None => [b"vhash-", kind, b":", state].concat().into(),
                Some(_) => [&state[NO_TAG.len()..], b":", kind, b":", self.base()].concat().into(),
            }
        };
        kinds.iter().map(key).chain(self.shard_bytes.map(|_| self.due_key())).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::step::names;

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
        for (family, shard) in [
            ("users", "vhashes:{users/0003}:shard"),
            ("{u}", "vhashes:{u}:shard/0003"),
            ("{u}:shard", "vhashes:{u}:_shard:shard/0003"),
        ] {
            let name = Name::shard(family.as_bytes(), 3).unwrap().hash(b"a:b").unwrap();
            assert_eq!(name.base(), b"a:b");
            let expected = ["map:a:b", "zset:a:b", "due"];
            let expected = expected.map(|kind| format!("{shard}:{kind}").into_bytes());
            let keys = name.field_keys();
            assert!(
                keys.iter().map(|key| &**key).eq(expected.iter().map(Vec::as_slice)),
                "{shard}"
            );
        }
        assert!(Name::shard(b"users", 0).unwrap().hash(b"").is_err());
        assert!(Name::new(b"}a").is_err());
        assert!(Name::new(b"").is_err());
    }

    fn hash() -> impl Strategy<Value = (Vec<u8>, Option<(u32, Vec<u8>)>)> {
        (names::odd_names(), prop::option::of((0..3_u32, names::odd_names())))
    }

    proptest! {
        #![proptest_config(names::cases())]

        #[test]
        fn no_hash_has_a_key_of_another(one in hash(), other in hash()) {
            let name = |(name, shard): &(Vec<u8>, Option<(u32, Vec<u8>)>)| match shard {
                None => Name::new(name).unwrap(),
                Some((number, base)) => Name::shard(name, *number).unwrap().hash(base).unwrap(),
            };
            // The name as it is, and that of a hash outside of families with the first one's keys.
            let keys = name(&one).keys();
            let likeness = keys.iter().map(|key| (key.to_vec(), None));
            let cut = likeness.clone().filter_map(|(key, none)| {
                Some((key.strip_prefix(b"vhash-map:")?.to_vec(), none))
            });
            for other in likeness.chain(cut).chain([other.clone()]).filter(|(name, _)| name[0] != b'}') {
                let is_same = match (&one.1, &other.1) {
                    (None, None) => names::with_tag(&one.0) == names::with_tag(&other.0),
                    _ => one == other,
                };
                let is_shard = |one: &Option<(u32, _)>| one.as_ref().map(|(number, _)| *number);
                let is_state = one.0 == other.0 && is_shard(&one.1) == is_shard(&other.1);
                let other = name(&other);
                prop_assert_eq!(name(&one).as_bytes() == other.as_bytes(), is_same || is_state);
                let due = |name: &Name| name.shard_bytes.map(|_| name.due_key());
                let others = other.keys();
                let is_common = |key: &&Arc<[u8]>| others.contains(key) && due(&other).as_ref() != Some(*key);
                let common = keys.iter().find(is_common);
                prop_assert!(is_same || common.is_none(), "{:?}", common);
            }
        }
    }
}
