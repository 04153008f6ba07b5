//! Which call a step is, so that a partition that has done it can tell so.

use crate::step::ByteList;

/// A call: the slot of the client that sends it, which no other call uses meanwhile, and its number there, which rises.
/// A step that is sent again with its slot and its number does nothing more and returns what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// A client, by eight bytes that no other one has, and the number of its slot in two more.
    pub slot: [u8; 10],
    /// The number of the call in its slot.
    pub number: u64,
}

impl Op {
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push(&self.slot);
        args.push_number(self.number);
    }
}
