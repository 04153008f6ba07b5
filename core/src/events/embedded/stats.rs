//! The statistics of a partition.

use super::State;
use super::contents::Transfer;
use crate::error::Result;
use crate::events::partition::Partition;
use crate::events::stats::Stats;
use crate::step::StepContext;
impl State {
    pub(in crate::events) fn stats(
        &self,
        partition: &Partition,
        has: Option<u64>,
        context: &StepContext<'_>,
    ) -> Result<(Stats, Option<u64>)> {
        let contents = self.look(partition)?;
        let now = context.now();
        let is_old = contents.root.generation < partition.generation || !contents.root.is_there();
        let arrived = match contents.transfer {
            _ if is_old => Some(0),
            Some(Transfer::Arriving { taken }) => Some(taken),
            _ => None,
        };
        let firsts = [
            contents.ready.first(),
            contents.scheduled.first(),
            contents.leased.first(),
            contents.retry.first(),
        ];
        let due = firsts.into_iter().flatten().map(|(at, _)| *at).filter(|at| *at <= now);
        let mut stats = Stats {
            events: contents.events_left() as u64,
            scheduled: contents.scheduled.len() as u64,
            ready: contents.ready.len() as u64,
            leased: contents.leased.len() as u64,
            retry: contents.retry.len() as u64,
            dead: contents.dead.len() as u64,
            dedup_ids: contents.names.len() as u64,
            ready_since_us: due.min(),
            now_us: now,
            concurrency: contents.concurrency().unwrap_or(0) as u64,
            rate: contents.root.config.rate,
            done: contents.done.len() as u64,
            schedules: contents.ticks.len() as u64,
            rate_left: contents.rate_left(now).map_or(0, |(left, _)| left as u64),
            ..Stats::default()
        };
        if let Some(out) = has.map(|has| contents.doubled(partition, has)).transpose()?.flatten() {
            contents.discount(out, &mut stats);
        }
        Ok((stats, arrived))
    }
}
