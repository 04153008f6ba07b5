//! Import: a batch of what another partition gives away.

use super::super::embedded;
use super::super::partition::Partition;
use super::export::Batch;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Adds a batch of what another partition gives away; or says that there is no more, after which the partition delivers
/// again.
#[derive(Clone, Debug)]
pub struct Import {
    partition: Partition,
    /// Its number is 0 if there is no more.
    pub(in crate::events) batch: Batch,
}

impl Import {
    pub(in crate::events) fn new(partition: Partition, batch: Batch) -> Self {
        Self { partition, batch }
    }

    /// Says that there is no more.
    pub(in crate::events) fn end(partition: Partition) -> Self {
        Self { partition, batch: Batch::default() }
    }
}

impl Operation for Import {
    head!(
        "events.import",
        embedded::State,
        partition,
        [
            "../../step/commands.lua",
            "../partition.lua",
            "../records.lua",
            "../lanes.lua",
            "../commit.lua",
            "import.lua"
        ]
    );
    /// Whether it was taken: a batch that comes again, or late, does nothing.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push_number(self.batch.number);
            self.batch.moved.iter().for_each(|moved| moved.push(args));
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.import(&self.partition, self.batch, context)
    }
}
