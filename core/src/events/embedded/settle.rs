//! How deliveries end.

use super::contents::Phase;
use super::{State, Step};
use crate::error::Result;
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::events::receive::Receipt;
use crate::events::settle::{End, Settled, Settlement};
use crate::events::state::{Attempts, DeadReason, Delivery};
use crate::step::{Chance, StepContext, Timestamp};
impl State {
    pub(in crate::events) fn settle(
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
}

impl Step<'_> {
    pub(super) fn settle(
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
            // The same end, sent again; or the event has already failed because its lease expired.
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

    /// The event is done: it is removed, or kept for as long as the configuration says.
    pub(super) fn complete(&mut self, id: EventId, delivery: Delivery) {
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
}
