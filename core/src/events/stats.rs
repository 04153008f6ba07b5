//! Statistics of a queue of events.

use std::sync::Arc;

use super::embedded;
use super::partition::Partition;
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "events",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let (stats, _) = client.run(ReadStats::new(Partition::new(name, 0, 0)?))?;
        Ok(stats.numbers().map(|(name, value)| Statistic::of(name, value)).to_vec())
    },
};

/// Reads how many events a partition has in each state: [`Stats`] of it alone.
#[derive(Clone, Debug)]
pub struct ReadStats {
    partition: Partition,
    has: Option<u64>,
}

/// How many events a queue has in each state, in all its partitions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Events that are not done, including dead letters.
    pub events: u64,
    /// Events that wait for their time, and those whose time has come since the last receive.
    pub scheduled: u64,
    /// Events that are ready to be received.
    pub ready: u64,
    /// Events that are leased.
    pub leased: u64,
    /// Events that failed and wait for their retry.
    pub retry: u64,
    /// Events that are dead letters.
    pub dead: u64,
    /// Events that wait behind another event of their key.
    pub behind: u64,
    /// Deduplication ids that are remembered.
    pub dedup_ids: u64,
    /// Since when the event that has waited longest could have been received, in microseconds since the Unix epoch;
    /// this includes events whose time has come or whose lease has expired since the last receive.
    pub ready_since_us: Option<Timestamp>,
    /// The time, in microseconds since the Unix epoch.
    pub now_us: Timestamp,
    /// How many events the partitions allow to be leased at a time; 0 for any number.
    pub concurrency: u64,
    /// How many events per second the queue delivers at most; 0 for any number.
    pub rate: u64,
    /// How many events the rate lets through immediately; 0 without a rate.
    pub rate_left: u64,
    /// Events that are done, and kept for a time.
    pub done: u64,
    /// Schedules that have a tick to come; a schedule that is paused or at its end has none.
    pub schedules: u64,
    /// Events of the largest partition, including those that are done. Plan at most a million events, or 256 MiB, per
    /// partition: a cluster moves the keys of a partition from one server to another as a whole.
    pub largest_partition: u64,
}

impl Stats {
    fn numbers(&self) -> [(&'static str, u64); 9] {
        [
            ("events", self.events),
            ("scheduled", self.scheduled),
            ("ready", self.ready),
            ("leased", self.leased),
            ("retry", self.retry),
            ("dead", self.dead),
            ("dedup_ids", self.dedup_ids),
            ("done", self.done),
            ("schedules", self.schedules),
        ]
    }

    /// Adds the statistics of another partition.
    pub(super) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.scheduled += other.scheduled;
        self.ready += other.ready;
        self.leased += other.leased;
        self.retry += other.retry;
        self.dead += other.dead;
        self.behind += other.behind;
        self.dedup_ids += other.dedup_ids;
        self.ready_since_us = self.ready_since_us.into_iter().chain(other.ready_since_us).min();
        self.now_us = self.now_us.max(other.now_us);
        self.concurrency += other.concurrency;
        self.rate = self.rate.max(other.rate);
        self.rate_left += other.rate_left;
        self.done += other.done;
        self.schedules += other.schedules;
        self.largest_partition = self.largest_partition.max(other.largest_partition);
    }

    /// The statistics of a partition, with the values that are derived from the counts.
    pub(super) fn of_partition(self) -> Self {
        let known = self.scheduled + self.ready + self.leased + self.retry + self.dead;
        let behind = self.events.saturating_sub(known);
        Self { behind, largest_partition: self.events + self.done, ..self }
    }
}

impl ReadStats {
    /// Reads the statistics of this partition, of its generation or an earlier one; of any if that is 0.
    ///
    /// # Errors
    /// None so far.
    pub fn new(partition: Partition) -> Result<Self> {
        Ok(Self { partition, has: None })
    }

    /// Leaves out the items that another partition, to which a part of the key space moves, has too: the batches up to
    /// this number, if it does not have all. Refused if it has more by now.
    pub(super) fn without(self, has: Option<u64>) -> Self {
        Self { has, ..self }
    }
}

impl Operation for ReadStats {
    head!(
        "events.stats",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "look.lua",
            "records.lua",
            "commit.lua",
            "stats.lua"
        ]
    );
    /// The statistics of the partition; and the number of the last batch that it has of a part of the key space that
    /// moves to it, `None` if it has all.
    type Output = (Stats, Option<u64>);
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| match self.has {
            Some(has) => args.push_number(has),
            None => args.push(b""),
        })
    }

    fn decode(&self, reply: Reply) -> Result<(Stats, Option<u64>)> {
        let mut replies = reply.list()?;
        let mut stats = Stats::default();
        for count in [
            &mut stats.events,
            &mut stats.scheduled,
            &mut stats.ready,
            &mut stats.leased,
            &mut stats.retry,
            &mut stats.dead,
            &mut stats.dedup_ids,
        ] {
            *count = replies.next()?.number()?;
        }
        stats.ready_since_us = match replies.next()? {
            Reply::Int(-1) => None,
            since => Some(since.number()?),
        };
        for count in [
            &mut stats.now_us,
            &mut stats.concurrency,
            &mut stats.rate,
            &mut stats.rate_left,
            &mut stats.done,
            &mut stats.schedules,
        ] {
            *count = replies.next()?.number()?;
        }
        let arrived = match replies.next()? {
            Reply::Int(-1) => None,
            number => Some(number.number()?),
        };
        replies.end()?;
        Ok((stats.of_partition(), arrived))
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<(Stats, Option<u64>)> {
        let (stats, arrived) = state.stats(&self.partition, self.has, context)?;
        Ok((stats.of_partition(), arrived))
    }
}
