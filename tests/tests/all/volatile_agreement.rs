//! Random steps of a volatile hash on Redis, on both embedded engines and in a model that is written from the
//! specification: all return the same.
//!
//! Nothing depends on how long a step takes. Times to live are either a millisecond, and then the test waits until it
//! is over, or of hours; and each is longer than those before it, so that the order is known.

use std::collections::BTreeMap;
use std::time::Duration;

use millpond::volatile::{Condition, FieldQuery, Set, VolatileHash};
use millpond::{Client, ErrorKind};
use millpond_tests::servers::Redis;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

const FIELDS: [&str; 6] = ["", "a", "a\0b", "b", "é", "z"];
const TOKENS: [&str; 3] = ["ann", "bob", "eve"];
const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);
const CONDITIONS: [Condition; 3] = [Condition::Always, Condition::Absent, Condition::Present];

#[derive(Clone, Debug)]
enum Step {
    Set {
        fields: Vec<usize>,
        value: u8,
        is_long: bool,
        condition: usize,
        /// The field and the token of a lock, and whether it is released.
        lock: Option<(usize, usize, bool)>,
    },
    Get(Vec<usize>),
    Ttl(usize),
    Touch(usize, bool),
    Delete(Vec<usize>),
    Clear,
    /// All pages, each with up to this number of fields.
    Pages(usize, bool),
    Reap(usize),
    Stats,
    Acquire(usize, usize, bool),
    GetOrAcquire(usize, usize),
    Renew(usize, usize),
    Release(usize, usize),
    Holder(usize),
    /// The durable engine is closed and opened again.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let (field, token) = (0..FIELDS.len(), 0..TOKENS.len());
    let fields = prop::collection::vec(field.clone(), 1..5);
    let lock = prop::option::weighted(0.2, (field.clone(), token.clone(), any::<bool>()));
    let set = (fields.clone(), any::<u8>(), prop::bool::weighted(0.7), 0..3_usize, lock);
    let set = set.prop_map(|(fields, value, is_long, condition, lock)| Step::Set {
        fields,
        value,
        is_long,
        condition,
        lock,
    });
    let pair = || (0..FIELDS.len(), 0..TOKENS.len());
    prop_oneof![
        6 => set,
        2 => fields.clone().prop_map(Step::Get),
        1 => field.clone().prop_map(Step::Ttl),
        2 => (field.clone(), any::<bool>()).prop_map(|(field, is_long)| Step::Touch(field, is_long)),
        1 => fields.prop_map(Step::Delete),
        1 => Just(Step::Clear),
        2 => (1..4_usize, any::<bool>()).prop_map(|(limit, omit)| Step::Pages(limit, omit)),
        2 => (1..5_usize).prop_map(Step::Reap),
        1 => Just(Step::Stats),
        3 => (pair(), any::<bool>()).prop_map(|((field, token), is_long)| Step::Acquire(field, token, is_long)),
        2 => pair().prop_map(|(field, token)| Step::GetOrAcquire(field, token)),
        1 => pair().prop_map(|(field, token)| Step::Renew(field, token)),
        2 => pair().prop_map(|(field, token)| Step::Release(field, token)),
        1 => field.prop_map(Step::Holder),
        1 => Just(Step::Reopen),
    ]
}

/// What a step returned, with times and fences by their order alone.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    Flags(Vec<bool>),
    Values(Vec<Option<Vec<u8>>>),
    Count(u64),
    /// Fields, with their values.
    Pages(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    Counts(Vec<u64>),
    /// Whether there is something that has expired, or something that has not.
    Reaped {
        counts: [u64; 2],
        more: bool,
        has_next: bool,
    },
    /// The value, or whether the lock was taken.
    Lock(Option<Vec<u8>>, bool),
    Holder(Option<Vec<u8>>),
    LeaseLost,
    Nothing,
}

/// How a field or a lock is in the model: what it has, and when it expires, as a number that grows from one to the
/// next. Those below zero have expired.
#[derive(Default)]
struct Model {
    fields: BTreeMap<Vec<u8>, (u8, i64)>,
    locks: BTreeMap<Vec<u8>, (usize, i64)>,
    /// How many times were set so far: the next that is short is `-1_000_000 + times`, a long one `times`.
    times: i64,
}

impl Model {
    fn expiry(&mut self, is_long: bool) -> i64 {
        self.times += 1;
        if is_long { self.times } else { self.times - 1_000_000 }
    }

    fn value(&self, field: &[u8]) -> Option<Vec<u8>> {
        self.fields.get(field).filter(|of| of.1 > 0).map(|of| vec![of.0])
    }

    fn holder(&self, field: &[u8]) -> Option<usize> {
        self.locks.get(field).filter(|of| of.1 > 0).map(|of| of.0)
    }

    fn acquire(&mut self, field: &[u8], token: usize, is_long: bool) -> bool {
        let is_free = self.holder(field).is_none_or(|holder| holder == token);
        let expiry = self.expiry(is_long);
        if is_free {
            if self.holder(field).is_none() {
                self.reap_locks(2);
            }
            self.locks.insert(field.to_vec(), (token, expiry));
        }
        is_free
    }

    /// Removes the locks that have expired first.
    fn reap_locks(&mut self, limit: usize) {
        let locks = self.locks.iter().map(|(name, of)| (of.1, name.clone()));
        let mut expired: Vec<_> = locks.filter(|of| of.0 < 0).collect();
        expired.sort();
        for (_, name) in expired.into_iter().take(limit) {
            self.locks.remove(&name);
        }
    }

    /// Removes the first that have expired, and says of how many fields and locks.
    fn reap(&mut self, limit: usize, with_locks: bool) -> [u64; 2] {
        let fields = self.fields.iter().map(|(name, of)| (of.1, 0, name.clone()));
        let locks = self.locks.iter().map(|(name, of)| (of.1, 1, name.clone()));
        let mut all: Vec<_> = fields.chain(locks.filter(|_| with_locks)).collect();
        all.retain(|of| of.0 < 0);
        all.sort();
        let mut counts = [0, 0];
        for (_, kind, name) in all.into_iter().take(limit) {
            counts[kind] += 1;
            match kind {
                0 => drop(self.fields.remove(&name)),
                _ => drop(self.locks.remove(&name)),
            }
        }
        counts
    }

    fn run(&mut self, step: &Step) -> Found {
        match step {
            Step::Set { fields, value, is_long, condition, lock } => {
                if lock.is_some_and(|(field, token, _)| self.holder(name(field)) != Some(token)) {
                    return Found::LeaseLost;
                }
                let expiry = self.expiry(*is_long);
                let mut are_set = Vec::new();
                for field in fields.iter().map(|field| name(*field).to_vec()) {
                    // What this step set counts as live, whatever its time to live.
                    let is_live =
                        self.fields.get(&field).is_some_and(|of| of.1 > 0 || of.1 == expiry);
                    let is_set = match CONDITIONS[*condition] {
                        Condition::Always => true,
                        Condition::Absent => !is_live,
                        Condition::Present => is_live,
                    };
                    if is_set {
                        self.fields.insert(field, (*value, expiry));
                    }
                    are_set.push(is_set);
                }
                // Fields that expire after the step are not removed by it.
                let mut new = BTreeMap::new();
                self.fields.retain(|name, of| {
                    let is_new = of.1 == expiry;
                    is_new.then(|| new.insert(name.clone(), *of));
                    !is_new
                });
                self.reap(2, false);
                self.fields.extend(new);
                if let Some((field, _, true)) = lock {
                    self.locks.remove(name(*field));
                }
                Found::Flags(are_set)
            }
            Step::Get(fields) => {
                Found::Values(fields.iter().map(|field| self.value(name(*field))).collect())
            }
            Step::Ttl(field) => Found::Flags(vec![self.value(name(*field)).is_some()]),
            Step::Touch(field, is_long) => {
                let is_live = self.value(name(*field)).is_some();
                let expiry = self.expiry(*is_long);
                if let Some(of) = self.fields.get_mut(name(*field)).filter(|_| is_live) {
                    of.1 = expiry;
                }
                Found::Flags(vec![is_live])
            }
            Step::Delete(fields) => {
                let removed = fields.iter().filter_map(|field| self.fields.remove(name(*field)));
                Found::Count(removed.filter(|of| of.1 > 0).count() as u64)
            }
            Step::Clear => {
                let live = self.fields.values().filter(|of| of.1 > 0).count() as u64;
                self.fields.clear();
                Found::Count(live)
            }
            Step::Pages(_, omit) => {
                let live = self.fields.iter().filter(|(_, of)| of.1 > 0);
                let mut live: Vec<_> = live.map(|(name, of)| (of.1, name.clone(), of.0)).collect();
                live.sort();
                let value = |value| (!omit).then(|| vec![value]);
                Found::Pages(live.into_iter().map(|of| (of.1, value(of.2))).collect())
            }
            Step::Reap(limit) => {
                let counts = self.reap(*limit, true);
                let mut times = self.fields.values().map(|of| of.1);
                let times: Vec<_> =
                    times.by_ref().chain(self.locks.values().map(|of| of.1)).collect();
                let more = times.iter().any(|time| *time < 0);
                Found::Reaped { counts, more, has_next: !times.is_empty() }
            }
            Step::Stats => {
                let live = self.fields.values().filter(|of| of.1 > 0).count();
                let locks = self.locks.values().filter(|of| of.1 > 0).count();
                let counts = [live, self.fields.len() - live, locks, live];
                Found::Counts(counts.map(|count| count as u64).to_vec())
            }
            Step::Acquire(field, token, is_long) => {
                Found::Lock(None, self.acquire(name(*field), *token, *is_long))
            }
            Step::GetOrAcquire(field, token) => match self.value(name(*field)) {
                Some(value) => Found::Lock(Some(value), false),
                None => Found::Lock(None, self.acquire(name(*field), *token, true)),
            },
            Step::Renew(field, token) => {
                let is_held = self.holder(name(*field)) == Some(*token);
                let expiry = self.expiry(true);
                if is_held {
                    self.locks.insert(name(*field).to_vec(), (*token, expiry));
                }
                Found::Flags(vec![is_held])
            }
            Step::Release(field, token) => {
                let is_held = self.holder(name(*field)) == Some(*token);
                if is_held {
                    self.locks.remove(name(*field));
                }
                Found::Flags(vec![is_held])
            }
            Step::Holder(field) => {
                let holder = self.holder(name(*field));
                Found::Holder(holder.map(|token| TOKENS[token].as_bytes().to_vec()))
            }
            Step::Reopen => Found::Nothing,
        }
    }
}

fn name(field: usize) -> &'static [u8] {
    FIELDS[field].as_bytes()
}

fn names(fields: &[usize]) -> impl Iterator<Item = &'static [u8]> {
    fields.iter().map(|field| name(*field))
}

/// What there is of an engine beside its hash: the last fence of each lock.
#[derive(Default)]
struct Fences {
    last: u64,
    by_field: BTreeMap<usize, (usize, u64)>,
}

impl Fences {
    /// A fence is higher than all before it, and the same as long as its token holds the lock.
    fn check(&mut self, field: usize, token: usize, fence: u64, is_held: bool) {
        match self.by_field.get(&field).filter(|of| is_held && of.0 == token) {
            Some(of) => assert_eq!(fence, of.1, "the fence of a lock that is held"),
            None => assert!(fence > self.last, "{fence} after {}", self.last),
        }
        self.last = self.last.max(fence);
        self.by_field.insert(field, (token, fence));
    }
}

/// Runs a step on a hash, which has this name unless it is in a family; the `times`-th that sets a time, if it does.
/// `was_held` is the token that held its lock before.
fn run(
    (client, hash, key): (&Client, &VolatileHash, Option<&str>),
    step: &Step,
    times: u32,
    was_held: Option<usize>,
    fences: &mut Fences,
) -> millpond::Result<Found> {
    let ttl = |is_long| if is_long { HOUR + MILLISECOND * times } else { MILLISECOND };
    let mut is_locked = |field: usize, token: usize, fence: Option<u64>| {
        if let Some(fence) = fence {
            fences.check(field, token, fence, was_held == Some(token));
        }
        fence.is_some()
    };
    Ok(match step {
        Step::Set { fields, value, is_long, condition, lock } if key.is_none() => {
            let (field, value, ttl) = (name(fields[0]), [*value], ttl(*is_long));
            let set = match (lock, CONDITIONS[*condition]) {
                (Some((field, token, true)), _) => {
                    hash.set_and_release(name(*field), TOKENS[*token], value, ttl).map(|()| true)
                }
                (Some((field, token, false)), _) => {
                    hash.set_locked(name(*field), TOKENS[*token], value, ttl).map(|()| true)
                }
                (None, Condition::Absent) => hash.set_if_absent(field, value, ttl),
                (None, Condition::Present) => hash.set_if_present(field, value, ttl),
                (None, Condition::Always) => {
                    let pairs = names(fields).map(|field| (field, value));
                    hash.set_many(pairs, ttl).map(|()| true)
                }
            };
            match set {
                Err(error) if error.kind() == ErrorKind::LeaseLost => Found::LeaseLost,
                set => Found::Flags(vec![set?; fields.len()]),
            }
        }
        Step::Set { fields, value, is_long, condition, lock } => {
            let key = key.unwrap_or_default();
            let pairs = names(fields).map(|field| (field, [*value]));
            let set = Set::new(key, pairs, ttl(*is_long))?.condition(CONDITIONS[*condition]);
            let set = match lock {
                Some((field, token, releases)) => {
                    set.under_lock(name(*field), TOKENS[*token], *releases)
                }
                None => Ok(set),
            };
            match client.run(set) {
                Err(error) if error.kind() == ErrorKind::LeaseLost => Found::LeaseLost,
                found => Found::Flags(found?),
            }
        }
        Step::Get(fields) => Found::Values(hash.get_many(names(fields))?),
        Step::Ttl(field) => Found::Flags(vec![hash.ttl(name(*field))?.is_some()]),
        Step::Touch(field, is_long) => Found::Flags(vec![hash.touch(name(*field), ttl(*is_long))?]),
        Step::Delete(fields) => Found::Count(hash.delete(names(fields))?),
        Step::Clear => Found::Count(hash.clear()?),
        Step::Pages(limit, omit) => {
            let query = FieldQuery::new().limit(*limit);
            let query = if *omit { query.omit_values() } else { query };
            let (mut all, mut next) = (Vec::new(), Some(query.clone()));
            while let Some(query_of_page) = next {
                let page = hash.fields(query_of_page)?;
                all.extend(page.fields.into_iter().map(|of| (of.field, of.value)));
                next = page.next.map(|position| query.clone().after(position));
            }
            Found::Pages(all)
        }
        Step::Reap(limit) => {
            let reaped = hash.reap(*limit)?;
            assert_eq!(reaped.orphans, 0);
            assert_eq!(reaped.more, reaped.next_in == Some(Duration::ZERO));
            let has_next = reaped.next_in.is_some();
            Found::Reaped { counts: [reaped.fields, reaped.locks], more: reaped.more, has_next }
        }
        Step::Stats => {
            let stats = hash.stats()?;
            Found::Counts(vec![stats.fields, stats.expired, stats.locks, hash.len()?])
        }
        Step::Acquire(field, token, is_long) => {
            let acquired = hash.acquire(name(*field), TOKENS[*token], ttl(*is_long))?;
            assert!(acquired.fence.is_none() != acquired.remaining.is_none());
            Found::Lock(None, is_locked(*field, *token, acquired.fence))
        }
        Step::GetOrAcquire(field, token) => {
            let found = hash.get_or_acquire(name(*field), TOKENS[*token], ttl(true))?;
            let is_locked = is_locked(*field, *token, found.fence);
            let is_busy = found.remaining.is_some();
            assert_eq!(
                1,
                u8::from(found.value.is_some()) + u8::from(is_locked) + u8::from(is_busy)
            );
            Found::Lock(found.value, is_locked)
        }
        Step::Renew(field, token) => {
            Found::Flags(vec![hash.renew(name(*field), TOKENS[*token], ttl(true))?])
        }
        Step::Release(field, token) => {
            Found::Flags(vec![hash.release(name(*field), TOKENS[*token])?])
        }
        Step::Holder(field) => Found::Holder(hash.holder(name(*field))?.map(|holder| holder.token)),
        Step::Reopen => Found::Nothing,
    })
}

impl Step {
    /// The same as the calls of a hash can say it, which are all that there is for one in a family.
    fn into_call(mut self) -> Self {
        if let Self::Set { fields, condition, lock, .. } = &mut self {
            match lock {
                Some((field, ..)) => (*fields, *condition) = (vec![*field], 0),
                None if fields.len() > 1 => *condition = 0,
                None => {}
            }
        }
        self
    }

    /// The lock that it may take.
    fn lock(&self) -> Option<usize> {
        match self {
            Self::Acquire(field, ..) | Self::GetOrAcquire(field, _) => Some(*field),
            _ => None,
        }
    }

    /// Whether what it sets is over after a millisecond.
    fn is_short(&self) -> bool {
        matches!(
            self,
            Self::Set { is_long: false, .. } | Self::Touch(_, false) | Self::Acquire(_, _, false)
        )
    }
}

#[test]
fn redis_the_embedded_engines_and_the_model_agree() {
    let server = Redis::start();
    let redis = millpond::connect(&server.unix_url()).expect("the url is the harness' own");
    let memory = millpond::connect("memory:").expect("there is always memory");
    let directory = tempfile::tempdir().expect("there is a place for files");
    let file = std::cell::RefCell::new(None);
    let number = std::cell::Cell::new(0_u32);

    let look = [Step::Stats, Step::Pages(2, false), Step::Reap(99), Step::Stats];
    let mut runner = TestRunner::new(Config { cases: 2_000, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(step(), 1..25), |steps| {
        number.set(number.get() + 1);
        let key = format!("hash-{}", number.get());
        // A journal of a few sequences, or opening it again and again would be most of the test.
        let part = directory.path().join((number.get() / 20).to_string());
        let url = format!("file:{}?sync=never", part.display());
        file.replace(Some(millpond::connect(&url).expect("nobody else holds it")));
        let mut model = Model::default();
        // Every other hash is one of a family.
        let is_in_family = number.get() % 2 == 1;
        let steps: Vec<_> = match is_in_family {
            true => steps.into_iter().map(Step::into_call).collect(),
            false => steps,
        };
        let hash_of = |client: &Client| match is_in_family {
            true => client.volatile_hashes(&key, 2).hash("base"),
            false => client.volatile_hash(&key),
        };
        let mut fences = [Fences::default(), Fences::default(), Fences::default()];
        for (times, step) in (0..).zip(steps.iter().chain(&look)) {
            if matches!(step, Step::Reopen) {
                file.replace(None);
                file.replace(Some(millpond::connect(&url).expect("it was closed")));
            }
            let was_held = step.lock().and_then(|field| model.holder(name(field)));
            let expected = model.run(step);
            let reopened = file.borrow();
            let file = reopened.as_ref().expect("it is open between steps");
            let engines = [("redis", &redis), ("memory", &memory), ("file", file)];
            for ((engine, client), fences) in engines.into_iter().zip(&mut fences) {
                let named = (!is_in_family).then_some(&*key);
                let found = run((client, &hash_of(client), named), step, times, was_held, fences);
                let found = found.map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
                prop_assert_eq!(&found, &expected, "{} after {:?}", engine, step);
            }
            if step.is_short() {
                std::thread::sleep(MILLISECOND * 2);
            }
        }
        // What is left would stay in memory for hours.
        let file = file.borrow();
        for client in [&redis, &memory, file.as_ref().expect("it is open between steps")] {
            if is_in_family {
                let hashes = client.volatile_hashes(&key, 2);
                while hashes.reap(2).expect("there is a hash or nothing").more {}
                assert_eq!(hash_of(client).stats().expect("it can be read").expired, 0);
            }
            let hash = hash_of(client);
            hash.clear().expect("there is a hash or nothing");
            for (field, token) in (0..FIELDS.len()).flat_map(|of| TOKENS.map(|token| (of, token))) {
                hash.release(name(field), token).expect("there is a lock or nothing");
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(number.get() >= 2_000);
    // All that is left of locks is the last fence of some, while the clock has not passed it.
    let left = server.cli(&["KEYS", "*"]);
    let may_be_left = |key: &str| key.contains("meta:") || key.ends_with(":due");
    assert!(left.array().iter().all(|key| may_be_left(&key.text())), "{left:?}");
}
