//! The identity of a call, so that a partition that has done its step recognizes it.

use crate::step::ByteList;

/// Identifies a call: the slot of the client that sends it, which no other call uses at the same time, and the number
/// of the call in that slot, which rises. A step that is sent again with the same slot and number does nothing more and
/// returns its first result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Eight bytes that identify the client uniquely, and two with the number of its slot.
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
