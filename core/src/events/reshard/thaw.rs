//! Thaw: a partition has given away all that it was to give.

use std::time::Duration;

use super::super::embedded;
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// For how long a partition without a part of the key space knows which calls it has done: they may be sent again.
const KEPT: Duration = Duration::from_secs(10 * 60);

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
            args.push_number(if self.is_last { KEPT.as_millis() as u64 } else { 0 });
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.thaw(&self.partition, self.is_last, context)
    }
}
