//! A partition on the embedded engine: under one lock, as partitions are what makes a queue parallel here too. Its
//! steps are those of the scripts, in the same order, so that both come to the same.

mod bucket;
mod cancelled;
mod contents;
mod journal;
mod operator;
mod reshard;
mod schedules;

use std::sync::{Arc, Mutex, MutexGuard};

use bucket::Bucket;
use contents::{Contents, NameEntry, Order, Phase, Root, Stored, Transfer};
use journal::Changes;
use operator::LOOKED_MAX;
use reshard::{BATCH_BYTES, time_of_step};
use schedules::{
    REACH_MIN, REFILL_AGAIN, SCHEDULES_A_PAGE, TICKS_LEFT_ENOUGH, TICKS_LEFT_MIN, TICKS_MAX, Ticked,
};

use super::cancel::{Cancelled, Running};
use super::config::{Config, micros};
use super::event::{Head, IfExists, NewEvent, flag};
use super::extend::{Extended, Held};
use super::id::EventId;
use super::limits::{CANCELLED_MAX, STEP_BYTES_MAX, STEP_EVENTS_MAX};
use super::map::Map;
use super::open::Change;
use super::partition::{Partition, Place};
use super::publish::{self, Published, Status};
use super::queue::taken_over;
use super::receive::{Receipt, Receive, Received, Suspects, Token, WAITING_PLACES};
use super::receives::ALARM_APART;
use super::reschedule::Rescheduled;
use super::schedule::flag as ticking;
use super::settle::{End, Settled, Settlement};
use super::state::{Attempts, DeadReason, Delivery};
use super::stats::Stats;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync::lock;
use crate::step::reply::Refusal;
use crate::step::time::CLOCK_AHEAD_MAX;
use crate::step::{self, Chance, Constants, Snapshot, StepContext, Timestamp, When, constants};

/// The number of a partition in the journal.
pub(crate) const KIND: u8 = 5;

/// 2026 began, in microseconds: sequences count from there.
const SEQUENCE_BASE: Timestamp = 1_767_225_600_000_000;

/// How much a step does beside its own work: how many events it makes ready that are due, how many leases it ends that
/// have expired, and how many events it drops that have expired.
const DUE_MAX: usize = 1_000;
const LATE_MAX: usize = 100;
const SKIPPED_MAX: usize = 1_000;
/// How many names it forgets and how many events it removes that were kept for long enough: or twice as many as it adds.
const FORGOTTEN_MAX: usize = 100;
const DONE_MAX: usize = 100;

/// The longest body that lies beside its head; longer ones are read only where they are returned.
const SHORT_MAX: usize = 256;

/// After how many microseconds to look again whether a part of the key space is still on its way.
const FROZEN_LOOK: u64 = 1_000_000;

/// For how many microseconds the replies of a step are remembered at least, and the ids of cancelled events.
pub(super) const PERIOD: u64 = 600_000_000;

/// How many events to announce so that all that wait look again.
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

/// A step that is under way.
struct Step<'a> {
    contents: MutexGuard<'a, Contents>,
    now: Timestamp,
    /// How many events became ready.
    freed: usize,
    /// Whether no more events might be leased when the step began.
    was_full: bool,
    /// How many events the step adds to those that are kept.
    kept: usize,
    /// Whether the clock was set back since a step noted it, and by more than `now` waits for: a receive mends what it
    /// can.
    is_set_back: bool,
}

/// What an event finds that has its name.
struct Holder {
    id: EventId,
    /// Its phase; nothing if it has ended.
    phase: Option<Phase>,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        lock(&self.0)
    }

    /// What is there, unless it is of a later generation; of any if that is 0.
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

    pub(super) fn open(
        &self,
        partition: &Partition,
        change: Option<Change>,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Map>> {
        let first = first_of(change.as_ref().and_then(|change| change.place.as_ref()), context)?;
        let owner = first.as_ref().map(|(first, number)| (first.lock(), *number));
        let mut contents = self.lock();
        contents.changes = Changes::of(context);
        let mut root = contents.root.clone();
        if let Some(change) = change {
            if root.is_gone() {
                return Err(stale("the queue is being deleted"));
            }
            // It is not made here.
            if !root.is_there() && change.ranges.is_empty() {
                return Ok(None);
            }
            if !root.is_there() {
                // One that has given away all that it had, since the map was read.
                if partition.generation != 0 && root.generation >= partition.generation {
                    return Err(stale(&format!("the generation is {}", root.generation)));
                }
                check_owner(owner.as_ref(), partition)?;
                // A queue of the same name may have lived in this second already.
                let second = || ((context.now() / 1_000_000) as u32).max(root.generation + 1);
                root.generation =
                    if partition.generation == 0 { second() } else { partition.generation };
                root.map = change.map_text(&root.generation.to_string()).into();
                root.ranges = change.ranges;
            }
            // The caller knows an older map, or that of a deleted queue of this name.
            if ![0, root.generation].contains(&partition.generation) {
                return Err(stale(&format!("the generation is {}", root.generation)));
            }
            if root.revision < change.revision {
                if root.is_there() && !change.config.paused {
                    // All that wait look again: they may receive what the configuration before did not let them.
                    context.wake(|| partition.topic(), WAKE_ALL);
                }
                (root.revision, root.config) = (change.revision, change.config);
                contents.set_root(root.clone());
            }
        }
        if !root.is_there() {
            // A queue that was deleted is forgotten when the second is over in which it was made.
            if !root.is_gone() && u64::from(root.generation) < context.now() / 1_000_000 {
                contents.set_root(Root::default());
                context.mark_evictable();
            }
            std::mem::take(&mut contents.changes).record(context);
            return Ok(None);
        }
        std::mem::take(&mut contents.changes).record(context);
        let Root { revision, config, map, .. } = root;
        let empty = Map { revision, config: config.clone(), ..Map::default() };
        Ok(Some(Map::parse(revision, config, &map).unwrap_or(empty)))
    }

    pub(super) fn stats(
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

    pub(super) fn publish(
        &self,
        partition: &Partition,
        events: Vec<NewEvent>,
        drawn: u16,
        done: Option<Receipt>,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Published>> {
        let mut step = self.begin(partition, context)?;
        if done.is_none() {
            step.check_room(events.len())?;
        }
        let holders: Vec<_> = events
            .iter()
            .map(|event| event.dedup_id.as_ref().and_then(|_| step.holder_of(&event.name(), done)))
            .collect();
        let refused = |at: &usize| events[*at].if_exists == IfExists::Error;
        let taken: Vec<_> = (0..events.len())
            .filter(refused)
            .filter_map(|at| Some((at, holders[at].as_ref()?.id)))
            .collect();
        if !taken.is_empty() {
            return Err(publish::taken(taken));
        }
        let is_named = |(event, holder): &(&NewEvent, &Option<Holder>)| {
            event.dedup_id.is_some() && holder.is_none()
        };
        let end = done.map(|receipt| Settlement { receipt, end: End::Done });
        match &end {
            None => {
                let more = events.iter().zip(&holders).filter(is_named).count();
                step.check_names(more, events.len())?;
            }
            Some(end) => {
                if step.settle(end, &mut Chance::new(0), &mut None) != Settled::Ended {
                    return Err(taken_over());
                }
            }
        }

        let now = step.now;
        let next_at = step.next_due();
        let is_overdue = next_at.is_some_and(|at| at <= now);
        let first = (step.contents.root.sequence + 1).max(now.saturating_sub(SEQUENCE_BASE) / 16);
        let last = first + events.len() as u64 - 1;
        if events.iter().any(|event| event.dedup_id.is_some()) {
            step.forget(events.len());
        }
        let mut soonest: Option<Timestamp> = None;
        let mut published = Vec::with_capacity(events.len());
        for ((event, holder), sequence) in events.into_iter().zip(holders).zip(first..) {
            let mut status = Status::Created;
            match holder {
                Some(Holder { id, .. }) if event.if_exists == IfExists::Ignore => {
                    published.push(Published { id, status: Status::Duplicate, fire_at_us: 0 });
                    continue;
                }
                Some(Holder { id, phase: Some(phase) }) => {
                    status = Status::Replaced;
                    if !matches!(phase, Phase::Leased(_)) {
                        step.remove(id);
                    }
                }
                _ => {}
            }
            let id = EventId::new(partition.generation, sequence, event.vslot(drawn));
            let fire_at_us = event.at.resolve_micros(now).max(now);
            step.add(id, event, fire_at_us, is_overdue);
            if matches!(step.contents.events[&id].phase, Phase::Scheduled(_)) {
                soonest = Some(soonest.map_or(fire_at_us, |soonest| soonest.min(fire_at_us)));
            }
            published.push(Published { id, status, fire_at_us });
        }
        let alarm = soonest.filter(|soonest| next_at.is_none_or(|next_at| *soonest < next_at));
        step.finish(partition, alarm, Some(last), context);
        Ok(published)
    }

    pub(super) fn receive(
        &self,
        receive: &Receive,
        context: &mut StepContext<'_>,
    ) -> Result<Received> {
        let Receive { partition, max, lease_us, token, seed, suspects, .. } = receive;
        let (lease_us, token) = (*lease_us, *token);
        let mut step = self.begin(partition, context)?;
        let lease_us = if lease_us == 0 { step.lease_us() } else { lease_us };
        let leased_until = step.now + lease_us;
        if step.contents.transfer.is_some() {
            let next_in = Some(FROZEN_LOOK);
            return Ok(Received { leased_until, next_in, ..Received::default() });
        }
        step.mend_clock();
        let mut chance = Chance::new(*seed);
        let Ticked { refills, upto } = step.tick();
        let is_more = upto.is_some()
            | step.promote(upto.unwrap_or(step.now))
            | step.recover(&mut chance)
            | step.retry();
        step.expire_done();
        let now = step.now;
        let tokens = step.contents.rate_left(now).map_or(usize::MAX, |(tokens, _)| tokens);
        let max = (*max).min(step.contents.leases_left()).min(tokens);
        let events = step.take(max, leased_until, token, *suspects)?;
        step.contents.take_tokens(events.len(), now);
        let ready = step.contents.ready.len();
        let alarm = step.next_alarm();
        let may_deliver = step.may_deliver();
        let waits_for_rate = ready > 0 && step.has_room() && !may_deliver;
        let next_in = match is_more || ready > 0 && may_deliver {
            true => Some(0),
            // The step's time may be ahead of the clock by which others wait.
            false => alarm.map(|alarm| alarm.saturating_sub(context.now())),
        };
        step.freed = step.freed.min(ready);
        let alarm = alarm.filter(|_| !events.is_empty());
        step.finish(partition, alarm, None, context);
        let ready = ready as u64;
        Ok(Received { events, leased_until, ready, next_in, place: None, refills, waits_for_rate })
    }

    pub(super) fn settle(
        &self,
        partition: &Partition,
        ends: Vec<Settlement>,
        seed: u32,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Settled>> {
        let mut step = self.begin(partition, context)?;
        let (mut chance, mut soonest) = (Chance::new(seed), None);
        let settled = ends.iter().map(|end| step.settle(end, &mut chance, &mut soonest)).collect();
        step.expire_done();
        step.finish(partition, soonest, None, context);
        Ok(settled)
    }

    pub(super) fn extend(
        &self,
        partition: &Partition,
        held: &[Receipt],
        (lease_us, begins): (u64, bool),
        context: &mut StepContext<'_>,
    ) -> Result<Extended> {
        let mut step = self.begin(partition, context)?;
        let lease_us = if lease_us == 0 { step.lease_us() } else { lease_us };
        let leased_until = step.now + lease_us;
        let held = held.iter().map(|Receipt { id, token }| match step.contents.events.get(id) {
            Some(Stored { phase: Phase::Leased(_), delivery: Some(delivery), .. })
                if delivery.token == *token =>
            {
                let is_cancelled = delivery.is_cancelled;
                let begun = (begins && delivery.is_unbegun)
                    .then(|| Delivery { is_unbegun: false, ..(**delivery).clone() });
                step.contents.put(*id, Phase::Leased(leased_until));
                if let Some(begun) = begun {
                    step.contents.set_delivery(*id, begun);
                }
                if is_cancelled { Held::Cancelled } else { Held::Held }
            }
            _ => Held::Lost,
        });
        let held = held.collect();
        step.finish(partition, None, None, context);
        Ok(Extended { leased_until, held })
    }

    pub(super) fn cancel(
        &self,
        partition: &Partition,
        ids: &[EventId],
        running: Running,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Cancelled>> {
        let mut step = self.begin(partition, context)?;
        let cancelled = ids.iter().map(|id| {
            let Some(stored) = step.contents.open_event(*id) else {
                let was_cancelled = step.contents.cancelled.find(*id, step.now).is_some();
                return if was_cancelled { Cancelled::Removed } else { Cancelled::Gone };
            };
            let is_leased = matches!(stored.phase, Phase::Leased(_));
            if !is_leased || running == Running::Removed {
                step.withdraw(*id, is_leased);
                return Cancelled::Removed;
            }
            let mut delivery = stored.delivery.as_deref().cloned().unwrap_or_default();
            if running == Running::Stop && !delivery.is_cancelled {
                delivery.is_cancelled = true;
                step.contents.set_delivery(*id, delivery);
            }
            Cancelled::Running
        });
        let cancelled = cancelled.collect();
        step.finish(partition, None, None, context);
        Ok(cancelled)
    }

    pub(super) fn reschedule(
        &self,
        partition: &Partition,
        ids: &[EventId],
        at: When,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Rescheduled>> {
        let mut step = self.begin(partition, context)?;
        let fire_at_us = at.resolve_micros(step.now).max(step.now);
        let firsts = [step.contents.scheduled.first(), step.contents.retry.first()];
        let next_at = firsts.into_iter().flatten().map(|(at, _)| *at).min();
        let rescheduled: Vec<_> = ids.iter().map(|id| step.reschedule(*id, fire_at_us)).collect();
        let is_sooner = rescheduled.contains(&Rescheduled::Rescheduled)
            && next_at.is_some_and(|next_at| fire_at_us < next_at);
        if is_sooner && fire_at_us <= step.now {
            step.freed = step.freed.max(1);
        }
        step.finish(partition, is_sooner.then_some(fire_at_us), None, context);
        Ok(rescheduled)
    }
}

impl Step<'_> {
    /// Notes the time and records what the step did, and tells those who wait.
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

    /// Notes the time, but no earlier one before a receive has seen to that, and the last sequence that an event got.
    fn note(&mut self, sequence: u64) {
        let clock = if self.is_set_back { self.contents.root.clock } else { self.now };
        self.contents.tick(clock, sequence);
    }

    /// Once the clock was set back, all schedules are looked at that are for later, and the bucket fills from now on.
    fn mend_clock(&mut self) {
        if !std::mem::take(&mut self.is_set_back) {
            return;
        }
        let now = self.now;
        let late: Vec<_> = self
            .contents
            .ticks
            .iter()
            .filter(|(at, _)| *at > now)
            .map(|(_, id)| id.clone())
            .collect();
        for id in late {
            let schedule = self.contents.schedules[&id].clone();
            self.contents.set_schedule(&id, Some((schedule, Some(now))));
        }
        if let Some(bucket) = self.contents.bucket.filter(|bucket| bucket.at > now) {
            self.contents.set_bucket(Bucket { at: now, ..bucket });
        }
    }

    /// How many more events may be received, or else when: as many as became ready, but if no more were leased as that
    /// was the most, as many as may be leased now.
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

    /// Whether what is ready may be delivered.
    fn may_deliver(&self) -> bool {
        let rate_left = self.contents.rate_left(self.now);
        self.has_room() && rate_left.is_none_or(|(tokens, _)| tokens > 0)
    }

    /// The same, but for the rate.
    fn has_room(&self) -> bool {
        !self.contents.root.config.paused && self.contents.leases_left() > 0
    }

    fn lease_us(&self) -> u64 {
        micros(self.contents.root.config.lease)
    }

    fn check_room(&self, more: usize) -> Result<()> {
        let (held, most) = (self.contents.events_left(), self.contents.root.config.events_max);
        match most > 0 && (held + more) as u64 > most {
            true => {
                let message = format!("the partition holds {held} events of at most {most}");
                Err(Error::new(ErrorKind::QueueFull, message))
            }
            false => Ok(()),
        }
    }

    /// Whether there is room for more names, once a step of `events` events has forgotten some.
    fn check_names(&self, more: usize, events: usize) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        let known = self.contents.names.len() - self.names_over(events).count();
        let most = self.contents.root.config.dedup_ids_max;
        match (known + more) as u64 > most {
            true => {
                let message =
                    format!("the partition remembers {known} deduplication ids of at most {most}");
                Err(Error::new(ErrorKind::QueueFull, message))
            }
            false => Ok(()),
        }
    }

    /// Who has a name, or had it last; `done` ends in this step.
    fn holder_of(&self, name: &[u8], done: Option<Receipt>) -> Option<Holder> {
        let NameEntry { id, until } = *self.contents.names.get(name)?;
        let stored = self.contents.events.get(&id);
        let until = match (until, stored) {
            (None, Some(stored)) if done.is_some_and(|done| done.id == id) => {
                Some(stored.head.named_until)
            }
            (until, _) => until,
        };
        match until {
            Some(until) => (until > self.now).then_some(Holder { id, phase: None }),
            None => Some(Holder { id, phase: Some(stored?.phase) }),
        }
    }

    /// Adds an event where it belongs.
    fn add(&mut self, id: EventId, event: NewEvent, fire_at_us: Timestamp, is_overdue: bool) {
        let body = event.body();
        let is_keyed = !event.key.is_empty();
        let long = if body.len() > SHORT_MAX { flag::LONG } else { 0 };
        let head = Head {
            flags: event.flags() | long,
            fire_at_us,
            published_at_us: self.now,
            expires_at_us: event.ttl.map_or(0, |ttl| fire_at_us + micros(ttl)),
            named_until: event.dedup_id.as_ref().map_or(0, |_| self.now + event.window_us()),
            key: event.key.clone(),
            dedup_id: event.dedup_id.clone().unwrap_or_default(),
        };
        if event.dedup_id.is_some() {
            self.contents.set_name(&head.name(), Some(NameEntry { id, until: None }));
        }
        let is_late = fire_at_us > self.now || self.contents.transfer.is_some();
        let phase = match is_late || is_overdue && is_keyed {
            true => Phase::Scheduled(fire_at_us),
            false => self.due(&head, self.now),
        };
        self.contents.add(id, head, body.into(), phase);
    }

    /// Where an event is that became due at this time.
    fn due(&mut self, head: &Head, rank: Timestamp) -> Phase {
        let has_head = |key| self.contents.lanes.get(key).is_some_and(|lane| lane.head.is_some());
        match head.is(flag::KEYED) && has_head(&head.key) {
            true => Phase::Behind,
            false => {
                self.freed += 1;
                Phase::Ready(rank)
            }
        }
    }

    fn make_ready(&mut self, id: EventId, rank: Timestamp) {
        self.contents.put(id, Phase::Ready(rank));
        self.freed += 1;
    }

    /// The event that comes behind one that has left the head of its lane is ready.
    fn free_lane(&mut self, head: &Head) -> Option<EventId> {
        self.free_lane_at(head, self.now)
    }

    fn free_lane_at(&mut self, head: &Head, rank: Timestamp) -> Option<EventId> {
        let lane = self.contents.lanes.get(&head.key)?;
        let next = lane.behind.front().copied().filter(|_| lane.head.is_none())?;
        self.make_ready(next, rank);
        Some(next)
    }

    /// The name of an event that has ended is remembered for as long as it was to be, or free.
    fn free_name(&mut self, id: EventId, head: &Head) {
        if !head.is(flag::NAMED) {
            return;
        }
        let name = head.name();
        if self.contents.names.get(&*name).is_some_and(|named| named.id == id) {
            let until = Some(head.named_until).filter(|until| *until > self.now);
            self.contents.set_name(&name, until.map(|until| NameEntry { id, until: Some(until) }));
        }
    }

    /// Removes an event, wherever it is; the next one of its key, if it is ready now.
    fn remove(&mut self, id: EventId) -> Option<EventId> {
        let head = self.contents.events.get(&id)?.head.clone();
        self.contents.remove(id);
        self.free_name(id, &head);
        self.free_lane(&head)
    }

    /// Removes an event that was cancelled: its name is free, whatever its window says. Whether its delivery was taken
    /// away is remembered.
    fn withdraw(&mut self, id: EventId, is_taken: bool) {
        let Some(stored) = self.contents.events.get(&id) else { return };
        let name = stored.head.is(flag::NAMED).then(|| stored.head.name());
        self.remove(id);
        if let Some(name) = name
            && self.contents.names.get(&*name).is_some_and(|named| named.id == id)
        {
            self.contents.set_name(&name, None);
        }
        self.contents.set_cancelled(id, self.now, is_taken);
    }

    /// The event is done: it is removed, or kept for as long as the configuration says.
    fn complete(&mut self, id: EventId, delivery: Delivery) {
        if self.contents.root.config.retention.is_zero() {
            self.remove(id);
            return;
        }
        let Delivery { token, counts, err, .. } = delivery;
        let head = self.contents.events[&id].head.clone();
        self.contents.set_delivery(id, Delivery { token, counts, err, ..Delivery::default() });
        self.contents.put(id, Phase::Done(self.now));
        self.kept += 1;
        self.free_name(id, &head);
        self.free_lane(&head);
    }

    /// Removes events that were kept for long enough: a step does no more than twice what it adds.
    fn expire_done(&mut self) {
        let until = self.now.saturating_sub(micros(self.contents.root.config.retention));
        for (_, id) in due_of(&self.contents.done, until, DONE_MAX.max(2 * self.kept)) {
            self.remove(id);
        }
    }

    fn bury(&mut self, id: EventId, mut delivery: Delivery, reason: DeadReason) {
        (delivery.is_cancelled, delivery.reason) = (false, Some(reason));
        let head = self.contents.events[&id].head.clone();
        self.contents.set_delivery(id, delivery);
        self.contents.put(id, Phase::Dead(self.now));
        self.free_name(id, &head);
        self.free_lane(&head);
    }

    /// The names whose time is over, as many as a step that adds this number of events forgets.
    fn names_over(&self, events: usize) -> impl Iterator<Item = &Arc<[u8]>> {
        let over = self.contents.forget.iter().take_while(|(until, _)| *until <= self.now);
        over.take(FORGOTTEN_MAX.max(2 * events)).map(|(_, name)| name)
    }

    /// Forgets names whose time is over.
    fn forget(&mut self, events: usize) {
        let names: Vec<_> = self.names_over(events).cloned().collect();
        for name in names {
            self.contents.set_name(&name, None);
        }
    }

    /// Makes ready what is due, or was at a time; whether there may be more.
    fn promote(&mut self, upto: Timestamp) -> bool {
        let due = due_of(&self.contents.scheduled, upto, DUE_MAX);
        for (at, id) in &due {
            let head = self.contents.events[id].head.clone();
            let phase = self.due(&head, *at);
            self.contents.put(*id, phase);
        }
        due.len() == DUE_MAX
    }

    /// Tries those again whose lease ran out, or gives them up; whether there may be more.
    fn recover(&mut self, chance: &mut Chance) -> bool {
        let late = due_of(&self.contents.leased, self.now, LATE_MAX);
        for (_, id) in &late {
            let mut delivery = self.delivery_of(*id);
            if delivery.is_cancelled {
                self.withdraw(*id, false);
                continue;
            }
            delivery.has_run_out = true;
            if std::mem::take(&mut delivery.is_unbegun) {
                // Its receiver ended of something else.
                delivery.counts.attempts -= 1;
                self.contents.set_delivery(*id, delivery);
                self.make_ready(*id, self.now);
                continue;
            }
            delivery.counts.crashes += 1;
            let Attempts { attempts, crashes, .. } = delivery.counts;
            if self.contents.root.config.is_used_up(attempts, crashes) {
                self.bury(*id, delivery, DeadReason::Crashed);
            } else {
                let delay = self.backoff(attempts, chance);
                self.contents.set_delivery(*id, delivery);
                if delay > 0 {
                    self.contents.put(*id, Phase::Retry(self.now + delay));
                } else {
                    self.make_ready(*id, self.now);
                }
            }
        }
        late.len() == LATE_MAX
    }

    /// Makes ready what is to be tried again; whether there may be more.
    fn retry(&mut self) -> bool {
        let due = due_of(&self.contents.retry, self.now, DUE_MAX);
        for (at, id) in &due {
            self.make_ready(*id, *at);
        }
        due.len() == DUE_MAX
    }

    /// Leases up to `max` events that are ready; drops those that have expired. What was delivered once does not.
    fn take(
        &mut self,
        max: usize,
        leased_until: Timestamp,
        token: Token,
        suspects: Suspects,
    ) -> Result<Vec<super::Event>> {
        if self.contents.root.config.paused {
            return Ok(Vec::new());
        }
        let (mut taken, mut expired, mut bytes) = (Vec::new(), Vec::new(), 0);
        let config = self.contents.root.config.clone();
        let is_suspect = |delivery: &Delivery| config.is_suspect(delivery.counts.crashes);
        let mut is_full = false;
        // Those that were behind one of their key that is dropped here come last.
        let (mut dropped, mut freed) = (0, Vec::new());
        loop {
            let ready = self.contents.ready.iter().take(if dropped == 0 { usize::MAX } else { 0 });
            for id in ready.map(|(_, id)| *id).chain(freed.drain(..)) {
                let skipped = dropped + expired.len();
                if is_full || taken.len() == max || skipped == SKIPPED_MAX || bytes > STEP_BYTES_MAX
                {
                    break;
                }
                let Stored { head, body, delivery, .. } = &self.contents.events[&id];
                is_full = delivery.as_deref().is_some_and(is_suspect);
                if is_full && (!taken.is_empty() || suspects == Suspects::Leave) {
                    break;
                }
                let has_expired = head.expires_at_us > 0 && head.expires_at_us <= self.now;
                if has_expired && delivery.is_none() {
                    expired.push(id);
                } else {
                    taken.push(id);
                    bytes += if head.is(flag::LONG) { body.len() } else { 0 };
                }
            }
            if expired.is_empty() {
                break;
            }
            dropped += expired.len();
            freed.extend(expired.drain(..).filter_map(|id| self.remove(id)));
        }
        let mut events = Vec::with_capacity(taken.len());
        for id in taken {
            let Delivery { mut counts, err, .. } = self.delivery_of(id);
            counts.attempts += 1;
            let is_unbegun = suspects == Suspects::Begin && config.is_suspect(counts.crashes);
            let delivery = Delivery { token, counts, err, is_unbegun, ..Delivery::default() };
            let phase = Phase::Leased(leased_until);
            let Stored { head, body, .. } = &self.contents.events[&id];
            events.push(head.event(id, body, &delivery, phase.place())?);
            self.contents.set_delivery(id, delivery);
            self.contents.put(id, phase);
        }
        Ok(events)
    }

    fn settle(
        &mut self,
        settlement: &Settlement,
        chance: &mut Chance,
        soonest: &mut Option<Timestamp>,
    ) -> Settled {
        let Settlement { receipt: Receipt { id, token }, end } = settlement;
        let Some(stored) = self.contents.open_event(*id) else {
            let is_taken = self.contents.cancelled.find(*id, self.now) == Some(true);
            return if is_taken { Settled::Lost } else { Settled::Gone };
        };
        let phase = stored.phase;
        let Some(mut delivery) = stored.delivery.as_deref().cloned() else { return Settled::Lost };
        if delivery.token != *token {
            return Settled::Lost;
        }
        if !matches!(phase, Phase::Leased(_)) {
            // The same end, sent again; or the event has failed already as its lease ran out.
            if *end != End::Done {
                return Settled::Ended;
            }
            if delivery.is_settled {
                return Settled::Lost;
            }
        }
        if *end == End::Done {
            self.complete(*id, delivery);
            return Settled::Ended;
        }
        if delivery.is_cancelled {
            self.withdraw(*id, false);
            return Settled::Cancelled;
        }
        let (_, delay, err) = end.parts();
        if !err.is_empty() {
            delivery.err = err.into();
        }
        (delivery.is_cancelled, delivery.has_run_out, delivery.is_settled) = (false, false, true);
        delivery.is_unbegun = false;
        if let End::Dead(_) = end {
            self.bury(*id, delivery, DeadReason::Rejected);
            return Settled::Ended;
        }
        let Attempts { attempts, crashes, .. } = delivery.counts;
        let delay = if let End::Released(_) = end {
            delivery.counts.attempts -= 1;
            delay.unwrap_or(0)
        } else if self.contents.root.config.is_used_up(attempts, crashes) {
            self.bury(*id, delivery, DeadReason::Exhausted);
            return Settled::Died;
        } else {
            delay.unwrap_or_else(|| self.backoff(attempts, chance))
        };
        self.contents.set_delivery(*id, delivery);
        if delay > 0 {
            let at = self.now + delay;
            self.contents.put(*id, Phase::Retry(at));
            *soonest = Some(soonest.map_or(at, |soonest| soonest.min(at)));
        } else {
            self.make_ready(*id, self.now);
        }
        Settled::Ended
    }

    fn reschedule(&mut self, id: EventId, fire_at_us: Timestamp) -> Rescheduled {
        let Some(stored) = self.contents.open_event(id) else { return Rescheduled::Gone };
        match stored.phase {
            Phase::Scheduled(_) => {}
            Phase::Retry(_) if fire_at_us > self.now => {
                self.contents.put(id, Phase::Retry(fire_at_us));
                return Rescheduled::Rescheduled;
            }
            Phase::Retry(_) => {
                self.make_ready(id, self.now);
                return Rescheduled::Rescheduled;
            }
            _ => return Rescheduled::TooLate,
        }
        let (old, expires_at_us) = (stored.head.fire_at_us, stored.head.expires_at_us);
        let expires_at_us = if expires_at_us > 0 { expires_at_us - old + fire_at_us } else { 0 };
        self.contents.set_times(id, fire_at_us, expires_at_us);
        self.contents.put(id, Phase::Scheduled(fire_at_us));
        Rescheduled::Rescheduled
    }

    fn delivery_of(&self, id: EventId) -> Delivery {
        self.contents.events[&id].delivery.as_deref().cloned().unwrap_or_default()
    }

    /// After how many microseconds an event is tried again that was delivered so often.
    fn backoff(&self, attempts: u16, chance: &mut Chance) -> u64 {
        let config = &self.contents.root.config;
        let most = micros(config.backoff_max) as f64;
        let doubled = micros(config.backoff_min) as f64
            * 2_f64.powi(i32::from(attempts).saturating_sub(1).min(60));
        (most.min(doubled) * chance.draw() as f64 / Chance::MODULUS as f64).floor() as u64
    }

    /// When to look again at the soonest, if no step says so before.
    fn next_alarm(&self) -> Option<Timestamp> {
        let contents = &self.contents;
        let is_paused = contents.root.config.paused;
        let waits_for_leases = is_paused || contents.leases_left() == 0;
        let waits = [&contents.scheduled, &contents.retry];
        // Time passes for schedules in any case.
        let waits = waits.into_iter().filter(|_| !waits_for_leases).chain([&contents.leased]);
        let waits = waits.filter_map(|order| Some(order.first()?.0));
        let alarm = waits.chain(contents.ticks.first().map(|(at, _)| *at)).min();
        match contents.rate_left(self.now) {
            Some((0, more_at)) if !is_paused => match contents.ready.is_empty() || waits_for_leases
            {
                true => alarm.map(|alarm| alarm.max(more_at)),
                false => Some(more_at),
            },
            _ => alarm,
        }
    }

    /// When the first event or tick is due that was not when a step looked last.
    fn next_due(&self) -> Option<Timestamp> {
        let event = self.contents.scheduled.first().map(|(at, _)| *at);
        event.into_iter().chain(self.contents.ticks.first().map(|(at, _)| *at)).min()
    }
}

/// Partition 0 of the queue that has another one at this place, and the number of that one.
// Lock order: partition 0 of a queue is locked before another one.
fn first_of(
    place: Option<&Place>,
    context: &mut StepContext<'_>,
) -> Result<Option<(Arc<State>, usize)>> {
    let Some(Place { first, number }) = place else { return Ok(None) };
    Ok(Some((context.state(&first.as_bytes().into())?, *number)))
}

/// Refuses to make a partition that the map of its queue does not have, or not any more.
fn check_owner(
    first: Option<&(MutexGuard<'_, Contents>, usize)>,
    partition: &Partition,
) -> Result<()> {
    let Some((first, number)) = first else { return Ok(()) };
    let map = first.root.is_there().then(|| Map::parse(0, Config::default(), &first.root.map));
    let generation = map.flatten().and_then(|map| Some(map.owners.get(*number)?.generation));
    match generation == Some(partition.generation) {
        true => Ok(()),
        false => Err(stale("the queue has no such partition")),
    }
}

fn stale(what: &str) -> Error {
    Refusal::Stale.error(what)
}

/// The first events of an order whose time has come.
fn due_of(order: &Order, now: Timestamp, most: usize) -> Vec<(Timestamp, EventId)> {
    order.iter().take_while(|(at, _)| *at <= now).take(most).copied().collect()
}
