//! Remove idle consumers: the names of programs that are gone.

use std::time::Duration;

use super::name::Name;
use super::{embedded, head, min_idle_ms};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext};

/// Removes consumers that hold no message of the queue and have been idle for some time; returns how many.
#[derive(Clone, Debug)]
pub struct RemoveIdleConsumers {
    name: Name,
    min_idle_ms: u64,
    /// The only one to remove: its group and its name.
    only: Option<(Vec<u8>, Vec<u8>)>,
}

impl RemoveIdleConsumers {
    /// Removes consumers that have been idle for at least `min_idle`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, and a `min_idle` over
    /// [`TTL_MAX`](super::TTL_MAX).
    pub fn new(name: impl AsRef<[u8]>, min_idle: Duration) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, min_idle)
    }

    pub(super) fn of(name: Name, min_idle: Duration) -> Result<Self> {
        Ok(Self { name, min_idle_ms: min_idle_ms(min_idle)?, only: None })
    }

    /// Removes this consumer, if it holds no message.
    pub(super) fn only(name: Name, group: &[u8], consumer: &[u8]) -> Self {
        Self { name, min_idle_ms: 0, only: Some((group.to_vec(), consumer.to_vec())) }
    }
}

impl Operation for RemoveIdleConsumers {
    head!(
        "shuffle.remove_idle_consumers",
        embedded::State,
        name,
        ["queue.lua", "remove_idle_consumers.lua"]
    );
    type Output = u64;
    /// A second run would find none.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.min_idle_ms.to_string().as_bytes());
        let (group, consumer) = self.only.as_ref().map_or((&[][..], &[][..]), |(g, c)| (g, c));
        args.push(group);
        args.push(consumer);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.number()
    }

    /// The embedded engine knows a consumer by the messages that it holds: one without any is not there.
    fn apply(self, _: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        Ok(0)
    }
}
