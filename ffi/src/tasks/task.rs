//! Changes of tasks, which are created from tasks.

use std::time::Duration;

use millpond::Result;
use millpond::tasks::{TaskChange, TaskId};

use crate::caller::Caller;
use crate::keys::millpond_bytes;
use crate::options::{Growing, NOT_SET, c_bool, given, growing, number, only_one};
use crate::tasks::generated::millpond_task;

/// A change of a task. `millpond_task_change_init` fills it from the task; then set what you
/// like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_task_change {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// The task's id.
    pub id: millpond_bytes,
    /// The queue; a different queue moves the task there, with its id.
    pub queue: millpond_bytes,
    /// The value: a JSON text. NULL: the task has none afterwards.
    pub value: millpond_bytes,
    /// What went wrong.
    pub err: millpond_bytes,
    /// The version that the task must have.
    pub version: u64,
    /// How often the task was tried.
    pub attempt: u64,
    /// The time from which it can be claimed, in milliseconds since the Unix epoch. If that is in
    /// the future, the claimant that changes the task holds it until then. `MILLPOND_NOT_SET`:
    /// without a `delay_ms` the task is released.
    pub at_ms: i64,
    /// How many milliseconds until it can be claimed, by the engine's clock; until then the
    /// claimant that changes the task holds it. `MILLPOND_NOT_SET`: as `at_ms` says.
    pub delay_ms: i64,
    /// Whether it was tried and failed: increments `attempt`, and appends `retry_err` to `err` on a
    /// separate line.
    pub retry: c_bool,
    /// Why it failed.
    pub retry_err: millpond_bytes,
    /// Where a retry moves the task to with the attempt `quarantine_attempts`.
    pub quarantine_queue: millpond_bytes,
    /// 1: with this retry; 0: never.
    pub quarantine_attempts: u64,
    /// What replaces the headers, in one piece; see `millpond_headers_add`. NULL: they stay.
    pub headers: millpond_bytes,
}

growing! { millpond_task_change { at_ms: NOT_SET, delay_ms: NOT_SET } }

impl millpond_task_change {
    fn of(task: *const millpond_task) -> Self {
        // SAFETY: the header says that there is a task; these fields have existed since the first version.
        unsafe {
            Self {
                id: (*task).id,
                queue: (*task).queue,
                value: (*task).value,
                err: (*task).err,
                version: (*task).version,
                attempt: (*task).attempt,
                ..Self::DEFAULT
            }
        }
    }

    pub(crate) fn read(&self, caller: &Caller, of: impl Fn(&str) -> String) -> Result<TaskChange> {
        let task = TaskId::new(caller.text(|| of("id"), self.id)?, self.version);
        let mut change = TaskChange::new(task, caller.text(|| of("queue"), self.queue)?)
            .attempt(number(&of, "attempt", self.attempt)?)
            .err(caller.text(|| of("err"), self.err)?);
        if let Some(value) = caller.optional_text(|| of("value"), self.value)? {
            change = change.value(value);
        }
        if let Some(headers) = caller.optional_headers(|| of("headers"), self.headers)? {
            change = change.headers(&headers);
        }
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

/// Fills a change with the current state of the task, at its version: such a change only releases
/// the task. The change points to the texts of the task, whose result must not be freed before the
/// change was made. `task` may be NULL; then everything else has to be set.
///
///     millpond_task_change change;
///     millpond_task_change_init(&change, sizeof change, task);
///     change.retry = true;
///     change.retry_err = (millpond_bytes){"no such address", 15};
///     change.delay_ms = 60000;
///
/// Does nothing if `change` is NULL.
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
    let filled = caller.record(task, millpond_task_change::of);
    caller.fill(change, size, filled.unwrap_or(millpond_task_change::DEFAULT));
}
