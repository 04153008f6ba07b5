//! Remove: remove a schedule.

use std::sync::Arc;

use super::put::is_done;
use super::record::check_id;
use crate::error::Result;
use crate::events::embedded;
use crate::events::op::Op;
use crate::events::partition::Partition;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Removes a schedule; its events stay.
#[derive(Clone, Debug)]
pub struct RemoveSchedule {
    partition: Partition,
    op: Op,
    id: Arc<str>,
    version: u64,
}

impl RemoveSchedule {
    /// Removes a schedule if it has this version, or any version for 0. Due ticks fire before.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn new(partition: Partition, op: Op, id: &str, version: u64) -> Result<Self> {
        check_id(id)?;
        Ok(Self { partition, op, id: id.into(), version })
    }
}

impl Operation for RemoveSchedule {
    head!(
        "events.remove_schedule",
        embedded::State,
        partition,
        [
            "../../step/commands.lua",
            "../partition.lua",
            "../records.lua",
            "../lanes.lua",
            "../names.lua",
            "../event_end.lua",
            "../withdraw.lua",
            "ticks.lua",
            "../commit.lua",
            "remove.lua"
        ]
    );
    /// Whether it existed.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push(self.id.as_bytes());
            args.push_number(self.version);
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        is_done(reply)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.remove_schedule(&self.partition, &self.id, self.version, context)
    }
}
