//! Resize: another number of streams.

use std::time::Duration;

use super::name::Name;
use super::shard::check_sizes;
use super::{STREAMS_MAX, embedded, expires, head, ttl_ms};
use crate::error::Result;
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext};

/// Gives a queue more streams immediately, or fewer as soon as the surplus streams have nothing
/// left to do.
#[derive(Clone, Debug)]
pub struct Resize {
    name: Name,
    streams: u32,
    ttl_ms: u64,
}

impl Resize {
    /// Gives the queue this number of streams. What is known about the queue lives at least for
    /// `ttl`, or forever.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, for zero streams or more than
    /// [`STREAMS_MAX`](super::STREAMS_MAX), and for a `ttl` under a second or over
    /// [`TTL_MAX`](super::TTL_MAX).
    pub fn new(
        name: impl AsRef<[u8]>,
        streams: u32,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, streams, ttl.into())
    }

    pub(super) fn of(name: Name, streams: u32, ttl: Option<Duration>) -> Result<Self> {
        check_sizes(streams, 1)?;
        Ok(Self { name, streams, ttl_ms: ttl_ms(ttl)? })
    }
}

impl Operation for Resize {
    head!("shuffle.resize", embedded::State, name, ["queue.lua", "shape.lua", "resize.lua"]);
    /// How many streams the queue has now: more than asked for while the surplus streams have
    /// something left to do.
    type Output = u32;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let args = [self.ttl_ms.to_string(), self.streams.to_string()].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u32> {
        match reply.count(STREAMS_MAX as usize)? as u32 {
            streams if streams >= self.streams => Ok(streams),
            _ => Err(malformed()),
        }
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u32> {
        let expires = expires(context.now(), self.ttl_ms);
        state.step(context, |queue, effects| Ok(queue.resize(self.streams, expires, effects)))
    }
}
