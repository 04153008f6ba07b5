//! Stats: what a queue holds for a group.

use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
use super::{STREAMS_MAX, check_filled, embedded, head, tracking};
use crate::error::Result;
use crate::kind::{Kind, Statistic};
use crate::step::{Invocation, Operation, Reply, StepContext};

/// Reads what each stream of a queue holds for a group.
#[derive(Clone, Debug)]
pub struct ReadStats {
    name: Name,
    group: Vec<u8>,
}

/// The row of the table of queues.
pub(crate) const KIND: Kind = Kind {
    number: embedded::KIND,
    name: "shuffle",
    scripts: super::scripts,
    #[cfg(test)]
    cases: super::cases::cases,
    empty_state: || Arc::new(embedded::State::default()),
    statistics: |client, name| {
        let queue = client.shuffle_queue(name);
        Ok(vec![Statistic::of("len", queue.len()?), Statistic::of("backlog", queue.backlog()?)])
    },
};

/// The row of the records of tracked messages, which only their messages' queue can tell apart.
pub(crate) const TRACKING: Kind = Kind {
    number: tracking::KIND,
    name: "shuffle.tracking",
    // They are in the same list as the others of the queue.
    scripts: Vec::new,
    #[cfg(test)]
    cases: Vec::new,
    empty_state: || Arc::new(tracking::State::default()),
    statistics: |_, name| Name::new(name).map(|_| Vec::new()),
};

/// What a queue holds for a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The streams, indexed by their numbers; none if another program set the queue's number of streams below one.
    pub streams: Vec<StreamStats>,
}

/// What a stream holds for a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Entries, finished ones included.
    pub len: u64,
    /// Messages that were delivered to the group and not acknowledged.
    pub pending: u64,
    /// Messages that were not delivered to the group yet. If messages in between were deleted, and on Redis before 7,
    /// it may be `len` although it should be less.
    pub lag: u64,
    /// How long ago the oldest pending message was last delivered.
    pub oldest_idle: Option<Duration>,
}

impl Stats {
    /// Entries in all streams, finished ones included.
    pub fn len(&self) -> u64 {
        self.streams.iter().map(|stream| stream.len).sum()
    }

    /// Whether no stream has an entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Messages in all streams that were delivered to the group and not acknowledged.
    pub fn pending(&self) -> u64 {
        self.streams.iter().map(|stream| stream.pending).sum()
    }

    /// Messages in all streams that were not delivered to the group yet.
    pub fn lag(&self) -> u64 {
        self.streams.iter().map(|stream| stream.lag).sum()
    }
}

impl ReadStats {
    /// Reads the stats of this queue for this group.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long or an empty group.
    pub fn new(name: impl AsRef<[u8]>, group: impl AsRef<[u8]>) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, group.as_ref())
    }

    pub(super) fn of(name: Name, group: &[u8]) -> Result<Self> {
        check_filled("the group's name", group)?;
        Ok(Self { name, group: group.to_vec() })
    }
}

impl Operation for ReadStats {
    head!("shuffle.stats", embedded::State, name, ["queue.lua", "stats.lua"]);
    type Output = Stats;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let args = [&self.group].into_iter().collect();
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Stats> {
        let streams = reply.list()?.all(STREAMS_MAX as usize, |replies| {
            let mut stream = replies.next()?.list()?;
            let mut next = || stream.next();
            let stats = StreamStats {
                len: next()?.number()?,
                pending: next()?.number()?,
                lag: next()?.number()?,
                oldest_idle: match next()? {
                    Reply::Nil => None,
                    idle => Some(Duration::from_millis(idle.number()?)),
                },
            };
            stream.end()?;
            Ok(stats)
        })?;
        Ok(Stats { streams })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Stats> {
        let now = context.now();
        context.mark_evictable();
        state.step(context, |queue, _| Ok(Stats { streams: queue.stats(&self.group, now) }))
    }
}
