//! The events of a state by time, and those that a step of a call on all partitions processes.

use std::ops::Bound;

use super::Step;
use super::contents::{Contents, Order, Stored};
use crate::error::Result;
use crate::events::event::{Event, flag};
use crate::events::id::EventId;
use crate::events::list::EventPosition;
use crate::events::map::contains;
use crate::events::state::EventState;
use crate::events::walk::Span;
use crate::step::Timestamp;
use crate::step::reply::Refusal;
impl Step<'_> {
    /// Refuses a partition that is giving a part away, or getting one.
    pub(super) fn check_complete(&self) -> Result<()> {
        match self.contents.transfer {
            Some(_) => Err(Refusal::Moving.error("a part of the key space is on its way")),
            None => Ok(()),
        }
    }

    /// The events among the next `most` that a step processes, and the last one examined if there are more; as in
    /// `span.lua`.
    pub(super) fn chosen(
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
}

impl Contents {
    /// The events of a state by time; `None` for those that are behind another one.
    pub(super) fn in_state(&self, state: EventState) -> Option<&Order> {
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

    /// An event; adds the size of its body to `bytes` if it is long.
    pub(super) fn event(&self, id: EventId, stored: &Stored, bytes: &mut usize) -> Result<Event> {
        *bytes += if stored.head.is(flag::LONG) { stored.body.len() } else { 0 };
        let delivery = stored.delivery.as_deref().cloned().unwrap_or_default();
        stored.head.event(id, &stored.body, &delivery, stored.phase.place())
    }
}

/// The events of an order after one position and up to another one.
pub(super) fn between(
    order: &Order,
    after: Option<EventPosition>,
    upto: Option<EventPosition>,
) -> impl Iterator<Item = (Timestamp, EventId)> {
    let pair = |position: EventPosition| (position.state_at_us, position.id);
    let from = after.map_or(Bound::Unbounded, |after| Bound::Excluded(pair(after)));
    // A range whose end is before its start is empty.
    let is_empty = after.zip(upto).is_some_and(|(after, upto)| upto <= after);
    let to = upto.filter(|_| !is_empty);
    let to = to.map_or(Bound::Unbounded, |upto| Bound::Included(pair(upto)));
    order.range((from, to)).take(if is_empty { 0 } else { usize::MAX }).copied()
}
