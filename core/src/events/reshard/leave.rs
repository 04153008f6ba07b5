//! Leave: a partition gives a part of the key space away.

use super::super::embedded;
use super::super::map::{Range, text_of};
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// Gives away a part of the key space of a partition. The partition delivers nothing until all of that part has left.
/// Its generation becomes that of the change.
#[derive(Clone, Debug)]
pub struct Leave {
    partition: Partition,
    pub(in crate::events) kept: Vec<Range>,
    pub(in crate::events) leaving: Vec<Range>,
}

/// The state of a partition when it gave a part of the key space away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub(in crate::events) at: Timestamp,
    /// The tokens in its bucket, if the queue has a rate.
    pub(in crate::events) tokens: Option<u64>,
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
    /// When the part left; `None` if all of it has left already, or if there is no such partition.
    type Output = Option<Left>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push(text_of(&self.kept).as_bytes());
            args.push(text_of(&self.leaving).as_bytes());
        })
    }

    fn decode(&self, reply: Reply) -> Result<Option<Left>> {
        let mut replies = reply.list()?;
        let at = replies.next()?.number()?;
        let tokens = match replies.next()? {
            Reply::Int(-1) => None,
            tokens => Some(tokens.number()?),
        };
        replies.end()?;
        Ok((at > 0).then_some(Left { at, tokens }))
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Option<Left>> {
        state.leave(&self.partition, self.kept, self.leaving, context)
    }
}
