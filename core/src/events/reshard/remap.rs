//! Remap: change the map of a queue.

use super::super::embedded;
use super::super::partition::Partition;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Changes the map of a queue, in its partition 0, unless another client has changed it.
#[derive(Clone, Debug)]
pub struct Remap {
    partition: Partition,
    /// The map that the change was made for.
    pub(in crate::events) known: String,
    pub(in crate::events) map: String,
}

impl Remap {
    pub(in crate::events) fn new(partition: Partition, known: String, map: String) -> Self {
        Self { partition, known, map }
    }
}

impl Operation for Remap {
    head!(
        "events.remap",
        embedded::State,
        partition,
        ["../../step/commands.lua", "../partition.lua", "../look.lua", "remap.lua"]
    );
    /// Whether the new map is in place.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push(self.known.as_bytes());
            args.push(self.map.as_bytes());
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        state.remap(&self.known, self.map, context)
    }
}
