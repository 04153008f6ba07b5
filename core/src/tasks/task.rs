//! Tasks, and their entries in a modification.

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
    /// Unique in the store, across all queues.
    pub id: Arc<str>,
    /// Starts at 0; each claim, renewal and change adds 1.
    pub version: u64,
    /// The queue that it belongs to.
    pub queue: Arc<str>,
    /// The time from which it can be claimed, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// When it was inserted, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last inserted, claimed, renewed or changed, in milliseconds since the Unix epoch.
    pub modified_ms: u64,
    /// The claimant that holds it until `at_ms`, or that set `at_ms`; empty if there is none. After `at_ms` it still has
    /// that name, and nobody holds it.
    pub claimant: Arc<str>,
    /// How often it was claimed; renewals do not count.
    pub claims: u32,
    /// How often it was tried, as recorded by its workers.
    pub attempt: u32,
    /// What went wrong, as recorded by its workers.
    pub err: Arc<str>,
    /// Its JSON text, byte for byte as it was written; `None` is not the same as `null`.
    pub value: Option<Arc<str>>,
    /// 0 to 9: of a queue's available tasks, those with the highest priority are claimed first.
    pub priority: u8,
    /// When it is deleted, leased or not, in milliseconds since the Unix epoch; `None` for never.
    pub expires_ms: Option<u64>,
    /// Its headers, by name: data that travels with it but is not part of its value.
    pub headers: Headers,
}

impl Task {
    /// What a modification needs to delete this task or to depend on it.
    pub fn handle(&self) -> TaskId {
        TaskId { id: self.id.clone(), version: self.version }
    }

    /// A change that leaves everything as it is except the time: unless you set an `at`, it releases the task.
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
    /// The version that it must have.
    pub version: u64,
}

impl TaskId {
    /// The task with this id, at this version.
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
    pub(super) dedup_window: Duration,
    pub(super) headers: Given,
    pub(super) skip_colliding: bool,
}

impl NewTask {
    /// A task for this queue, without a value, available immediately.
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
            dedup_window: Duration::ZERO,
            headers: Given::NONE,
            skip_colliding: false,
        }
    }

    /// Its id, unique in the store: 1 to [`ID_CHARS_MAX`](super::ID_CHARS_MAX) characters. 16 random hexadecimal
    /// digits by default.
    ///
    /// With an id of its own, an insert can be repeated as long as the task exists: it is refused or
    /// [left out](Self::skip_colliding), and nothing is done twice. When the task has ended its id is free, and the same
    /// insert adds a new task, unless the [deduplication window](Self::dedup_window) of the one that has ended is not
    /// over.
    pub fn id(self, id: impl AsRef<str>) -> Self {
        Self { id: Some(id.as_ref().into()), ..self }
    }

    /// Its value: a JSON text, which is kept byte for byte.
    pub fn value(self, json: impl AsRef<str>) -> Self {
        Self { value: Some(json.as_ref().into()), ..self }
    }

    /// The time from which it can be claimed, in milliseconds since the Unix epoch; a time in the past counts towards
    /// its age.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: When::At(at_ms), ..self }
    }

    /// How long until it can be claimed, by the engine's clock.
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

    /// 0, the default, to 9: of a queue's available tasks, those with the highest priority are claimed first.
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// How long until it is deleted, whether or not it is done or leased; without limit by default.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// How long its [id](Self::id) stays taken after it has ended, by the engine's clock: 0, the default, up to
    /// [`DEDUP_WINDOW_MAX`](super::DEDUP_WINDOW_MAX), in milliseconds. For that long an insert of the same id is refused
    /// or [left out](Self::skip_colliding) as if the task still existed, at version 0. So a producer that received no
    /// reply can repeat its insert for that long after the task is done.
    ///
    /// A task ends when it is deleted: by the end of its job or another modification, a purge, a cancellation by force,
    /// or when its time to live is over. A task that is retried, changed, moved or redriven keeps its window, and one in
    /// an error queue has not ended. A store keeps the ids of up to [`DEDUP_IDS_MAX`](super::DEDUP_IDS_MAX) ended tasks;
    /// beyond that, the one that would be free first is free early.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use millpond::tasks::{LEASE_DEFAULT, Modification, NewTask, TaskId};
    ///
    /// let store = millpond::connect("memory:")?.tasks("shop");
    /// let charge = || NewTask::new("charges").id("order-7").dedup_window(Duration::from_secs(3_600));
    /// store.modify(Modification::new().insert(charge()))?;
    /// let task = store.claim(["charges"], LEASE_DEFAULT)?.expect("it was inserted");
    /// store.modify(Modification::new().delete(&task))?;
    ///
    /// // The order has been charged, and the producer, which does not know that, inserts it again.
    /// let error = store.modify(Modification::new().insert(charge())).unwrap_err();
    /// assert_eq!(error.dependency().expect("its id is taken").inserts, [TaskId::new("order-7", 0)]);
    /// let done = store.modify(Modification::new().insert(charge().skip_colliding()))?;
    /// assert!(done.inserted.is_empty());
    /// # Ok::<(), millpond::Error>(())
    /// ```
    pub fn dedup_window(self, window: Duration) -> Self {
        Self { dedup_window: window, ..self }
    }

    /// Leaves this task out if its id is taken, instead of refusing the whole modification.
    pub fn skip_colliding(self) -> Self {
        Self { skip_colliding: true, ..self }
    }

    /// Adds a header, replacing one with the same name: a name of at least one character, and any bytes as its value.
    /// Up to [`HEADERS_MAX`](super::HEADERS_MAX) headers, whose names and values have up to
    /// [`HEADERS_BYTES_MAX`](super::HEADERS_BYTES_MAX) bytes in total.
    pub fn header(self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        Self { headers: self.headers.with(name.as_ref(), value.as_ref()), ..self }
    }

    /// Its headers, all of them: names with any bytes as their values, as [`header`](Self::header) adds them.
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
        limits::dedup_window(self.dedup_window)?;
        self.ttl.map_or(Ok(()), limits::ttl)
    }

    /// The deduplication window in milliseconds; never less than was asked for.
    pub(super) fn dedup_window_ms(&self) -> u32 {
        self.dedup_window.as_nanos().div_ceil(1_000_000) as u32
    }
}

/// What becomes of a task: everything that a caller can set, as [`Task::change`] fills it in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TaskChange {
    pub(super) task: TaskId,
    pub(super) queue: Arc<str>,
    pub(super) at: When,
    pub(super) value: Option<Arc<str>>,
    pub(super) attempt: u32,
    pub(super) err: Arc<str>,
    /// The new headers, if they are replaced.
    pub(super) headers: Option<Given>,
}

impl TaskChange {
    /// A change that keeps only the task's id, its headers and what only the engine sets: no value, no `err`, no
    /// attempt, available immediately in this queue.
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

    /// Replaces the value with this JSON text.
    pub fn value(self, json: impl AsRef<str>) -> Self {
        Self { value: Some(json.as_ref().into()), ..self }
    }

    /// Removes the value.
    pub fn no_value(self) -> Self {
        Self { value: None, ..self }
    }

    /// The time from which it can be claimed, in milliseconds since the Unix epoch. If that is in the future, the
    /// claimant that makes the change holds it until then.
    pub fn at_ms(self, at_ms: u64) -> Self {
        Self { at: When::At(at_ms), ..self }
    }

    /// How long until it can be claimed, by the engine's clock. Until then the claimant that makes the change holds
    /// it.
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

    /// Replaces all headers with these, in the form of [`NewTask::header`]; unchanged by default.
    pub fn headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self { headers: Some(Given::new(headers)), ..self }
    }

    /// Adds an attempt, and what went wrong in it as a new line after what went wrong before.
    pub fn retry(mut self, err: &str) -> Self {
        self.attempt = self.attempt.saturating_add(1);
        self.err = limits::joined(&self.err, err);
        self
    }

    /// [`retry`](Self::retry), and a move to this queue when the attempt reaches `max`; never if `max` is 0 or the
    /// queue has no name.
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
