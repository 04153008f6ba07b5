//! An Ick on the embedded engine: two sorted sets under one lock, and the effects of its steps.

use std::sync::{Mutex, MutexGuard};

use super::Token;
use super::scored_set::{Lowered, ScoredSet};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync;
use crate::step::codec::{Reader, put_bytes, put_integer, put_score, unknown_tag};
use crate::step::{self, Effects, Snapshot, StepContext, Timestamp};

/// What the embedded engine keeps for one Ick.
#[derive(Default)]
pub struct State(Mutex<Ick>);

#[derive(Default)]
pub(super) struct Ick {
    /// Whether the version flag would be there.
    pub(super) created: bool,
    pub(super) producer: ScoredSet,
    pub(super) consumer: ScoredSet,
    lease: Option<Lease>,
}

struct Lease {
    token: Token,
    until: Timestamp,
}

/// The kind of an Ick in the journal.
pub(crate) const KIND: u8 = 1;

/// Effects in the journal: a tag and what it needs. They say what changed, not what was asked, so
/// that a later version with other rules still makes the same state of them.
mod tag {
    pub(super) const CREATE: u8 = 1;
    /// Score, member: the lower score wins in the producer set.
    pub(super) const PUT: u8 = 2;
    /// Count: the `count` lowest members go from the producer to the consumer set.
    pub(super) const TAKE: u8 = 3;
    /// Member: leaves the consumer set.
    pub(super) const REMOVE: u8 = 4;
    /// The whole consumer set goes back to the producer set.
    pub(super) const FOLD: u8 = 5;
    pub(super) const DELETE: u8 = 6;
    /// Token, microseconds since the epoch.
    pub(super) const LEASE: u8 = 7;
    pub(super) const RELEASE: u8 = 8;
    /// Score, member: is in the consumer set; for snapshots.
    pub(super) const RESERVED: u8 = 9;
}

impl State {
    /// Runs one step under the lock and records its effects before the lock is released, so
    /// that the journal has an Ick's steps in the order in which they happened.
    pub(super) fn step<T>(
        &self,
        context: &mut StepContext<'_>,
        step: impl FnOnce(&mut Ick, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let mut ick = self.lock();
        let mut effects = Effects::of(context);
        let output = step(&mut ick, &mut effects)?;
        effects.record(context);
        Ok(output)
    }

    /// A step that panicked left no half of a change that a later step could trip over: each
    /// change to the sets is complete before the next begins.
    fn lock(&self) -> MutexGuard<'_, Ick> {
        sync::lock(&self.0)
    }
}

impl Lease {
    fn write(&self, effects: &mut Effects) {
        effects.write(tag::LEASE, |record| {
            put_bytes(&self.token, record);
            put_integer(self.until, record);
        });
    }
}

impl Ick {
    /// Makes the Ick, as any step that writes does.
    pub(super) fn create(&mut self, effects: &mut Effects) {
        if !self.created {
            self.created = true;
            effects.write(tag::CREATE, |_| {});
        }
    }

    pub(super) fn put(&mut self, score: f64, member: &[u8], effects: &mut Effects) -> Lowered {
        let lowered = self.producer.lower(score, member);
        if lowered != Lowered::Kept {
            effects.write(tag::PUT, |record| put_pair(score, member, record));
        }
        lowered
    }

    /// Fills the consumer set up to `max` members; the batch is then its first `max`.
    pub(super) fn take(&mut self, max: u64, backwash: bool, effects: &mut Effects) {
        if backwash && !self.consumer.is_empty() {
            self.fold();
            effects.write(tag::FOLD, |_| {});
        }
        let mut taken = 0;
        // A member that is in both sets takes no place, so this counts the set, not the moves.
        while let moved @ 1.. = self.move_lowest(max.saturating_sub(self.consumer.len() as u64)) {
            taken += moved;
        }
        if taken > 0 {
            effects.write(tag::TAKE, |record| put_integer(taken, record));
        }
    }

    pub(super) fn remove(&mut self, member: &[u8], effects: &mut Effects) -> bool {
        let removed = self.consumer.remove(member);
        if removed {
            effects.write(tag::REMOVE, |record| put_bytes(member, record));
        }
        removed
    }

    /// Forgets both sets and the flag; returns how many of the three keys Redis would remove.
    pub(super) fn delete(&mut self, effects: &mut Effects) -> u64 {
        let keys = [self.created, !self.producer.is_empty(), !self.consumer.is_empty()];
        let removed = keys.into_iter().filter(|key| *key).count() as u64;
        if removed > 0 {
            self.clear();
            effects.write(tag::DELETE, |_| {});
        }
        removed
    }

    /// Refuses a step whose token is not that of the lease's holder.
    pub(super) fn fence(&self, token: Option<&Token>, now: Timestamp) -> Result<()> {
        match token {
            Some(token) if self.holder(now) != Some(token) => Err(Error::new(
                ErrorKind::LeaseLost,
                "the consumer lease ran out or is held by another consumer",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn holder(&self, now: Timestamp) -> Option<&Token> {
        self.lease.as_ref().filter(|lease| now < lease.until).map(|lease| &lease.token)
    }

    /// Forgets a lease that has run out, so that it keeps no deleted Ick.
    pub(super) fn forget_old_lease(&mut self, now: Timestamp, effects: &mut Effects) {
        if self.lease.is_some() && self.holder(now).is_none() {
            self.release(effects);
        }
    }

    pub(super) fn grant(&mut self, token: Token, until: Timestamp, effects: &mut Effects) {
        let lease = Lease { token, until };
        lease.write(effects);
        self.lease = Some(lease);
    }

    pub(super) fn release(&mut self, effects: &mut Effects) {
        self.lease = None;
        effects.write(tag::RELEASE, |_| {});
    }

    fn fold(&mut self) {
        for (score, member) in self.consumer.pop_lowest(usize::MAX) {
            self.producer.lower_shared(score, member);
        }
    }

    /// Moves up to `count` members to the consumer set; returns how many.
    fn move_lowest(&mut self, count: u64) -> u64 {
        let moved = self.producer.pop_lowest(usize::try_from(count).unwrap_or(usize::MAX));
        let count = moved.len() as u64;
        for (score, member) in moved {
            self.consumer.lower_shared(score, member);
        }
        count
    }

    fn clear(&mut self) {
        *self = Self { lease: self.lease.take(), ..Self::default() };
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut record = Reader::new(record);
        while !record.is_empty() {
            match record.byte()? {
                tag::CREATE => self.created = true,
                tag::PUT => {
                    let (score, member) = pair(&mut record)?;
                    self.producer.lower(score, member);
                }
                tag::TAKE => {
                    let count = record.integer()?;
                    if self.move_lowest(count) != count {
                        return Err(unreadable("takes more members than there are"));
                    }
                }
                tag::REMOVE => {
                    if !self.consumer.remove(record.bytes()?) {
                        return Err(unreadable("removes a member that is not there"));
                    }
                }
                tag::FOLD => self.fold(),
                tag::DELETE => self.clear(),
                tag::LEASE => {
                    let token = record.bytes()?.into();
                    self.lease = Some(Lease { token, until: record.integer()? });
                }
                tag::RELEASE => self.lease = None,
                tag::RESERVED => {
                    let (score, member) = pair(&mut record)?;
                    self.consumer.lower(score, member);
                }
                unknown => return Err(unknown_tag("an ick", unknown)),
            }
        }
        Ok(())
    }
}

/// Members in one snapshot record: large enough to be cheap, small enough to be read in pieces.
const SNAPSHOT_MEMBERS: usize = 1_000;

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        self.lock().replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let ick = self.lock();
        out.begin();
        let mut head = Effects::after(Vec::new());
        if ick.created {
            head.write(tag::CREATE, |_| {});
        }
        if let Some(lease) = &ick.lease {
            lease.write(&mut head);
        }
        out.record(&head.into_record());
        for (tag, set) in [(tag::PUT, &ick.producer), (tag::RESERVED, &ick.consumer)] {
            let mut members = set.iter();
            while members.len() > 0 {
                let mut record = Vec::new();
                for (score, member) in members.by_ref().take(SNAPSHOT_MEMBERS) {
                    record.push(tag);
                    put_pair(score, member, &mut record);
                }
                out.record(&record);
            }
        }
    }

    fn is_unused(&self) -> bool {
        let ick = self.lock();
        !ick.created && ick.lease.is_none()
    }
}

fn put_pair(score: f64, member: &[u8], record: &mut Vec<u8>) {
    put_score(score, record);
    put_bytes(member, record);
}

fn pair<'a>(record: &mut Reader<'a>) -> Result<(f64, &'a [u8])> {
    let score = record.score()?;
    if score.is_nan() {
        return Err(unreadable("has a NaN for a score"));
    }
    Ok((score, record.bytes()?))
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of an ick {what}"))
}
