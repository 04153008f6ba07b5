//! How events are published.

use std::sync::Arc;

use super::contents::{NameEntry, Phase};
use super::{FORGOTTEN_MAX, SEQUENCE_BASE, SHORT_MAX, State, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::events::config::micros;
use crate::events::event::{Head, IfExists, NewEvent, flag};
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::events::publish::{self, Published, Status};
use crate::events::queue::taken_over;
use crate::events::receive::Receipt;
use crate::events::settle::{End, Settled, Settlement};
use crate::step::{Chance, StepContext, Timestamp};
/// The event that already has the name of a new one.
pub(super) struct Holder {
    id: EventId,
    /// Its phase; `None` if it has ended.
    phase: Option<Phase>,
}

impl State {
    pub(in crate::events) fn publish(
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
}

impl Step<'_> {
    pub(super) fn check_room(&self, more: usize) -> Result<()> {
        let (held, most) = (self.contents.events_left(), self.contents.root.config.events_max);
        match most > 0 && (held + more) as u64 > most {
            true => {
                let message = format!("the partition holds {held} events of at most {most}");
                Err(Error::new(ErrorKind::QueueFull, message))
            }
            false => Ok(()),
        }
    }

    /// Whether there is room for more names, after a step of `events` events has forgotten some.
    pub(super) fn check_names(&self, more: usize, events: usize) -> Result<()> {
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

    /// The event that has a name, or had it last; `done` ends in this step.
    pub(super) fn holder_of(&self, name: &[u8], done: Option<Receipt>) -> Option<Holder> {
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

    /// Adds an event in the phase that it belongs to.
    pub(super) fn add(
        &mut self,
        id: EventId,
        event: NewEvent,
        fire_at_us: Timestamp,
        is_overdue: bool,
    ) {
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

    /// The names whose time is over, as many as a step that adds `events` events forgets.
    pub(super) fn names_over(&self, events: usize) -> impl Iterator<Item = &Arc<[u8]>> {
        let over = self.contents.forget.iter().take_while(|(until, _)| *until <= self.now);
        over.take(FORGOTTEN_MAX.max(2 * events)).map(|(_, name)| name)
    }

    /// Forgets names whose time is over.
    pub(super) fn forget(&mut self, events: usize) {
        let names: Vec<_> = self.names_over(events).cloned().collect();
        for name in names {
            self.contents.set_name(&name, None);
        }
    }

    /// The time of the first event or tick that was not yet due at the last receive.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        let event = self.contents.scheduled.first().map(|(at, _)| *at);
        event.into_iter().chain(self.contents.ticks.first().map(|(at, _)| *at)).min()
    }
}
