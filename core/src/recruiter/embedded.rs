//! A recruiter on the embedded engine: its jobs, in memory only. After a restart each job begins with one slice.

use std::sync::Mutex;

use super::law::{
    ASK_ALL_US, ASK_ALL_US_MAX, ASK_US_MAX, BUSY_US_MAX, CLOCK_STEP_US, Jobs, PAUSE_US_MIN,
    WAIT_US_MAX,
};
use super::new_job::{BACKOFF_MAX, BURST_MAX, INTERVAL_US_MAX, JOBS_MAX, RUNNING_MAX};
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync;
use crate::step::limits::INTEGER_MAX;
use crate::step::{self, Constants, Snapshot, constants};

/// The state of one recruiter on the embedded engine.
#[derive(Default)]
pub struct State(Mutex<Jobs>);

/// The kind of a recruiter in the journal, which has no records of it.
pub(crate) const KIND: u8 = 6;

impl State {
    /// Runs one step under the lock.
    pub(super) fn step<T>(&self, step: impl FnOnce(&mut Jobs) -> T) -> T {
        step(&mut sync::lock(&self.0))
    }
}

impl step::State for State {
    fn kind() -> u8 {
        KIND
    }

    fn constants() -> Constants {
        constants![
            ASK_ALL_US,
            ASK_ALL_US_MAX,
            ASK_US_MAX,
            BACKOFF_MAX,
            BURST_MAX,
            BUSY_US_MAX,
            CLOCK_STEP_US,
            INTEGER_MAX,
            INTERVAL_US_MAX,
            JOBS_MAX,
            PAUSE_US_MIN,
            RUNNING_MAX,
            WAIT_US_MAX,
        ]
    }

    fn replay(&self, _: &[u8], _: Option<u64>) -> Result<()> {
        Err(Error::new(ErrorKind::Corrupt, "a journal has no records of a recruiter"))
    }

    fn snapshot(&self, out: &mut dyn Snapshot) {
        out.begin();
    }

    fn is_unused(&self) -> bool {
        self.step(|jobs| jobs.is_empty())
    }
}
