//! Tasks, as results and as arguments.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::{NewTask, Task, TaskChange, TaskId, When};

use super::when::when;
use crate::caller::{Caller, invalid};
use crate::keys::millpond_bytes;
use crate::options::{Growing, NOT_SET, c_bool, given, growing};

/// A task as the store holds it. All texts are UTF-8, are not NUL-terminated, and live as long as
/// the result that the task is in.
///
/// `at_ms` has two uses: a task is available from that time on, and a claim moves it to the end of
/// the lease. `id` and `version` are an optimistic lock: each claim, renewal and change adds 1 to
/// `version`, and a modification with a stale version is refused.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task {
    /// Unique in the store, over all queues.
    pub id: millpond_bytes,
    /// The queue that it is in.
    pub queue: millpond_bytes,
    /// The claimant that holds it until `at_ms`, or that set `at_ms`; empty if there is none.
    pub claimant: millpond_bytes,
    /// What went wrong, as its workers recorded.
    pub err: millpond_bytes,
    /// Its JSON text, byte for byte as it was written. NULL: it has none, or it was left out,
    /// which is not the same as `null`.
    pub value: millpond_bytes,
    /// From 0; 1 more with each claim, renewal and change.
    pub version: u64,
    /// From when on it can be claimed, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// When it was inserted.
    pub created_ms: u64,
    /// When it was inserted, claimed, renewed or changed last.
    pub modified_ms: u64,
    /// When it is deleted, leased or not. `MILLPOND_NOT_SET`: never.
    pub expires_ms: i64,
    /// How often it was claimed; renewals do not count.
    pub claims: u64,
    /// How often it was tried, as its workers recorded.
    pub attempt: u64,
    /// 0 to 9: of the available tasks of a queue those with the highest are claimed first.
    pub priority: u64,
}

impl millpond_task {
    /// The texts, in the order of the fields.
    pub(super) fn texts(task: &Task) -> [Option<&str>; 5] {
        [
            Some(&task.id),
            Some(&task.queue),
            Some(&task.claimant),
            Some(&task.err),
            task.value.as_deref(),
        ]
    }

    pub(super) fn new(task: &Task, texts: [millpond_bytes; 5]) -> Self {
        let [id, queue, claimant, err, value] = texts;
        Self {
            id,
            queue,
            claimant,
            err,
            value,
            version: task.version,
            at_ms: task.at_ms,
            created_ms: task.created_ms,
            modified_ms: task.modified_ms,
            expires_ms: task.expires_ms.map_or(NOT_SET, |ms| ms as i64),
            claims: task.claims.into(),
            attempt: task.attempt.into(),
            priority: task.priority.into(),
        }
    }
}

/// A task at a version: what deletes, depends and renewals take. Its layout is fixed.
///
///     millpond_task_id done = {task->id, task->version};
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_id {
    /// The task's id.
    pub id: millpond_bytes,
    /// The version that it has to have.
    pub version: u64,
}

impl millpond_task_id {
    pub(super) fn of(task: &TaskId) -> Self {
        Self { id: millpond_bytes::of(task.id.as_bytes()), version: task.version }
    }
}

/// A task to insert. `millpond_new_task_init` fills it; then set the queue and what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_new_task {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The queue, which need not be there.
    pub queue: millpond_bytes,
    /// Its id, unique in the store: 1 to 64 characters. NULL: the default, 16 random
    /// hexadecimal digits.
    pub id: millpond_bytes,
    /// Its value: a JSON text of at most 16 MiB, which is kept byte for byte. NULL: none.
    pub value: millpond_bytes,
    /// What went wrong before.
    pub err: millpond_bytes,
    /// From when on it can be claimed, in milliseconds since the Unix epoch; a time in the past
    /// counts for its age. `MILLPOND_NOT_SET`: without a `delay_ms` it is available at once.
    pub at_ms: i64,
    /// In how many milliseconds it can be claimed, by the engine's clock. `MILLPOND_NOT_SET`:
    /// as `at_ms` says.
    pub delay_ms: i64,
    /// How many milliseconds until it is deleted, done or not, leased or not. `MILLPOND_NOT_SET`: the
    /// default, without limit.
    pub ttl_ms: i64,
    /// How often it was tried before.
    pub attempt: u64,
    /// 0 to 9: of the available tasks of a queue those with the highest are claimed first.
    pub priority: u64,
    /// Whether to leave this task out if its id is taken, instead of refusing the whole
    /// modification.
    pub skip_colliding: c_bool,
}

growing! {
    millpond_new_task = Self {
        size: size_of::<Self>(),
        queue: millpond_bytes::NONE,
        id: millpond_bytes::NONE,
        value: millpond_bytes::NONE,
        err: millpond_bytes::NONE,
        at_ms: NOT_SET,
        delay_ms: NOT_SET,
        ttl_ms: NOT_SET,
        attempt: 0,
        priority: 0,
        skip_colliding: c_bool::FALSE,
    };
}

impl millpond_new_task {
    pub(super) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<NewTask> {
        let mut task = NewTask::new(caller.text(|| of("queue"), self.queue)?)
            .err(caller.text(|| of("err"), self.err)?)
            .attempt(small(&of, "attempt", self.attempt)?)
            .priority(small(&of, "priority", self.priority)?);
        if let Some(id) = caller.optional_text(|| of("id"), self.id)? {
            task = task.id(id);
        }
        if let Some(value) = caller.optional_text(|| of("value"), self.value)? {
            task = task.value(value);
        }
        match when(&of, self.at_ms, self.delay_ms)? {
            Some(When::At(at_ms)) => task = task.at_ms(at_ms),
            Some(When::After(delay)) => task = task.after(delay),
            _ => {}
        }
        if let Some(ttl_ms) = given(&of("ttl_ms"), self.ttl_ms)? {
            task = task.ttl(Duration::from_millis(ttl_ms));
        }
        Ok(match self.skip_colliding.is_true() {
            true => task.skip_colliding(),
            false => task,
        })
    }
}

/// Fills a task to insert with its defaults. The queue still has to be set.
///
///     millpond_new_task task;
///     millpond_new_task_init(&task, sizeof task);
///     task.queue = (millpond_bytes){"mail", 4};
///     task.value = (millpond_bytes){"{\"to\": \"ann\"}", 13};
///     task.delay_ms = 60000;
///
/// Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_new_task_init(task: *mut millpond_new_task, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(task, size);
}

/// A change of a task. `millpond_task_change_init` fills it from the task; then set what you
/// like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_change {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// The task's id.
    pub id: millpond_bytes,
    /// The queue; another one moves the task there, with its id.
    pub queue: millpond_bytes,
    /// The value: a JSON text. NULL: the task has none afterwards.
    pub value: millpond_bytes,
    /// What went wrong.
    pub err: millpond_bytes,
    /// The version that the task has to have.
    pub version: u64,
    /// How often it was tried.
    pub attempt: u64,
    /// From when on it can be claimed, in milliseconds since the Unix epoch; until a time in the
    /// future the claimant that changes it holds it. `MILLPOND_NOT_SET`: without a `delay_ms` the
    /// task is released.
    pub at_ms: i64,
    /// In how many milliseconds it can be claimed, by the engine's clock; until then the
    /// claimant that changes it holds it. `MILLPOND_NOT_SET`: as `at_ms` says.
    pub delay_ms: i64,
    /// Whether it was tried and failed: counts `attempt` up, and puts `retry_err` behind `err` on a
    /// line of its own.
    pub retry: c_bool,
    /// Why it failed.
    pub retry_err: millpond_bytes,
    /// Where a retry moves the task to with the attempt `quarantine_attempts`.
    pub quarantine_queue: millpond_bytes,
    /// 1: with this retry; 0: never.
    pub quarantine_attempts: u64,
}

growing! {
    millpond_task_change = Self {
        size: size_of::<Self>(),
        id: millpond_bytes::NONE,
        queue: millpond_bytes::NONE,
        value: millpond_bytes::NONE,
        err: millpond_bytes::NONE,
        version: 0,
        attempt: 0,
        at_ms: NOT_SET,
        delay_ms: NOT_SET,
        retry: c_bool::FALSE,
        retry_err: millpond_bytes::NONE,
        quarantine_queue: millpond_bytes::NONE,
        quarantine_attempts: 0,
    };
}

impl millpond_task_change {
    fn of(task: &millpond_task) -> Self {
        Self {
            id: task.id,
            queue: task.queue,
            value: task.value,
            err: task.err,
            version: task.version,
            attempt: task.attempt,
            ..Self::DEFAULT
        }
    }

    pub(super) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<TaskChange> {
        let task = Task {
            id: caller.text(|| of("id"), self.id)?.into(),
            version: self.version,
            queue: caller.text(|| of("queue"), self.queue)?.into(),
            at_ms: 0,
            created_ms: 0,
            modified_ms: 0,
            claimant: "".into(),
            claims: 0,
            attempt: small(&of, "attempt", self.attempt)?,
            err: caller.text(|| of("err"), self.err)?.into(),
            value: caller.optional_text(|| of("value"), self.value)?.map(Into::into),
            priority: 0,
            expires_ms: None,
        };
        let mut change = task.change();
        match when(&of, self.at_ms, self.delay_ms)? {
            Some(When::At(at_ms)) => change = change.at_ms(at_ms),
            Some(When::After(delay)) => change = change.after(delay),
            _ => {}
        }
        if self.retry.is_true() {
            let err = caller.text(|| of("retry_err"), self.retry_err)?;
            let queue = caller.text(|| of("quarantine_queue"), self.quarantine_queue)?;
            let attempts = small(&of, "quarantine_attempts", self.quarantine_attempts)?;
            change = change.retry_or_quarantine(err, queue, attempts);
        }
        Ok(change)
    }
}

/// Fills a change with the task as it is, at its version: all that such a change does is to release
/// it. The change points to the texts of the task, whose result must not be freed before the change
/// was made. `task` may be NULL; then everything else has to be set.
///
///     millpond_task_change change;
///     millpond_task_change_init(&change, sizeof change, task);
///     change.retry = true;
///     change.retry_err = (millpond_bytes){"no such address", 15};
///     change.delay_ms = 60000;
///
/// Does nothing where `change` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_task_change_init(
    change: *mut millpond_task_change,
    size: usize,
    task: *const millpond_task,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    let task = caller.array(String::new, task, usize::from(!task.is_null()));
    let task = task.ok().and_then(<[_]>::first);
    caller.fill(change, size, task.map_or(millpond_task_change::DEFAULT, millpond_task_change::of));
}

impl Caller {
    /// Tasks at versions.
    pub(super) fn task_ids(
        &self,
        argument: &str,
        tasks: *const millpond_task_id,
        count: usize,
    ) -> Result<Vec<TaskId>> {
        let tasks = self.array(|| argument.to_owned(), tasks, count)?.iter().enumerate();
        let read = |(index, task): (usize, &millpond_task_id)| {
            let id = self.text(|| format!("{argument}[{index}].id"), task.id)?;
            Ok(TaskId::new(id, task.version))
        };
        tasks.map(read).collect()
    }
}

fn small<T: TryFrom<u64>>(of: &impl Fn(&str) -> String, field: &str, number: u64) -> Result<T> {
    T::try_from(number)
        .map_err(|_| invalid(format!("{} is {number}, which is out of range", of(field))))
}
