//! Statistics of queues and of namespaces.

use std::sync::Arc;

use super::filter::{Filter, STATS_MAX};
use super::name::Name;
use super::{decode_text, embedded};
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Statistics of a queue. `size` is the sum of `available`, `claimed`, `retrying` and `future`, which are counted as
/// if the queue were not paused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// The queue's name.
    pub queue: Arc<str>,
    /// All tasks.
    pub size: u64,
    /// Tasks that can be claimed now.
    pub available: u64,
    /// Tasks that are leased now.
    pub claimed: u64,
    /// Tasks that cannot be claimed now and never were.
    pub future: u64,
    /// The highest number of claims of any of its tasks.
    pub max_claims: u32,
    /// Whether it is paused, so that claims find nothing in it.
    pub paused: bool,
    /// The time since which the oldest available task has been available, in milliseconds since the Unix epoch;
    /// `None` if no task is available.
    pub oldest_available_ms: Option<u64>,
    /// When the first of the current leases ends, in milliseconds since the Unix epoch; if all leases are equally
    /// long, that is the oldest one. `None` if no task is claimed.
    pub first_lease_end_ms: Option<u64>,
    /// Tasks that were claimed before and cannot be claimed now because they are waiting to be tried again.
    pub retrying: u64,
}

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "tasks",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let stats = client.tasks(name).queue_stats(Filter::default())?;
        let numbers = stats.iter().flat_map(|stats| {
            [
                ("available", stats.available),
                ("claimed", stats.claimed),
                ("retrying", stats.retrying),
                ("future", stats.future),
            ]
            .map(|(name, value)| Statistic {
                queue: Some(stats.queue.clone()),
                name,
                value,
            })
        });
        Ok(numbers.collect())
    },
};

/// Statistics of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceStats {
    /// The namespace's name.
    pub namespace: Arc<str>,
    /// All documents.
    pub size: u64,
    /// Documents that are leased now.
    pub claimed: u64,
}

/// Counts the tasks of queues exactly, without reading them.
#[derive(Clone, Debug)]
pub struct ReadQueueStats {
    name: Name,
    filter: Filter,
    with_paused: bool,
}

impl ReadQueueStats {
    /// Counts the tasks of these queues. The result contains those that hold tasks or are paused.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above
    /// [`STATS_MAX`](super::STATS_MAX).
    pub fn new(name: impl AsRef<[u8]>, filter: Filter) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, filter)
    }

    pub(super) fn of(name: Name, filter: Filter) -> Result<Self> {
        filter.check()?;
        Ok(Self { name, filter, with_paused: true })
    }

    /// Leaves out queues that hold no tasks, even if they are paused.
    pub(super) fn only_with_tasks(self) -> Self {
        Self { with_paused: false, ..self }
    }
}

impl Operation for ReadQueueStats {
    head!(
        "tasks.queue_stats",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "read_queue_stats.lua"]
    );
    type Output = Vec<QueueStats>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(if self.with_paused { b"1" } else { b"0" });
        self.filter.push(&mut args);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    /// `{queue, size, available, claimed, retrying, future, max_claims, paused, oldest_available_ms, first_lease_end_ms, …}`.
    fn decode(&self, reply: Reply) -> Result<Vec<QueueStats>> {
        let time = |reply| match reply {
            Reply::Int(-1) => Ok(None),
            time => time.number().map(Some),
        };
        reply.list()?.all(STATS_MAX, |replies| {
            Ok(QueueStats {
                queue: decode_text(replies.next()?)?,
                size: replies.next()?.number()?,
                available: replies.next()?.number()?,
                claimed: replies.next()?.number()?,
                retrying: replies.next()?.number()?,
                future: replies.next()?.number()?,
                max_claims: replies.next()?.number()?,
                paused: replies.next()?.flag()?,
                oldest_available_ms: time(replies.next()?)?,
                first_lease_end_ms: time(replies.next()?)?,
            })
        })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Self::Output> {
        Ok(state.queue_stats(&self.filter, self.with_paused, context))
    }
}

/// Counts the documents of namespaces exactly, without reading them.
#[derive(Clone, Debug)]
pub struct ReadNamespaceStats {
    name: Name,
    filter: Filter,
}

impl ReadNamespaceStats {
    /// Counts the documents of these namespaces.
    ///
    /// # Errors
    /// As [`ReadQueueStats::new`].
    pub fn new(name: impl AsRef<[u8]>, filter: Filter) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, filter)
    }

    pub(super) fn of(name: Name, filter: Filter) -> Result<Self> {
        filter.check()?;
        Ok(Self { name, filter })
    }
}

impl Operation for ReadNamespaceStats {
    head!(
        "tasks.namespace_stats",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "docs.lua", "read_namespace_stats.lua"]
    );
    type Output = Vec<NamespaceStats>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        self.filter.push(&mut args);
        Invocation { script: Self::script(), keys: self.name.keys_with_docs(), args }
    }

    /// `{namespace, size, claimed, …}`.
    fn decode(&self, reply: Reply) -> Result<Vec<NamespaceStats>> {
        reply.list()?.all(STATS_MAX, |replies| {
            Ok(NamespaceStats {
                namespace: decode_text(replies.next()?)?,
                size: replies.next()?.number()?,
                claimed: replies.next()?.number()?,
            })
        })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Self::Output> {
        Ok(state.namespace_stats(&self.filter, context))
    }
}
