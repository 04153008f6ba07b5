//! A sorted set in memory: members with scores, in the order in which Redis keeps them.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use hashbrown::HashMap;
use triomphe::ThinArc;

use crate::step::score::Score;

/// The bytes of a member, shared between the index by member and the order by score. The pointer
/// is thin: of millions of members, half of what the two keep is pointers.
#[derive(Clone)]
pub(crate) struct Member(ThinArc<(), u8>);

impl Member {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(ThinArc::from_header_and_slice((), bytes))
    }
}

impl Deref for Member {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.slice
    }
}

impl Borrow<[u8]> for Member {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl Hash for Member {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Member {}

impl PartialOrd for Member {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Member {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

/// Members ordered by score, then by their bytes.
#[derive(Default)]
pub(crate) struct ScoredSet {
    scores: HashMap<Member, Score>,
    order: BTreeSet<(Score, Member)>,
}

/// What [`ScoredSet::lower`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lowered {
    /// The member was not in the set.
    New,
    /// It was, with a higher score.
    Down,
    /// It was, with a score as low: nothing changed.
    Kept,
}

impl ScoredSet {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Gives `member` the lower of its score and this one, as `ZADD … LT` does.
    pub(crate) fn lower(&mut self, score: f64, member: &[u8]) -> Lowered {
        let known = self.scores.get_key_value(member).map(|(member, old)| (member.clone(), *old));
        self.put(Score::new(score), known, || Member::new(member))
    }

    /// [`lower`](Self::lower) for a member that comes out of another set: its bytes are shared.
    pub(crate) fn lower_shared(&mut self, score: Score, member: Member) -> Lowered {
        let known = self.scores.get(&member).map(|old| (member.clone(), *old));
        self.put(score, known, || member)
    }

    fn put(
        &mut self,
        score: Score,
        known: Option<(Member, Score)>,
        member: impl FnOnce() -> Member,
    ) -> Lowered {
        let (member, outcome) = match known {
            Some((_, old)) if score >= old => return Lowered::Kept,
            Some((member, old)) => {
                let entry = (old, member);
                self.order.remove(&entry);
                (entry.1, Lowered::Down)
            }
            None => (member(), Lowered::New),
        };
        self.scores.insert(member.clone(), score);
        self.order.insert((score, member));
        outcome
    }

    /// Takes out up to `count` of the lowest members, lowest first. One loop over the order and
    /// one over the index: in a large set each look into the index misses the cache, and in a
    /// loop of their own the processor waits for several at once.
    pub(crate) fn pop_lowest(&mut self, count: usize) -> Vec<(Score, Member)> {
        let count = count.min(self.len());
        let popped: Vec<_> = std::iter::from_fn(|| self.order.pop_first()).take(count).collect();
        for (_, member) in &popped {
            self.scores.remove(member);
        }
        popped
    }

    /// Takes out `member`; returns whether it was there.
    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        match self.scores.remove_entry(member) {
            None => false,
            Some((member, score)) => self.order.remove(&(score, member)),
        }
    }

    pub(crate) fn first(&self) -> Option<f64> {
        self.order.first().map(|(score, _)| score.value())
    }

    pub(crate) fn last(&self) -> Option<f64> {
        self.order.last().map(|(score, _)| score.value())
    }

    /// Members and scores, lowest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (f64, &Member)> {
        self.order.iter().map(|(score, member)| (score.value(), member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_lowest_score_and_orders_ties_by_bytes() {
        let mut set = ScoredSet::default();
        assert_eq!(set.lower(2.0, b"b"), Lowered::New);
        assert_eq!(set.lower(2.0, b"a"), Lowered::New);
        assert_eq!(set.lower(3.0, b"a"), Lowered::Kept);
        assert_eq!(set.lower(1.0, b"b"), Lowered::Down);
        assert_eq!(set.lower(2.0, b"\xff"), Lowered::New);
        assert_eq!((set.first(), set.last(), set.len()), (Some(1.0), Some(2.0), 3));
        let members: Vec<&[u8]> = set.iter().map(|(_, member)| &**member).collect();
        assert_eq!(members, [b"b".as_slice(), b"a", b"\xff"]);
        assert!(set.remove(b"a"));
        assert!(!set.remove(b"a"));
        let popped = set.pop_lowest(1);
        assert_eq!(&*popped[0].1, b"b");
        assert_eq!(set.pop_lowest(9).len(), 1);
        assert!(set.is_empty());
    }

    #[test]
    fn minus_zero_is_zero() {
        let mut set = ScoredSet::default();
        set.lower(0.0, b"a");
        assert_eq!(set.lower(-0.0, b"a"), Lowered::Kept);
    }
}
