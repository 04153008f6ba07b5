//! Fetch: read events by their ids.

use super::event::Event;
use super::id::EventId;
use super::partition::Partition;
use super::state::EventState;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, head};

/// Reads events by their ids.
#[derive(Clone, Debug)]
pub struct Fetch {
    partition: Partition,
    pub(super) ids: Vec<EventId>,
}

impl Fetch {
    /// Reads these events of this partition, of any generation.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no ids or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX).
    pub fn new(partition: Partition, ids: Vec<EventId>) -> Result<Self> {
        limits::step(ids.len())?;
        Ok(Self { partition, ids })
    }
}

impl Operation for Fetch {
    head!(
        "events.fetch",
        embedded::State,
        partition,
        ["../step/commands.lua", "partition.lua", "look.lua", "records.lua", "fetch.lua"]
    );
    /// The events of the first ids, `None` for one that does not exist: all of them, or up to the one with which long
    /// bodies exceed [`STEP_BYTES_MAX`](super::STEP_BYTES_MAX).
    type Output = Vec<Option<Event>>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Option<Event>>> {
        let events = reply.list()?.all(self.ids.len(), |replies| {
            let number = replies.next()?.count(EventState::ALL.len())? as usize;
            let Some(state) = number.checked_sub(1).map(|at| EventState::ALL[at]) else {
                return Ok(None);
            };
            let since = replies.next()?.number()?;
            Event::decode(replies, (state, since)).map(Some)
        })?;
        if events.is_empty() { Err(malformed()) } else { Ok(events) }
    }

    fn apply(self, state: &embedded::State, _: &mut StepContext<'_>) -> Result<Vec<Option<Event>>> {
        state.fetch(&self.ids)
    }
}
