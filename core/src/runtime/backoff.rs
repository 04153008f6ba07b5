//! How long to put off what is tried again.

use std::time::Duration;

/// Delays that double from the first up to a limit. Each is at random up to half of it less, so that those
/// that failed together do not come together again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) most: Duration,
}

impl Backoff {
    /// The delay after this many others, by a random number.
    pub(crate) fn delay(self, before: u32, draw: u64) -> Duration {
        let delay = self.first.saturating_mul(2_u32.saturating_pow(before));
        with_jitter(delay.min(self.most), draw)
    }
}

/// A delay that is up to half of it less, by a random number.
pub(crate) fn with_jitter(delay: Duration, draw: u64) -> Duration {
    delay.mul_f64(1.0 - (draw >> 11) as f64 / (1_u64 << 53) as f64 / 2.0)
}

/// The random numbers of a state machine, all of which follow from the first: the generator SplitMix64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_doubles_up_to_a_limit_and_is_at_most_half_less() {
        let ms = Duration::from_millis;
        let backoff = Backoff { first: ms(16), most: ms(128) };
        for (before, whole) in [16, 32, 64, 128, 128].into_iter().enumerate() {
            let delay = backoff.delay(before as u32, u64::MAX / 3);
            assert!((ms(whole / 2)..=ms(whole)).contains(&delay), "{delay:?} of {whole}");
        }
        assert!(backoff.delay(u32::MAX, 0) <= ms(128));
        assert_eq!(with_jitter(ms(100), 0), ms(100));
        assert_eq!(with_jitter(ms(100), 1 << 63), ms(75));
    }
}
