//! Reserve: take a batch to work on.

use super::scored_set::{Member, ScoredSet};
use super::{Name, Token, embedded};
use crate::error::{Result, ensure};
use crate::step::reply::{self, Reply};
use crate::step::{ByteList, Invocation, Operation, StepContext, head};

/// Sizes must be below this: Lua prints larger numbers in a form that Redis cannot read.
pub const SIZE_MAX: u64 = 100_000_000_000_000_000;

/// A member of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The member, as it was added.
    pub member: Vec<u8>,
    /// Its score.
    pub score: f64,
}

/// Moves the lowest members from the producer set to the consumer set until the latter holds `max`,
/// and returns its first `max`, lowest first. Members that were reserved before and not committed
/// are part of the batch, so a consumer that crashed gets them again.
#[derive(Clone, Debug)]
pub struct Reserve {
    pub(super) name: Name,
    pub(super) max: u64,
    pub(super) backwash: bool,
    pub(super) token: Option<Token>,
}

impl Reserve {
    /// A batch of up to `max` members.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a size of [`SIZE_MAX`] or more or a name that is too long.
    pub fn new(name: impl AsRef<[u8]>, max: u64) -> Result<Self> {
        Self::of(Name::new(name)?, max)
    }

    pub(super) fn of(name: Name, max: u64) -> Result<Self> {
        check_size(max)?;
        Ok(Self { name, max, backwash: false, token: None })
    }

    /// Whether to fold the consumer set back into the producer set first, so that the batch holds
    /// the lowest scores of both.
    #[must_use]
    pub fn backwash(self, backwash: bool) -> Self {
        Self { backwash, ..self }
    }

    /// Refuses the step with `LEASE_LOST` unless `token` holds the consumer lease; with `None` the
    /// step is not fenced.
    #[must_use]
    pub fn fenced(self, token: impl Into<Option<Token>>) -> Self {
        Self { token: token.into(), ..self }
    }
}

pub(super) fn check_size(max: u64) -> Result<()> {
    ensure!(max < SIZE_MAX, "the size {max} is too large; it has to be below 10^17");
    Ok(())
}

/// A size as Lua takes it, which counts exactly up to 2^53; no set holds more.
pub(super) fn size_argument(max: u64) -> String {
    max.min(1 << 53).to_string()
}

/// The arguments that reserve and exchange begin with.
pub(super) fn batch_arguments(step: &Reserve) -> ByteList {
    let mut args = ByteList::default();
    args.push(step.token.as_deref().unwrap_or_default());
    args.push(size_argument(step.max).as_bytes());
    args.push(if step.backwash { b"1" } else { b"0" });
    args
}

/// Reads `member, score, member, score, …`.
pub(super) fn decode_entries(reply: Reply, max: u64) -> Result<Vec<Entry>> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    reply.list()?.all(max, |replies| {
        let member = replies.next()?.bytes()?;
        Ok(Entry { member, score: replies.next()?.score()?.ok_or_else(reply::malformed)? })
    })
}

/// The first `max` members of a set.
pub(super) fn first_entries(set: &ScoredSet, max: u64) -> Vec<Entry> {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    let entry = |(score, member): (f64, &Member)| Entry { member: member.to_vec(), score };
    set.iter().take(max).map(entry).collect()
}

impl Operation for Reserve {
    head!(
        "ick.reserve",
        embedded::State,
        name,
        ["check.lua", "fence.lua", "take.lua", "reserve.lua"]
    );
    type Output = Vec<Entry>;
    /// A second run finds the consumer set full and returns the same batch; but members that were
    /// in both sets may have made room that a second run fills, and a backwash starts anew.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let keys = self.name.fenced_keys(self.token.as_ref());
        Invocation { script: Self::script(), keys, args: batch_arguments(self) }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Entry>> {
        decode_entries(reply, self.max)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Entry>> {
        let now = context.now();
        state.step(context, |ick, effects| {
            ick.fence(self.token.as_ref(), now)?;
            ick.create(effects);
            ick.take(self.max, self.backwash, effects);
            Ok(first_entries(&ick.consumer, self.max))
        })
    }
}
