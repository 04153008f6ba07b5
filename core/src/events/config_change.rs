//! A change of the configuration of a queue.

use std::time::Duration;

use super::config::Config;
use crate::error::Result;

/// A change of the configuration of a queue. Settings that are left out stay as they are, or have their defaults in a
/// new queue; so to restore a default, set it.
#[derive(Clone, Debug, Default)]
pub struct ConfigChange {
    partitions: Option<u16>,
    lease: Option<Duration>,
    max_attempts: Option<u16>,
    max_crashes: Option<u16>,
    backoff_min: Option<Duration>,
    backoff_max: Option<Duration>,
    events_max: Option<u64>,
    dedup_ids_max: Option<u64>,
    paused: Option<bool>,
    concurrency: Option<u64>,
    rate: Option<u64>,
    burst: Option<u64>,
    retention: Option<Duration>,
}

impl ConfigChange {
    /// No change.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many partitions a new queue has, 1 to [`PARTITIONS_MAX`](super::PARTITIONS_MAX);
    /// [`PARTITIONS_DEFAULT`](super::PARTITIONS_DEFAULT) by default. Steps of different partitions do not wait for each
    /// other, and may run on different servers of a cluster. An existing queue keeps its number of partitions:
    /// [`reshard`](super::EventQueue::reshard) changes it.
    pub fn partitions(self, partitions: u16) -> Self {
        Self { partitions: Some(partitions), ..self }
    }

    /// How long an event is leased to its receiver; [`LEASE_DEFAULT`](super::LEASE_DEFAULT) in a new queue.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// How often an event is delivered before it becomes a dead letter;
    /// [`MAX_ATTEMPTS_DEFAULT`](super::MAX_ATTEMPTS_DEFAULT) in a new queue, 0 for no limit.
    pub fn max_attempts(self, max_attempts: u16) -> Self {
        Self { max_attempts: Some(max_attempts), ..self }
    }

    /// How often a lease of an event may expire before it becomes a dead letter;
    /// [`MAX_CRASHES_DEFAULT`](super::MAX_CRASHES_DEFAULT) in a new queue, 0 for no limit. If a process dies, the
    /// leases of all its jobs expire. So an event of which two leases expired, or one if the next expiry would be the
    /// last, is received alone, and a worker runs no other job beside it: it lets its current jobs end first, and until
    /// it starts the event, the lease does not count. So the jobs beside an event that crashes the workers do not
    /// become dead letters with it; with a value of 1 they do.
    pub fn max_crashes(self, max_crashes: u16) -> Self {
        Self { max_crashes: Some(max_crashes), ..self }
    }

    /// The longest delay before the second attempt, [`BACKOFF_MIN_DEFAULT`](super::BACKOFF_MIN_DEFAULT) in a new queue;
    /// it doubles with each attempt.
    pub fn backoff_min(self, backoff_min: Duration) -> Self {
        Self { backoff_min: Some(backoff_min), ..self }
    }

    /// The longest delay before any attempt; [`BACKOFF_MAX_DEFAULT`](super::BACKOFF_MAX_DEFAULT) in a new queue.
    pub fn backoff_max(self, backoff_max: Duration) -> Self {
        Self { backoff_max: Some(backoff_max), ..self }
    }

    /// How many events a partition may hold, including dead letters; 0, as in a new queue, for no limit.
    pub fn events_max(self, events_max: u64) -> Self {
        Self { events_max: Some(events_max), ..self }
    }

    /// How many deduplication ids a partition remembers, [`DEDUP_IDS_MAX_DEFAULT`](super::DEDUP_IDS_MAX_DEFAULT) in a
    /// new queue. None is forgotten early: while it remembers that many, an event with a new id is refused.
    pub fn dedup_ids_max(self, dedup_ids_max: u64) -> Self {
        Self { dedup_ids_max: Some(dedup_ids_max), ..self }
    }

    /// Whether delivery is paused, as [`pause`](super::EventQueue::pause) and [`resume`](super::EventQueue::resume) do.
    pub fn paused(self, paused: impl Into<Option<bool>>) -> Self {
        Self { paused: paused.into(), ..self }
    }

    /// How many events may be leased at a time; 0, as in a new queue, for no limit. Each partition allows an equal
    /// share, rounded down, so the value must not be below the number of partitions.
    pub fn concurrency(self, concurrency: u64) -> Self {
        Self { concurrency: Some(concurrency), ..self }
    }

    /// How many events per second may be delivered, including those that are delivered again; 0, as in a new queue, for
    /// no limit. Each partition allows an equal share.
    pub fn rate(self, rate: u64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// How many events may be delivered in a burst, after a time with fewer deliveries than `rate` allows; 0, as in a
    /// new queue, for the number of one second. Each partition allows an equal share, and at least one.
    pub fn burst(self, burst: u64) -> Self {
        Self { burst: Some(burst), ..self }
    }

    /// How long an event can still be read after it is done; 0, as in a new queue, to delete it immediately.
    pub fn retention(self, retention: Duration) -> Self {
        Self { retention: Some(retention), ..self }
    }

    /// Whether each value is within its limits.
    pub(super) fn check(&self) -> Result<()> {
        self.of(&Config::default()).check_each()
    }

    /// The resulting configuration.
    pub(super) fn of(&self, known: &Config) -> Config {
        Config {
            partitions: self.partitions.unwrap_or(known.partitions),
            lease: self.lease.unwrap_or(known.lease),
            max_attempts: self.max_attempts.unwrap_or(known.max_attempts),
            max_crashes: self.max_crashes.unwrap_or(known.max_crashes),
            backoff_min: self.backoff_min.unwrap_or(known.backoff_min),
            backoff_max: self.backoff_max.unwrap_or(known.backoff_max),
            events_max: self.events_max.unwrap_or(known.events_max),
            dedup_ids_max: self.dedup_ids_max.unwrap_or(known.dedup_ids_max),
            paused: self.paused.unwrap_or(known.paused),
            concurrency: self.concurrency.unwrap_or(known.concurrency),
            rate: self.rate.unwrap_or(known.rate),
            burst: self.burst.unwrap_or(known.burst),
            retention: self.retention.unwrap_or(known.retention),
        }
    }
}

/// Sets the whole configuration, except that a paused queue stays paused: only [`resume`](super::EventQueue::resume)
/// ends a pause, and not a program that sets its whole configuration at each of its starts.
impl From<Config> for ConfigChange {
    fn from(config: Config) -> Self {
        Self {
            partitions: Some(config.partitions),
            lease: Some(config.lease),
            max_attempts: Some(config.max_attempts),
            max_crashes: Some(config.max_crashes),
            backoff_min: Some(config.backoff_min),
            backoff_max: Some(config.backoff_max),
            events_max: Some(config.events_max),
            dedup_ids_max: Some(config.dedup_ids_max),
            paused: config.paused.then_some(true),
            concurrency: Some(config.concurrency),
            rate: Some(config.rate),
            burst: Some(config.burst),
            retention: Some(config.retention),
        }
    }
}
