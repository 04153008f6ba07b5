//! Jobs that have not failed but conflicted with others over the same documents: they run again shortly after.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Task;
use crate::runtime::backoff::Backoff;
use crate::runtime::sync::lock;
use crate::worker::backoff::Contention;

/// How long a task is postponed whose documents are held by others.
const TAKEN: Backoff =
    Backoff { first: Duration::from_millis(16), most: Duration::from_millis(128) };

/// How much later than that it may become available on the clock of a server.
const SLACK: Duration = Duration::from_millis(50);

/// How long a task is postponed whose documents have changed since its handler read them.
const OUTDATED: Backoff =
    Backoff { first: Duration::from_millis(20), most: Duration::from_millis(100) };

/// How many conflicts in a row over changed documents a task may have in one worker; the last of them counts as an
/// attempt.
pub const CONFLICTS_MAX: u32 = 20;

/// For how many tasks conflicts are counted. For any further task each conflict is an attempt, so that no loop of
/// conflicts is endless.
const COUNTED_MAX: usize = 1_024;

/// After how long without another conflict a task is no longer counted: another worker may have ended it.
const COUNTED_FOR: Duration = Duration::from_secs(60);

/// The conflicts of one worker's jobs. The lock is of no use to the child of a fork, which has no jobs.
pub(super) struct Conflicts {
    contention: Contention,
    /// By the id of the task.
    outdated: Mutex<HashMap<Arc<str>, Row>>,
}

/// The conflicts in a row of a task.
struct Row {
    attempt: u32,
    count: u32,
    /// When the last conflict was, by the age of the loop.
    last: Duration,
}

impl Conflicts {
    pub(super) fn new() -> Self {
        Self { contention: Contention::new(TAKEN, SLACK), outdated: Mutex::default() }
    }

    /// How long to postpone a task if another claimant holds one of its documents.
    pub(super) fn taken(&self) -> Duration {
        self.contention.delay()
    }

    /// The documents that a job needed were free.
    pub(super) fn were_free(&self) {
        self.contention.is_over();
    }

    /// How long to postpone a task if one of its documents has changed; `None` if this is an attempt.
    pub(super) fn outdated(&self, task: &Task, draw: u64) -> Option<Duration> {
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
        Some(self.contention.put_off(OUTDATED.delay(before, draw)))
    }

    /// The task is gone, or belongs to another job.
    pub(super) fn forget(&self, task: &Task) {
        lock(&self.outdated).remove(&task.id);
    }

    /// A task was postponed for this time, no later than now.
    pub(super) fn postponed(&self, delay: Duration) {
        self.contention.put_off(delay);
    }

    /// How long until everything that was postponed is available again, if it was not at this time.
    pub(super) fn left(&self, at: Instant) -> Option<Duration> {
        self.contention.left(at)
    }
}
