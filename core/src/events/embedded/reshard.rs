//! How a part of the key space moves from one partition to another.

use std::sync::Arc;

use super::bucket::Bucket;
use super::contents::{Contents, NameEntry, Outgoing, Phase, Root, Transfer};
use super::journal::Changes;
use super::open::{check_owner, first_of};
use super::{State, WAKE_ALL, stale};
use crate::error::{Error, ErrorKind, Result};
use crate::events::event::{Head, flag};
use crate::events::id::EventId;
use crate::events::map::{Range, contains};
use crate::events::partition::Partition;
use crate::events::reshard::{
    Arrive, BATCH_EVENTS, Batch, Before, Imported, Left, Moved, MovedEvent, MovedSchedule, Wanted,
    What,
};
use crate::events::schedule::{ScheduleRecord, Template};
use crate::events::state::{Delivery, EventState};
use crate::events::stats::Stats;
use crate::events::vslot::vslot_of;
use crate::step::time::{is_set_back, steady};
use crate::step::{StepContext, Timestamp};

/// A batch with more bytes than this gets no further event.
pub(super) const BATCH_BYTES: usize = 1 << 20;

impl State {
    pub(in crate::events) fn leave(
        &self,
        partition: &Partition,
        kept: Vec<Range>,
        leaving: Vec<Range>,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Left>> {
        let mut contents = self.lock();
        let Root { generation, clock, .. } = contents.root;
        if !contents.root.is_there() {
            return Ok(None);
        }
        if generation > partition.generation {
            return Err(stale(&format!("the generation is {generation}")));
        }
        if generation == partition.generation {
            return Ok(match contents.transfer {
                Some(Transfer::Leaving { left_at, .. }) => Some(contents.left(left_at)),
                _ => None,
            });
        }
        contents.changes = Changes::of(context);
        let (now, is_set_back) = time_of_step(clock, context.now());
        let root = contents.root.clone();
        let generation = partition.generation;
        let clock = if is_set_back { clock } else { now };
        contents.set_root(Root { generation, ranges: kept, clock, ..root });
        let transfer = Transfer::Leaving { ranges: leaving, left_at: now, sent: 0, out: None };
        contents.set_transfer(Some(transfer));
        std::mem::take(&mut contents.changes).record(context);
        // All waiting processes check again, and find the other partition.
        context.wake(|| partition.topic(), WAKE_ALL);
        Ok(Some(contents.left(now)))
    }

    pub(in crate::events) fn arrive(
        &self,
        partition: &Partition,
        step: Arrive,
        context: &mut StepContext<'_>,
    ) -> Result<bool> {
        let first = first_of(step.place.as_ref(), context)?;
        let owner = first.as_ref().map(|(first, number)| (first.lock(), *number));
        let mut contents = self.lock();
        let root = contents.root.clone();
        if root.is_gone() {
            return Err(stale("the queue is being deleted"));
        }
        if root.generation > partition.generation {
            return Err(stale(&format!("the generation is {}", root.generation)));
        }
        if root.is_there() && root.generation == partition.generation {
            return Ok(false);
        }
        if !root.is_there() {
            check_owner(owner.as_ref(), partition)?;
        }
        let Arrive { ranges, left, revision, config, before, .. } = step;
        if !root.is_there() && before == Before::Root {
            return Err(stale("the partition is not there"));
        }
        if root.is_there() && before == Before::Nothing && !root.ranges.is_empty() {
            return Err(stale("the partition is of an earlier queue"));
        }
        contents.changes = Changes::of(context);
        // A full bucket would let through more than the rate.
        if (!root.is_there() || root.ranges.is_empty())
            && let Some(tokens) = left.tokens
        {
            contents.set_bucket(Bucket { tokens, at: left.at });
        }
        // A partition that was emptied has not been configured since.
        let (revision, config) = match root.revision < revision {
            true => (revision, config),
            false => (root.revision, root.config),
        };
        let (generation, clock) = (partition.generation, root.clock.max(left.at));
        contents.set_root(Root { generation, ranges, revision, config, clock, ..root });
        contents.set_transfer(Some(Transfer::Arriving { taken: 0 }));
        std::mem::take(&mut contents.changes).record(context);
        context.wake(|| partition.topic(), WAKE_ALL);
        Ok(true)
    }

    pub(in crate::events) fn export(
        &self,
        partition: &Partition,
        taken: u64,
        wanted: Option<Vec<Wanted>>,
        context: &mut StepContext<'_>,
    ) -> Result<Batch> {
        let mut step = self.begin(partition, context)?;
        let contents = &mut *step.contents;
        let Some(Transfer::Leaving { ranges, left_at, sent, mut out }) = contents.transfer.clone()
        else {
            return Ok(Batch { is_over: true, ..Batch::default() });
        };
        if let Some(has) = out.take_if(|out| out.number == taken) {
            contents.drop_outgoing(&has);
            contents.set_transfer(Some(Transfer::Leaving {
                ranges: ranges.clone(),
                left_at,
                sent,
                out: None,
            }));
        }
        let batch = match out {
            Some(out) => contents.batch(&out)?,
            None => {
                let out = contents.next_outgoing(sent + 1, &ranges, wanted.as_deref());
                let is_over = out.is_empty() && wanted.is_none();
                if out.is_empty() {
                    let number = if is_over { sent } else { 0 };
                    Batch { number, is_over, ..Batch::default() }
                } else {
                    let batch = contents.batch(&out)?;
                    let (sent, out) = (out.number, Some(out));
                    contents.set_transfer(Some(Transfer::Leaving { ranges, left_at, sent, out }));
                    batch
                }
            }
        };
        step.finish(partition, None, None, context);
        Ok(batch)
    }

    pub(in crate::events) fn import(
        &self,
        partition: &Partition,
        batch: Batch,
        context: &mut StepContext<'_>,
    ) -> Result<Imported> {
        let mut step = self.begin(partition, context)?;
        let Some(Transfer::Arriving { mut taken }) = step.contents.transfer else {
            return match batch.is_over {
                true => Ok(Imported::default()),
                false => Err(stale("nothing is on its way to the partition")),
            };
        };
        if batch.is_over {
            step.contents.set_transfer(None);
            context.wake(|| partition.topic(), WAKE_ALL);
        } else if batch.number <= taken {
            return Ok(Imported { is_new: false, taken });
        } else {
            for moved in batch.moved {
                let now = step.now;
                step.contents.enter_moved(moved, now)?;
            }
            taken = batch.number;
            step.contents.set_transfer(Some(Transfer::Arriving { taken }));
        }
        step.finish(partition, None, None, context);
        Ok(Imported { is_new: true, taken })
    }

    pub(in crate::events) fn thaw(
        &self,
        partition: &Partition,
        is_last: bool,
        context: &mut StepContext<'_>,
    ) -> Result<bool> {
        let mut step = self.begin(partition, context)?;
        let Some(Transfer::Leaving { ranges, out, .. }) = step.contents.transfer.clone() else {
            return Ok(false);
        };
        if out.is_some() || !step.contents.next_outgoing(0, &ranges, None).is_empty() {
            return Err(stale("the partition has not given everything away"));
        }
        step.contents.set_transfer(None);
        if is_last {
            // The generation stays, so that a client with an older map does not create the partition again.
            let generation = partition.generation;
            step.contents.set_root(Root { generation, ..Root::default() });
        }
        context.wake(|| partition.topic(), WAKE_ALL);
        step.finish(partition, None, None, context);
        Ok(true)
    }

    pub(in crate::events) fn remap(
        &self,
        known: &str,
        map: String,
        context: &mut StepContext<'_>,
    ) -> Result<bool> {
        let mut contents = self.lock();
        if !contents.root.is_there() {
            return Err(stale("the queue is not there"));
        }
        if *contents.root.map == *map {
            return Ok(true);
        }
        if *contents.root.map != *known {
            return Ok(false);
        }
        contents.changes = Changes::of(context);
        let root = contents.root.clone();
        contents.set_root(Root { map: map.into(), ..root });
        std::mem::take(&mut contents.changes).record(context);
        Ok(true)
    }
}

/// The time of a step on a partition with this clock, and whether the clock was far ahead: only then does the time go
/// back.
pub(super) fn time_of_step(clock: Timestamp, now: Timestamp) -> (Timestamp, bool) {
    (steady(clock, now), is_set_back(clock, now))
}

impl Contents {
    fn left(&self, at: Timestamp) -> Left {
        // Nothing is delivered during a move, so this value does not change.
        let tokens = (self.root.config.rate > 0).then(|| self.tokens(at));
        Left { at, tokens }
    }

    /// The next batch of leaving items, or the wanted ones of them.
    fn next_outgoing(&self, number: u64, ranges: &[Range], wanted: Option<&[Wanted]>) -> Outgoing {
        let mut out = Outgoing { number, ..Outgoing::default() };
        for wanted in wanted.into_iter().flatten() {
            match wanted {
                Wanted::Event(id) => out.ids.extend(self.events.contains_key(id).then_some(*id)),
                Wanted::Name(name) => match self.names.get(&**name) {
                    Some(entry) if self.events.contains_key(&entry.id) => out.ids.push(entry.id),
                    Some(_) => out.names.push(name.as_slice().into()),
                    None => {}
                },
                Wanted::Schedule(id) => {
                    // With the schedule's last event, which its next tick may replace.
                    let Some(schedule) = self.schedules.get(id) else { continue };
                    out.ids
                        .extend(self.events.contains_key(&schedule.last).then_some(schedule.last));
                    out.schedules.push(id.clone());
                }
            }
        }
        if wanted.is_some() {
            return out;
        }
        let is_leaving = |id: &&EventId| contains(ranges, id.vslot());
        // The events of a lane in its order, in which removing them is cheap.
        let behind = self.lanes.values().map(|lane| &lane.behind);
        let behind = behind.filter(|behind| behind.front().as_ref().is_some_and(is_leaving));
        let others = self.events.iter().filter(|(_, stored)| stored.phase != Phase::Behind);
        let others = others.map(|(id, _)| id).filter(is_leaving);
        let mut bytes = 0;
        for id in behind.flatten().chain(others) {
            if out.ids.len() == BATCH_EVENTS || bytes > BATCH_BYTES {
                return out;
            }
            out.ids.push(*id);
            bytes += self.events[id].body.len();
        }
        if out.ids.is_empty() {
            let ended = self.names.iter().filter(|(_, entry)| entry.until.is_some());
            let ended = ended.filter(|(_, entry)| contains(ranges, entry.id.vslot()));
            out.names.extend(ended.take(BATCH_EVENTS).map(|(name, _)| name.clone()));
        }
        if out.is_empty() {
            let leaving = |id: &&Arc<str>| contains(ranges, vslot_of(id.as_bytes()));
            let ids = self.schedules.keys().filter(leaving);
            out.schedules.extend(ids.take(BATCH_EVENTS).cloned());
        }
        out
    }

    /// The batch that is still here although the other partition has it, which has the batches up to this number.
    /// Refused if it has more by now.
    pub(super) fn doubled(&self, partition: &Partition, has: u64) -> Result<Option<&Outgoing>> {
        let Root { generation, .. } = self.root;
        match &self.transfer {
            Some(Transfer::Leaving { sent, out, .. }) => {
                let gone = out.as_ref().map_or(*sent, |out| out.number - 1);
                match gone > has {
                    true => Err(stale("the other partition has more")),
                    false => Ok(out.as_ref().filter(|out| out.number <= has)),
                }
            }
            _ if self.root.is_there() && generation < partition.generation => Ok(None),
            _ => Err(stale("the other partition has more")),
        }
    }

    /// Subtracts the items that another partition has too from the statistics of this one.
    pub(super) fn discount(&self, out: &Outgoing, stats: &mut Stats) {
        for id in &out.ids {
            let Some(stored) = self.events.get(id) else { continue };
            let (state, _) = stored.phase.place();
            match state {
                EventState::Scheduled => stats.scheduled -= 1,
                EventState::Behind => {}
                EventState::Ready => stats.ready -= 1,
                EventState::Leased => stats.leased -= 1,
                EventState::Retry => stats.retry -= 1,
                EventState::Dead => stats.dead -= 1,
                EventState::Done => stats.done -= 1,
            }
            stats.events -= u64::from(state != EventState::Done);
            let has_name = |name: Vec<u8>| self.names.get(&*name).is_some_and(|of| of.id == *id);
            let is_named = stored.head.is(flag::NAMED) && has_name(stored.head.name());
            stats.dedup_ids -= u64::from(is_named);
        }
        stats.dedup_ids -= out.names.len() as u64;
        let ticks = out.schedules.iter().filter(|id| self.looks.contains_key(*id));
        stats.schedules -= ticks.count() as u64;
    }

    fn batch(&self, out: &Outgoing) -> Result<Batch> {
        let mut moved = Vec::with_capacity(out.ids.len() + out.names.len());
        for id in &out.ids {
            let Some(stored) = self.events.get(id) else { continue };
            let (state, state_at) = stored.phase.place();
            let name = stored.head.is(flag::NAMED).then(|| stored.head.name());
            let entry =
                name.and_then(|name| self.names.get(&*name)).filter(|entry| entry.id == *id);
            let is_long = stored.head.is(flag::LONG);
            let (mut head, mut body) = (stored.head.packed(stored.body.len()), Vec::new());
            if is_long { &mut body } else { &mut head }.extend_from_slice(&stored.body);
            let event = MovedEvent {
                state,
                state_at,
                named_until: entry.map(|entry| entry.until.unwrap_or(0)),
                record: stored.delivery.as_ref().map_or_else(Vec::new, |of| of.packed()),
                head,
                body,
            };
            moved.push(Moved { id: *id, what: What::Event(event) });
        }
        for name in &out.names {
            if let Some(NameEntry { id, until: Some(until) }) = self.names.get(name) {
                moved.push(Moved { id: *id, what: What::Name(name.to_vec(), *until) });
            }
        }
        for id in &out.schedules {
            let Some(record) = self.schedules.get(id) else { continue };
            let schedule = MovedSchedule {
                id: id.clone(),
                look_at: self.looks.get(id).copied().unwrap_or(0),
                record: record.packed(id),
                template: self.templates.get(id).map(Template::packed).unwrap_or_default(),
            };
            moved.push(Moved { id: record.last, what: What::Schedule(schedule) });
        }
        Ok(Batch { number: out.number, is_over: false, moved })
    }

    /// Removes the items that the other partition has. Events of their keys are not delivered here any more, so no lane
    /// moves up.
    fn drop_outgoing(&mut self, out: &Outgoing) {
        for id in &out.ids {
            let Some(stored) = self.events.get(id) else { continue };
            let name = stored.head.is(flag::NAMED).then(|| stored.head.name());
            self.remove(*id);
            if let Some(name) = name
                && self.names.get(&*name).is_some_and(|entry| entry.id == *id)
            {
                self.set_name(&name, None);
            }
        }
        for name in &out.names {
            self.set_name(name, None);
        }
        for id in &out.schedules {
            self.set_schedule(id, None);
            self.set_template(id, None);
        }
    }

    /// Adds an item from the other partition. A waiting event becomes due in the order of its time, as if it had been
    /// published here.
    fn enter_moved(&mut self, Moved { id, what }: Moved, now: Timestamp) -> Result<()> {
        let corrupt = || Error::new(ErrorKind::Corrupt, "a moved item does not decode");
        let event = match what {
            What::Schedule(MovedSchedule { id, look_at, record, template }) => {
                let record = ScheduleRecord::unpack(&record).ok_or_else(corrupt)?;
                // A schedule whose last change was by a clock that was far ahead is checked again.
                let look_at = if record.is_ahead(now) { look_at.min(now) } else { look_at };
                let look_at = Some(look_at).filter(|look_at| *look_at > 0);
                self.set_schedule(&id, Some((record, look_at)));
                self.set_template(&id, Some(Template::unpack(&template).ok_or_else(corrupt)?));
                return Ok(());
            }
            What::Name(name, until) => {
                self.set_name(&name, Some(NameEntry { id, until: Some(until) }));
                return Ok(());
            }
            What::Event(event) => event,
        };
        let (head, short) = Head::split(&event.head).ok_or_else(corrupt)?;
        let phase = match event.state {
            EventState::Leased => Phase::Leased(event.state_at),
            EventState::Retry => Phase::Retry(event.state_at),
            EventState::Dead => Phase::Dead(event.state_at),
            EventState::Done => Phase::Done(event.state_at),
            _ => Phase::Scheduled(head.fire_at_us),
        };
        let body = if head.is(flag::LONG) { &*event.body } else { short };
        if let Some(until) = event.named_until {
            let until = Some(until).filter(|until| *until > 0);
            self.set_name(&head.name(), Some(NameEntry { id, until }));
        }
        self.add(id, head, body.into(), phase);
        if !event.record.is_empty() {
            self.set_delivery(id, Delivery::unpack(&event.record).ok_or_else(corrupt)?);
        }
        Ok(())
    }
}
