//! Random keys and messages; the same seed makes the same ones.

use crate::go::Fields;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// Any bytes, or a plain text, of `least` to `most` bytes.
    pub(crate) fn bytes(&mut self, least: u64, most: u64) -> Vec<u8> {
        let len = least + self.below(most - least + 1);
        match self.below(2) {
            0 => (0..len).map(|_| self.below(256) as u8).collect(),
            _ => (0..len).map(|_| b'a' + self.below(26) as u8).collect(),
        }
    }

    /// Fields with names of their own, since Go has a map, and sorted; one of them, with an empty
    /// name, tells messages apart.
    pub(crate) fn fields(&mut self, number: u64) -> Fields {
        let count = match self.below(20) {
            0 => 300,
            _ => self.below(6),
        };
        let others: std::collections::BTreeMap<_, _> =
            (0..count).map(|_| (self.bytes(1, 12), self.bytes(0, 60))).collect();
        let mut fields: Fields = others.into_iter().collect();
        fields.insert(0, (Vec::new(), number.to_string().into_bytes()));
        fields
    }
}
