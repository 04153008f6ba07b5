//! A partition as a step names it.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::Result;
use crate::step::{ByteList, Invocation, Script, tagged_name};

/// A partition of a queue: the key that all its keys begin with, and its generation, which rises whenever the partition
/// gets another part of the key space. A step with another generation does nothing.
// Its bytes and no reference to them, as for a task store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    root: SmallVec<[u8; 48]>,
    pub(super) generation: u32,
}

impl Partition {
    /// The partition with this number, from 0, of the queue `name`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty, too long, or begins with a closing brace.
    pub fn new(name: impl AsRef<[u8]>, number: u16, generation: u32) -> Result<Self> {
        let tag = match number {
            0 => String::new(),
            number => format!("/{number}"),
        };
        let root = tagged_name("the queue's name", name.as_ref(), tag.as_bytes(), b":events")?;
        Ok(Self { root: root.into(), generation })
    }

    /// What the roots of all other partitions have before their number, and what they have behind it.
    pub(super) fn around_number(name: &[u8]) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut before = tagged_name("the queue's name", name, b"/", b":events")?;
        let number = before.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let behind = before.split_off(number);
        Ok((before, behind))
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

    /// What listeners wait for: the channel on which the partition tells all that wait.
    pub(super) fn topic(&self) -> Arc<[u8]> {
        self.with(b":at:default")
    }

    /// The channel on which it tells one process.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_carry_a_tag() {
        for (name, number, root) in [
            ("orders", 0, "{orders}:events"),
            ("orders", 3, "{orders/3}:events"),
            ("a{eu}b", 0, "a{eu}b:events"),
            ("a{eu}b", 3, "a{eu}b/3:events"),
        ] {
            let partition = Partition::new(name, number, 1).unwrap();
            assert_eq!(partition.as_bytes(), root.as_bytes());
            if number > 0 {
                let (before, behind) = Partition::around_number(name.as_bytes()).unwrap();
                let number = number.to_string().into_bytes();
                assert_eq!([before, number, behind].concat(), root.as_bytes());
            }
        }
        assert!(Partition::new("}a", 0, 1).is_err());
    }
}
