//! The key space, in 65,536 parts, and which part an event belongs to.

use crate::step::fnv::fnv1a64;

/// The part of the key space that these bytes belong to.
pub(super) fn vslot_of(bytes: &[u8]) -> u16 {
    (mix(fnv1a64(bytes)) >> 48) as u16
}

/// The finisher of SplitMix64: without it the last bytes of a key do not affect the bits that are used here, and
/// `tenant-1`, `tenant-2`, … fall into few parts.
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_keys_spread() {
        let mut sixteenths = [0_u32; 16];
        for tenant in 0..16_000 {
            sixteenths[usize::from(vslot_of(format!("tenant-{tenant}").as_bytes()) >> 12)] += 1;
        }
        assert!(sixteenths.iter().all(|count| (850..1150).contains(count)), "{sixteenths:?}");
    }
}
