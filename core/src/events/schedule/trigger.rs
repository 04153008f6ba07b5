//! Trigger: publish an event of a schedule now.

use std::sync::Arc;

use super::record::check_id;
use crate::error::Result;
use crate::events::embedded;
use crate::events::id::EventId;
use crate::events::op::Op;
use crate::events::partition::Partition;
use crate::events::{Published, Status};
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, head};

/// Publishes an event of a schedule, which fires now; its ticks stay as they are.
#[derive(Clone, Debug)]
pub struct Trigger {
    partition: Partition,
    op: Op,
    id: Arc<str>,
}

impl Trigger {
    /// Fires this schedule.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an id that is empty or too long.
    pub fn new(partition: Partition, op: Op, id: &str) -> Result<Self> {
        check_id(id)?;
        Ok(Self { partition, op, id: id.into() })
    }
}

impl Operation for Trigger {
    head!(
        "events.trigger",
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
            "trigger.lua"
        ]
    );
    /// The event; `None` if there is no such schedule.
    type Output = Option<Published>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push(self.id.as_bytes());
        })
    }

    fn decode(&self, reply: Reply) -> Result<Option<Published>> {
        let mut replies = reply.list()?;
        if replies.is_empty() {
            return Ok(None);
        }
        let id = EventId::of_bytes(&replies.next()?.bytes()?).ok_or_else(malformed)?;
        let fire_at_us = replies.next()?.number()?;
        replies.end()?;
        Ok(Some(Published { id, status: Status::Created, fire_at_us }))
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Published>> {
        state.trigger(&self.partition, &self.id, context)
    }
}
