//! What a call changes of the configuration of a queue.

use std::time::Duration;

use super::config::Config;
use crate::error::Result;

/// What changes of the configuration of a queue. Whatever is left out stays as it is, or has its default in a queue that
/// is new; so a default is put back by saying it.
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
    /// [`PARTITIONS_DEFAULT`](super::PARTITIONS_DEFAULT) by default. Of a queue that exists, it changes nothing:
    /// [`reshard`](super::EventQueue::reshard) does. Steps of different partitions do not wait for each other, and may
    /// run on different servers of a cluster. A queue that exists keeps its number, whatever this says:
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
    /// [`MAX_CRASHES_DEFAULT`](super::MAX_CRASHES_DEFAULT) in a new queue, 0 for no limit. A process that ends takes
    /// all that it works on with it. So an event of which two leases expired, or one if the next one would be the last,
    /// is received alone, and a worker works on nothing beside it: it lets the jobs that it has end first, and until it
    /// begins the lease does not count. So what was beside an event that crashes the workers is not given up with it;
    /// with 1 it is.
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
    /// new queue. None is forgotten early: while it remembers that many, an event with another one is refused.
    pub fn dedup_ids_max(self, dedup_ids_max: u64) -> Self {
        Self { dedup_ids_max: Some(dedup_ids_max), ..self }
    }

    /// Whether delivery is paused, as [`pause`](super::EventQueue::pause) and [`resume`](super::EventQueue::resume) do.
    pub fn paused(self, paused: impl Into<Option<bool>>) -> Self {
        Self { paused: paused.into(), ..self }
    }

    /// How many events may be leased at a time; 0, as in a new queue, for no limit. Each partition allows an equal part of
    /// that, rounded down, so the number must not be below the number of partitions.
    pub fn concurrency(self, concurrency: u64) -> Self {
        Self { concurrency: Some(concurrency), ..self }
    }

    /// How many events per second may be delivered, including those that are delivered again; 0, as in a new queue, for
    /// no limit. Each partition allows an equal part of that.
    pub fn rate(self, rate: u64) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// How many events may be delivered in a burst after a time with fewer deliveries than `rate` allows; 0, as in a new
    /// queue, for as many as in a second. Each partition allows an equal part of that, and at least one.
    pub fn burst(self, burst: u64) -> Self {
        Self { burst: Some(burst), ..self }
    }

    /// How long an event can still be read after it is done; 0, as in a new queue, if it is not to be kept.
    pub fn retention(self, retention: Duration) -> Self {
        Self { retention: Some(retention), ..self }
    }

    /// Whether each is within its limits.
    pub(super) fn check(&self) -> Result<()> {
        self.of(&Config::default()).check_each()
    }

    /// The configuration as it is then.
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

/// All of a configuration, but that a queue that is paused stays so: it is [`resume`](super::EventQueue::resume) that ends
/// a pause, and no program that says its whole configuration at each of its starts.
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
