//! A volatile hash on the embedded engine: its fields and its locks under one lock of the process, and the effects of
//! its steps.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use super::expiring::{Entry, Expiring, Key};
use super::{Acquired, FieldPage, FieldPosition, HashField, HashStats, LockHolder, Reaped};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync;
use crate::step::codec::{Reader, put_bytes, put_integer};
use crate::step::{self, Effects, SNAPSHOT_BYTES, Snapshot, StepContext, Timestamp};

/// What the embedded engine keeps for one volatile hash.
#[derive(Default)]
pub struct State(Mutex<Hash>);

#[derive(Default)]
pub(super) struct Hash {
    fields: Expiring<Box<[u8]>>,
    locks: Expiring<Held>,
    /// The fence of the last lock; 0 if it is not needed any more.
    last_fence: u64,
}

/// Who holds a lock.
struct Held {
    token: Box<[u8]>,
    fence: u64,
}

/// The kind of a volatile hash in the journal.
pub(crate) const KIND: u8 = 7;

/// How far a clock may go back ([`Clock::now`](crate::Clock::now)), in microseconds. The last fence is kept for longer
/// than that, so that the clock alone makes the next one higher.
const CLOCK_STEP_US: u64 = 1_000;

/// Effects in the journal: a tag and what it needs. They say what changed, not what was asked, and their times are
/// microseconds since the epoch, so that replaying them needs no clock.
mod tag {
    /// Field, value, expiry.
    pub(super) const SET: u8 = 1;
    /// Field, expiry.
    pub(super) const TOUCH: u8 = 2;
    /// Field.
    pub(super) const REMOVE: u8 = 3;
    /// Field, token, fence, until: the token holds the lock of the field, whose fence is the last one unless there is
    /// a higher one.
    pub(super) const LOCK: u8 = 4;
    /// Field.
    pub(super) const UNLOCK: u8 = 5;
    /// The last fence; 0 for none.
    pub(super) const FENCE: u8 = 6;
    /// All fields were removed.
    pub(super) const CLEAR: u8 = 7;
}

impl State {
    /// Runs one step under the lock and records its effects before the lock is released, so that the journal has a
    /// hash's steps in the order in which they happened.
    pub(super) fn step<T>(
        &self,
        context: &mut StepContext<'_>,
        step: impl FnOnce(&mut Hash, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let mut hash = self.lock();
        let mut effects = Effects::of(context);
        let output = step(&mut hash, &mut effects)?;
        effects.record(context);
        if hash.is_unused() {
            context.mark_evictable();
        }
        Ok(output)
    }

    /// A step that panicked left no half of a change that a later step could trip over: each change to the fields and
    /// the locks is complete before the next begins.
    fn lock(&self) -> MutexGuard<'_, Hash> {
        sync::lock(&self.0)
    }
}

/// The fields.
impl Hash {
    /// The value of a field that is live.
    pub(super) fn get(&self, field: &[u8], now: Timestamp) -> Option<Vec<u8>> {
        self.fields.live(field, now).map(|entry| entry.value.to_vec())
    }

    /// How long a field is still live.
    pub(super) fn ttl(&self, field: &[u8], now: Timestamp) -> Option<Duration> {
        self.fields.live(field, now).map(|entry| remaining(entry.expires, now))
    }

    pub(super) fn is_live(&self, field: &[u8], now: Timestamp) -> bool {
        self.fields.live(field, now).is_some()
    }

    pub(super) fn set(
        &mut self,
        field: &[u8],
        value: &[u8],
        expires: Timestamp,
        effects: &mut Effects,
    ) {
        put_set(field, value, expires, effects);
        self.fields.put(field, value.into(), expires);
    }

    /// Changes when a field expires, which has to be there.
    pub(super) fn touch(&mut self, field: &[u8], expires: Timestamp, effects: &mut Effects) {
        effects.write(tag::TOUCH, |record| {
            put_bytes(field, record);
            put_integer(expires, record);
        });
        self.fields.touch(field, expires);
    }

    /// Removes a field, live or not.
    pub(super) fn remove(&mut self, field: &[u8], effects: &mut Effects) {
        if self.fields.remove(field).is_some() {
            effects.write(tag::REMOVE, |record| put_bytes(field, record));
        }
    }

    /// Removes all fields; returns how many were live.
    pub(super) fn clear(&mut self, now: Timestamp, effects: &mut Effects) -> u64 {
        let live = self.fields.live_len(now) as u64;
        if !self.fields.is_empty() {
            effects.write(tag::CLEAR, |_| {});
            self.fields.clear();
        }
        live
    }

    /// Removes up to `limit` fields that have expired, those first that did so first.
    pub(super) fn reap_fields(&mut self, limit: usize, now: Timestamp, effects: &mut Effects) {
        for _ in 0..limit {
            let Some((_, field)) = self.fields.first_expired(now) else { break };
            self.remove(&field, effects);
        }
    }

    /// A page of the live fields after a position.
    pub(super) fn page(
        &self,
        after: Option<&FieldPosition>,
        limit: usize,
        omit_values: bool,
        now: Timestamp,
    ) -> FieldPage {
        let after = after.map(|position| (position.expires_us, &*position.field));
        let mut entries = self.fields.live_after(after, now);
        let field = |(field, entry): (&Key, &Entry<Box<[u8]>>)| HashField {
            field: field.to_vec(),
            value: (!omit_values).then(|| entry.value.to_vec()),
            expires_us: entry.expires,
        };
        let fields: Vec<HashField> = entries.by_ref().take(limit).map(field).collect();
        let has_more = entries.next().is_some();
        let next = fields.last().filter(|_| has_more).map(FieldPosition::from);
        FieldPage { fields, next }
    }

    pub(super) fn stats(&self, now: Timestamp) -> HashStats {
        let fields = self.fields.live_len(now);
        let expired = (self.fields.len() - fields) as u64;
        let locks = self.locks.live_len(now) as u64;
        HashStats { fields: fields as u64, expired, locks }
    }
}

/// The locks.
impl Hash {
    /// Takes the lock of a field if it is free, or again if the token holds it.
    pub(super) fn acquire(
        &mut self,
        field: &[u8],
        token: &[u8],
        ttl_us: u64,
        now: Timestamp,
        effects: &mut Effects,
    ) -> Acquired {
        let fence = match self.locks.live(field, now) {
            Some(lock) if *lock.value.token != *token => {
                return Acquired::busy(remaining(lock.expires, now));
            }
            Some(lock) => lock.value.fence,
            None => now.max(self.last_fence.saturating_add(1)),
        };
        self.hold(field, Held { token: token.into(), fence }, now + ttl_us, effects);
        Acquired::locked(fence)
    }

    /// Makes the lock of a field run for a full term again; returns whether the token holds it.
    pub(super) fn renew(
        &mut self,
        field: &[u8],
        token: &[u8],
        ttl_us: u64,
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let is_held = self.is_held(field, token, now);
        if is_held {
            self.acquire(field, token, ttl_us, now, effects);
        }
        is_held
    }

    /// Releases the lock of a field; returns whether the token held it.
    pub(super) fn release(
        &mut self,
        field: &[u8],
        token: &[u8],
        now: Timestamp,
        effects: &mut Effects,
    ) -> bool {
        let is_held = self.is_held(field, token, now);
        if is_held {
            self.unlock(field, effects);
            self.forget_fence(now, effects);
        }
        is_held
    }

    /// Refuses a step whose token does not hold the lock of a field.
    pub(super) fn check_lock(&self, field: &[u8], token: &[u8], now: Timestamp) -> Result<()> {
        match self.is_held(field, token, now) {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::LeaseLost,
                "the lock of the field expired or another token holds it",
            )),
        }
    }

    fn is_held(&self, field: &[u8], token: &[u8], now: Timestamp) -> bool {
        self.locks.live(field, now).is_some_and(|lock| *lock.value.token == *token)
    }

    /// Who holds the lock of a field.
    pub(super) fn holder(&self, field: &[u8], now: Timestamp) -> Option<LockHolder> {
        self.locks.live(field, now).map(|lock| LockHolder {
            token: lock.value.token.to_vec(),
            fence: lock.value.fence,
            remaining: remaining(lock.expires, now),
        })
    }

    fn hold(&mut self, field: &[u8], holder: Held, until: Timestamp, effects: &mut Effects) {
        put_lock(field, &holder, until, effects);
        self.last_fence = self.last_fence.max(holder.fence);
        self.locks.put(field, holder, until);
    }

    fn unlock(&mut self, field: &[u8], effects: &mut Effects) {
        if self.locks.remove(field).is_some() {
            effects.write(tag::UNLOCK, |record| put_bytes(field, record));
        }
    }

    /// Forgets the last fence once no lock is there and the clock alone makes the next one higher.
    fn forget_fence(&mut self, now: Timestamp, effects: &mut Effects) {
        let is_needed =
            !self.locks.is_empty() || self.last_fence.saturating_add(CLOCK_STEP_US) >= now;
        if self.last_fence > 0 && !is_needed {
            self.last_fence = 0;
            put_fence(0, effects);
        }
    }
}

/// Both.
impl Hash {
    /// Removes up to `limit` fields and locks that have expired, those first that did so first.
    pub(super) fn reap(&mut self, limit: usize, now: Timestamp, effects: &mut Effects) -> Reaped {
        let mut reaped = Reaped::default();
        for _ in 0..limit {
            match (self.fields.first_expired(now), self.locks.first_expired(now)) {
                (Some(field), lock) if lock.as_ref().is_none_or(|lock| field.0 <= lock.0) => {
                    self.remove(&field.1, effects);
                    reaped.fields += 1;
                }
                (_, Some((_, field))) => {
                    self.unlock(&field, effects);
                    reaped.locks += 1;
                }
                (_, None) => break,
            }
        }
        self.forget_fence(now, effects);
        let first = [self.fields.first(), self.locks.first()];
        let first = first.into_iter().flatten().map(|(expires, _)| expires).min();
        reaped.more = first.is_some_and(|expires| expires <= now);
        reaped.next_in = first.map(|expires| remaining(expires, now));
        reaped
    }

    fn is_unused(&self) -> bool {
        self.fields.is_empty() && self.locks.is_empty() && self.last_fence == 0
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut record = Reader::new(record);
        let none = &mut Effects::none();
        while !record.is_empty() {
            match record.byte()? {
                tag::SET => {
                    let (field, value) = (record.bytes()?, record.bytes()?);
                    self.set(field, value, record.integer()?, none);
                }
                tag::TOUCH => {
                    if !self.fields.touch(record.bytes()?, record.integer()?) {
                        return Err(unreadable("touches a field that is not there"));
                    }
                }
                tag::REMOVE => self.remove(record.bytes()?, none),
                tag::LOCK => {
                    let (field, token) = (record.bytes()?, record.bytes()?.into());
                    let holder = Held { token, fence: record.integer()? };
                    self.hold(field, holder, record.integer()?, none);
                }
                tag::UNLOCK => self.unlock(record.bytes()?, none),
                tag::FENCE => self.last_fence = record.integer()?,
                tag::CLEAR => self.fields.clear(),
                unknown => return Err(unreadable(&format!("has the unknown tag {unknown}"))),
            }
        }
        Ok(())
    }
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        self.lock().replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let hash = self.lock();
        out.begin();
        let mut effects = Effects::after(Vec::new());
        put_fence(hash.last_fence, &mut effects);
        for (field, Entry { value, expires }) in hash.fields.iter() {
            put_set(field, value, *expires, &mut effects);
            effects.flush(SNAPSHOT_BYTES, out);
        }
        for (field, Entry { value, expires }) in hash.locks.iter() {
            put_lock(field, value, *expires, &mut effects);
            effects.flush(SNAPSHOT_BYTES, out);
        }
        effects.flush(1, out);
    }

    fn is_unused(&self) -> bool {
        self.lock().is_unused()
    }
}

fn remaining(expires: Timestamp, now: Timestamp) -> Duration {
    Duration::from_micros(expires.saturating_sub(now))
}

fn put_set(field: &[u8], value: &[u8], expires: Timestamp, effects: &mut Effects) {
    effects.write(tag::SET, |record| {
        put_bytes(field, record);
        put_bytes(value, record);
        put_integer(expires, record);
    });
}

fn put_lock(field: &[u8], holder: &Held, until: Timestamp, effects: &mut Effects) {
    effects.write(tag::LOCK, |record| {
        put_bytes(field, record);
        put_bytes(&holder.token, record);
        put_integer(holder.fence, record);
        put_integer(until, record);
    });
}

fn put_fence(fence: u64, effects: &mut Effects) {
    effects.write(tag::FENCE, |record| put_integer(fence, record));
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a journal record of a volatile hash {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a snapshot.
    struct Records(Vec<Vec<u8>>);

    impl Snapshot for Records {
        fn begin(&mut self) -> u64 {
            1
        }

        fn record(&mut self, record: &[u8]) {
            self.0.push(record.to_vec());
        }
    }

    fn replayed(records: &[Vec<u8>]) -> State {
        let state = State::default();
        for record in records {
            step::State::replay(&state, record, None).unwrap();
        }
        state
    }

    /// Fields with their values and expiries; locks with their holders and ends; the last fence.
    fn contents(state: &State) -> String {
        let hash = state.lock();
        let mut all = Vec::new();
        for (field, entry) in hash.fields.iter() {
            all.push(format!("{field:?} = {:?} until {}", entry.value, entry.expires));
        }
        for (field, entry) in hash.locks.iter() {
            let Held { token, fence } = &entry.value;
            all.push(format!("{field:?} by {token:?} with {fence} until {}", entry.expires));
        }
        all.sort_unstable();
        format!("{all:?} after {}", hash.last_fence)
    }

    #[test]
    fn effects_and_snapshots_make_the_same_state() {
        let (mut hash, mut effects) = (Hash::default(), Effects::after(Vec::new()));
        let value = vec![7; 1_000];
        for number in 0..2_000_u32 {
            let field = (number % 1_500).to_be_bytes();
            hash.set(&field, &value, 100 + u64::from(number), &mut effects);
            hash.acquire(&field, b"me", 1_000 + u64::from(number), 50, &mut effects);
        }
        hash.touch(&7_u32.to_be_bytes(), 5_000, &mut effects);
        hash.remove(&8_u32.to_be_bytes(), &mut effects);
        assert!(hash.release(&9_u32.to_be_bytes(), b"me", 60, &mut effects));
        let reaped = hash.reap(1_000, 2_050, &mut effects);
        assert!(reaped.fields > 0 && reaped.locks > 0 && reaped.more, "{reaped:?}");

        let state = State(Mutex::new(hash));
        let expected = contents(&state);
        assert_eq!(contents(&replayed(&[effects.into_record()])), expected);
        let mut records = Records(Vec::new());
        step::State::snapshot(&state, &mut records);
        assert!(records.0.len() > 1);
        assert_eq!(contents(&replayed(&records.0)), expected);
    }

    #[test]
    fn the_last_fence_is_kept_while_the_clock_could_make_a_lower_one() {
        let (mut hash, none) = (Hash::default(), &mut Effects::none());
        let now = 10_000_000;
        hash.acquire(b"a", b"me", 500_000, now, none);
        assert!(hash.release(b"a", b"me", now + CLOCK_STEP_US, none));
        assert!(!hash.is_unused());
        hash.reap(1, now + CLOCK_STEP_US + 1, none);
        assert!(hash.is_unused());
    }
}
