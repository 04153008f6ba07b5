//! Cancel: remove events that are not leased, and tell the holders of leased events to stop, or remove these too.

use super::id::EventId;
use super::partition::Partition;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::reply::{Replies, Reply, malformed};
use crate::step::{Invocation, Operation, StepContext, head};

/// Removes events that are not leased, in any state, including dead letters.
#[derive(Clone, Debug)]
pub struct Cancel {
    partition: Partition,
    pub(super) ids: Vec<EventId>,
    pub(super) running: Running,
}

/// What a cancel does with events that are leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Running {
    /// Nothing.
    Stay,
    /// Their holders are told to stop.
    Stop,
    /// They are removed.
    Removed,
}

/// The outcome for an event that was to be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cancelled {
    /// It does not exist: it has ended in another way, or never existed.
    Gone,
    /// It was removed, by this call or by one in the ten minutes before.
    Removed,
    /// It is leased. If requested, its holder is told to stop when the lease is renewed, and the event is not retried.
    Running,
}

impl Cancelled {
    /// Its name in every language, such as `removed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Removed => "removed",
            Self::Running => "running",
        }
    }
}

impl Cancel {
    /// Cancels these events; if `also_running`, leased ones too.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for no events or more than [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for an event that
    /// is listed twice.
    pub fn new(partition: Partition, ids: Vec<EventId>, also_running: bool) -> Result<Self> {
        limits::step(ids.len())?;
        limits::distinct(&ids)?;
        let running = if also_running { Running::Stop } else { Running::Stay };
        Ok(Self { partition, ids, running })
    }

    /// Whether leased events are removed too.
    #[must_use]
    pub fn force(self, force: bool) -> Self {
        Self { running: if force { Running::Removed } else { self.running }, ..self }
    }
}

impl Operation for Cancel {
    head!(
        "events.cancel",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "cancelled.lua",
            "records.lua",
            "lanes.lua",
            "names.lua",
            "event_end.lua",
            "withdraw.lua",
            "commit.lua",
            "cancel.lua"
        ]
    );
    type Output = Vec<Cancelled>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            args.push_number(self.running as u64);
            self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        })
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Cancelled>> {
        let all = [Cancelled::Gone, Cancelled::Removed, Cancelled::Running];
        results(reply.list()?, self.ids.len(), &all)
    }

    fn apply(
        self,
        state: &embedded::State,
        context: &mut StepContext<'_>,
    ) -> Result<Vec<Cancelled>> {
        state.cancel(&self.partition, &self.ids, self.running, context)
    }
}

/// The result that a script returned for each event, as an index into `all`.
pub(super) fn results<T: Copy>(replies: Replies, events: usize, all: &[T]) -> Result<Vec<T>> {
    if replies.len() != events {
        return Err(malformed());
    }
    replies.all(events, |replies| Ok(all[replies.next()?.count(all.len() - 1)? as usize]))
}
