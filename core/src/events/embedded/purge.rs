//! How the events of a state are removed.

use super::{State, Step};
use crate::error::Result;
use crate::events::id::EventId;
use crate::events::limits::STEP_EVENTS_MAX;
use crate::events::list::EventPosition;
use crate::events::partition::Partition;
use crate::events::purge::{PurgeRange, Purged};
use crate::events::state::EventState;
use crate::events::walk::Span;
use crate::step::StepContext;
impl State {
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
}

impl Step<'_> {
    /// Removes an event. The next event of its lane is ready later than all events that the same call removes.
    pub(super) fn purge(&mut self, id: EventId) {
        let head = self.contents.events[&id].head.clone();
        self.contents.remove(id);
        self.free_name(id, &head);
        self.free_lane_at(&head, self.now + 1);
    }
}
