//! A volatile hash on the embedded engine: its fields and its locks under one lock of the process, and the effects of
//! its steps.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use hashbrown::HashMap;

use super::limits::TTL_MIN;
use super::set::REAPED_MAX;
use super::{
    Acquired, DUE_HASHES_MAX, FIELD_BYTES_MAX, FIELDS_MAX, FieldPage, FieldPosition, HashField,
    HashStats, LockHolder, PAGE_MAX, REAP_MAX, Reaped, TOKEN_BYTES_MAX, TTL_MAX,
};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync;
use crate::step::codec::{Reader, effects};
use crate::step::limits::INTEGER_MAX;
use crate::step::time::steady;
use crate::step::timed::{Entry, Key, Timed};
use crate::step::{
    self, Constants, Effects, SNAPSHOT_BYTES, Snapshot, StepContext, Timestamp, constants,
};

/// The state of one volatile hash, or of a shard of a family of them, on the embedded engine.
#[derive(Default)]
pub struct State(Mutex<Shard>);

#[derive(Default)]
struct Shard {
    /// The hash that is in no family.
    alone: Hash,
    /// The hashes of the family, by their bases.
    hashes: HashMap<Key, Hash>,
    /// When each of them has something to remove.
    due: BTreeSet<(Timestamp, Key)>,
    /// The latest time of a step. A thread that is paused between reading the clock and taking the lock brings an
    /// earlier one.
    latest: Timestamp,
}

/// The highest fence that any hash of this process has forgotten. A hash that has forgotten its own continues above it.
static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
pub(super) struct Hash {
    fields: Timed<Box<[u8]>>,
    locks: Timed<Held>,
    /// The fence of the last lock; 0 if it is not needed any more.
    last_fence: u64,
}

/// Who holds a lock.
struct Held {
    token: Box<[u8]>,
    fence: u64,
}

impl Held {
    fn effect<'a>(&'a self, field: &'a [u8], until: Timestamp) -> Effect<'a> {
        Effect::Lock { field, token: &self.token, fence: self.fence, until }
    }
}

/// The kind of a volatile hash in the journal.
pub(crate) const KIND: u8 = 7;

effects! {
    /// Effects say what changed, not what was requested, and their times are microseconds since the epoch, so that
    /// replaying them needs no clock.
    enum Effect<'a> of "a volatile hash" {
        Set { field: &'a [u8], value: &'a [u8], expires: Timestamp } = 1,
        Touch { field: &'a [u8], expires: Timestamp } = 2,
        Remove { field: &'a [u8] } = 3,
        /// The token holds the lock of the field; its fence becomes the last fence unless that is higher.
        Lock { field: &'a [u8], token: &'a [u8], fence: u64, until: Timestamp } = 4,
        Unlock { field: &'a [u8] } = 5,
        /// The last fence; 0 for none.
        Fence { fence: u64 } = 6,
        /// All fields were removed.
        Clear = 7,
        /// The following effects of the record are those of the hash with this base, not of the one that is in no
        /// family.
        Base { base: &'a [u8] } = 8,
    }
}

impl State {
    /// Runs one step on the hash with this base, or on the one that is in no family, under the lock; and records its
    /// effects before the lock is released, so that the journal has a hash's steps in the order in which they happened.
    pub(super) fn step<T>(
        &self,
        base: &[u8],
        context: &mut StepContext<'_>,
        step: impl FnOnce(&mut Hash, Timestamp, &mut Effects) -> Result<T>,
    ) -> Result<T> {
        let mut shard = self.lock();
        let now = shard.now(context.now());
        let mut effects = Effects::of(context);
        put_base(base, &mut effects);
        let begun = effects.len();
        let output = shard.change(base, |hash| step(hash, now, &mut effects))?;
        if effects.len() > begun {
            effects.record(context);
        }
        if shard.is_unused() {
            context.mark_evictable();
        }
        Ok(output)
    }

    /// The bases of up to `limit` hashes that have something to remove, and how long until the next hash has.
    pub(super) fn due(&self, limit: usize, now: Timestamp) -> (Vec<Vec<u8>>, Option<Duration>) {
        let mut shard = self.lock();
        let now = shard.now(now);
        let mut entries = shard.due.iter();
        let due = entries.by_ref().take_while(|(time, _)| *time <= now);
        let bases: Vec<_> = due.take(limit).map(|(_, base)| base.to_vec()).collect();
        let next = shard.due.iter().nth(bases.len());
        (bases, next.map(|(time, _)| remaining(*time, now)))
    }

    /// A step that panicked left no partial change: each change to the fields and the locks is complete before the next
    /// begins.
    fn lock(&self) -> MutexGuard<'_, Shard> {
        sync::lock(&self.0)
    }
}

impl Shard {
    /// Changes a hash, which exists only while it holds anything, and its place in the order of due hashes.
    fn change<T>(&mut self, base: &[u8], change: impl FnOnce(&mut Hash) -> T) -> T {
        if base.is_empty() {
            return change(&mut self.alone);
        }
        let key = match self.hashes.get_key_value(base) {
            Some((key, _)) => key.clone(),
            None => base.into(),
        };
        let hash = self.hashes.entry(key.clone()).or_default();
        let before = hash.first();
        let output = change(hash);
        let (after, is_unused) = (hash.first(), hash.is_unused());
        if is_unused {
            self.hashes.remove(base);
        }
        if before != after {
            if let Some(time) = before {
                self.due.remove(&(time, key.clone()));
            }
            self.due.extend(after.map(|time| (time, key)));
        }
        output
    }

    /// The time of a step that read the clock before it had the lock.
    fn now(&mut self, clock: Timestamp) -> Timestamp {
        self.latest = steady(self.latest, clock);
        self.latest
    }

    fn is_unused(&self) -> bool {
        self.alone.is_unused() && self.hashes.is_empty()
    }

    fn replay(&mut self, record: &[u8]) -> Result<()> {
        let mut at: &[u8] = &[];
        for effect in Reader::new(record).all() {
            match effect? {
                Effect::Base { base } => at = base,
                effect => self.change(at, |hash| hash.replay(effect))?,
            }
        }
        Ok(())
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
        self.fields.live(field, now).map(|entry| remaining(entry.time, now))
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
        effects.note(&Effect::Set { field, value, expires });
        self.fields.put(field, value.into(), expires);
    }

    /// Changes the expiry of a field, which has to exist.
    pub(super) fn touch(&mut self, field: &[u8], expires: Timestamp, effects: &mut Effects) {
        effects.note(&Effect::Touch { field, expires });
        self.fields.touch(field, expires);
    }

    /// Removes a field, live or not.
    pub(super) fn remove(&mut self, field: &[u8], effects: &mut Effects) {
        if self.fields.remove(field).is_some() {
            effects.note(&Effect::Remove { field });
        }
    }

    /// Removes all fields; returns how many were live.
    pub(super) fn clear(&mut self, now: Timestamp, effects: &mut Effects) -> u64 {
        let live = self.fields.live_len(now) as u64;
        if !self.fields.is_empty() {
            effects.note(&Effect::Clear);
            self.fields.clear();
        }
        live
    }

    /// Removes up to `limit` expired fields, in the order of expiry.
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
            expires_us: entry.time,
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
                return Acquired::busy(remaining(lock.time, now));
            }
            Some(lock) => lock.value.fence,
            None => {
                self.reap_locks(REAPED_MAX, now, effects);
                let last_fence = self.last_fence.max(FORGOTTEN.load(Ordering::Relaxed));
                now.max(last_fence.saturating_add(1))
            }
        };
        self.hold(field, Held { token: token.into(), fence }, now + ttl_us, effects);
        Acquired::locked(fence)
    }

    /// Renews the lock of a field for a full term; returns whether the token holds it.
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
            remaining: remaining(lock.time, now),
        })
    }

    fn hold(&mut self, field: &[u8], holder: Held, until: Timestamp, effects: &mut Effects) {
        effects.note(&holder.effect(field, until));
        self.last_fence = self.last_fence.max(holder.fence);
        self.locks.put(field, holder, until);
    }

    fn unlock(&mut self, field: &[u8], effects: &mut Effects) {
        if self.locks.remove(field).is_some() {
            effects.note(&Effect::Unlock { field });
        }
    }

    /// Removes up to `limit` expired locks, in the order of expiry.
    fn reap_locks(&mut self, limit: usize, now: Timestamp, effects: &mut Effects) {
        for _ in 0..limit {
            let Some((_, field)) = self.locks.first_expired(now) else { break };
            self.unlock(&field, effects);
        }
    }

    /// Forgets the last fence once there are no locks and the clock alone makes the next fence higher, even after a
    /// restart.
    fn forget_fence(&mut self, now: Timestamp, effects: &mut Effects) {
        if self.locks.is_empty() && (1..now).contains(&self.last_fence) {
            FORGOTTEN.fetch_max(self.last_fence, Ordering::Relaxed);
            self.last_fence = 0;
            effects.note(&Effect::Fence { fence: 0 });
        }
    }
}

/// The fields and the locks.
impl Hash {
    /// Removes up to `limit` expired fields and locks, in the order of expiry.
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

    /// Writes the whole hash, with this base at the beginning of each record but the first.
    fn snapshot(&self, base: &[u8], effects: &mut Effects, out: &mut dyn Snapshot) {
        let mut flush = |effects: &mut Effects| {
            if effects.flush(SNAPSHOT_BYTES, out) {
                put_base(base, effects);
            }
        };
        if self.last_fence > 0 {
            effects.note(&Effect::Fence { fence: self.last_fence });
        }
        for (field, Entry { value, time: expires }) in self.fields.iter() {
            effects.note(&Effect::Set { field, value, expires: *expires });
            flush(effects);
        }
        for (field, Entry { value, time }) in self.locks.iter() {
            effects.note(&value.effect(field, *time));
            flush(effects);
        }
    }

    /// When there is something to remove: a field, a lock, or the last fence.
    fn first(&self) -> Option<Timestamp> {
        let first = [self.fields.first(), self.locks.first()];
        let first = first.into_iter().flatten().map(|(expires, _)| expires).min();
        first.or((self.last_fence > 0).then(|| self.last_fence.saturating_add(1)))
    }

    fn is_unused(&self) -> bool {
        self.fields.is_empty() && self.locks.is_empty() && self.last_fence == 0
    }

    fn replay(&mut self, effect: Effect<'_>) -> Result<()> {
        let none = &mut Effects::none();
        match effect {
            Effect::Set { field, value, expires } => self.set(field, value, expires, none),
            Effect::Touch { field, expires } => {
                if !self.fields.touch(field, expires) {
                    return Err(Effect::unreadable("touches a field that is not there"));
                }
            }
            Effect::Remove { field } => self.remove(field, none),
            Effect::Lock { field, token, fence, until } => {
                self.hold(field, Held { token: token.into(), fence }, until, none);
            }
            Effect::Unlock { field } => self.unlock(field, none),
            Effect::Fence { fence } => self.last_fence = fence,
            Effect::Clear => self.fields.clear(),
            // It names the hash of the other effects.
            Effect::Base { .. } => {}
        }
        Ok(())
    }
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![
            DUE_HASHES_MAX,
            FIELD_BYTES_MAX,
            FIELDS_MAX,
            INTEGER_MAX,
            PAGE_MAX,
            REAP_MAX,
            REAPED_MAX,
            TOKEN_BYTES_MAX,
            TTL_US_MAX = TTL_MAX.as_micros(),
            TTL_US_MIN = TTL_MIN.as_micros(),
        ]
    }

    fn replay(&self, record: &[u8], _: Option<u64>) -> Result<()> {
        self.lock().replay(record)
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        let shard = self.lock();
        out.begin();
        let mut effects = Effects::after(Vec::new());
        // Each record begins with the hash that is in no family.
        shard.alone.snapshot(&[], &mut effects, out);
        for (base, hash) in &shard.hashes {
            put_base(base, &mut effects);
            hash.snapshot(base, &mut effects, out);
        }
        effects.flush(1, out);
    }

    fn is_unused(&self) -> bool {
        self.lock().is_unused()
    }
}

fn put_base(base: &[u8], effects: &mut Effects) {
    if !base.is_empty() {
        effects.note(&Effect::Base { base });
    }
}

fn remaining(expires: Timestamp, now: Timestamp) -> Duration {
    Duration::from_micros(expires.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::stored;

    /// Of each hash: fields with their values and expiries; locks with their holders and ends; the last fence.
    /// And which are due.
    fn contents(state: &State) -> String {
        let shard = state.lock();
        let hashes = shard.hashes.iter().map(|(base, hash)| (&**base, hash));
        let mut all = Vec::new();
        for (base, hash) in hashes.chain([(b"".as_slice(), &shard.alone)]) {
            for (field, entry) in hash.fields.iter() {
                all.push(format!("{base:?} {field:?} = {:?} until {}", entry.value, entry.time));
            }
            for (field, entry) in hash.locks.iter() {
                let Held { token, fence } = &entry.value;
                let until = entry.time;
                all.push(format!("{base:?} {field:?} by {token:?} with {fence} until {until}"));
            }
            all.push(format!("{base:?} after {}", hash.last_fence));
        }
        all.sort_unstable();
        format!("{all:?} {:?}", shard.due)
    }

    #[test]
    fn effects_and_snapshots_make_the_same_state() {
        let (mut shard, mut effects) = (Shard::default(), Effects::after(Vec::new()));
        let value = vec![7; 1_000];
        for (offset, base) in [(0, b"".as_slice()), (10, b"one"), (20, b"two")] {
            // A record begins with the hash that is in no family.
            put_base(base, &mut effects);
            shard.change(base, |hash| {
                for number in 0..2_000_u32 {
                    let (field, time) =
                        ((number % 1_500).to_be_bytes(), offset + u64::from(number));
                    hash.set(&field, &value, 100 + time, &mut effects);
                    hash.acquire(&field, b"me", 1_000 + time, 50, &mut effects);
                }
                hash.touch(&7_u32.to_be_bytes(), 5_000, &mut effects);
                hash.remove(&8_u32.to_be_bytes(), &mut effects);
                assert!(hash.release(&9_u32.to_be_bytes(), b"me", 60, &mut effects));
                let reaped = hash.reap(1_000, 2_050, &mut effects);
                assert!(reaped.fields > 0 && reaped.locks > 0 && reaped.more, "{reaped:?}");
            });
        }
        assert_eq!(shard.due.len(), 2);

        let state = State(Mutex::new(shard));
        let expected = contents(&state);
        let replayed = |records: &[Vec<u8>]| contents(&stored::replayed(records).unwrap());
        assert_eq!(replayed(&[effects.into_record()]), expected);
        let records = stored::snapshot_of(&state);
        assert!(records.len() > 3);
        assert_eq!(replayed(&records), expected);
    }

    #[test]
    fn records_are_stored_as_before() {
        let mut shard = Shard::default();
        let mut note = |name, base: &[u8], change: &dyn Fn(&mut Hash, &mut Effects)| {
            let mut effects = Effects::after(Vec::new());
            put_base(base, &mut effects);
            shard.change(base, |hash| change(hash, &mut effects));
            (name, effects.into_record())
        };
        let held = |fence| Held { token: b"me\0".as_slice().into(), fence };
        let records = [
            note("set", b"", &|hash, effects| hash.set(b"f\0", b"v\xff", 300, effects)),
            note("touch", b"", &|hash, effects| hash.touch(b"f\0", 301, effects)),
            note("remove", b"", &|hash, effects| hash.remove(b"f\0", effects)),
            note("lock", b"", &|hash, effects| hash.hold(b"f\0", held(300), 400, effects)),
            note("unlock", b"", &|hash, effects| hash.unlock(b"f\0", effects)),
            note("fence", b"", &|hash, effects| hash.forget_fence(500, effects)),
            note("set in a family", b"base", &|hash, effects| hash.set(b"g", b"", 300, effects)),
            note("clear", b"base", &|hash, effects| _ = hash.clear(500, effects)),
            note("rest", b"", &|hash, effects| {
                hash.set(b"f\0", b"v\xff", 300, effects);
                hash.hold(b"f\0", held(1_763_691_473_123_456), 400, effects);
            }),
            note("rest in a family", b"base", &|hash, effects| {
                hash.set(b"g", b"", 300, effects);
                hash.hold(b"h", held(7), u64::MAX, effects);
            }),
        ];
        stored::check::<State>(include_str!("embedded.hex"), &records);
    }

    #[test]
    fn a_hash_that_has_forgotten_its_fence_continues_above_it() {
        let (mut hash, none) = (Hash::default(), &mut Effects::none());
        let now = 10_000_000;
        let first = hash.acquire(b"a", b"me", 500_000, now, none).fence.unwrap();
        // In the same microsecond the fence is still needed.
        assert!(hash.release(b"a", b"me", now, none) || first > now);
        hash.reap(1, first + 1, none);
        assert!(hash.is_unused());
        let again = hash.acquire(b"a", b"me", 500_000, now, none).fence.unwrap();
        assert!(again > first, "{again} after {first}");
    }

    #[test]
    fn a_thread_that_comes_late_does_not_go_back_in_time() {
        let mut shard = Shard::default();
        assert_eq!([5, 3, 7].map(|clock| shard.now(clock)), [5, 5, 7]);
    }
}
