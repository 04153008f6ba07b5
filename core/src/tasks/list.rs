//! List: the tasks of a queue in order of their time, page by page, and tasks by their ids.

use std::sync::Arc;

use super::name::Name;
use super::{Task, decode_text, embedded, limits};
use crate::error::{Result, ensure};
use crate::step::reply::Replies;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// The most tasks or documents of one page, and the most ids of one call.
pub const PAGE_MAX: usize = 10_000;

/// The number of tasks or documents of a page by default.
pub const PAGE_DEFAULT: usize = 1_000;

/// The position of a task in the order of its queue: by time, and by id if the times are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The task's `at_ms`.
    pub at_ms: u64,
    /// The task's id.
    pub id: Arc<str>,
}

impl From<&Task> for Position {
    fn from(task: &Task) -> Self {
        Self { at_ms: task.at_ms, id: task.id.clone() }
    }
}

impl Position {
    /// As the scripts take it: the time and the id, both empty for none.
    pub(super) fn push(after: Option<&Self>, args: &mut ByteList) {
        match after {
            Some(position) => {
                args.push_number(position.at_ms);
                args.push(position.id.as_bytes());
            }
            None => (0..2).for_each(|_| args.push(b"")),
        }
    }

    /// As the scripts return it after everything else, if there are more.
    pub(super) fn decode(replies: Replies) -> Result<Option<Self>> {
        let next = replies.all(1, |replies| {
            let at_ms = replies.next()?.number()?;
            Ok(Position { at_ms, id: decode_text(replies.next()?)? })
        })?;
        Ok(next.into_iter().next())
    }
}

/// One page of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPage {
    /// The tasks, by time and id.
    pub tasks: Vec<Task>,
    /// The position after which the next page begins; `None` on the last page.
    pub next: Option<Position>,
}

/// Which tasks of a queue to list.
///
/// ```
/// use millpond::tasks::TaskQuery;
///
/// let store = millpond::connect("memory:")?.tasks("shop");
/// for value in ["1", "2", "3"] {
///     store.insert("inbox", value)?;
/// }
/// let first = store.list("inbox", TaskQuery::new().limit(2))?;
/// let rest = store.list("inbox", TaskQuery::new().after(first.next.expect("there are more")))?;
/// assert_eq!((first.tasks.len(), rest.tasks.len(), rest.next), (2, 1, None));
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct TaskQuery {
    pub(super) after: Option<Position>,
    pub(super) limit: Option<usize>,
    pub(super) claimant: Option<Arc<str>>,
    pub(super) omit_values: bool,
}

impl TaskQuery {
    /// The first page of all tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// The page after this position.
    pub fn after(self, position: impl Into<Position>) -> Self {
        Self { after: Some(position.into()), ..self }
    }

    /// Reads at most this many tasks; [`PAGE_DEFAULT`] by default, at most [`PAGE_MAX`].
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Only tasks that this claimant holds or that are available. With this filter a page may hold fewer tasks, or
    /// none, and still be followed by another page.
    pub fn claimant(self, claimant: impl AsRef<str>) -> Self {
        Self { claimant: Some(claimant.as_ref().into()), ..self }
    }

    /// Leaves out the values. A change made from such a task removes its value.
    pub fn omit_values(self) -> Self {
        Self { omit_values: true, ..self }
    }

    /// Whether the task matches the filter.
    pub(super) fn lets(&self, at_ms: u64, claimant: &str, now_ms: u64) -> bool {
        at_ms <= now_ms || self.claimant.as_deref().is_none_or(|wanted| wanted == claimant)
    }
}

/// Lists a page of a queue.
#[derive(Clone, Debug)]
pub struct ListTasks {
    name: Name,
    queue: Arc<str>,
    query: TaskQuery,
    limit: usize,
}

impl ListTasks {
    /// Lists a page of this queue.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits and a limit of 0 or above [`PAGE_MAX`].
    pub fn new(name: impl AsRef<[u8]>, queue: impl AsRef<str>, query: TaskQuery) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, queue.as_ref(), query)
    }

    pub(super) fn of(name: Name, queue: &str, query: TaskQuery) -> Result<Self> {
        limits::queue(queue)?;
        query.after.iter().try_for_each(limits::position)?;
        query.claimant.iter().try_for_each(|claimant| limits::claimant(claimant))?;
        let limit = page(query.limit)?;
        Ok(Self { name, queue: queue.into(), query, limit })
    }
}

/// The size of a page.
pub(super) fn page(limit: Option<usize>) -> Result<usize> {
    let limit = limit.unwrap_or(PAGE_DEFAULT);
    ensure!((1..=PAGE_MAX).contains(&limit), "a page has 1 to {PAGE_MAX} entries, not {limit}");
    Ok(limit)
}

impl Operation for ListTasks {
    head!(
        "tasks.list",
        embedded::State,
        name,
        ["../step/commands.lua", "store.lua", "page.lua", "list.lua"]
    );
    type Output = TaskPage;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.queue.as_bytes());
        args.push_number(self.limit as u64);
        Position::push(self.query.after.as_ref(), &mut args);
        args.push(self.query.claimant.as_deref().unwrap_or_default().as_bytes());
        args.push(if self.query.omit_values { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    /// `{tasks}`, or `{tasks, at, id}` where there is a next page.
    fn decode(&self, reply: Reply) -> Result<TaskPage> {
        let mut replies = reply.list()?;
        let tasks = Task::decode_all(replies.next()?.list()?, self.limit)?;
        Ok(TaskPage { tasks, next: Position::decode(replies)? })
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<TaskPage> {
        Ok(state.list(&self.queue, &self.query, self.limit, context))
    }
}

/// Looks up tasks by their ids, in any queue.
#[derive(Clone, Debug)]
pub struct FetchTasks {
    name: Name,
    ids: Vec<Arc<str>>,
    queue: Option<Arc<str>>,
    omit_values: bool,
}

impl FetchTasks {
    /// Looks up the tasks with these ids.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits, no id and more than [`PAGE_MAX`].
    pub fn new<I: AsRef<str>>(
        name: impl AsRef<[u8]>,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, ids)
    }

    pub(super) fn of<I: AsRef<str>>(name: Name, ids: impl IntoIterator<Item = I>) -> Result<Self> {
        Ok(Self { name, ids: checked_ids(ids, limits::id)?, queue: None, omit_values: false })
    }

    /// Only those that are in this queue.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name beyond its limits.
    pub fn queue(self, queue: impl AsRef<str>) -> Result<Self> {
        limits::queue(queue.as_ref())?;
        Ok(Self { queue: Some(queue.as_ref().into()), ..self })
    }

    /// Leaves out the values.
    #[must_use]
    pub fn omit_values(self, omit_values: bool) -> Self {
        Self { omit_values, ..self }
    }
}

/// Ids to look up.
pub(super) fn checked_ids<I: AsRef<str>>(
    ids: impl IntoIterator<Item = I>,
    check: impl Fn(&str) -> Result<()>,
) -> Result<Vec<Arc<str>>> {
    let mut all: Vec<Arc<str>> = Vec::new();
    for id in ids {
        check(id.as_ref())?;
        ensure!(all.len() < PAGE_MAX, "a call names at most {PAGE_MAX} ids");
        all.push(id.as_ref().into());
    }
    ensure!(!all.is_empty(), "a call names at least one id");
    Ok(all)
}

impl Operation for FetchTasks {
    head!("tasks.fetch", embedded::State, name, ["../step/commands.lua", "store.lua", "fetch.lua"]);
    type Output = Vec<Task>;
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.queue.as_deref().unwrap_or_default().as_bytes());
        args.push(if self.omit_values { b"1" } else { b"0" });
        self.ids.iter().for_each(|id| args.push(id.as_bytes()));
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Task>> {
        Task::decode_all(reply.list()?, self.ids.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<Vec<Task>> {
        Ok(state.fetch(&self.ids, self.queue.as_deref(), self.omit_values, context))
    }
}
