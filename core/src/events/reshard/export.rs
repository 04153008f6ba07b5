//! Export: the next batch of a part that a partition gives away.

use std::sync::Arc;

use super::super::embedded;
use super::super::id::EventId;
use super::super::partition::Partition;
use super::moved::Moved;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// About how many events a batch has.
pub(in crate::events) const BATCH_EVENTS: usize = 500;

/// More than any batch has: a page of a small hash contains the whole hash.
const BATCH_EVENTS_MAX: usize = 10_000;

/// Reads the next batch of the part that a partition gives away. The batch stays there until the partition is told that
/// the other one has it.
#[derive(Clone, Debug)]
pub struct Export {
    partition: Partition,
    /// The number of the batch that the other partition has.
    pub(in crate::events) taken: u64,
    /// Only these items, if it is set.
    pub(in crate::events) wanted: Option<Vec<Wanted>>,
}

/// An item that a client needs for a step on the other partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::events) enum Wanted {
    Event(EventId),
    /// The key and the deduplication id of an event, as in a head.
    Name(Vec<u8>),
    #[cfg_attr(not(feature = "schedules"), expect(dead_code))]
    Schedule(Arc<str>),
}

/// A batch of the part that a partition gives away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Its number, which rises; 0 for no batch. If nothing is left, the number of the last batch.
    pub(in crate::events) number: u64,
    /// Whether nothing is left.
    pub(in crate::events) is_over: bool,
    pub(in crate::events) moved: Vec<Moved>,
}

impl Export {
    pub(in crate::events) fn new(
        partition: Partition,
        taken: u64,
        wanted: Option<Vec<Wanted>>,
    ) -> Self {
        Self { partition, taken, wanted }
    }
}

impl Export {
    /// Reads the batch that the other partition may not have yet, if there is one.
    pub(in crate::events) fn peek(partition: Partition) -> Self {
        Self::new(partition, 0, Some(Vec::new()))
    }
}

impl Operation for Export {
    head!(
        "events.export",
        embedded::State,
        partition,
        [
            "../../step/commands.lua",
            "../partition.lua",
            "../records.lua",
            "../lanes.lua",
            "../commit.lua",
            "export.lua"
        ]
    );
    type Output = Batch;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push_number(self.taken);
            args.push_number(if self.wanted.is_some() { 0 } else { BATCH_EVENTS as u64 });
            for wanted in self.wanted.iter().flatten() {
                match wanted {
                    Wanted::Event(id) => args.push(&[b"#", id.as_bytes().as_slice()].concat()),
                    Wanted::Name(name) => args.push(&[b"=", name.as_slice()].concat()),
                    Wanted::Schedule(id) => args.push(&[b"@", id.as_bytes()].concat()),
                }
            }
        })
    }

    fn decode(&self, reply: Reply) -> Result<Batch> {
        let mut replies = reply.list()?;
        let number = replies.next()?.number()?;
        let is_over = replies.next()?.flag()?;
        let moved = replies.all(BATCH_EVENTS_MAX, Moved::decode)?;
        Ok(Batch { number, is_over, moved })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Batch> {
        state.export(&self.partition, self.taken, self.wanted, context)
    }
}
