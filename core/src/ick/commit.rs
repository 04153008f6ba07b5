//! Commit: say that members are done.

use super::add::{BATCH_MEMBERS_MAX, check_member};
use super::{Name, Token, embedded};
use crate::error::{Result, ensure};
use crate::step::limits::first_of;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Removes members from the consumer set. A member that was added again while it was reserved
/// stays in the producer set.
#[derive(Clone, Debug)]
pub struct Commit {
    name: Name,
    members: ByteList,
    token: Option<Token>,
}

impl Commit {
    /// Commits these members.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for more than [`BATCH_MEMBERS_MAX`] members, a member that is too long
    /// to have been added or a name that is too long.
    pub fn new<M: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        members: impl IntoIterator<Item = M>,
    ) -> Result<Self> {
        Self::of(Name::new(name)?, first_of(members, BATCH_MEMBERS_MAX).collect())
    }

    pub(super) fn of(name: Name, members: ByteList) -> Result<Self> {
        check_members(&members)?;
        Ok(Self { name, members, token: None })
    }

    /// Refuses the step with `LEASE_LOST` unless `token` holds the consumer lease; with `None` the
    /// step is not fenced.
    #[must_use]
    pub fn fenced(self, token: impl Into<Option<Token>>) -> Self {
        Self { token: token.into(), ..self }
    }
}

/// Refuses too many or too long members.
pub(super) fn check_members(members: &ByteList) -> Result<()> {
    let is_step = members.len() <= BATCH_MEMBERS_MAX;
    ensure!(is_step, "a step takes at most {BATCH_MEMBERS_MAX} members");
    members.iter().enumerate().try_for_each(|(index, member)| check_member(index, member))
}

impl Operation for Commit {
    head!("ick.commit", embedded::State, name, ["check.lua", "fence.lua", "commit.lua"]);
    type Output = u64;
    /// A second run after another consumer's reserve would commit what that one still works on.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let bytes = self.members.total_bytes() + 64;
        let mut args = ByteList::with_capacity(1 + self.members.len(), bytes);
        args.push(self.token.as_deref().unwrap_or_default());
        args.append(&self.members);
        let keys = self.name.fenced_keys(self.token.as_ref());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.members.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        let now = context.now();
        state.step(context, |ick, effects| {
            ick.fence(self.token.as_ref(), now)?;
            ick.create(effects);
            Ok(self.members.iter().filter(|member| ick.remove(member, effects)).count() as u64)
        })
    }
}
