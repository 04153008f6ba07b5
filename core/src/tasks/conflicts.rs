//! Jobs that have not failed, but met others at the same documents: they run again a moment later.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::Task;
use crate::runtime::backoff::Backoff;
use crate::runtime::sync::lock;
use crate::worker::backoff::Contention;

/// How long a task whose documents are taken is put off.
const TAKEN: Backoff =
    Backoff { first: Duration::from_millis(16), most: Duration::from_millis(128) };

/// By how much later than that it may be available on the clock of a server.
const SLACK: Duration = Duration::from_millis(50);

/// How long a task is put off whose documents have changed since its handler read them.
const OUTDATED: Backoff =
    Backoff { first: Duration::from_millis(20), most: Duration::from_millis(100) };

/// How often in a row a task runs again in one worker, as documents have changed, until that is an attempt.
pub const CONFLICTS_MAX: u32 = 20;

/// Of how many tasks that is counted. Those beyond have an attempt each time, so that no loop of conflicts is endless.
const COUNTED_MAX: usize = 1_024;

/// After how long without another conflict a task is counted no more: another worker may have ended it.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// The conflicts of one worker's jobs. The lock is of no use to the child of a fork, which has no jobs.
pub(super) struct Conflicts {
    contention: Contention,
    /// By the id of the task.
    outdated: Mutex<HashMap<Arc<str>, Row>>,
}

/// The conflicts of a task in a row.
struct Row {
    attempt: u32,
    count: u32,
    /// When the last one was, by the age of the loop.
    last: Duration,
}

impl Conflicts {
    pub(super) fn new() -> Self {
        Self { contention: Contention::new(TAKEN, SLACK), outdated: Mutex::default() }
    }

    /// How long to put off a task of which a document is taken.
    pub(super) fn taken(&self) -> Duration {
        self.contention.delay()
    }

    /// The documents that a job needed were free.
    pub(super) fn were_free(&self) {
        self.contention.is_over();
    }

    /// How long to put off a task of which a document has changed; `None` if that is an attempt.
    pub(super) fn outdated(&self, task: &Task) -> Option<Duration> {
        let (mut outdated, now) = (lock(&self.outdated), self.contention.age());
        let row = outdated.remove(&task.id).filter(|row| row.attempt == task.attempt);
        let before = row.map_or(0, |row| row.count);
        if outdated.len() >= COUNTED_MAX {
            outdated.retain(|_, row| now.saturating_sub(row.last) < COUNTED_FOR);
        }
        if before + 1 >= CONFLICTS_MAX || outdated.len() >= COUNTED_MAX {
            return None;
        }
        let row = Row { attempt: task.attempt, count: before + 1, last: now };
        outdated.insert(task.id.clone(), row);
        drop(outdated);
        Some(self.contention.put_off(OUTDATED.delay(before)))
    }

    /// The task is gone, or is another job's.
    pub(super) fn forget(&self, task: &Task) {
        lock(&self.outdated).remove(&task.id);
    }

    /// How long until all that was put off is available again, if it is not.
    pub(super) fn left(&self) -> Option<Duration> {
        self.contention.left()
    }
}
