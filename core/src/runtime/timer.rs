//! The native thread that runs short tasks at their time: renewals of leases and ends of waits. It is
//! off any event loop and any interpreter's lock, starts on first use, and starts anew in a child
//! process after a fork.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak, mpsc};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::fork::PerProcess;
use crate::runtime::sync::{lock, wait_until};

type Task = Box<dyn FnOnce() + Send>;

/// Runs short tasks at their time.
pub(crate) struct Timer {
    tasks: Mutex<BTreeMap<(Instant, u64), Task>>,
    changed: Condvar,
    /// Tells the thread that it is the process's. Of two that are made at once, one is dropped and ends.
    go: mpsc::Sender<Arc<Timer>>,
}

/// A task that the timer has; dropping this takes it back.
#[must_use = "a task whose handle is dropped does not run"]
pub(crate) struct Scheduled {
    timer: Weak<Timer>,
    key: (Instant, u64),
    process: u32,
}

impl Drop for Scheduled {
    fn drop(&mut self) {
        // The timer of a forked child's parent is the parent's, and so is its lock.
        if self.process != std::process::id() {
            return;
        }
        if let Some(timer) = self.timer.upgrade() {
            let task = lock(&timer.tasks).remove(&self.key);
            // What the task holds may want the timer's lock when it is dropped.
            drop(task);
        }
    }
}

static TIMER: PerProcess<Timer> = PerProcess::new();
static SEQUENCE: AtomicU64 = AtomicU64::new(0);

impl Timer {
    /// Starts the thread, unless it runs. What schedules something for a step that it sends calls this before:
    /// a lease that nobody renews is not to be taken.
    ///
    /// # Errors
    /// `UNAVAILABLE` if the system has no thread left.
    pub(crate) fn ensure() -> Result<()> {
        Self::own().map(drop)
    }

    fn own() -> Result<Arc<Self>> {
        // It waits for this, so it is there.
        let start = |timer: &Arc<Self>| _ = timer.go.send(timer.clone());
        TIMER.get_or_try_make(Self::start, start).map_err(|error| {
            let message = format!("the timer's thread cannot be started: {error}");
            Error::new(ErrorKind::Unavailable, message).with_source(error)
        })
    }

    /// Runs `task` on the timer's thread at this time, unless the handle is dropped before. The
    /// task must not block.
    pub(crate) fn at(time: Instant, task: impl FnOnce() + Send + 'static) -> Scheduled {
        let (timer, key) = Self::put(time, Box::new(task));
        Scheduled { timer: Arc::downgrade(&timer), key, process: std::process::id() }
    }

    /// Runs `task` on the timer's thread after this time, with no handle. The task must not block.
    pub(crate) fn detached(delay: Duration, task: impl FnOnce() + Send + 'static) {
        Self::put(Instant::now() + delay, Box::new(task));
    }

    fn put(time: Instant, task: Task) -> (Arc<Self>, (Instant, u64)) {
        let timer = Self::own().expect("whoever needs it has ensured that it runs");
        let key = (time, SEQUENCE.fetch_add(1, Ordering::Relaxed));
        lock(&timer.tasks).insert(key, task);
        timer.changed.notify_one();
        (timer, key)
    }

    fn start() -> io::Result<Arc<Self>> {
        let (go, timer) = mpsc::channel::<Arc<Self>>();
        let run = move || timer.recv().map(|timer| timer.run());
        std::thread::Builder::new().name("millpond-timer".into()).spawn(run)?;
        Ok(Arc::new(Self { tasks: Mutex::default(), changed: Condvar::new(), go }))
    }

    fn run(&self) {
        let mut tasks = lock(&self.tasks);
        loop {
            match tasks.first_entry() {
                Some(entry) if entry.key().0 <= Instant::now() => {
                    let task = entry.remove();
                    drop(tasks);
                    // One task that panics must not take everybody's renewals with it; the hook
                    // has printed where it was.
                    let _ = catch_unwind(AssertUnwindSafe(task));
                    tasks = lock(&self.tasks);
                }
                next => {
                    let next = next.map(|entry| entry.key().0);
                    tasks = wait_until(&self.changed, tasks, next);
                }
            }
        }
    }
}
