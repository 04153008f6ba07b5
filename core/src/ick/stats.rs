//! Stats: sizes and score ranges.

use std::sync::Arc;

use super::{Name, embedded};
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::reply::{self, Reply};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Reads the sizes and score ranges of both sets.
#[derive(Clone, Debug)]
pub struct ReadStats {
    name: Name,
}

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "ick",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let stats = client.ick(name).stats()?;
        let (flagged, reserved) =
            stats.map_or((0, 0), |stats| (stats.producer_size, stats.consumer_size));
        Ok(vec![Statistic::of("flagged", flagged), Statistic::of("reserved", reserved)])
    },
};

/// The sizes and score ranges of an Ick. Scores are exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// The version flag, `ick.v1`.
    pub version: String,
    /// The name, which is the key of the flag.
    pub key: Vec<u8>,
    /// The key of the producer set.
    pub producer_key: Vec<u8>,
    /// The key of the consumer set.
    pub consumer_key: Vec<u8>,
    /// Members flagged and not reserved.
    pub producer_size: u64,
    /// Members reserved and not committed.
    pub consumer_size: u64,
    /// The lowest and highest score in the producer set, unless it is empty.
    pub producer_range: Option<(f64, f64)>,
    /// The lowest and highest score in the consumer set, unless it is empty.
    pub consumer_range: Option<(f64, f64)>,
}

impl Stats {
    /// Members in both sets together; one that is in both counts twice.
    pub fn total_size(&self) -> u64 {
        self.producer_size + self.consumer_size
    }

    /// The lowest and highest score in both sets together, unless both are empty.
    pub fn total_range(&self) -> Option<(f64, f64)> {
        match (self.producer_range, self.consumer_range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (range, None) | (None, range) => range,
        }
    }
}

impl ReadStats {
    /// Reads the stats of this Ick.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is too long.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self> {
        Ok(Self::of(Name::new(name)?))
    }

    pub(super) fn of(name: Name) -> Self {
        Self { name }
    }

    /// Of the producer and the consumer set.
    fn stats(&self, sizes: [u64; 2], ranges: [Option<(f64, f64)>; 2]) -> Stats {
        Stats {
            version: super::VERSION.to_owned(),
            key: self.name.as_bytes().to_vec(),
            producer_key: self.name.producer_key().to_vec(),
            consumer_key: self.name.consumer_key().to_vec(),
            producer_size: sizes[0],
            consumer_size: sizes[1],
            producer_range: ranges[0],
            consumer_range: ranges[1],
        }
    }
}

impl Operation for ReadStats {
    head!("ick.stats", embedded::State, name, ["check.lua", "stats.lua"]);
    type Output = Option<Stats>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: ByteList::default() }
    }

    fn decode(&self, reply: Reply) -> Result<Option<Stats>> {
        let mut replies = match reply.ok()? {
            Reply::Nil => return Ok(None),
            reply => reply.list()?,
        };
        let _version = replies.next()?.bytes()?;
        let sizes: [u64; 2] = [replies.next()?.number()?, replies.next()?.number()?];
        let mut range = |size| match (replies.next()?.score()?, replies.next()?.score()?) {
            (None, None) if size == 0 => Ok(None),
            (Some(min), Some(max)) if size > 0 => Ok(Some((min, max))),
            _ => Err(reply::malformed()),
        };
        let ranges = [range(sizes[0])?, range(sizes[1])?];
        replies.end()?;
        Ok(Some(self.stats(sizes, ranges)))
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Self::Output> {
        state.step(context, |ick, _| {
            let sets = [&ick.producer, &ick.consumer];
            let ranges = sets.map(|set| set.first().zip(set.last()));
            Ok(ick.created.then(|| self.stats(sets.map(|set| set.len() as u64), ranges)))
        })
    }
}
