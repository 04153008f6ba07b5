//! What those do who look after a queue: read its events, redrive dead letters, purge, delete.

use std::ops::Bound;

use super::contents::{Order, Phase, Root};
use super::journal::Changes;
use super::{State, Step};
use crate::error::Result;
use crate::events::delete::{Delete, Deleted};
use crate::events::event::{Event, flag};
use crate::events::id::EventId;
use crate::events::limits::{STEP_BYTES_MAX, STEP_EVENTS_MAX};
use crate::events::list::{EventPage, EventPosition, Listing};
use crate::events::map::{contains, last_generation};
use crate::events::partition::Partition;
use crate::events::purge::{PurgeRange, Purged};
use crate::events::redrive::Redriven;
use crate::events::redrive_all::{RedriveRange, RedrivenAll};
use crate::events::state::{Attempts, EventState};
use crate::events::walk::Span;
use crate::step::reply::Refusal;
use crate::step::{StepContext, Timestamp};

/// Among how many dead letters a step looks for those that fit.
pub(super) const LOOKED_MAX: usize = 1_000;

impl State {
    pub(in crate::events) fn fetch(&self, ids: &[EventId]) -> Result<Vec<Option<Event>>> {
        let contents = self.lock();
        let (mut events, mut bytes) = (Vec::with_capacity(ids.len()), 0);
        for id in ids {
            if bytes > STEP_BYTES_MAX {
                break;
            }
            events.push(match contents.events.get(id) {
                Some(stored) => Some(contents.event(*id, stored, &mut bytes)?),
                None => None,
            });
        }
        Ok(events)
    }

    pub(in crate::events) fn list(
        &self,
        partition: &Partition,
        listing: &Listing,
    ) -> Result<EventPage> {
        let contents = self.look(partition)?;
        let Listing { state, key, limit, after, upto } = listing;
        let ids: Vec<EventId> = match contents.in_state(*state) {
            Some(order) => {
                between(order, *after, *upto).take(limit + 1).map(|(_, id)| id).collect()
            }
            None => {
                let lane = contents.lanes.get(key).map(|lane| &lane.behind);
                let at = |position: &EventPosition| {
                    lane?.iter().position(|id| *id == position.id).map(|at| at + 1)
                };
                let first = after.as_ref().and_then(at).unwrap_or(0);
                lane.into_iter().flatten().skip(first).take(limit + 1).copied().collect()
            }
        };
        let (mut page, mut bytes) = (EventPage::default(), 0);
        for id in ids {
            if page.events.len() == *limit || bytes > STEP_BYTES_MAX {
                page.next = page.events.last().map(EventPosition::from);
                break;
            }
            page.events.push(contents.event(id, &contents.events[&id], &mut bytes)?);
        }
        Ok(page)
    }

    pub(in crate::events) fn redrive(
        &self,
        partition: &Partition,
        ids: &[EventId],
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Redriven>> {
        let mut step = self.begin(partition, context)?;
        let redriven = ids.iter().map(|id| match step.contents.open_event(*id) {
            None => Redriven::Gone,
            Some(stored) if !matches!(stored.phase, Phase::Dead(_)) => Redriven::NotDead,
            Some(_) => {
                step.redrive(*id, step.now);
                Redriven::Redriven
            }
        });
        let redriven = redriven.collect();
        step.finish(partition, None, None, context);
        Ok(redriven)
    }

    pub(in crate::events) fn redrive_all(
        &self,
        partition: &Partition,
        range: RedriveRange,
        max: usize,
        context: &mut StepContext<'_>,
    ) -> Result<RedrivenAll> {
        let mut step = self.begin(partition, context)?;
        step.check_complete()?;
        let begun = range.span.begun.unwrap_or(step.now);
        let (chosen, mut left) = step.chosen(&step.contents.dead, &range.span, true, LOOKED_MAX);
        let next_at = step.contents.scheduled.first().map(|(at, _)| *at);
        let (mut redriven, mut alarm, mut turns) = (0, None, range.turns);
        for (number, position) in chosen.iter().enumerate() {
            if redriven == max as u64 {
                left = Some(chosen[number - 1]);
                break;
            }
            let id = position.id;
            let reason = step.delivery_of(id).reason;
            if range.reason.is_none() || range.reason == reason {
                let fire_at_us = step.now + turns.take();
                step.redrive(id, fire_at_us);
                if fire_at_us > step.now {
                    alarm.get_or_insert(fire_at_us);
                }
                redriven += 1;
            }
        }
        let alarm = alarm.filter(|alarm| next_at.is_none_or(|next_at| *alarm < next_at));
        step.finish(partition, alarm, None, context);
        let left = left.map(|after| {
            let span = Span { begun: Some(begun), after: Some(after), ..range.span };
            RedriveRange { span, turns, ..range }
        });
        Ok(RedrivenAll { redriven, left })
    }

    pub(in crate::events) fn purge(
        &self,
        partition: &Partition,
        range: PurgeRange,
        context: &mut StepContext<'_>,
    ) -> Result<Purged> {
        let mut step = self.begin(partition, context)?;
        step.check_complete()?;
        let begun = range.span.begun.unwrap_or(step.now);
        let is_past =
            matches!(range.state, EventState::Ready | EventState::Dead | EventState::Done);
        let (ids, left): (Vec<EventId>, _) = match step.contents.in_state(range.state) {
            Some(order) => {
                let (chosen, left) = step.chosen(order, &range.span, is_past, STEP_EVENTS_MAX);
                (chosen.into_iter().map(|position| position.id).collect(), left)
            }
            None => {
                let lane = step.contents.lanes.get(&range.key).map(|lane| &lane.behind);
                let first = lane.into_iter().flatten().take(STEP_EVENTS_MAX);
                let ids: Vec<_> = first.copied().collect();
                let last = ids.get(STEP_EVENTS_MAX - 1);
                let left = last.map(|id| EventPosition { state_at_us: 0, id: *id });
                (ids, left)
            }
        };
        for id in &ids {
            step.purge(*id);
        }
        step.finish(partition, None, None, context);
        let left = left.map(|after| {
            let span = Span { begun: Some(begun), after: Some(after), ..range.span };
            PurgeRange { span, ..range }
        });
        Ok(Purged { removed: ids.len() as u64, left })
    }

    /// Removes a partition, at once but for the map of its queue if this is only to `begin` with it.
    pub(in crate::events) fn delete(
        &self,
        step: &Delete,
        context: &mut StepContext<'_>,
    ) -> Option<Deleted> {
        let mut contents = self.lock();
        let Root { generation, map, .. } = contents.root.clone();
        let is_any = contents.root.is_there() && !step.is_begun || contents.root.is_gone();
        let begin = step.is_begin();
        if !is_any || generation > step.partition.generation {
            return None;
        }
        contents.changes = Changes::of(context);
        let cleared = contents.clear();
        let last = generation.max(last_generation(&map));
        let is_own_second = u64::from(last) >= context.now() / 1_000_000;
        contents.set_root(match begin {
            true => Root { generation, map: map.clone(), ..Root::default() },
            // The next queue of this name has a later generation than any partition of this one, also in the second in
            // which it was made, or soon after that.
            false if is_own_second && !map.is_empty() => {
                Root { generation: last, ..Root::default() }
            }
            false => Root::default(),
        });
        std::mem::take(&mut contents.changes).record(context);
        context.mark_evictable();
        drop(contents);
        drop(cleared);
        let cursor = begin.then(|| b"0".as_slice().into());
        Some(Deleted { generation, map, cursor })
    }
}

impl Step<'_> {
    /// Refuses a partition from which a part is on its way, or to which.
    fn check_complete(&self) -> Result<()> {
        match self.contents.transfer {
            Some(_) => Err(Refusal::Moving.error("a part of the key space is on its way")),
            None => Ok(()),
        }
    }

    /// Of the next `most` events those that a step of a call works on, and the last one that was looked at if there are
    /// more; as in `span.lua`.
    fn chosen(
        &self,
        order: &Order,
        span: &Span,
        is_past: bool,
        most: usize,
    ) -> (Vec<EventPosition>, Option<EventPosition>) {
        let upto = EventPosition::before(span.until.saturating_add(1));
        let begun = span.begun.unwrap_or(self.now);
        let position = |(state_at_us, id)| EventPosition { state_at_us, id };
        let mut looked: Vec<_> =
            between(order, span.after, upto).take(most + 1).map(position).collect();
        let is_more = looked.len() > most;
        looked.truncate(most);
        let last = looked.last().copied().filter(|_| is_more);
        looked.retain(|EventPosition { state_at_us: at, id }| {
            let is_later = is_past && begun < *at && *at <= self.now + 1;
            !is_later && (span.ranges.is_empty() || contains(&span.ranges, id.vslot()))
        });
        (looked, last)
    }

    /// A dead letter is an event again that waits for its first delivery, now or until a time to come: behind the others
    /// of its key, as its order is over, without its name, and for ever, as it has been received in time.
    fn redrive(&mut self, id: EventId, fire_at_us: Timestamp) {
        let head = self.contents.events[&id].head.clone();
        let mut delivery = self.delivery_of(id);
        let redriven = delivery.counts.redriven.saturating_add(1);
        delivery.counts = Attempts { redriven, ..Attempts::default() };
        // No late end of an earlier delivery counts.
        (delivery.is_settled, delivery.reason) = (true, None);
        (delivery.is_cancelled, delivery.has_run_out) = (false, false);
        self.contents.set_delivery(id, delivery);
        let waits = fire_at_us > self.now;
        let fire_at_us = if waits { fire_at_us } else { head.fire_at_us };
        if head.expires_at_us > 0 || waits {
            self.contents.set_times(id, fire_at_us, 0);
        }
        // Events of its key may be on their way that come before it.
        let phase = match self.contents.transfer.is_some() || waits {
            true => Phase::Scheduled(fire_at_us),
            false => self.due(&head, self.now),
        };
        self.contents.put(id, phase);
    }

    /// Removes an event. What comes next in its lane is ready later than all that the same call removes.
    fn purge(&mut self, id: EventId) {
        let head = self.contents.events[&id].head.clone();
        self.contents.remove(id);
        self.free_name(id, &head);
        self.free_lane_at(&head, self.now + 1);
    }
}

impl super::Contents {
    /// The events of a state by time; nothing for those that are behind another one.
    fn in_state(&self, state: EventState) -> Option<&Order> {
        Some(match state {
            EventState::Scheduled => &self.scheduled,
            EventState::Behind => return None,
            EventState::Ready => &self.ready,
            EventState::Leased => &self.leased,
            EventState::Retry => &self.retry,
            EventState::Dead => &self.dead,
            EventState::Done => &self.done,
        })
    }

    /// An event, whose body is added to the bytes if it is long.
    fn event(&self, id: EventId, stored: &super::Stored, bytes: &mut usize) -> Result<Event> {
        *bytes += if stored.head.is(flag::LONG) { stored.body.len() } else { 0 };
        let delivery = stored.delivery.as_deref().cloned().unwrap_or_default();
        stored.head.event(id, &stored.body, &delivery, stored.phase.place())
    }
}

/// The events of an order behind one position and up to another one.
fn between(
    order: &Order,
    after: Option<EventPosition>,
    upto: Option<EventPosition>,
) -> impl Iterator<Item = (Timestamp, EventId)> {
    let pair = |position: EventPosition| (position.state_at_us, position.id);
    let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(pair(after)));
    // A range whose end is before its start is none.
    let is_empty = after.zip(upto).is_some_and(|(after, upto)| upto <= after);
    let to = upto.filter(|_| !is_empty);
    let to = to.map_or(Bound::Unbounded, |upto| Bound::Included(pair(upto)));
    order.range((from, to)).take(if is_empty { 0 } else { usize::MAX }).copied()
}
