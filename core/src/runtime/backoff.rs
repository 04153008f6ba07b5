//! How long to put off what is tried again.

use std::time::Duration;

use super::random;

/// Delays that double from the first up to a limit. Each is at random up to half of it less, so that those
/// that failed together do not come together again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) most: Duration,
}

impl Backoff {
    /// The delay after this many others.
    pub(crate) fn delay(self, before: u32) -> Duration {
        with_jitter(self.first.saturating_mul(2_u32.saturating_pow(before)).min(self.most))
    }
}

/// A delay that at random is up to half of it less.
pub(crate) fn with_jitter(delay: Duration) -> Duration {
    shortened(delay, random::quick())
}

fn shortened(delay: Duration, random: u64) -> Duration {
    delay.mul_f64(1.0 - (random >> 11) as f64 / (1_u64 << 53) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_doubles_up_to_a_limit_and_is_at_most_half_less() {
        let ms = Duration::from_millis;
        let backoff = Backoff { first: ms(16), most: ms(128) };
        for (before, whole) in [16, 32, 64, 128, 128].into_iter().enumerate() {
            let delay = backoff.delay(before as u32);
            assert!((ms(whole / 2)..=ms(whole)).contains(&delay), "{delay:?} of {whole}");
        }
        assert!(backoff.delay(u32::MAX) <= ms(128));
        assert_eq!(shortened(ms(100), 0), ms(100));
        assert_eq!(shortened(ms(100), 1 << 63), ms(75));
    }
}
