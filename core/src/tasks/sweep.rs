//! Sweep: purge, move or redrive tasks of a queue, some at a time.

use std::sync::Arc;

use super::list::Position;
use super::name::Name;
use super::task_filter::{SWEEP_TASKS_MAX, TaskFilter};
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// What one step of a purge, a move or a redrive did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many tasks it deleted or moved.
    pub tasks: u64,
    /// The position after which the next step continues; `None` if this was the last.
    pub next: Option<Position>,
}

/// Goes through some tasks of a queue, and deletes or moves those that match a filter.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub(super) name: Name,
    pub(super) claimant: Arc<str>,
    pub(super) queue: Arc<str>,
    pub(super) end: End,
    pub(super) filter: TaskFilter,
}

/// What becomes of the tasks.
#[derive(Clone, Debug)]
pub(super) enum End {
    Purge,
    Move(Arc<str>),
    Redrive(Arc<str>),
}

impl End {
    /// The queue that they move to.
    pub(super) fn to(&self) -> Option<&Arc<str>> {
        match self {
            End::Purge => None,
            End::Move(to) | End::Redrive(to) => Some(to),
        }
    }
}

impl Sweep {
    /// Deletes tasks of this queue, as [`TaskStore::purge`](super::TaskStore::purge) does.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above [`SWEEP_TASKS_MAX`].
    pub fn purge(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        queue: impl AsRef<str>,
        filter: TaskFilter,
    ) -> Result<Self> {
        let name = Name::new(name.as_ref())?;
        Self::of(name, claimant.as_ref().into(), queue.as_ref(), End::Purge, filter)
    }

    /// Moves tasks of this queue to another one, as [`TaskStore::move_tasks`](super::TaskStore::move_tasks) does.
    ///
    /// # Errors
    /// As [`purge`](Self::purge); also `INVALID_ARGUMENT` for a move to the same queue.
    pub fn move_tasks(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        queue: impl AsRef<str>,
        to: impl AsRef<str>,
        filter: TaskFilter,
    ) -> Result<Self> {
        let (name, end) = (Name::new(name.as_ref())?, End::Move(to.as_ref().into()));
        Self::of(name, claimant.as_ref().into(), queue.as_ref(), end, filter)
    }

    /// Redrives tasks of this queue to another one, as [`TaskStore::redrive`](super::TaskStore::redrive) does.
    ///
    /// # Errors
    /// As [`move_tasks`](Self::move_tasks).
    pub fn redrive(
        name: impl AsRef<[u8]>,
        claimant: impl AsRef<str>,
        queue: impl AsRef<str>,
        to: impl AsRef<str>,
        filter: TaskFilter,
    ) -> Result<Self> {
        let (name, end) = (Name::new(name.as_ref())?, End::Redrive(to.as_ref().into()));
        Self::of(name, claimant.as_ref().into(), queue.as_ref(), end, filter)
    }

    pub(super) fn of(
        name: Name,
        claimant: Arc<str>,
        queue: &str,
        end: End,
        filter: TaskFilter,
    ) -> Result<Self> {
        limits::claimant(&claimant)?;
        limits::queue(queue)?;
        if let Some(to) = end.to() {
            limits::queue(to)?;
            ensure!(**to != *queue, "the tasks are in the queue where they are to go");
        }
        filter.check()?;
        Ok(Self { name, claimant, queue: queue.into(), end, filter })
    }
}

impl Operation for Sweep {
    head!(
        "tasks.sweep",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "page.lua", "sweep.lua"]
    );
    type Output = Swept;
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.claimant.as_bytes());
        args.push(self.queue.as_bytes());
        args.push(self.end.to().map_or(b"", |to| to.as_bytes()));
        args.push(if matches!(self.end, End::Redrive(_)) { b"1" } else { b"0" });
        self.filter.push(&mut args);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    /// `{tasks}`, or `{tasks, at, id}` where there are more.
    fn decode(&self, reply: Reply) -> Result<Swept> {
        let mut replies = reply.list()?;
        let tasks = replies.next()?.count(SWEEP_TASKS_MAX)?;
        Ok(Swept { tasks, next: Position::decode(replies)? })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Swept> {
        Ok(state.sweep(&self, context))
    }
}
