//! A partition's share of the limits of its queue, as in `partition.lua`.

use super::contents::Contents;
use super::journal::Effect;
use crate::events::config::Config;
use crate::step::Timestamp;

/// A token bucket: its contents at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) tokens: u64,
    pub(super) at: Timestamp,
}

/// The flow of one second at a rate of one event per second.
const SECOND: u64 = 1_000_000;

/// How many tokens an event takes; chosen so that the flow into the bucket of each partition is an integer.
fn token(config: &Config) -> u64 {
    u64::from(config.partitions) * SECOND
}

/// How many tokens a bucket holds.
fn capacity(config: &Config) -> u64 {
    let burst = if config.burst > 0 { config.burst } else { config.rate };
    token(config).max(burst * SECOND)
}

impl Contents {
    /// How many events may be leased at a time; `None` for any number.
    pub(super) fn concurrency(&self) -> Option<usize> {
        let Config { concurrency, partitions, .. } = self.root.config;
        (concurrency > 0).then(|| (concurrency / u64::from(partitions)) as usize)
    }

    /// How many more events may be leased.
    pub(super) fn leases_left(&self) -> usize {
        self.concurrency().map_or(usize::MAX, |most| most.saturating_sub(self.leased.len()))
    }

    pub(super) fn tokens(&self, now: Timestamp) -> u64 {
        let (config, full) = (&self.root.config, capacity(&self.root.config));
        let flowed = |at| config.rate.saturating_mul(now.saturating_sub(at));
        let tokens = |bucket: Bucket| bucket.tokens.saturating_add(flowed(bucket.at));
        self.bucket.map_or(full, |bucket| tokens(bucket).min(full))
    }

    /// How many events the rate lets through, and when it lets the next one through; `None` without a rate.
    pub(super) fn rate_left(&self, now: Timestamp) -> Option<(usize, Timestamp)> {
        let config = &self.root.config;
        let (token, tokens) = (token(config), self.tokens(now));
        (config.rate > 0).then(|| {
            let wait = token.saturating_sub(tokens).div_ceil(config.rate);
            ((tokens / token) as usize, now + wait)
        })
    }

    /// Takes events from the bucket.
    pub(super) fn take_tokens(&mut self, events: usize, now: Timestamp) {
        let config = &self.root.config;
        if config.rate > 0 && events > 0 {
            let tokens = self.tokens(now) - events as u64 * token(config);
            self.set_bucket(Bucket { tokens, at: now });
        }
    }

    pub(super) fn set_bucket(&mut self, bucket: Bucket) {
        self.changes.note(Effect::Bucket { bucket });
        self.bucket = Some(bucket);
    }
}
