//! Get or acquire: the value of a field, or the lock to compute it.

use std::time::Duration;

use super::acquire::{Acquired, Term};
use super::embedded;
use super::name::Name;
use crate::error::Result;
use crate::step::{Invocation, Operation, Reply, StepContext, head};

/// The value of a field, or else whether its lock was taken: exactly one of the three is present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueOrLock {
    /// The value, if the field is live. Its lock was left as it is.
    pub value: Option<Vec<u8>>,
    /// The fence, if the token holds the lock now: higher than that of every earlier holder of a lock of this hash.
    pub fence: Option<u64>,
    /// How long until the lock of another token expires, unless it is renewed or released before.
    pub remaining: Option<Duration>,
}

impl ValueOrLock {
    fn value(value: Vec<u8>) -> Self {
        Self { value: Some(value), ..Self::default() }
    }
}

impl From<Acquired> for ValueOrLock {
    fn from(Acquired { fence, remaining }: Acquired) -> Self {
        Self { value: None, fence, remaining }
    }
}

/// Reads a field; takes its lock if the field is not live.
#[derive(Clone, Debug)]
pub struct GetOrAcquire {
    term: Term,
}

impl GetOrAcquire {
    /// Reads this field, or takes its lock for `ttl`.
    ///
    /// # Errors
    /// As [`Acquire::new`](super::Acquire::new).
    pub fn new(
        name: impl AsRef<[u8]>,
        field: impl AsRef<[u8]>,
        token: impl AsRef<[u8]>,
        ttl: Duration,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, field.as_ref(), token.as_ref(), ttl)
    }

    pub(super) fn of(name: Name, field: &[u8], token: &[u8], ttl: Duration) -> Result<Self> {
        Ok(Self { term: Term::of(name, field, token, ttl)? })
    }
}

impl Operation for GetOrAcquire {
    head!(
        "volatile.get_or_acquire",
        embedded::State,
        term.name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "get_or_acquire.lua"
        ]
    );
    type Output = ValueOrLock;
    /// A second run returns the value, or the same fence.
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let (keys, args) = (self.term.name.keys(), self.term.args());
        Invocation { script: Self::script(), keys, args }
    }

    /// `{2, value}`, or what acquire returns.
    fn decode(&self, reply: Reply) -> Result<ValueOrLock> {
        let mut replies = reply.list()?;
        match replies.next()?.count(2)? {
            2 => {
                let value = replies.next()?.bytes()?;
                replies.end()?;
                Ok(ValueOrLock::value(value))
            }
            is_locked => Acquired::decode(is_locked == 1, replies).map(ValueOrLock::from),
        }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<ValueOrLock> {
        let Term { field, token, ttl_us, .. } = &self.term;
        state.step(self.term.name.base(), context, |hash, now, effects| {
            Ok(match hash.get(field, now) {
                Some(value) => ValueOrLock::value(value),
                None => hash.acquire(field, token, *ttl_us, now, effects).into(),
            })
        })
    }
}
