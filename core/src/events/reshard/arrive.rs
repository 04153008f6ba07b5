//! Arrive: a partition gets a part of the key space.

use super::super::config::Config;
use super::super::embedded;
use super::super::map::{Map, Range, text_of};
use super::super::partition::{Partition, Place};
use super::leave::Left;
use crate::error::Result;
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, head};

/// Gives a partition a part of the key space, and creates the partition if it does not exist. It delivers nothing until
/// all events of that part have arrived. Its generation becomes that of the change.
#[derive(Clone, Debug)]
pub struct Arrive {
    partition: Partition,
    pub(in crate::events) ranges: Vec<Range>,
    pub(in crate::events) left: Left,
    pub(in crate::events) revision: u64,
    pub(in crate::events) config: Config,
    pub(in crate::events) before: Before,
    /// For any partition but 0.
    pub(in crate::events) place: Option<Place>,
}

/// The state of the partition before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::events) enum Before {
    /// Partition 0, with which a queue begins: it is not created again for a deleted queue.
    Root,
    /// It owned something.
    Owner,
    /// It owned nothing: an existing partition that owns something belongs to an earlier queue.
    Nothing,
}

impl Arrive {
    /// The partition with this number gets the ranges of the map, some of which another one has left.
    pub(in crate::events) fn new(
        name: &[u8],
        map: &Map,
        number: usize,
        left: Left,
    ) -> Result<Self> {
        let (ranges, config) = (map.owners[number].ranges.clone(), map.divided());
        let is_new = map.moving.as_ref().is_some_and(|moving| moving.ranges == ranges);
        let before = match number {
            0 => Before::Root,
            _ if is_new => Before::Nothing,
            _ => Before::Owner,
        };
        let place = match number {
            0 => None,
            _ => Some(Place { first: Partition::new(name, 0, 0)?, number }),
        };
        let (partition, revision) = (map.partition(name, number)?, map.revision);
        Ok(Self { partition, ranges, left, revision, config, before, place })
    }
}

impl Operation for Arrive {
    head!(
        "events.arrive",
        embedded::State,
        partition,
        ["../../step/commands.lua", "../partition.lua", "../look.lua", "arrive.lua"]
    );
    /// Whether this step, and not an earlier one, made the change.
    type Output = bool;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push(text_of(&self.ranges).as_bytes());
            args.push_number(self.left.at);
            args.push_number(self.revision);
            args.push(&self.config.packed());
            args.push_number(self.before as u64);
            match self.left.tokens {
                Some(tokens) => args.push_number(tokens),
                None => args.push(b"-1"),
            }
        })
    }

    fn decode(&self, reply: Reply) -> Result<bool> {
        reply.flag()
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<bool> {
        let partition = self.partition.clone();
        state.arrive(&partition, self, context)
    }
}
