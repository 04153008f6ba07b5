//! Changes of tasks, which are made of tasks.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::{Task, TaskChange, TaskId};

use crate::caller::Caller;
use crate::keys::millpond_bytes;
use crate::options::{Growing, NOT_SET, c_bool, given, growing, number, only_one};
use crate::tasks::generated::{millpond_task, millpond_task_id};

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

    pub(crate) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<TaskChange> {
        let task = Task {
            id: caller.text(|| of("id"), self.id)?.into(),
            version: self.version,
            queue: caller.text(|| of("queue"), self.queue)?.into(),
            at_ms: 0,
            created_ms: 0,
            modified_ms: 0,
            claimant: "".into(),
            claims: 0,
            attempt: number(&of, "attempt", self.attempt)?,
            err: caller.text(|| of("err"), self.err)?.into(),
            value: caller.optional_text(|| of("value"), self.value)?.map(Into::into),
            priority: 0,
            expires_ms: None,
        };
        let mut change = task.change();
        only_one(&of, ("at_ms", self.at_ms), ("delay_ms", self.delay_ms))?;
        if let Some(at_ms) = given(&of("at_ms"), self.at_ms)? {
            change = change.at_ms(at_ms);
        }
        if let Some(delay_ms) = given(&of("delay_ms"), self.delay_ms)? {
            change = change.after(Duration::from_millis(delay_ms));
        }
        if self.retry.is_true() {
            let err = caller.text(|| of("retry_err"), self.retry_err)?;
            let queue = caller.text(|| of("quarantine_queue"), self.quarantine_queue)?;
            let attempts = number(&of, "quarantine_attempts", self.quarantine_attempts)?;
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
            task.read(self, |field| format!("{argument}[{index}].{field}"))
        };
        tasks.map(read).collect()
    }
}
