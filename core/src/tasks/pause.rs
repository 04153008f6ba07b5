//! Pause: claims find nothing in a queue, until it is resumed.

use std::sync::Arc;

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Pauses a queue, so that claims find nothing in it, or resumes it and wakes the claims that wait for its tasks.
#[derive(Clone, Debug)]
pub struct Pause {
    name: Name,
    queue: Arc<str>,
    paused: bool,
}

impl Pause {
    /// Pauses this queue, or resumes it, whether it holds tasks or not.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for names beyond their limits.
    pub fn new(name: impl AsRef<[u8]>, queue: impl AsRef<str>, paused: bool) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, queue.as_ref(), paused)
    }

    pub(super) fn of(name: Name, queue: &str, paused: bool) -> Result<Self> {
        limits::queue(queue)?;
        Ok(Self { name, queue: queue.into(), paused })
    }
}

impl Operation for Pause {
    head!("tasks.pause", embedded::State, name, ["../step/commands.lua", "store.lua", "pause.lua"]);
    type Output = ();
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push(self.queue.as_bytes());
        args.push(if self.paused { b"1" } else { b"0" });
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<()> {
        reply.flag().map(drop)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<()> {
        match self.paused {
            true => state.pause(&self.queue, context),
            false => state.resume(&self.name, &self.queue, context),
        }
        Ok(())
    }
}
