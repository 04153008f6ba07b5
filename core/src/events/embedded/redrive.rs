//! How dead letters are redriven by their ids.

use super::contents::Phase;
use super::{State, Step};
use crate::error::Result;
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::events::redrive::Redriven;
use crate::events::state::Attempts;
use crate::step::{StepContext, Timestamp};
impl State {
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
}

impl Step<'_> {
    /// Turns a dead letter into an event that waits for its first delivery, now or at a later time. It comes behind the
    /// others of its key, as its old place is gone, without its name, and does not expire, as it has been received
    /// once.
    pub(super) fn redrive(&mut self, id: EventId, fire_at_us: Timestamp) {
        let head = self.contents.events[&id].head.clone();
        let mut delivery = self.delivery_of(id);
        let redriven = delivery.counts.redriven.saturating_add(1);
        delivery.counts = Attempts { redriven, ..Attempts::default() };
        // A late end of an earlier delivery does not count.
        (delivery.is_settled, delivery.reason) = (true, None);
        (delivery.is_cancelled, delivery.has_run_out) = (false, false);
        self.contents.set_delivery(id, delivery);
        let waits = fire_at_us > self.now;
        let fire_at_us = if waits { fire_at_us } else { head.fire_at_us };
        if head.expires_at_us > 0 || waits {
            self.contents.set_times(id, fire_at_us, 0);
        }
        // Events of its key that come before it may be in transit.
        let phase = match self.contents.transfer.is_some() || waits {
            true => Phase::Scheduled(fire_at_us),
            false => self.due(&head, self.now),
        };
        self.contents.put(id, phase);
    }
}
