//! Redrive all: turn all dead letters, or those that match a filter, into events again.

use super::list::EventPosition;
use super::op::Op;
use super::partition::Partition;
use super::state::DeadReason;
use super::walk::{Leg, Span};
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::Reply;
use crate::step::{Invocation, Operation, StepContext, Timestamp, head};

/// Which dead letters to redrive; by default all of them.
///
/// ```
/// use millpond::events::{DeadReason, End, NewEvent, RedriveFilter, Settlement};
///
/// let queue = millpond::connect("memory:")?.events("orders");
/// queue.publish(NewEvent::new("a"))?;
/// let event = queue.receive(1)?.remove(0);
/// queue.dead_letter(&event, "no such customer")?;
/// let crashed = RedriveFilter::new().reason(DeadReason::Crashed);
/// assert_eq!(queue.redrive_all(crashed)?, 0);
/// assert_eq!(queue.redrive_all(RedriveFilter::new())?, 1);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct RedriveFilter {
    reason: Option<DeadReason>,
    since: Option<Timestamp>,
    before: Option<Timestamp>,
    max: Option<u64>,
    per_second: Option<u64>,
}

impl RedriveFilter {
    /// All dead letters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only dead letters with this reason.
    pub fn reason(self, reason: DeadReason) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Only dead letters that died at this time or later, in microseconds since the Unix epoch.
    pub fn since_us(self, since_us: Timestamp) -> Self {
        Self { since: Some(since_us), ..self }
    }

    /// Only dead letters that died earlier than this, in microseconds since the Unix epoch.
    pub fn before_us(self, before_us: Timestamp) -> Self {
        Self { before: Some(before_us), ..self }
    }

    /// At most this many.
    pub fn max(self, max: u64) -> Self {
        Self { max: Some(max), ..self }
    }

    /// At this rate, 1 to [`RATE_MAX`](super::RATE_MAX) a second, instead of all now: the rest are scheduled one after
    /// the other, so no process has to stay for them. Each call counts from its own start.
    pub fn per_second(self, per_second: u64) -> Self {
        Self { per_second: Some(per_second), ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.max != Some(0), "a redrive takes one dead letter or more");
        let most = limits::RATE_MAX;
        ensure!(
            self.per_second.is_none_or(|rate| (1..=most).contains(&rate)),
            "a redrive is of 1 to {most} dead letters a second"
        );
        Ok(())
    }

    pub(super) fn most(&self) -> u64 {
        self.max.unwrap_or(u64::MAX)
    }

    /// All of them, from the first one.
    pub(super) fn range(&self) -> RedriveRange {
        let after = self.since.and_then(EventPosition::before);
        RedriveRange {
            reason: self.reason,
            span: Span { after, ..Span::before(self.before) },
            turns: Turns { per_second: self.per_second.unwrap_or(0), next: 0 },
        }
    }
}

/// Dead letters of a partition that are still to be redriven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedriveRange {
    pub(super) reason: Option<DeadReason>,
    pub(super) span: Span,
    pub(super) turns: Turns,
}

impl RedriveRange {
    /// The range for a leg of a walk that has redriven this many.
    pub(super) fn of(self, leg: &Leg<Self>, redriven: u64) -> Self {
        let turns = Turns { next: redriven, ..self.turns };
        Self { span: self.span.of(leg), turns, ..self }
    }
}

/// When the dead letters of a partition that are redriven at a rate fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    /// How many turns there are per second; 0 to redrive all now.
    pub(super) per_second: u64,
    /// The turn of the next dead letter, counted from 0 in the whole queue.
    pub(super) next: u64,
}

impl Turns {
    /// In how many microseconds the next one fires; advances to the next turn.
    pub(super) fn take(&mut self) -> u64 {
        let turn = self.next;
        self.next += 1;
        (turn * 1_000_000).checked_div(self.per_second).unwrap_or(0)
    }

    /// The pace after this many.
    fn after(self, taken: u64) -> Self {
        Self { next: self.next + taken, ..self }
    }
}

/// Turns dead letters of a partition into events again, in the order in which they died.
#[derive(Clone, Debug)]
pub struct RedriveAll {
    partition: Partition,
    op: Op,
    pub(super) range: RedriveRange,
    pub(super) max: usize,
}

/// The result of a [`RedriveAll`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedrivenAll {
    /// How many dead letters it redrove.
    pub redriven: u64,
    /// The range that is left for the next step; `None` if none is left.
    pub left: Option<RedriveRange>,
}

impl RedriveAll {
    /// Redrives up to `max` of these dead letters. A step searches 1,000 of them for those that match the filter.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a `max` of 0 or above [`STEP_EVENTS_MAX`](super::STEP_EVENTS_MAX), and for a rate outside
    /// its limits.
    pub fn new(partition: Partition, op: Op, filter: &RedriveFilter, max: usize) -> Result<Self> {
        filter.check()?;
        Self::of(partition, op, filter.range(), max)
    }

    pub(super) fn of(
        partition: Partition,
        op: Op,
        range: RedriveRange,
        max: usize,
    ) -> Result<Self> {
        let most = limits::STEP_EVENTS_MAX;
        ensure!((1..=most).contains(&max), "a step redrives 1 to {most} events, not {max}");
        Ok(Self { partition, op, range, max })
    }
}

impl Operation for RedriveAll {
    head!(
        "events.redrive_all",
        embedded::State,
        partition,
        [
            "../step/commands.lua",
            "partition.lua",
            "records.lua",
            "lanes.lua",
            "page.lua",
            "span.lua",
            "redrive_event.lua",
            "commit.lua",
            "redrive_all.lua"
        ]
    );
    type Output = RedrivenAll;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        self.partition.call(Self::script(), |args| {
            self.op.push(args);
            args.push_number(DeadReason::number(self.range.reason).into());
            args.push_number(self.max as u64);
            self.range.span.push(args);
            args.push_number(self.range.turns.per_second);
            args.push_number(self.range.turns.next);
        })
    }

    fn decode(&self, reply: Reply) -> Result<RedrivenAll> {
        let mut replies = reply.list()?;
        let redriven = replies.next()?.count(self.max)?;
        let left = self.range.span.decode_left(replies)?;
        let (reason, turns) = (self.range.reason, self.range.turns.after(redriven));
        let left = left.map(|span| RedriveRange { reason, span, turns });
        Ok(RedrivenAll { redriven, left })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<RedrivenAll> {
        state.redrive_all(&self.partition, self.range, self.max, context)
    }
}
