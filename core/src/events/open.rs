//! Open: create a partition, and bring its configuration up to date; for partition 0 also the map of its queue.

use super::config::Config;
use super::embedded;
use super::map::{Map, Range, even_ranges, text_of};
use super::partition::{Partition, Place};
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, head};

/// Creates a partition if it does not exist, and gives it a configuration if its own is older; or only reads it.
#[derive(Clone, Debug)]
pub struct Open {
    partition: Partition,
    pub(super) change: Option<Change>,
}

/// The change that an [`Open`] makes.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The parts of the key space that a new partition owns; empty if this does not create one.
    pub(super) ranges: Vec<Range>,
    pub(super) revision: u64,
    pub(super) config: Config,
    /// For partition 0: the range of each partition of a new queue, by number.
    pub(super) all: Vec<Range>,
    /// For any other partition.
    pub(super) place: Option<Place>,
}

impl Open {
    /// Reads the map of a queue, in its partition 0.
    pub fn look(partition: Partition) -> Self {
        Self { partition, change: None }
    }

    /// Creates a queue with this configuration and its number of partitions, by creating its partition 0; or gives the
    /// queue the configuration if its own has a lower revision.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a configuration beyond its limits.
    pub fn create(partition: Partition, revision: u64, config: Config) -> Result<Self> {
        config.check()?;
        let all = even_ranges(config.partitions);
        let change = Change { ranges: vec![all[0]], revision, config, all, place: None };
        Ok(Self { partition, change: Some(change) })
    }

    /// Creates the partition with this number, as in the map of its queue, or gives it the map's configuration. A
    /// partition of a move in progress is created only by the move, never here: otherwise the part would seem to have
    /// arrived.
    pub(super) fn part(name: &[u8], map: &Map, number: usize) -> Result<Self> {
        let ranges = match map.is_moving(number) {
            true => Vec::new(),
            false => map.owners[number].ranges.clone(),
        };
        let (revision, config) = (map.revision, map.divided());
        let place = Some(Place { first: Partition::new(name, 0, 0)?, number });
        let change = Change { ranges, revision, config, all: Vec::new(), place };
        Ok(Self { partition: map.partition(name, number)?, change: Some(change) })
    }
}

impl Change {
    /// The ranges of each partition of a new queue, as [`Map::parse`] reads them.
    pub(super) fn map_text(&self, generation: &str) -> String {
        let owners: Vec<_> =
            self.all.iter().map(|range| format!("{generation}:{}", text_of(&[*range]))).collect();
        owners.join(" ")
    }
}

impl Operation for Open {
    head!(
        "events.open",
        embedded::State,
        partition,
        ["../step/commands.lua", "partition.lua", "open.lua"]
    );
    /// The map, as far as this partition has it; `None` if the partition does not exist.
    type Output = Option<Map>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| match &self.change {
            None => (0..4).for_each(|_| args.push(b"")),
            Some(change) => {
                args.push(text_of(&change.ranges).as_bytes());
                args.push_number(change.revision);
                args.push(&change.config.packed());
                args.push(change.map_text("*").as_bytes());
            }
        })
    }

    fn decode(&self, reply: Reply) -> Result<Option<Map>> {
        let mut replies = reply.list()?;
        let revision = replies.next()?.number()?;
        if revision == 0 {
            return replies.end().map(|()| None);
        }
        let config = Config::unpack(&replies.next()?.bytes()?).ok_or_else(malformed)?;
        let text = replies.next()?.bytes()?;
        replies.end()?;
        // An invalid map has no owners, like that of a partition without one.
        let map = std::str::from_utf8(&text).ok();
        let map = map.and_then(|text| Map::parse(revision, config.clone(), text));
        Ok(Some(map.unwrap_or_else(|| Map { revision, config, ..Map::default() })))
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Option<Map>> {
        state.open(&self.partition, self.change, context)
    }
}
