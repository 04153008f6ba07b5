//! Schedules on the embedded engine: the twin of `schedule/*.lua`.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use super::contents::{Contents, Phase};
use super::journal::{Effect, ScheduleChange};
use super::{SEQUENCE_BASE, SHORT_MAX, State, Step};
use crate::error::Result;
use crate::events::event::{Head, flag};
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::events::schedule::{
    PutSchedule, ScheduleRecord, SchedulesRead, StoredSchedule, Template,
};
use crate::events::vslot::vslot_of;
use crate::events::{Published, Status};
use crate::step::{StepContext, Timestamp};

/// How many schedules a receive checks, and after how many events of ticks it checks no other one.
pub(super) const TICKS_MAX: usize = 100;

/// The schedules of a page.
pub(super) const SCHEDULES_A_PAGE: usize = 100;

/// In how many microseconds a schedule without further ticks is checked again, if no client adds more.
pub(super) const REFILL_AGAIN: u64 = 5_000_000;

/// A schedule needs more ticks if it has fewer than the first; or fewer than the second, if they do not reach as many
/// microseconds ahead as the third.
pub(super) const TICKS_LEFT_MIN: usize = 2;
pub(super) const TICKS_LEFT_ENOUGH: usize = 32;
pub(super) const REACH_MIN: u64 = 1_800_000_000;

/// The result of a receive for the ticks that were due.
pub(super) struct Ticked {
    /// The schedules that need more ticks.
    pub(super) refills: Vec<Arc<str>>,
    /// Up to when schedules were checked, if there may be more.
    pub(super) upto: Option<Timestamp>,
}

impl State {
    pub(in crate::events) fn put_schedule(
        &self,
        partition: &Partition,
        put: PutSchedule,
        context: &mut StepContext<'_>,
    ) -> Result<bool> {
        let mut step = self.begin(partition, context)?;
        let PutSchedule { id, version, mut record, template, .. } = put;
        let before = step.schedule(&id);
        if before.as_ref().map_or(0, |before| before.version) != version {
            return Ok(false);
        }
        record.version = step.next_version(version);
        (record.missed, record.passed_us, record.last) = (0, 0, EventId::MIN);
        (record.fired_from_us, record.fired_upto_us) = (0, 0);
        if let Some(mut before) = before {
            if template.is_some() {
                step.freed += step.fire(&id, &mut before, true).unwrap_or_default();
            }
            (record.missed, record.passed_us) = (before.missed, before.passed_us);
            record.last = before.last;
            (record.fired_from_us, record.fired_upto_us) =
                (before.fired_from_us, before.fired_upto_us);
            // There may be a gap before the next tick.
            let has_come = record.ticks.first().is_some_and(|tick| *tick <= step.now);
            if before.fired_upto_us == 0 && (template.is_some() || has_come) {
                record.fired_from_us = 0;
            }
            // A tick that has fired here does not fire again.
            record.ticks.retain(|tick| *tick > before.passed_us);
        }
        let first = record.ticks.first().copied();
        step.contents.set_schedule(&id, Some((record, first)));
        if let Some(template) = template {
            step.contents.set_template(&id, Some(template));
        }
        step.finish(partition, first, None, context);
        Ok(true)
    }

    pub(in crate::events) fn remove_schedule(
        &self,
        partition: &Partition,
        id: &Arc<str>,
        version: u64,
        context: &mut StepContext<'_>,
    ) -> Result<bool> {
        let mut step = self.begin(partition, context)?;
        let schedule = step.schedule(id);
        let is_meant = |schedule: &ScheduleRecord| version == 0 || schedule.version == version;
        let Some(mut schedule) = schedule.filter(is_meant) else { return Ok(false) };
        step.freed += step.fire(id, &mut schedule, true).unwrap_or_default();
        step.contents.set_schedule(id, None);
        step.contents.set_template(id, None);
        step.finish(partition, None, None, context);
        Ok(true)
    }

    pub(in crate::events) fn trigger(
        &self,
        partition: &Partition,
        id: &Arc<str>,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Published>> {
        let mut step = self.begin(partition, context)?;
        let Some(schedule) = step.schedule(id) else { return Ok(None) };
        let fire_at_us = step.now;
        let id = step.occur(id, &schedule, fire_at_us);
        step.freed = 1;
        step.finish(partition, None, None, context);
        Ok(Some(Published { id, status: Status::Created, fire_at_us }))
    }

    pub(in crate::events) fn schedules_of(
        &self,
        partition: &Partition,
        ids: &[Arc<str>],
        context: &StepContext<'_>,
    ) -> Result<SchedulesRead> {
        let step = self.begin(partition, context)?;
        let schedules = ids.iter().filter_map(|id| step.stored(id)).collect();
        Ok(SchedulesRead { now_us: step.now, schedules, next: None })
    }

    pub(in crate::events) fn schedules_after(
        &self,
        partition: &Partition,
        after: &[u8],
        context: &StepContext<'_>,
    ) -> Result<SchedulesRead> {
        let step = self.begin(partition, context)?;
        // Cursors are ids after an `=`; that of the first page is `0`.
        let after = after.strip_prefix(b"=").and_then(|after| std::str::from_utf8(after).ok());
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut ids = step.contents.schedules.range::<str, _>((from, Bound::Unbounded));
        let page: Vec<_> = ids.by_ref().take(SCHEDULES_A_PAGE).map(|(id, _)| id.clone()).collect();
        let next = ids.next().and(page.last()).map(|last| format!("={last}").into_bytes().into());
        let schedules = page.iter().filter_map(|id| step.stored(id)).collect();
        Ok(SchedulesRead { now_us: step.now, schedules, next })
    }
}

impl Step<'_> {
    /// Turns due ticks into events.
    pub(super) fn tick(&mut self) -> Ticked {
        let due = self.contents.ticks.iter().take_while(|(at, _)| *at <= self.now);
        let due: Vec<_> = due.take(TICKS_MAX).cloned().collect();
        let (mut refills, mut made) = (Vec::new(), 0);
        for (at, id) in &due {
            if made >= TICKS_MAX {
                return Ticked { refills, upto: Some(*at) };
            }
            let Some(mut schedule) = self.schedule(id) else { continue };
            let (again, first) = (self.now + REFILL_AGAIN, schedule.ticks.first().copied());
            let coming = first.filter(|first| *first > self.now);
            let fired = self.fire(id, &mut schedule, false);
            let (look_at, needs_ticks) = match (fired, coming) {
                (None, _) => (Some(again), true),
                // No tick is due yet, as they were computed by a clock that was ahead.
                (_, Some(first)) if schedule.is_ahead(self.now) => (Some(first.min(again)), true),
                _ => (schedule.ticks.first().copied(), self.is_running_out(&schedule)),
            };
            if needs_ticks {
                refills.push(id.clone());
            }
            self.contents.set_schedule(id, Some((schedule, look_at)));
            made += fired.unwrap_or_default();
        }
        let last = due.last().filter(|_| due.len() == TICKS_MAX);
        Ticked { refills, upto: last.map(|(at, _)| *at) }
    }

    /// The current state of a schedule, if it exists.
    fn schedule(&self, id: &str) -> Option<ScheduleRecord> {
        Some(self.contents.schedules.get(id)?.clone().at(self.now))
    }

    fn stored(&self, id: &Arc<str>) -> Option<StoredSchedule> {
        let template = self.contents.templates.get(id).cloned().unwrap_or_default();
        Some(StoredSchedule { id: id.clone(), record: self.schedule(id)?, template })
    }

    fn next_version(&self, before: u64) -> u64 {
        (before + 1).max(self.now)
    }

    /// Turns the due ticks of a schedule into events, and removes them from it; returns how many events. If all ticks
    /// are due, it makes none and returns `None`, unless no others follow or `is_whole`: a later tick, which would
    /// replace them, may be due too. An event that they replace is removed in any case.
    fn fire(
        &mut self,
        id: &Arc<str>,
        schedule: &mut ScheduleRecord,
        is_whole: bool,
    ) -> Option<usize> {
        let due = schedule.ticks.iter().take_while(|tick| **tick <= self.now).count();
        if due == 0 {
            return Some(0);
        }
        if schedule.is_latest && self.replace(schedule.last) {
            schedule.missed += 1;
        }
        if due == schedule.ticks.len() && !is_whole && !schedule.ends {
            return None;
        }
        let (first, mut made) = (if schedule.is_latest { due - 1 } else { 0 }, 0);
        if schedule.is_latest {
            schedule.missed += first as u64;
        }
        let passed: Vec<_> = schedule.ticks.drain(..due).collect();
        let goes_on = schedule.fired_upto_us == 0 && first == 0;
        let mut fired_from_us = if goes_on { schedule.fired_from_us } else { 0 };
        for at in passed[first..].iter().copied() {
            if schedule.ttl_us > 0 && at + schedule.ttl_us <= self.now {
                schedule.missed += 1;
                fired_from_us = 0;
            } else {
                schedule.last = self.occur(id, schedule, at);
                made += 1;
                fired_from_us = if fired_from_us == 0 { at } else { fired_from_us };
            }
        }
        schedule.passed_us = passed[due - 1];
        if schedule.passed_us > schedule.fired_upto_us {
            (schedule.fired_from_us, schedule.fired_upto_us) = (fired_from_us, 0);
        }
        schedule.version = self.next_version(schedule.version);
        Some(made)
    }

    /// Adds an event of a schedule, which a receive makes ready in its order.
    fn occur(&mut self, id: &Arc<str>, schedule: &ScheduleRecord, at: Timestamp) -> EventId {
        let body = self.contents.templates[id].body.clone();
        let root = &self.contents.root;
        let sequence = (root.sequence + 1).max(self.now.saturating_sub(SEQUENCE_BASE) / 16);
        let event = EventId::new(root.generation, sequence, vslot_of(id.as_bytes()));
        let keyed = if schedule.is_in_order { flag::KEYED } else { 0 };
        let long = if body.len() > SHORT_MAX { flag::LONG } else { 0 };
        let head = Head {
            flags: keyed | long,
            fire_at_us: at,
            published_at_us: at,
            expires_at_us: if schedule.ttl_us > 0 { at + schedule.ttl_us } else { 0 },
            named_until: 0,
            key: if schedule.is_in_order { id.as_bytes().into() } else { Arc::default() },
            dedup_id: Arc::default(),
        };
        self.note(sequence);
        self.contents.add(event, head, body, Phase::Scheduled(at));
        event
    }

    /// Removes an event of a schedule if no consumer has received it; returns whether it did.
    fn replace(&mut self, event: EventId) -> bool {
        let stored = self.contents.events.get(&event);
        let is_waiting = stored.is_some_and(|stored| stored.delivery.is_none());
        if is_waiting {
            self.remove(event);
        }
        is_waiting
    }

    /// Whether a client has to compute more ticks.
    fn is_running_out(&self, schedule: &ScheduleRecord) -> bool {
        let left = schedule.ticks.len();
        let reach = schedule.ticks.last().copied().unwrap_or_default();
        let is_short = left < TICKS_LEFT_ENOUGH && reach < self.now + REACH_MIN;
        !schedule.ends && (left < TICKS_LEFT_MIN || is_short)
    }
}

impl Contents {
    /// Changes a schedule and when it is checked, or removes it.
    pub(super) fn set_schedule(
        &mut self,
        id: &Arc<str>,
        schedule: Option<(ScheduleRecord, Option<Timestamp>)>,
    ) {
        let noted = schedule.as_ref().map(|(record, look_at)| (Cow::Borrowed(record), *look_at));
        self.changes.note(Effect::Schedule { schedule: ScheduleChange { id, schedule: noted } });
        if let Some(at) = self.looks.remove(id) {
            self.ticks.remove(&(at, id.clone()));
        }
        match schedule {
            Some((record, look_at)) => {
                if let Some(at) = look_at {
                    self.looks.insert(id.clone(), at);
                    self.ticks.insert((at, id.clone()));
                }
                self.schedules.insert(id.clone(), record);
            }
            None => _ = self.schedules.remove(id),
        }
    }

    pub(super) fn set_template(&mut self, id: &Arc<str>, template: Option<Template>) {
        let noted = template.as_ref().map(Cow::Borrowed);
        self.changes.note(Effect::Template { id, template: noted });
        match template {
            Some(template) => _ = self.templates.insert(id.clone(), template),
            None => _ = self.templates.remove(id),
        }
    }
}
