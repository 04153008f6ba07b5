//! How events move: between states, to the head of their lane, and out of the partition.

use super::contents::{NameEntry, Order, Phase};
use super::{DONE_MAX, Step};
use crate::events::config::micros;
use crate::events::event::{Head, flag};
use crate::events::id::EventId;
use crate::events::state::{DeadReason, Delivery};
use crate::step::{Chance, Timestamp};
impl Step<'_> {
    /// The phase of an event that became due at this time.
    pub(super) fn due(&mut self, head: &Head, rank: Timestamp) -> Phase {
        let has_head = |key| self.contents.lanes.get(key).is_some_and(|lane| lane.head.is_some());
        match head.is(flag::KEYED) && has_head(&head.key) {
            true => Phase::Behind,
            false => {
                self.freed += 1;
                Phase::Ready(rank)
            }
        }
    }

    pub(super) fn make_ready(&mut self, id: EventId, rank: Timestamp) {
        self.contents.put(id, Phase::Ready(rank));
        self.freed += 1;
    }

    /// Makes the next event of a lane ready after its head has left.
    pub(super) fn free_lane(&mut self, head: &Head) -> Option<EventId> {
        self.free_lane_at(head, self.now)
    }

    pub(super) fn free_lane_at(&mut self, head: &Head, rank: Timestamp) -> Option<EventId> {
        let lane = self.contents.lanes.get(&head.key)?;
        let next = lane.behind.front().copied().filter(|_| lane.head.is_none())?;
        self.make_ready(next, rank);
        Some(next)
    }

    /// Frees the name of an event that has ended, or remembers it until the end of its window.
    pub(super) fn free_name(&mut self, id: EventId, head: &Head) {
        if !head.is(flag::NAMED) {
            return;
        }
        let name = head.name();
        if self.contents.names.get(&*name).is_some_and(|named| named.id == id) {
            let until = Some(head.named_until).filter(|until| *until > self.now);
            self.contents.set_name(&name, until.map(|until| NameEntry { id, until: Some(until) }));
        }
    }

    /// Removes an event in any state; returns the next one of its key, if that becomes ready.
    pub(super) fn remove(&mut self, id: EventId) -> Option<EventId> {
        let head = self.contents.events.get(&id)?.head.clone();
        self.contents.remove(id);
        self.free_name(id, &head);
        self.free_lane(&head)
    }

    /// Removes a cancelled event: its name is free immediately, regardless of its window. Remembers whether its
    /// delivery was removed.
    pub(super) fn withdraw(&mut self, id: EventId, is_taken: bool) {
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

    /// Removes events whose retention is over: at most `DONE_MAX`, or twice as many as the step adds.
    pub(super) fn expire_done(&mut self) {
        let until = self.now.saturating_sub(micros(self.contents.root.config.retention));
        for (_, id) in due_of(&self.contents.done, until, DONE_MAX.max(2 * self.kept)) {
            self.remove(id);
        }
    }

    pub(super) fn bury(&mut self, id: EventId, mut delivery: Delivery, reason: DeadReason) {
        (delivery.is_cancelled, delivery.reason) = (false, Some(reason));
        let head = self.contents.events[&id].head.clone();
        self.contents.set_delivery(id, delivery);
        self.contents.put(id, Phase::Dead(self.now));
        self.free_name(id, &head);
        self.free_lane(&head);
    }

    pub(super) fn delivery_of(&self, id: EventId) -> Delivery {
        self.contents.events[&id].delivery.as_deref().cloned().unwrap_or_default()
    }

    /// After how many microseconds an event with this many deliveries is retried.
    pub(super) fn backoff(&self, attempts: u16, chance: &mut Chance) -> u64 {
        let config = &self.contents.root.config;
        let most = micros(config.backoff_max) as f64;
        let doubled = micros(config.backoff_min) as f64
            * 2_f64.powi(i32::from(attempts).saturating_sub(1).min(60));
        (most.min(doubled) * chance.draw() as f64 / Chance::MODULUS as f64).floor() as u64
    }
}

/// The first events of an order whose time has come.
pub(super) fn due_of(order: &Order, now: Timestamp, most: usize) -> Vec<(Timestamp, EventId)> {
    order.iter().take_while(|(at, _)| *at <= now).take(most).copied().collect()
}
