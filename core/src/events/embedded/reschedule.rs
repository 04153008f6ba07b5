//! How events are rescheduled.

use super::contents::Phase;
use super::{State, Step};
use crate::error::Result;
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::events::reschedule::Rescheduled;
use crate::step::{StepContext, Timestamp, When};
impl State {
    pub(in crate::events) fn reschedule(
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
    pub(super) fn reschedule(&mut self, id: EventId, fire_at_us: Timestamp) -> Rescheduled {
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
}
