//! How the events of a state are listed.

use super::State;
use super::span::between;
use crate::error::Result;
use crate::events::id::EventId;
use crate::events::limits::STEP_BYTES_MAX;
use crate::events::list::{EventPage, EventPosition, Listing};
use crate::events::partition::Partition;
impl State {
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
}
