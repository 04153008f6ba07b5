//! Seeded random numbers, so that a run can be played again from the seed it printed.

/// SplitMix64: small, fast, and any seed is a good one.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another stream of numbers, which this seed and these parts name.
    #[must_use]
    pub fn named(seed: u64, parts: &[u64]) -> Self {
        let mut random = Self(seed);
        for part in parts {
            random.0 = random.number() ^ part.wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        random
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// True with a probability of 1 in `n`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// A seed that no run had before, for runs that name none; a test that is to run with another one finds it in the
/// environment, as `MILLPOND_TEST_SEED`.
#[must_use]
pub fn fresh_seed() -> u64 {
    let set = std::env::var("MILLPOND_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    use std::hash::{BuildHasher, Hasher};
    set.unwrap_or_else(|| std::hash::RandomState::new().build_hasher().finish() % 1_000_000_000)
}
