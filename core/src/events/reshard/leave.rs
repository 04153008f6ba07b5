//! Leave: a partition gives a part of the key space away.

use super::super::embedded;
use super::super::map::{Range, text_of};
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// Gives away a part of the key space of a partition. The partition delivers nothing until all of that part has gone,
/// and its generation is that of the change.
#[derive(Clone, Debug)]
pub struct Leave {
    partition: Partition,
    pub(in crate::events) kept: Vec<Range>,
    pub(in crate::events) leaving: Vec<Range>,
}

impl Leave {
    pub(in crate::events) fn new(
        partition: Partition,
        kept: Vec<Range>,
        leaving: Vec<Range>,
    ) -> Self {
        Self { partition, kept, leaving }
    }
}

impl Operation for Leave {
    head!(
        "events.leave",
        embedded::State,
        partition,
        ["../../step/commands.lua", "../partition.lua", "../look.lua", "leave.lua"]
    );
    /// When it left; nothing if all of it has gone already, or there is no such partition.
    type Output = Option<Timestamp>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push(text_of(&self.kept).as_bytes());
            args.push(text_of(&self.leaving).as_bytes());
        })
    }

    fn decode(&self, reply: Reply) -> Result<Option<Timestamp>> {
        Ok(Some(reply.number()?).filter(|left_at| *left_at > 0))
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Option<Timestamp>> {
        state.leave(&self.partition, self.kept, self.leaving, context)
    }
}
