//! Add: flag members as dirty.

use super::scored_set::Lowered;
use super::{Name, embedded};
use crate::error::{Result, ensure, invalid};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head, score};

/// The longest member, in bytes. Members are identifiers; a document belongs elsewhere.
pub const MEMBER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most members in one step. For more, [`Ick::add`](super::Ick::add) and
/// [`Ick::commit`](super::Ick::commit) take several steps.
pub const BATCH_MEMBERS_MAX: usize = 250_000;

/// Flags members as dirty: each keeps the lower of its old and its new score.
#[derive(Clone, Debug)]
pub struct Add {
    name: Name,
    scores: Vec<Option<f64>>,
    members: ByteList,
}

/// What an add changed. A member that is named twice can count in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Added {
    /// Members that were not in the producer set.
    pub new: u64,
    /// Members that were in it and whose score was lowered.
    pub lowered: u64,
}

impl Add {
    /// Flags each member with its score; a score of `None` is the server's time in seconds.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a NaN, a member above [`MEMBER_BYTES_MAX`], more than
    /// [`BATCH_MEMBERS_MAX`] members or a name that is too long.
    pub fn new<S: Into<Option<f64>>, M: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        pairs: impl IntoIterator<Item = (S, M)>,
    ) -> Result<Self> {
        let mut step = Self::empty(Name::new(name)?);
        for (score, member) in pairs {
            step.push(score.into(), member.as_ref())?;
        }
        Ok(step)
    }

    /// A step without pairs yet.
    pub(super) fn empty(name: Name) -> Self {
        Self { name, scores: Vec::new(), members: ByteList::default() }
    }

    /// Adds one more pair to the step; for callers that get their pairs one by one.
    ///
    /// # Errors
    /// As [`Add::new`].
    pub fn push(&mut self, score: Option<f64>, member: &[u8]) -> Result<()> {
        let index = self.scores.len();
        if score.is_some_and(f64::is_nan) {
            return Err(invalid(format!(
                "score {index} is NaN; a score can be any number but NaN"
            ))
            .in_operation(Self::NAME));
        }
        ensure!(index < BATCH_MEMBERS_MAX, "a step takes at most {BATCH_MEMBERS_MAX} members");
        check_member(index, member)?;
        self.scores.push(score);
        self.members.push(member);
        Ok(())
    }

    /// How many pairs the step has.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether the step has no pairs. It still creates the Ick.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }
}

/// Refuses a member that is too long; `index` is its place in the call.
pub(super) fn check_member(index: usize, member: &[u8]) -> Result<()> {
    let len = member.len();
    ensure!(
        len <= MEMBER_BYTES_MAX,
        "member {index} has {len} bytes; a member may have at most {MEMBER_BYTES_MAX}"
    );
    Ok(())
}

impl Operation for Add {
    head!("ick.add", embedded::State, name, ["check.lua", "add.lua"]);
    type Output = Added;
    /// The members end up the same, but a second run would count them as old.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let strings = 1 + 2 * self.members.len();
        let bytes = self.members.total_bytes() + 18 * self.scores.len();
        let mut args = ByteList::with_capacity(strings, bytes);
        args.push(if self.scores.contains(&None) { b"1" } else { b"0" });
        for (score, member) in self.scores.iter().zip(self.members.iter()) {
            args.push_with(|out| {
                if let Some(score) = score {
                    score::write(*score, out);
                }
            });
            args.push(member);
        }
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Added> {
        let mut counts = reply.list()?;
        let new = counts.next()?.count(self.members.len())?;
        let lowered = counts.next()?.count(self.members.len() - new as usize)?;
        counts.end()?;
        Ok(Added { new, lowered })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Added> {
        let now = context.now() as f64 / 1e6;
        let (added, woke) = state.step(context, |ick, effects| {
            ick.create(effects);
            let was_empty = ick.producer.is_empty();
            let mut added = Added::default();
            for (score, member) in self.scores.iter().zip(self.members.iter()) {
                match ick.put(score.unwrap_or(now), member, effects) {
                    Lowered::New => added.new += 1,
                    Lowered::Down => added.lowered += 1,
                    Lowered::Kept => {}
                }
            }
            Ok((added, was_empty && added.new > 0))
        })?;
        if woke {
            context.wake(|| self.name.producer_key(), 1);
        }
        Ok(added)
    }
}
