//! The cancelled events that are remembered, for ten minutes, as in `cancelled.lua`.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::PERIOD;
use crate::events::id::EventId;
use crate::events::limits::CANCELLED_MAX;
use crate::step::Timestamp;

#[derive(Default)]
pub(super) struct Cancelled {
    /// When an event was cancelled, and whether its delivery was removed.
    by_id: HashMap<EventId, (Timestamp, bool)>,
    /// In the order of their cancellation.
    order: VecDeque<EventId>,
}

impl Cancelled {
    /// Remembers an event, and forgets those whose time is over; returns whether there was room for it.
    pub(super) fn add(&mut self, id: EventId, at: Timestamp, is_taken: bool) -> bool {
        while let Some(first) = self.order.front()
            && self.by_id.get(first).is_none_or(|(since, _)| *since + PERIOD <= at)
        {
            self.by_id.remove(first);
            self.order.pop_front();
        }
        let has_room = self.order.len() < CANCELLED_MAX;
        if has_room && self.by_id.insert(id, (at, is_taken)).is_none() {
            self.order.push_back(id);
        }
        has_room
    }

    /// Whether the delivery of a cancelled event was removed; `None` if the event was not cancelled.
    pub(super) fn find(&self, id: EventId, now: Timestamp) -> Option<bool> {
        let (at, is_taken) = self.by_id.get(&id)?;
        (*at + PERIOD > now).then_some(*is_taken)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (EventId, Timestamp, bool)> {
        self.order.iter().filter_map(|id| self.by_id.get(id).map(|(at, taken)| (*id, *at, *taken)))
    }
}
