//! The name of a partition in a step.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::{
    ByteList, Invocation, Script, around_number, has_tag, numbered_name, tagged_name,
};

const WHAT: &str = "the queue's name";

/// The end of a partition's key; its number follows if the name has a tag. `PART` is the end for all but the first
/// partition of a name without a tag, whose number is inside the tag.
const KIND: &[u8] = b":events";
const PART: &[u8] = b":events-part";

/// A partition of a queue: the key that all its keys begin with, and its generation, which rises whenever the partition
/// gets another part of the key space. A step with another generation does nothing.
// It owns its bytes, as a task store does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    root: SmallVec<[u8; 48]>,
    pub(super) generation: u32,
}

impl Partition {
    /// The partition with this number, counted from 0, of the queue `name`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty, too long, or begins with a closing brace.
    pub fn new(name: impl AsRef<[u8]>, number: u16, generation: u32) -> Result<Self> {
        let name = name.as_ref();
        let root = match number == 0 && !has_tag(name) {
            true => tagged_name(WHAT, name, KIND)?,
            false => numbered_name(WHAT, name, number.into(), KIND, PART)?,
        };
        Ok(Self { root: root.into(), generation })
    }

    /// The roots of all other partitions before and after their four-digit number.
    pub(super) fn around_number(name: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        around_number(WHAT, name, KIND, PART)
    }

    pub(super) fn of_generation(self, generation: u32) -> Self {
        Self { generation, ..self }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.root
    }

    fn with(&self, end: &[u8]) -> Arc<[u8]> {
        [&self.root, end].concat().into()
    }

    /// The topic of listeners: the channel on which the partition notifies all waiting processes.
    pub(super) fn topic(&self) -> Arc<[u8]> {
        self.with(b":at:default")
    }

    /// The channel on which it notifies one process.
    pub(super) fn topic_of(&self, process: &str) -> Arc<[u8]> {
        self.with(&[b":at:default:", process.as_bytes()].concat())
    }

    /// The keys of a step.
    pub(super) fn keys(&self) -> Vec<Arc<[u8]>> {
        vec![self.with(b""), self.with(b":none")]
    }

    /// A call of a step, whose first argument is the generation.
    pub(super) fn call(
        &self,
        script: &'static Script,
        rest: impl FnOnce(&mut ByteList),
    ) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.generation.into());
        rest(&mut args);
        Invocation { script, keys: self.keys(), args }
    }
}

/// The place of a partition in the map of its queue. On an embedded engine, where a step can read the map, a partition
/// that is no longer in the map is not created.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Partition 0 of the queue, which has the map.
    pub(super) first: Partition,
    /// Its number, which is not 0.
    pub(super) number: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::step::names;

    #[test]
    fn keys_carry_a_tag() {
        for (name, number, root) in [
            ("orders", 0, "{orders}:events"),
            ("orders", 3, "{orders/0003}:events-part"),
            ("orders/3", 0, "{orders/3}:events"),
            ("a}b", 3, "{a}b/0003}:events-part"),
            ("{orders}", 0, "{orders}:events/0000"),
            ("a{eu}b", 3, "a{eu}b:events/0003"),
            ("{eu}:events", 1_023, "{eu}:_events:events/1023"),
            ("{eu}:_events-part", 0, "{eu}:__events-part:events/0000"),
        ] {
            let partition = Partition::new(name, number, 1).unwrap();
            let shown = String::from_utf8_lossy(partition.as_bytes());
            assert_eq!(shown, root);
            if root.contains(&format!("{number:04}")) {
                let (before, behind) = Partition::around_number(name.as_bytes()).unwrap();
                let number = format!("{number:04}").into_bytes();
                assert_eq!([before, number, behind].concat(), root.as_bytes());
            }
        }
        assert!(Partition::new("}a", 0, 1).is_err());
    }

    /// The README has a row for each key, and the layout.
    #[test]
    fn the_page_has_each_key() {
        let (script, page) = (include_str!("partition.lua"), include_str!("README.md"));
        let names = script.split("ROOT .. '").skip(1).filter_map(|rest| rest.split('\'').next());
        let mut count = 0;
        for name in names {
            assert!(page.contains(&format!("`…{name}")), "{name}");
            count += 1;
        }
        assert!(count > 18, "{count}");
        assert!(page.contains("`events.v1`") && script.contains("LAYOUT = 'events.v1'"));
    }

    /// All keys and channels of a partition.
    fn keys(partition: &Partition, end: &[u8]) -> Vec<Vec<u8>> {
        let ends: [&[u8]; 5] = [b"", b":none", b":events", b":at:default", b":waiting:default"];
        let odd = [b":lane:default:", end].concat();
        let process = [b":at:default:", end].concat();
        ends.into_iter().chain([&*odd, &*process]).map(|end| partition.with(end).to_vec()).collect()
    }

    /// Whether the documented access rights of a user of a queue cover a key.
    fn has_rights(name: &[u8], key: &[u8]) -> bool {
        let (before, behind) = Partition::around_number(name).unwrap();
        if has_tag(name) {
            return key.starts_with(&before);
        }
        let is_first = names::is_of(Partition::new(name, 0, 1).unwrap().as_bytes(), key);
        let of_part = key.strip_prefix(&*before).and_then(|rest| rest.get(4..));
        is_first || of_part.is_some_and(|rest| rest.starts_with(&behind))
    }

    proptest! {
        #![proptest_config(names::cases())]

        #[test]
        fn no_partition_has_a_key_of_another(
            one in (names::odd_names(), 0..3_u16),
            other in (names::odd_names(), 0..3_u16),
            end in names::odd_names(),
        ) {
            let partition = |(name, number): &(Vec<u8>, u16)| Partition::new(name, *number, 1).unwrap();
            let root = partition(&one);
            let keys_of_one = keys(&root, &end);
            // Each name, and names that look like its partitions and keys.
            let likeness = keys_of_one.iter().chain([&other.0]).flat_map(|name| {
                let cut = name.strip_suffix(b":events").map(<[u8]>::to_vec);
                [Some(name.clone()), cut].into_iter().flatten()
            });
            for name in likeness {
                let other = (name, other.1);
                if one == other || other.0.is_empty() || other.0[0] == b'}' {
                    continue;
                }
                for key in keys(&partition(&other), &end) {
                    let shown = || String::from_utf8_lossy(&key).into_owned();
                    prop_assert!(!keys_of_one.contains(&key), "{}", shown());
                    prop_assert!(one.0 == other.0 || !has_rights(&one.0, &key), "{}", shown());
                }
            }
            prop_assert!(keys_of_one.iter().all(|key| has_rights(&one.0, key)));
            // All keys are in one slot.
            prop_assert!(has_tag(root.as_bytes()));
        }
    }
}
