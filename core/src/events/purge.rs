//! Purge: remove the events of one state.

use std::sync::Arc;

use super::embedded;
use super::limits::STEP_EVENTS_MAX;
use super::list::lane_key;
use super::op::Op;
use super::partition::Partition;
use super::state::EventState;
use super::walk::Span;
use crate::error::{Result, ensure};
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// Which events of a state to remove; by default all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct PurgeFilter {
    pub(super) key: Option<Arc<[u8]>>,
    before: Option<Timestamp>,
}

impl PurgeFilter {
    /// All events of the state.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key of the events to remove. It is required for events that are [behind](EventState::Behind) another event
    /// of the key, and refused for all others.
    pub fn key(self, key: impl AsRef<[u8]>) -> Self {
        Self { key: Some(key.as_ref().into()), ..self }
    }

    /// Only events whose `state_at_us` is earlier than this time, in microseconds since the Unix epoch.
    pub fn before_us(self, before_us: Timestamp) -> Self {
        Self { before: Some(before_us), ..self }
    }

    /// The first events to remove.
    pub(super) fn range(&self, state: EventState) -> Result<PurgeRange> {
        ensure!(state != EventState::Leased, "events that are leased are not purged: cancel them");
        lane_key(state, self.key.as_deref())?;
        ensure!(
            state != EventState::Behind || self.before.is_none(),
            "events that are behind another one have no time"
        );
        let key = self.key.clone().unwrap_or_default();
        Ok(PurgeRange { state, key, span: Span::before(self.before) })
    }
}

/// Events of a partition that are still to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeRange {
    pub(super) state: EventState,
    /// The key of events that are behind another one; otherwise empty.
    pub(super) key: Arc<[u8]>,
    pub(super) span: Span,
}

/// Removes events of a partition that are in one state: among the first 1,000 that are left, those that match.
#[derive(Clone, Debug)]
pub struct Purge {
    partition: Partition,
    op: Op,
    pub(super) range: PurgeRange,
}

/// The result of a [`Purge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purged {
    /// How many events it removed.
    pub removed: u64,
    /// The range that is left for the next step; `None` if none is left.
    pub left: Option<PurgeRange>,
}

impl Purge {
    /// Removes these events.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for events that are leased, for events that are behind another one without its key or with a
    /// time limit, and for others with a key.
    pub fn new(
        partition: Partition,
        op: Op,
        state: EventState,
        filter: &PurgeFilter,
    ) -> Result<Self> {
        Ok(Self::of(partition, op, filter.range(state)?))
    }

    pub(super) fn of(partition: Partition, op: Op, range: PurgeRange) -> Self {
        Self { partition, op, range }
    }
}

impl Operation for Purge {
    head!(
        "events.purge",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "names.lua",
            "event_end.lua",
            "page.lua",
            "span.lua",
            "commit.lua",
            "purge.lua"
        ]
    );
    type Output = Purged;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push(self.range.state.name().as_bytes());
            args.push(&self.range.key);
            self.range.span.push(args);
        })
    }

    fn decode(&self, reply: Reply) -> Result<Purged> {
        let mut replies = reply.list()?;
        let removed = replies.next()?.count(STEP_EVENTS_MAX)?;
        let left = self.range.span.decode_left(replies)?;
        Ok(Purged { removed, left: left.map(|span| PurgeRange { span, ..self.range.clone() }) })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Purged> {
        state.purge(&self.partition, self.range, context)
    }
}
