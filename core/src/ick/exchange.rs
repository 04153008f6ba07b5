//! Exchange: commit one batch and reserve the next.

use super::add::BATCH_MEMBERS_MAX;
use super::commit::check_members;
use super::reserve::{Entry, Reserve, batch_arguments, decode_entries, first_entries};
use super::{Name, Token, embedded};
use crate::error::Result;
use crate::step::limits::first_of;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// A [`Commit`](super::Commit) and a [`Reserve`] in one step: one round trip per batch.
#[derive(Clone, Debug)]
pub struct Exchange {
    reserve: Reserve,
    commit: ByteList,
}

impl Exchange {
    /// Commits `commit`, then reserves up to `max`.
    ///
    /// # Errors
    /// As [`Reserve::new`] and [`Commit::new`](super::Commit::new).
    pub fn new<M: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        max: u64,
        commit: impl IntoIterator<Item = M>,
    ) -> Result<Self> {
        Self::of(Name::new(name)?, max, first_of(commit, BATCH_MEMBERS_MAX).collect())
    }

    pub(super) fn of(name: Name, max: u64, commit: ByteList) -> Result<Self> {
        check_members(&commit)?;
        Ok(Self { reserve: Reserve::of(name, max)?, commit })
    }

    /// Whether to fold the consumer set back after the commit, as [`Reserve::backwash`] does.
    #[must_use]
    pub fn backwash(self, backwash: bool) -> Self {
        Self { reserve: self.reserve.backwash(backwash), ..self }
    }

    /// Refuses the step with `LEASE_LOST` unless `token` holds the consumer lease; with `None` the
    /// step is not fenced.
    #[must_use]
    pub fn fenced(self, token: impl Into<Option<Token>>) -> Self {
        Self { reserve: self.reserve.fenced(token), ..self }
    }
}

impl Operation for Exchange {
    head!(
        "ick.exchange",
        embedded::State,
        reserve.name,
        ["check.lua", "fence.lua", "take.lua", "exchange.lua"]
    );
    type Output = Vec<Entry>;
    /// A second run would commit a member that the first had committed and, since it was dirty
    /// again, reserved.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = batch_arguments(&self.reserve);
        args.append(&self.commit);
        let keys = self.reserve.name.fenced_keys(self.reserve.token.as_ref());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Entry>> {
        decode_entries(reply, self.reserve.max)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Entry>> {
        let now = context.now();
        let Reserve { max, backwash, token, .. } = self.reserve;
        state.step(context, |ick, effects| {
            ick.fence(token.as_ref(), now)?;
            ick.create(effects);
            for member in self.commit.iter() {
                ick.remove(member, effects);
            }
            ick.take(max, backwash, effects);
            Ok(first_entries(&ick.consumer, max))
        })
    }
}
