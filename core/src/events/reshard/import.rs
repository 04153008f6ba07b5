//! Import: a batch of a part that another partition gives away.

use super::super::embedded;
use super::super::partition::Partition;
use super::export::Batch;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Adds a batch of the part that another partition gives away; or reports that there is no more, after which the
/// partition delivers again.
#[derive(Clone, Debug)]
pub struct Import {
    partition: Partition,
    pub(in crate::events) batch: Batch,
}

/// The batches that a partition has of a part that another one gives away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Whether it took the batch: one that arrives again, or late, does nothing.
    pub(in crate::events) is_new: bool,
    /// The number of the last batch that it has.
    pub(in crate::events) taken: u64,
}

impl Import {
    pub(in crate::events) fn new(partition: Partition, batch: Batch) -> Self {
        Self { partition, batch }
    }

    /// Reports the total number of batches; 0 if it is not known.
    pub(in crate::events) fn end(partition: Partition, number: u64) -> Self {
        Self { partition, batch: Batch { number, is_over: true, moved: Vec::new() } }
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
    type Output = Imported;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            if self.batch.is_over {
                args.push_number(0);
            }
            args.push_number(self.batch.number);
            self.batch.moved.iter().for_each(|moved| moved.push(args));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Imported> {
        let mut replies = reply.list()?;
        let is_new = replies.next()?.flag()?;
        let taken = replies.next()?.number()?;
        replies.end()?;
        Ok(Imported { is_new, taken })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Imported> {
        state.import(&self.partition, self.batch, context)
    }
}
