//! Acquire: take the lock of a field.

use std::time::Duration;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::Replies;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Whether a lock was taken: either its fence, or the time left to another holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acquired {
    /// The fence, if the token holds the lock now: higher than that of every earlier holder of a lock of this hash.
    pub fence: Option<u64>,
    /// How long until the lock of another token expires, unless it is renewed or released before.
    pub remaining: Option<Duration>,
}

impl Acquired {
    pub(super) fn locked(fence: u64) -> Self {
        Self { fence: Some(fence), remaining: None }
    }

    pub(super) fn busy(remaining: Duration) -> Self {
        Self { fence: None, remaining: Some(remaining) }
    }

    /// Reads `1, fence` or `0, microseconds`, of which the first has been read.
    pub(super) fn decode(is_locked: bool, mut replies: Replies) -> Result<Self> {
        let number = replies.next()?.number()?;
        replies.end()?;
        Ok(match is_locked {
            true => Self::locked(number),
            false => Self::busy(Duration::from_micros(number)),
        })
    }
}

/// The field of a lock, the token that is to hold it, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) name: Name,
    pub(super) field: Vec<u8>,
    pub(super) token: Vec<u8>,
    pub(super) ttl_us: u64,
}

impl Term {
    pub(super) fn of(name: Name, field: &[u8], token: &[u8], ttl: Duration) -> Result<Self> {
        limits::field(field)?;
        limits::token(token)?;
        let ttl_us = limits::ttl_us(ttl)?;
        Ok(Self { name, field: field.to_vec(), token: token.to_vec(), ttl_us })
    }

    /// As the scripts take it.
    pub(super) fn args(&self) -> ByteList {
        let mut args = ByteList::default();
        args.push(&self.field);
        args.push(&self.token);
        args.push_number(self.ttl_us);
        args
    }
}

/// Takes the lock of a field if it is free, or again if the token holds it.
#[derive(Clone, Debug)]
pub struct Acquire {
    term: Term,
}

impl Acquire {
    /// Takes the lock of this field for `ttl`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, a field above
    /// [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX), a token that is empty or above
    /// [`TOKEN_BYTES_MAX`](super::TOKEN_BYTES_MAX), and a `ttl` below one millisecond or above
    /// [`TTL_MAX`](super::TTL_MAX).
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

impl Operation for Acquire {
    head!(
        "volatile.acquire",
        embedded::State,
        term.name,
        [
            "../step/commands.lua",
            "../step/numbers.lua",
            "values.lua",
            "hash.lua",
            "locks.lua",
            "acquire.lua"
        ]
    );
    type Output = Acquired;
    /// A second run returns the same fence.
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let (keys, args) = (self.term.name.keys(), self.term.args());
        Invocation { script: Self::script(), keys, args }
    }

    fn decode(&self, reply: Reply) -> Result<Acquired> {
        let mut replies = reply.list()?;
        Acquired::decode(replies.next()?.flag()?, replies)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Acquired> {
        let Term { field, token, ttl_us, .. } = &self.term;
        state.step(self.term.name.base(), context, |hash, now, effects| {
            Ok(hash.acquire(field, token, *ttl_us, now, effects))
        })
    }
}
