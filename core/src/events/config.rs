//! The configuration of a queue.

use std::time::Duration;

use super::limits;
use crate::error::{Result, ensure};
use crate::worker::settings::suspects_from;

/// How a queue treats its events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How many partitions a new queue has, 1 to 1,024; 1 by default. Steps of different partitions do not wait for each
    /// other, and may run on different servers of a cluster. [`reshard`](super::EventQueue::reshard) changes it later;
    /// [`configure`](super::EventQueue::configure) leaves it as it is.
    pub partitions: u16,
    /// How long an event is leased to its receiver; 30 s by default.
    pub lease: Duration,
    /// How often an event is delivered before it becomes a dead letter; 20 by default, 0 for no limit.
    pub max_attempts: u16,
    /// How often a lease of an event may expire before it becomes a dead letter; 3 by default, 0 for no limit. A process
    /// that ends takes all that it works on with it. So an event of which two leases expired, or one if the next one would
    /// be the last, is received alone, and a worker works on nothing beside it: it lets the jobs that it has end first,
    /// and until it begins the lease does not count. So what was beside an event that crashes the workers is not given up with
    /// it; with 1 it is.
    pub max_crashes: u16,
    /// The longest delay before the second attempt, 1 s by default; it doubles with each attempt.
    pub backoff_min: Duration,
    /// The longest delay before any attempt; 1 h by default.
    pub backoff_max: Duration,
    /// How many events a partition may hold, including dead letters; 0, the default, for no limit.
    pub events_max: u64,
    /// How many deduplication ids a partition remembers, 1,000,000 by default. None is forgotten early: while it
    /// remembers that many, an event with another one is refused.
    pub dedup_ids_max: u64,
    /// Whether delivery is paused. It is [`pause`](super::EventQueue::pause) and
    /// [`resume`](super::EventQueue::resume) that change this; [`configure`](super::EventQueue::configure) leaves it as
    /// it is.
    pub paused: bool,
    /// How many events may be leased at a time; 0 for no limit. Each partition allows an equal part of that, rounded
    /// down, so the number must not be below the number of partitions.
    pub concurrency: u64,
    /// How many events per second may be delivered, including those that are delivered again; 0 for no limit. Each
    /// partition allows an equal part of that.
    pub rate: u64,
    /// How many events may be delivered in a burst after a time with fewer deliveries than `rate` allows; 0 for as many
    /// as in a second. Each partition allows an equal part of that, and at least one.
    pub burst: u64,
    /// How long an event can still be read after it is done; by default it is not kept.
    pub retention: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            partitions: 1,
            lease: Duration::from_secs(30),
            max_attempts: 20,
            max_crashes: 3,
            backoff_min: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60 * 60),
            events_max: 0,
            dedup_ids_max: 1_000_000,
            paused: false,
            concurrency: 0,
            rate: 0,
            burst: 0,
            retention: Duration::ZERO,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        let (partitions, most) = (self.partitions, limits::PARTITIONS_MAX);
        ensure!(
            (1..=most).contains(&partitions),
            "a queue has 1 to {most} partitions, not {partitions}"
        );
        limits::lease(self.lease)?;
        limits::delay("shortest backoff", self.backoff_min)?;
        limits::delay("longest backoff", self.backoff_max)?;
        limits::delay("retention", self.retention)?;
        ensure!(
            self.backoff_min <= self.backoff_max,
            "the shortest backoff, {:?}, is longer than the longest, {:?}",
            self.backoff_min,
            self.backoff_max
        );
        let most = 1 << 53;
        ensure!(
            self.events_max < most && self.dedup_ids_max < most && self.concurrency < most,
            "a maximum is 2^53 or more"
        );
        ensure!(
            self.concurrency == 0 || self.concurrency >= u64::from(partitions),
            "a concurrency of {} is below the {partitions} partitions of the queue",
            self.concurrency
        );
        for (what, value) in [("rate", self.rate), ("burst", self.burst)] {
            ensure!(
                value <= limits::RATE_MAX,
                "the {what} is {value} events; {} are allowed",
                limits::RATE_MAX
            );
        }
        ensure!(self.burst == 0 || self.rate > 0, "a burst is of a rate, and there is none");
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

    /// What [`packed`](Self::packed) made.
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

    /// Whether an event is given up that was delivered so often and whose leases ran out so often.
    pub(super) fn is_used_up(&self, attempts: u16, crashes: u16) -> bool {
        self.max_attempts > 0 && attempts >= self.max_attempts
            || self.max_crashes > 0 && crashes >= self.max_crashes
    }

    /// Whether an event is a suspect whose leases ran out so often.
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
