//! A second implementation of an Ick: no thread, no file and no code of the library.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub(crate) type Member = Vec<u8>;

/// One step of a writer. Tokens are small numbers; see [`token`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Add(Vec<(f64, Member)>),
    Commit {
        members: Vec<Member>,
        token: Option<u64>,
    },
    /// A reserve is an exchange that commits nothing.
    Exchange {
        max: u64,
        members: Vec<Member>,
        backwash: bool,
        token: Option<u64>,
    },
    Delete,
    Acquire(u64),
    Release(u64),
}

/// What a step returns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepResult {
    Added { new: u64, lowered: u64 },
    Count(u64),
    Entries(Vec<(Member, f64)>),
    Held(bool),
    LeaseLost,
}

/// The bytes of the token with this number.
pub(crate) fn token(number: u64) -> std::sync::Arc<[u8]> {
    format!("token-{number}").into_bytes().into()
}

/// Members with scores, in the order of a Redis sorted set. Scores are not negative, so that the
/// order of their bits is the order of the numbers.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Set {
    scores: BTreeMap<Member, u64>,
    order: BTreeSet<(u64, Member)>,
}

impl Set {
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Member, f64)> {
        self.order.iter().map(|(bits, member)| (member, f64::from_bits(*bits)))
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied().map(f64::from_bits)
    }

    /// Gives `member` the lower of its score and this one; returns the score it had.
    pub(crate) fn lower(&mut self, score: f64, member: Member) -> Option<f64> {
        assert!(score >= 0.0 && score.is_sign_positive(), "the plans draw no other scores");
        let old = self.score(&member);
        if old.is_none_or(|old| score < old) {
            if let Some(old) = old {
                self.order.remove(&(old.to_bits(), member.clone()));
            }
            self.order.insert((score.to_bits(), member.clone()));
            self.scores.insert(member, score.to_bits());
        }
        old
    }

    fn remove(&mut self, member: &[u8]) -> bool {
        match self.scores.remove(member) {
            Some(bits) => self.order.remove(&(bits, member.to_vec())),
            None => false,
        }
    }

    fn pop_first(&mut self) -> Option<(f64, Member)> {
        let (bits, member) = self.order.pop_first()?;
        self.scores.remove(&member);
        Some((f64::from_bits(bits), member))
    }
}

/// The state of one Ick.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) exists: bool,
    pub(crate) producer: Set,
    pub(crate) consumer: Set,
    /// Who holds the consumer lease. The plans take leases that outlive the run.
    pub(crate) holder: Option<u64>,
}

impl Model {
    pub(crate) fn run(&mut self, step: Step) -> StepResult {
        match step {
            Step::Add(pairs) => {
                self.exists = true;
                let (mut new, mut lowered) = (0, 0);
                for (score, member) in pairs {
                    match self.producer.lower(score, member) {
                        None => new += 1,
                        Some(old) => lowered += u64::from(score < old),
                    }
                }
                StepResult::Added { new, lowered }
            }
            Step::Commit { token, .. } | Step::Exchange { token, .. }
                if token.is_some() && token != self.holder =>
            {
                StepResult::LeaseLost
            }
            Step::Commit { members, .. } => StepResult::Count(self.commit(&members)),
            Step::Exchange { max, members, backwash, .. } => {
                self.commit(&members);
                self.take(max, backwash)
            }
            Step::Delete => {
                let keys = [self.exists, self.producer.len() > 0, self.consumer.len() > 0];
                // The lease is a key of its own and stays.
                *self = Self { holder: self.holder, ..Self::default() };
                StepResult::Count(keys.into_iter().filter(|key| *key).count() as u64)
            }
            Step::Acquire(token) => {
                let held = *self.holder.get_or_insert(token);
                StepResult::Held(held == token)
            }
            Step::Release(token) => {
                StepResult::Held(self.holder.take_if(|holder| *holder == token).is_some())
            }
        }
    }

    fn commit(&mut self, members: &[Member]) -> u64 {
        self.exists = true;
        members.iter().filter(|member| self.consumer.remove(member)).count() as u64
    }

    fn take(&mut self, max: u64, backwash: bool) -> StepResult {
        if backwash {
            while let Some((score, member)) = self.consumer.pop_first() {
                self.producer.lower(score, member);
            }
        }
        while (self.consumer.len() as u64) < max
            && let Some((score, member)) = self.producer.pop_first()
        {
            self.consumer.lower(score, member);
        }
        let batch = self.consumer.iter().take(max as usize);
        StepResult::Entries(batch.map(|(member, score)| (member.clone(), score)).collect())
    }

    /// Where this differs from `found`, for people.
    pub(crate) fn difference(&self, found: &Self) -> String {
        let mut text = format!("expected {self:?}, found {found:?}");
        for (name, mine, theirs) in [
            ("producer", &self.producer, &found.producer),
            ("consumer", &self.consumer, &found.consumer),
        ] {
            for (what, one, other) in [("missing", mine, theirs), ("too many", theirs, mine)] {
                let only = one.order.difference(&other.order);
                let shown: Vec<_> = only
                    .take(5)
                    .map(|(bits, member)| {
                        let name: String =
                            String::from_utf8_lossy(member).chars().take(24).collect();
                        format!("{name}={}", f64::from_bits(*bits))
                    })
                    .collect();
                if !shown.is_empty() {
                    text += &format!("; {what} in the {name} set: {}, …", shown.join(", "));
                }
            }
        }
        text
    }
}

impl fmt::Debug for Model {
    /// Sizes only: an Ick has thousands of members.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "(exists {}, {} in the producer set, {} in the consumer set, lease {:?})",
            self.exists,
            self.producer.len(),
            self.consumer.len(),
            self.holder
        )
    }
}
