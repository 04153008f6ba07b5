//! Thaw: a partition has given away all that it was to give.

use super::super::embedded;
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Lets a partition deliver again once it has given away all that it had to give.
#[derive(Clone, Debug)]
pub struct Thaw {
    partition: Partition,
    /// Whether it owns nothing any more.
    pub(in crate::events) is_last: bool,
}

impl Thaw {
    pub(in crate::events) fn new(partition: Partition, is_last: bool) -> Self {
        Self { partition, is_last }
    }
}

impl Operation for Thaw {
    head!(
        "events.thaw",
        embedded::State,
        partition,
        ["../../step/commands.lua", "../partition.lua", "thaw.lua"]
    );
    /// Whether it thaws by this step, and not by one before.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            // One that owns nothing any more knows for a time which calls it has done, as they may be sent again.
            args.push_number(if self.is_last { embedded::PERIOD / 1_000 } else { 0 });
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.thaw(&self.partition, self.is_last, context)
    }
}
