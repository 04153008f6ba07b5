//! A partition on the embedded engine, under one lock: a queue is parallel through its partitions here too. Its steps
//! are those of the scripts, in the same order, so that both have the same results.

mod bucket;
mod cancel;
mod cancelled;
mod contents;
mod delete;
mod fetch;
mod journal;
mod list;
mod moves;
mod open;
mod publish;
mod purge;
mod receive;
mod redrive;
mod redrive_all;
mod renew;
mod reschedule;
mod reshard;
mod schedules;
mod settle;
mod span;
mod stats;

use std::sync::{Mutex, MutexGuard};

use contents::{Contents, Root};
use journal::Changes;
use redrive_all::LOOKED_MAX;
use reshard::{BATCH_BYTES, time_of_step};
use schedules::{
    REACH_MIN, REFILL_AGAIN, SCHEDULES_A_PAGE, TICKS_LEFT_ENOUGH, TICKS_LEFT_MIN, TICKS_MAX,
};

use super::config::micros;
use super::deliveries::ALARM_APART;
use super::event::flag;
use super::limits::{CANCELLED_MAX, STEP_BYTES_MAX, STEP_EVENTS_MAX};
use super::partition::Partition;
use super::receive::WAITING_PLACES;
use super::schedule::flag as ticking;
use crate::error::{Error, Result};
use crate::runtime::sync::lock;
use crate::step::reply::Refusal;
use crate::step::time::CLOCK_AHEAD_MAX;
use crate::step::{self, Chance, Constants, Snapshot, StepContext, Timestamp, constants};

/// The number of a partition in the journal.
pub(crate) const KIND: u8 = 5;

/// The beginning of 2026, in microseconds: sequences count from there.
const SEQUENCE_BASE: Timestamp = 1_767_225_600_000_000;

/// Limits on the additional work of a step: the due events that it makes ready, the expired leases that it ends, and
/// the expired events that it drops.
const DUE_MAX: usize = 1_000;
const LATE_MAX: usize = 100;
const SKIPPED_MAX: usize = 1_000;
/// The names that a step forgets, and the events whose retention is over that it removes: up to this, or twice as many
/// as it adds.
const FORGOTTEN_MAX: usize = 100;
const DONE_MAX: usize = 100;

/// The longest body that is stored with its head; longer ones are read only when they are returned.
const SHORT_MAX: usize = 256;

/// After how many microseconds to check again whether a part of the key space is still in transit.
const FROZEN_LOOK: u64 = 1_000_000;

/// For how many microseconds, at least, the replies of steps and the ids of cancelled events are remembered.
pub(super) const PERIOD: u64 = 600_000_000;

/// How many events to announce so that all waiting processes check again.
const WAKE_ALL: usize = 1_000;

/// A partition.
#[derive(Default)]
pub struct State(Mutex<Contents>);

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![
            ALARM_APART_MS = ALARM_APART.as_millis(),
            BATCH_BYTES,
            CANCELLED_MAX,
            CHANCE_FACTOR = Chance::FACTOR,
            CHANCE_MODULUS = Chance::MODULUS,
            CLOCK_AHEAD_MAX,
            DONE_MAX,
            DUE_MAX,
            ENDS = ticking::ENDS,
            FIRED = ticking::FIRED,
            FORGOTTEN_MAX,
            FROZEN_LOOK,
            IN_ORDER = ticking::IN_ORDER,
            KEYED = flag::KEYED,
            LATEST = ticking::LATEST,
            LATE_MAX,
            LONG = flag::LONG,
            LOOKED_MAX,
            NAMED = flag::NAMED,
            PERIOD,
            REACH_MIN,
            REFILL_AGAIN,
            SCHEDULES_A_PAGE,
            SEQUENCE_BASE,
            SHORT_MAX,
            SKIPPED_MAX,
            STEP_BYTES_MAX,
            STEP_EVENTS_MAX,
            TICKS_LEFT_ENOUGH,
            TICKS_LEFT_MIN,
            TICKS_MAX,
            WAITING_PLACES,
            WAKE_ALL,
        ]
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        self.replay_record(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        self.write_snapshot(out);
    }

    fn is_unused(&self) -> bool {
        self.lock().is_unused()
    }
}

/// A step in progress.
struct Step<'a> {
    contents: MutexGuard<'a, Contents>,
    now: Timestamp,
    /// How many events became ready.
    freed: usize,
    /// Whether no more events could be leased when the step began.
    was_full: bool,
    /// How many events the step adds to the kept ones.
    kept: usize,
    /// Whether the clock has been set back since the last stored time, by more than `now` makes up for: a receive
    /// corrects the effects.
    is_set_back: bool,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        lock(&self.0)
    }

    /// The contents, unless their generation is later than that of the partition; a generation of 0 means any.
    fn look(&self, partition: &Partition) -> Result<MutexGuard<'_, Contents>> {
        let contents = self.lock();
        let Root { generation, .. } = contents.root;
        let is_any = partition.generation == 0 || !contents.root.is_there();
        match is_any || generation <= partition.generation {
            true => Ok(contents),
            false => Err(stale(&format!("the generation is {generation}"))),
        }
    }

    /// Begins a step of this generation.
    fn begin(&self, partition: &Partition, context: &StepContext<'_>) -> Result<Step<'_>> {
        let mut contents = self.lock();
        let Root { generation, .. } = contents.root;
        if !contents.root.is_there() {
            return Err(stale("the partition is not there"));
        }
        if generation != partition.generation {
            return Err(stale(&format!("the generation is {generation}")));
        }
        contents.changes = Changes::of(context);
        let (now, clock) = (context.now(), contents.root.clock);
        let (now, is_set_back) = time_of_step(clock, now);
        let was_full = contents.leases_left() == 0;
        Ok(Step { contents, now, freed: 0, was_full, kept: 0, is_set_back })
    }
}

impl Step<'_> {
    /// Stores the time, records the changes of the step, and notifies waiting consumers.
    fn finish(
        mut self,
        partition: &Partition,
        alarm: Option<Timestamp>,
        sequence: Option<u64>,
        context: &mut StepContext<'_>,
    ) {
        let sequence = sequence.unwrap_or(self.contents.root.sequence);
        let now = self.now;
        if self.contents.changes.are_any() || sequence != self.contents.root.sequence {
            self.note(sequence);
        }
        if !self.contents.is_paused() {
            let (freed, alarm) = self.announced(alarm);
            if freed > 0 {
                context.wake(|| partition.topic(), freed);
            } else if let Some(alarm) = alarm.filter(|alarm| *alarm > now) {
                context.wake_in(|| partition.topic(), (alarm - now).div_ceil(1_000));
            }
        }
        std::mem::take(&mut self.contents.changes).record(context);
    }

    /// Stores the last sequence that an event got, and the time; an earlier time only after a receive has handled that.
    fn note(&mut self, sequence: u64) {
        let clock = if self.is_set_back { self.contents.root.clock } else { self.now };
        self.contents.tick(clock, sequence);
    }

    /// How many more events may be received, or when the next one may: the number that became ready; or, if no more
    /// could be leased when the step began, the number that may be leased now.
    fn announced(&self, alarm: Option<Timestamp>) -> (usize, Option<Timestamp>) {
        let contents = &self.contents;
        let freed = if self.was_full { contents.ready.len() } else { self.freed };
        let freed = freed.min(contents.leases_left());
        match contents.rate_left(self.now) {
            Some((0, more_at)) if freed > 0 => (0, Some(more_at)),
            Some((tokens, _)) => (freed.min(tokens), alarm),
            None => (freed, alarm),
        }
    }

    fn lease_us(&self) -> u64 {
        micros(self.contents.root.config.lease)
    }
}

fn stale(what: &str) -> Error {
    Refusal::Stale.error(what)
}
