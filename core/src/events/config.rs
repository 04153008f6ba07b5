//! The configuration of a queue.

use std::time::Duration;

use super::limits::{self, COUNT_MAX};
use crate::error::{Result, ensure};
use crate::worker::settings::suspects_from;

/// How many partitions a new queue has by default.
pub const PARTITIONS_DEFAULT: u16 = 1;

/// How long an event is leased by default.
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);

/// How often an event is delivered by default before it becomes a dead letter.
pub const MAX_ATTEMPTS_DEFAULT: u16 = 20;

/// How often a lease of an event may expire by default before it becomes a dead letter.
pub const MAX_CRASHES_DEFAULT: u16 = 3;

/// The longest delay before the second attempt by default; it doubles with each attempt.
pub const BACKOFF_MIN_DEFAULT: Duration = Duration::from_secs(1);

/// The longest delay before any attempt by default.
pub const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(3_600);

/// How many events a partition may hold by default: 0, for no limit.
pub const EVENTS_MAX_DEFAULT: u64 = 0;

/// How many deduplication ids a partition remembers by default.
pub const DEDUP_IDS_MAX_DEFAULT: u64 = 1_000_000;

/// How many events may be leased at a time by default: 0, for no limit.
pub const CONCURRENCY_DEFAULT: u64 = 0;

/// How many events may be delivered per second by default: 0, for no limit.
pub const RATE_DEFAULT: u64 = 0;

/// How many events may be delivered in a burst by default: 0, for the number of one second.
pub const BURST_DEFAULT: u64 = 0;

/// How long an event is kept by default after it is done: 0, for immediate deletion.
pub const RETENTION_DEFAULT: Duration = Duration::ZERO;

/// How a queue treats its events. [`ConfigChange`](super::ConfigChange) describes each setting, and changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How many partitions the queue has.
    pub partitions: u16,
    /// How long an event is leased to its receiver.
    pub lease: Duration,
    /// How often an event is delivered before it becomes a dead letter; 0 for no limit.
    pub max_attempts: u16,
    /// How often a lease of an event may expire before it becomes a dead letter; 0 for no limit.
    pub max_crashes: u16,
    /// The longest delay before the second attempt.
    pub backoff_min: Duration,
    /// The longest delay before any attempt.
    pub backoff_max: Duration,
    /// How many events a partition may hold, including dead letters; 0 for no limit.
    pub events_max: u64,
    /// How many deduplication ids a partition remembers.
    pub dedup_ids_max: u64,
    /// Whether delivery is paused.
    pub paused: bool,
    /// How many events may be leased at a time; 0 for no limit.
    pub concurrency: u64,
    /// How many events per second may be delivered; 0 for no limit.
    pub rate: u64,
    /// How many events may be delivered in a burst; 0 for the number of one second.
    pub burst: u64,
    /// How long an event can still be read after it is done; 0 if it is not kept.
    pub retention: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            partitions: PARTITIONS_DEFAULT,
            lease: LEASE_DEFAULT,
            max_attempts: MAX_ATTEMPTS_DEFAULT,
            max_crashes: MAX_CRASHES_DEFAULT,
            backoff_min: BACKOFF_MIN_DEFAULT,
            backoff_max: BACKOFF_MAX_DEFAULT,
            events_max: EVENTS_MAX_DEFAULT,
            dedup_ids_max: DEDUP_IDS_MAX_DEFAULT,
            paused: false,
            concurrency: CONCURRENCY_DEFAULT,
            rate: RATE_DEFAULT,
            burst: BURST_DEFAULT,
            retention: RETENTION_DEFAULT,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        self.check_each()?;
        self.check_together()
    }

    /// Whether each value is within its limits.
    pub(super) fn check_each(&self) -> Result<()> {
        let (partitions, most) = (self.partitions, limits::PARTITIONS_MAX);
        ensure!(
            (1..=most).contains(&partitions),
            "a queue has 1 to {most} partitions, not {partitions}"
        );
        limits::lease(self.lease)?;
        limits::delay("shortest backoff", self.backoff_min)?;
        limits::delay("longest backoff", self.backoff_max)?;
        limits::delay("retention", self.retention)?;
        let counts = [self.events_max, self.dedup_ids_max, self.concurrency];
        ensure!(counts.into_iter().all(|count| count <= COUNT_MAX), "a maximum is 2^53 or more");
        for (what, value) in [("rate", self.rate), ("burst", self.burst)] {
            ensure!(
                value <= limits::RATE_MAX,
                "the {what} is {value} events; {} are allowed",
                limits::RATE_MAX
            );
        }
        Ok(())
    }

    /// Whether the values are consistent with each other.
    fn check_together(&self) -> Result<()> {
        ensure!(
            self.backoff_min <= self.backoff_max,
            "the shortest backoff, {:?}, is longer than the longest, {:?}",
            self.backoff_min,
            self.backoff_max
        );
        ensure!(
            self.concurrency == 0 || self.concurrency >= u64::from(self.partitions),
            "a concurrency of {} is below the {} partitions of the queue",
            self.concurrency,
            self.partitions
        );
        ensure!(self.burst == 0 || self.rate > 0, "a burst needs a rate, and there is none");
        Ok(())
    }

    /// As scripts read it: CONFIG of `partition.lua`.
    pub(super) fn packed(&self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(79);
        packed.extend(micros(self.lease).to_be_bytes());
        packed.extend(self.max_attempts.to_be_bytes());
        packed.extend(self.max_crashes.to_be_bytes());
        packed.extend(micros(self.backoff_min).to_be_bytes());
        packed.extend(micros(self.backoff_max).to_be_bytes());
        packed.extend(self.events_max.to_be_bytes());
        packed.extend(self.dedup_ids_max.to_be_bytes());
        packed.push(self.paused.into());
        packed.extend(self.concurrency.to_be_bytes());
        packed.extend(self.rate.to_be_bytes());
        packed.extend(self.burst.to_be_bytes());
        packed.extend(micros(self.retention).to_be_bytes());
        packed.extend(self.partitions.to_be_bytes());
        packed
    }

    /// Reads the result of [`packed`](Self::packed).
    pub(super) fn unpack(packed: &[u8]) -> Option<Self> {
        let mut rest = packed;
        let mut integer = |bytes: usize| {
            let (first, others) = rest.split_at_checked(bytes)?;
            rest = others;
            Some(first.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
        };
        let config = Self {
            lease: Duration::from_micros(integer(8)?),
            max_attempts: integer(2)? as u16,
            max_crashes: integer(2)? as u16,
            backoff_min: Duration::from_micros(integer(8)?),
            backoff_max: Duration::from_micros(integer(8)?),
            events_max: integer(8)?,
            dedup_ids_max: integer(8)?,
            paused: integer(1)? == 1,
            concurrency: integer(8)?,
            rate: integer(8)?,
            burst: integer(8)?,
            retention: Duration::from_micros(integer(8)?),
            partitions: integer(2)? as u16,
        };
        (config.partitions > 0).then_some(config)
    }

    /// Whether an event with this many deliveries and expired leases becomes a dead letter.
    pub(super) fn is_used_up(&self, attempts: u16, crashes: u16) -> bool {
        self.max_attempts > 0 && attempts >= self.max_attempts
            || self.max_crashes > 0 && crashes >= self.max_crashes
    }

    /// Whether an event with this many expired leases is a suspect.
    pub(super) fn is_suspect(&self, crashes: u16) -> bool {
        u32::from(crashes) >= suspects_from(self.max_crashes.into())
    }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_back() {
        let limits =
            Config { concurrency: 9, rate: 7, burst: 8, partitions: 3, ..Config::default() };
        let limits = Config { retention: Duration::from_secs(3), ..limits };
        let config = Config { max_crashes: 7, events_max: 5, paused: true, ..limits };
        assert_eq!(Config::unpack(&config.packed()), Some(config));
        assert_eq!(Config::unpack(&[0; 78]), None);
    }
}
