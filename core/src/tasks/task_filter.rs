//! Which tasks of a queue to process, and how many at a time.

use std::sync::Arc;

use super::limits;
use super::list::Position;
use crate::error::{Result, ensure};
use crate::step::ByteList;

/// The most tasks that one step of a purge, a move or a redrive looks at.
pub const SWEEP_TASKS_MAX: usize = 2_000;

/// How many tasks one step of a purge, a move or a redrive looks at by default.
pub const SWEEP_TASKS_DEFAULT: usize = 1_000;

/// Which tasks of a queue to purge, move or redrive; by default, all that no other claimant holds. See
/// [`TaskStore::purge`](super::TaskStore::purge).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct TaskFilter {
    pub(super) after: Option<Position>,
    pub(super) limit: Option<usize>,
    available: bool,
    claimed: bool,
    future: bool,
    claimant: Option<Arc<str>>,
    err: Arc<str>,
    include_held: bool,
}

/// The properties of a task that a filter checks.
pub(super) struct Seen<'a> {
    pub(super) at_ms: u64,
    pub(super) claims: u32,
    pub(super) claimant: &'a str,
    pub(super) err: &'a str,
    /// Whether another claimant holds it.
    pub(super) is_held: bool,
}

impl TaskFilter {
    /// All tasks of the queue that no other claimant holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues after this position, such as the one that the previous step returned.
    pub fn after(self, position: impl Into<Position>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// Looks at up to this many tasks; [`SWEEP_TASKS_DEFAULT`] by default, at most [`SWEEP_TASKS_MAX`]. A server
    /// serves no other client during the step, which takes about 8 ms with 1,000 tasks.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Only tasks that can be claimed now, and those in other selected states.
    pub fn available(self) -> Self {
        Self { available: true, ..self }
    }

    /// Only tasks that cannot be claimed now and were claimed before, and those in other selected states: those that are
    /// leased, and those that wait to be tried again, which [`QueueStats`](super::QueueStats) counts as `retrying`.
    pub fn claimed(self) -> Self {
        Self { claimed: true, ..self }
    }

    /// Only tasks that cannot be claimed now and were never claimed, and those in other selected states.
    pub fn future(self) -> Self {
        Self { future: true, ..self }
    }

    /// Only tasks that this claimant holds or that are available.
    pub fn claimant(self, claimant: impl AsRef<str>) -> Self {
        Self { claimant: Some(claimant.as_ref().into()), ..self }
    }

    /// Only tasks whose `err` begins with this text. It has a line for each failure, the oldest first, so this selects
    /// by the first one.
    pub fn err(self, prefix: impl AsRef<str>) -> Self {
        Self { err: prefix.as_ref().into(), ..self }
    }

    /// Also tasks that another claimant holds: those that it has leased, whose jobs are then lost, and those that it
    /// has postponed or inserted for a time in the future.
    pub fn include_held(self) -> Self {
        Self { include_held: true, ..self }
    }

    pub(super) fn limit_or_default(&self) -> usize {
        self.limit.unwrap_or(SWEEP_TASKS_DEFAULT)
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_limit = (1..=SWEEP_TASKS_MAX).contains(&self.limit_or_default());
        ensure!(is_limit, "the limit has to be 1 to {SWEEP_TASKS_MAX}");
        self.after.iter().try_for_each(limits::position)?;
        self.claimant.iter().try_for_each(|claimant| limits::claimant(claimant))?;
        limits::err(&self.err)
    }

    /// Available, claimed, future: which of these are meant.
    fn states(&self) -> [bool; 3] {
        match [self.available, self.claimed, self.future] {
            [false, false, false] => [true; 3],
            states => states,
        }
    }

    /// Whether a task is meant.
    pub(super) fn lets(&self, task: &Seen<'_>, now_ms: u64) -> bool {
        let is_available = task.at_ms <= now_ms;
        let [available, claimed, future] = self.states();
        let is_of_state = match (is_available, task.claims > 0) {
            (true, _) => available,
            (false, true) => claimed,
            (false, false) => future,
        };
        let is_claimant = |wanted: &Arc<str>| is_available || **wanted == *task.claimant;
        is_of_state
            && self.claimant.as_ref().is_none_or(is_claimant)
            && task.err.starts_with(&*self.err)
            && (self.include_held || !task.is_held)
    }

    /// As the script takes it.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push_number(self.limit_or_default() as u64);
        Position::push(self.after.as_ref(), args);
        args.push_with(|bytes| {
            let states = b"acf".iter().zip(self.states());
            bytes.extend(states.filter(|(_, is_meant)| *is_meant).map(|(letter, _)| *letter));
        });
        args.push(self.claimant.as_deref().unwrap_or_default().as_bytes());
        args.push(self.err.as_bytes());
        args.push(if self.include_held { b"1" } else { b"0" });
    }
}
