//! The stop of a worker, from any thread.

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::runtime::sync::lock;

/// A run that can be stopped.
pub(crate) trait Stoppable: Send + Sync {
    /// Takes no more jobs, and after the deadline gives back those that are running; without a deadline it waits for
    /// them.
    fn stop(self: Arc<Self>, deadline: Option<Instant>);
}

/// Stops the runs of a worker, those that have begun and those that begin later.
#[derive(Default)]
pub(crate) struct Stop(Mutex<Stopping>);

#[derive(Default)]
struct Stopping {
    /// The deadline of the last stop, if there was one.
    asked: Option<Option<Instant>>,
    runs: Vec<Weak<dyn Stoppable>>,
}

impl Stop {
    /// Stops within this time.
    pub(crate) fn stop(&self, within: Duration) {
        let deadline = Instant::now().checked_add(within);
        let mut stopping = lock(&self.0);
        stopping.asked = Some(deadline);
        let runs: Vec<_> = stopping.runs.iter().filter_map(Weak::upgrade).collect();
        drop(stopping);
        runs.into_iter().for_each(|run| run.stop(deadline));
    }

    /// A run begins; if the worker was already stopped, the run stops immediately.
    pub(crate) fn begin<R: Stoppable + 'static>(&self, run: &Arc<R>) {
        let weak = Arc::downgrade(run);
        let mut stopping = lock(&self.0);
        stopping.runs.retain(|run| run.strong_count() > 0);
        stopping.runs.push(weak);
        let asked = stopping.asked;
        drop(stopping);
        if let Some(deadline) = asked {
            run.clone().stop(deadline);
        }
    }
}
