//! Reschedule: set another time for events that wait for their time or their retry.

use super::cancel::results;
use super::id::EventId;
use super::partition::Partition;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, When, head};

/// Reschedules events that are not due yet, or wait for their retry.
#[derive(Clone, Debug)]
pub struct Reschedule {
    partition: Partition,
    pub(super) ids: Vec<EventId>,
    pub(super) at: When,
}

/// The result of rescheduling an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rescheduled {
    /// It does not exist: it has ended, or never existed.
    Gone,
    /// It fires, or is retried, at the new time.
    Rescheduled,
    /// Its time had come: it is ready, leased or a dead letter, or waits behind another event of its key.
    TooLate,
}

impl Rescheduled {
    /// Its name in every language, such as `rescheduled`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Rescheduled => "rescheduled",
            Self::TooLate => "too_late",
        }
    }
}

impl Reschedule {
    /// Reschedules these events to this time.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no events or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for a time that
    /// is too late.
    pub fn new(partition: Partition, ids: Vec<EventId>, at: When) -> Result<Self> {
        limits::step(ids.len())?;
        limits::when(at)?;
        Ok(Self { partition, ids, at })
    }
}

impl Operation for Reschedule {
    head!(
        "events.reschedule",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "commit.lua",
            "reschedule.lua"
        ]
    );
    type Output = Vec<Rescheduled>;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.at.push_micros(args);
            self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Rescheduled>> {
        let all = [Rescheduled::Gone, Rescheduled::Rescheduled, Rescheduled::TooLate];
        results(reply.list()?, self.ids.len(), &all)
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Rescheduled>> {
        state.reschedule(&self.partition, &self.ids, self.at, context)
    }
}
