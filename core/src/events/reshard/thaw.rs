//! Thaw: a partition has given its part away.

use super::super::embedded;
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Lets a partition deliver again after it has given its part away.
#[derive(Clone, Debug)]
pub struct Thaw {
    partition: Partition,
    /// Whether the partition owns nothing any more.
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
    /// Whether this step, and not an earlier one, made the change.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            // A partition that owns nothing any more remembers for a time which calls it has done, as they may be sent
            // again.
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
