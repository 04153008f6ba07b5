//! How events are cancelled.

use super::State;
use super::contents::Phase;
use crate::error::Result;
use crate::events::cancel::{Cancelled, Running};
use crate::events::id::EventId;
use crate::events::partition::Partition;
use crate::step::StepContext;
impl State {
    pub(in crate::events) fn cancel(
        &self,
        partition: &Partition,
        ids: &[EventId],
        running: Running,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Cancelled>> {
        let mut step = self.begin(partition, context)?;
        let cancelled = ids.iter().map(|id| {
            let Some(stored) = step.contents.open_event(*id) else {
                let was_cancelled = step.contents.cancelled.find(*id, step.now).is_some();
                return if was_cancelled { Cancelled::Removed } else { Cancelled::Gone };
            };
            let is_leased = matches!(stored.phase, Phase::Leased(_));
            if !is_leased || running == Running::Removed {
                step.withdraw(*id, is_leased);
                return Cancelled::Removed;
            }
            let mut delivery = stored.delivery.as_deref().cloned().unwrap_or_default();
            if running == Running::Stop && !delivery.is_cancelled {
                delivery.is_cancelled = true;
                step.contents.set_delivery(*id, delivery);
            }
            Cancelled::Running
        });
        let cancelled = cancelled.collect();
        step.finish(partition, None, None, context);
        Ok(cancelled)
    }
}
