//! Due: which hashes of a family have something to remove.

use std::time::Duration;

use super::embedded;
use super::name::Name;
use crate::error::{Result, ensure};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The most hashes of a family that a [`ReadDue`] returns.
pub const DUE_HASHES_MAX: usize = 1_000;

/// The hashes of a shard that have something to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Their bases, the longest overdue first. On Redis some may have nothing to remove any more.
    pub bases: Vec<Vec<u8>>,
    /// How long until the next hash has something to remove; zero if it already has, and `None` if there is none.
    pub next_in: Option<Duration>,
}

/// Reads which hashes of a shard of a family have something to remove.
#[derive(Clone, Debug)]
pub struct ReadDue {
    shard: Name,
    limit: usize,
}

impl ReadDue {
    /// Reads up to `limit` hashes of this shard of the family.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and a limit of 0 or above [`DUE_HASHES_MAX`].
    pub fn new(family: impl AsRef<[u8]>, shard: u32, limit: usize) -> Result<Self> {
        Self::of(Name::shard(family.as_ref(), shard)?, limit)
    }

    pub(super) fn of(shard: Name, limit: usize) -> Result<Self> {
        let is_allowed = (1..=DUE_HASHES_MAX).contains(&limit);
        ensure!(is_allowed, "a step names 1 to {DUE_HASHES_MAX} hashes, not {limit}");
        Ok(Self { shard, limit })
    }
}

impl Operation for ReadDue {
    head!(
        "volatile.due",
        embedded::State,
        shard,
        ["../step/commands.lua", "../step/numbers.lua", "values.lua", "due.lua"]
    );
    type Output = Due;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.limit as u64);
        Invocation { script: Self::script(), keys: vec![self.shard.due_key()], args }
    }

    fn decode(&self, reply: Reply) -> Result<Due> {
        let mut replies = reply.list()?;
        let bases = replies.next()?.list()?.all(self.limit, |replies| replies.next()?.bytes())?;
        let next_in = replies.all(1, |replies| replies.next()?.number())?;
        Ok(Due { bases, next_in: next_in.into_iter().next().map(Duration::from_micros) })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Due> {
        let (bases, next_in) = state.due(self.limit, context.now());
        Ok(Due { bases, next_in })
    }
}
