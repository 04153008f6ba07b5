//! Tasks, and what is asked of them in a modification.

use std::sync::Arc;
use std::time::Duration;

use super::{Headers, When, json, limits};
use crate::error::Result;
use crate::step::ByteList;
use crate::step::headers::Given;

/// A task as the store holds it.
///
/// `at_ms` has two uses: a task is available from that time on, and a claim moves it to the end of
/// the lease. `id` and `version` are an optimistic lock: each claim, renewal and change adds 1 to
/// `version`, and a modification with a stale version is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Unique in the store, over all queues.
    pub id: Arc<str>,
    /// From 0; 1 more with each claim, renewal and change.
    pub version: u64,
    /// The queue that it is in.
    pub queue: Arc<str>,
    /// From when on it can be claimed, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// When it was inserted, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was inserted, claimed, renewed or changed last, in milliseconds since the Unix
    /// epoch.
    pub modified_ms: u64,
    /// The claimant that holds it until `at_ms`, or that set `at_ms`; empty if there is none.
    pub claimant: Arc<str>,
    /// How often it was claimed; renewals do not count.
    pub claims: u32,
    /// How often it was tried, as its workers recorded.
    pub attempt: u32,
    /// What went wrong, as its workers recorded.
    pub err: Arc<str>,
    /// Its JSON text, byte for byte as it was written; `None` is not the same as `null`.
    pub value: Option<Arc<str>>,
    /// 0 to 9: of the available tasks of a queue those with the highest are claimed first.
    pub priority: u8,
    /// When it is deleted, leased or not, in milliseconds since the Unix epoch; `None` for never.
    pub expires_ms: Option<u64>,
    /// Its headers, by name: what travels with it and is not its value.
    pub headers: Headers,
}

impl Task {
    /// What a modification needs to delete this task or to depend on it.
    pub fn handle(&self) -> TaskId {
        TaskId { id: self.id.clone(), version: self.version }
    }

    /// A change that leaves everything but the time as it is: without an `at` it releases the task.
    pub fn change(&self) -> TaskChange {
        TaskChange {
            task: self.handle(),
            queue: self.queue.clone(),
            at: When::Now,
            value: self.value.clone(),
            attempt: self.attempt,
            err: self.err.clone(),
            headers: None,
        }
    }
}

/// A task at a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskId {
    /// The task's id.
    pub id: Arc<str>,
    /// The version that it has to have.
    pub version: u64,
}

impl TaskId {
    /// The task of this id at this version.
    pub fn new(id: impl AsRef<str>, version: u64) -> Self {
        Self { id: id.as_ref().into(), version }
    }

    pub(super) fn check(&self) -> Result<()> {
        limits::id(&self.id)
    }

    /// As the scripts take it.
    pub(super) fn push(&self, args: &mut ByteList) {
        args.push(self.id.as_bytes());
        args.push_number(self.version);
    }
}

impl From<&Task> for TaskId {
    fn from(task: &Task) -> Self {
        task.handle()
    }
}

/// A task to insert.
///
/// ```
/// use std::time::Duration;
/// use millpond::tasks::NewTask;
///
/// let task = NewTask::new("mail").value(r#"{"to": "ann"}"#).after(Duration::from_secs(60)).priority(5);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewTask {
    pub(super) queue: Arc<str>,
    pub(super) id: Option<Arc<str>>,
    pub(super) at: When,
    pub(super) value: Option<Arc<str>>,
    pub(super) attempt: u32,
    pub(super) err: Arc<str>,
    pub(super) priority: u8,
    pub(super) ttl: Option<Duration>,
    pub(super) headers: Given,
    pub(super) skip_colliding: bool,
}

impl NewTask {
    /// A task for this queue, without a value, available at once.
    pub fn new(queue: impl AsRef<str>) -> Self {
        Self {
            queue: queue.as_ref().into(),
            id: None,
            at: When::Now,
            value: None,
            attempt: 0,
            err: "".into(),
            priority: 0,
            ttl: None,
            headers: Given::NONE,
            skip_colliding: false,
        }
    }

    /// Its id, unique in the store: 1 to [`ID_CHARS_MAX`](super::ID_CHARS_MAX) characters. 16 random hexadecimal
    /// digits by default.
    pub fn id(self, id: impl AsRef<str>) -> Self {
        Self { id: Some(id.as_ref().into()), ..self }
    }

    /// Its value: a JSON text, which is kept byte for byte.
    pub fn value(self, json: impl AsRef<str>) -> Self {
        Self { value: Some(json.as_ref().into()), ..self }
    }

    /// From when on it can be claimed, in milliseconds since the Unix epoch; a time in the past counts
    /// for its age.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: When::At(at_ms), ..self }
    }

    /// How long from now it can be claimed, by the engine's clock.
    pub fn after(self, delay: Duration) -> Self {
        Self { at: When::After(delay), ..self }
    }

    /// How often it was tried before.
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// What went wrong before.
    pub fn err(self, err: impl AsRef<str>) -> Self {
        Self { err: err.as_ref().into(), ..self }
    }

    /// 0, by default, to 9: of the available tasks of a queue those with the highest are claimed first.
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// How long until it is deleted, done or not, leased or not; without limit by default.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// Leaves this task out if its id is taken, instead of refusing the whole modification.
    pub fn skip_colliding(self) -> Self {
        Self { skip_colliding: true, ..self }
    }

    /// Adds a header, in place of the one of its name: a name of at least a character, with any bytes. Up to
    /// [`HEADERS_MAX`](super::HEADERS_MAX) headers, whose names and values have up to
    /// [`HEADERS_BYTES_MAX`](super::HEADERS_BYTES_MAX) bytes together.
    pub fn header(self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        Self { headers: self.headers.with(name.as_ref(), value.as_ref()), ..self }
    }

    /// Its headers, all of them: names with any bytes, as [`header`](Self::header) adds them.
    pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self { headers: Given::new(headers), ..self }
    }

    pub(super) fn check(&self) -> Result<()> {
        limits::queue(&self.queue)?;
        self.id.iter().try_for_each(|id| limits::id(id))?;
        self.value.iter().try_for_each(|value| json::check("value", value))?;
        limits::err(&self.err)?;
        limits::priority(self.priority)?;
        self.headers.check()?;
        limits::when(self.at)?;
        self.ttl.map_or(Ok(()), limits::ttl)
    }
}

/// What becomes of a task: all of what a caller can set, as [`Task::change`] fills it in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TaskChange {
    pub(super) task: TaskId,
    pub(super) queue: Arc<str>,
    pub(super) at: When,
    pub(super) value: Option<Arc<str>>,
    pub(super) attempt: u32,
    pub(super) err: Arc<str>,
    /// What takes the headers' place, if anything.
    pub(super) headers: Option<Given>,
}

impl TaskChange {
    /// A change that leaves nothing in the task but its id, its headers and what only the engine sets: no value, no
    /// `err`, no attempt, available at once in this queue.
    pub fn new(task: TaskId, queue: impl AsRef<str>) -> Self {
        Self {
            task,
            queue: queue.as_ref().into(),
            at: When::Now,
            value: None,
            attempt: 0,
            err: "".into(),
            headers: None,
        }
    }

    /// Moves the task to this queue; it keeps its id.
    pub fn queue(self, queue: impl AsRef<str>) -> Self {
        Self { queue: queue.as_ref().into(), ..self }
    }

    /// Replaces the value by this JSON text.
    pub fn value(self, json: impl AsRef<str>) -> Self {
        Self { value: Some(json.as_ref().into()), ..self }
    }

    /// Removes the value.
    pub fn no_value(self) -> Self {
        Self { value: None, ..self }
    }

    /// From when on it can be claimed, in milliseconds since the Unix epoch. Until a time in the
    /// future the claimant that changes it holds it.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: When::At(at_ms), ..self }
    }

    /// How long from now it can be claimed, by the engine's clock. Until then the claimant that changes it
    /// holds it.
    pub fn after(self, delay: Duration) -> Self {
        Self { at: When::After(delay), ..self }
    }

    /// How often it was tried.
    pub fn attempt(self, attempt: u32) -> Self {
        Self { attempt, ..self }
    }

    /// What went wrong.
    pub fn err(self, err: impl AsRef<str>) -> Self {
        Self { err: err.as_ref().into(), ..self }
    }

    /// Replaces all headers by these, as [`NewTask::header`] has them; they stay as they are by default.
    pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self { headers: Some(Given::new(headers)), ..self }
    }

    /// One more attempt, with what went wrong in it on a line of its own behind what went wrong before.
    pub fn retry(mut self, err: &str) -> Self {
        self.attempt = self.attempt.saturating_add(1);
        self.err = limits::joined(&self.err, err);
        self
    }

    /// [`retry`](Self::retry), and with the attempt `max` a move to this queue; never for a `max` of 0
    /// or a queue without a name.
    pub fn retry_or_quarantine(self, err: &str, queue: &str, max: u32) -> Self {
        let tried = self.retry(err);
        match max != 0 && tried.attempt >= max && !queue.is_empty() {
            true => tried.queue(queue),
            false => tried,
        }
    }

    /// [`retry`](Self::retry), and a move to this queue.
    pub fn quarantine(self, err: &str, queue: &str) -> Self {
        self.retry_or_quarantine(err, queue, 1)
    }

    pub(super) fn check(&self) -> Result<()> {
        self.task.check()?;
        limits::queue(&self.queue)?;
        self.value.iter().try_for_each(|value| json::check("value", value))?;
        limits::err(&self.err)?;
        self.headers.iter().try_for_each(Given::check)?;
        limits::when(self.at)
    }
}
