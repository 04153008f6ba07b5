//! Redrive: turn dead letters into events again, which wait for their first delivery.

use super::cancel::results;
use super::id::EventId;
use super::op::Op;
use super::partition::Partition;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Turns dead letters into events again, by their ids.
#[derive(Clone, Debug)]
pub struct Redrive {
    partition: Partition,
    op: Op,
    pub(super) ids: Vec<EventId>,
}

/// The result of redriving a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Redriven {
    /// It does not exist: it has ended, or never existed.
    Gone,
    /// It is ready, or waits behind the other events of its key.
    Redriven,
    /// It is not a dead letter, and stays as it is.
    NotDead,
}

impl Redriven {
    /// Its name in every language, such as `redriven`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Redriven => "redriven",
            Self::NotDead => "not_dead",
        }
    }
}

impl Redrive {
    /// Redrives these events.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no events or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for an event that
    /// is listed twice.
    pub fn new(partition: Partition, op: Op, ids: Vec<EventId>) -> Result<Self> {
        limits::step(ids.len())?;
        limits::distinct(&ids)?;
        Ok(Self { partition, op, ids })
    }
}

impl Operation for Redrive {
    head!(
        "events.redrive",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "redrive_event.lua",
            "commit.lua",
            "redrive.lua"
        ]
    );
    type Output = Vec<Redriven>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Redriven>> {
        let all = [Redriven::Gone, Redriven::Redriven, Redriven::NotDead];
        results(reply.list()?, self.ids.len(), &all)
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Redriven>> {
        state.redrive(&self.partition, &self.ids, context)
    }
}
