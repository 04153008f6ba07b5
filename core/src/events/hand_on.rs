//! Hand on: pass on a notification about events for which no consumer in the notified process waits any more.

use std::sync::Arc;

use super::embedded;
use super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Notifies the next waiting process about the events that are ready.
#[derive(Clone, Debug)]
pub struct HandOn {
    partition: Partition,
    process: Arc<str>,
}

impl HandOn {
    /// Passes on the notification of a process, by its name, in which no consumer waits for events of this partition.
    pub fn new(partition: Partition, process: Arc<str>) -> Self {
        Self { partition, process }
    }
}

impl Operation for HandOn {
    head!(
        "events.hand_on",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "commit.lua",
            "alarm.lua",
            "hand_on.lua"
        ]
    );
    type Output = ();
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| args.push(self.process.as_bytes()))
    }

    fn decode(&self, reply: Reply) -> Result<()> {
        reply.number::<u64>().map(drop)
    }

    /// Does nothing: consumers of an embedded engine wait in its own process.
    fn apply(self, _: &embedded::State, _: &mut StepContext<'_>) -> Result<()> {
        Ok(())
    }
}
