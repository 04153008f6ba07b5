//! How events are read by their ids.

use super::State;
use crate::error::Result;
use crate::events::event::Event;
use crate::events::id::EventId;
use crate::events::limits::STEP_BYTES_MAX;
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
}
