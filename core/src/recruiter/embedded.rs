//! A recruiter on the embedded engine: its jobs, in memory alone. After a restart each job begins with one slice.

use std::sync::Mutex;

use super::law::Jobs;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime::sync;
use crate::step::{self, Snapshot};

/// What the embedded engine keeps for one recruiter.
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
