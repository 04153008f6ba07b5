//! Remove: stop tracking ids of a sample.

use std::collections::HashSet;

use super::name::Name;
use super::{embedded, limits};
use crate::error::{Result, ensure};
use crate::step::limits::INTEGER_MAX;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, Timestamp, head};

/// Removes ids of a sample; returns how many were removed.
#[derive(Clone, Debug)]
pub struct Remove {
    name: Name,
    ids: ByteList,
    stamp: Timestamp,
}

impl Remove {
    /// Removes these ids, which are among the ids `sampled` with this stamp.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, more than [`IDS_MAX`](super::IDS_MAX) ids, an id that
    /// is empty or above [`ID_BYTES_MAX`](super::ID_BYTES_MAX), and an id that was not sampled.
    pub fn new<I: AsRef<[u8]>, S: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        ids: impl IntoIterator<Item = I>,
        sampled: impl IntoIterator<Item = S>,
        stamp: Timestamp,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, ids, sampled, stamp)
    }

    pub(super) fn of<I: AsRef<[u8]>, S: AsRef<[u8]>>(
        name: Name,
        ids: impl IntoIterator<Item = I>,
        sampled: impl IntoIterator<Item = S>,
        stamp: Timestamp,
    ) -> Result<Self> {
        let (ids, sampled) = (limits::ids(ids)?, limits::ids(sampled)?);
        let sampled: HashSet<&[u8]> = sampled.iter().collect();
        let foreign = ids.iter().filter(|id| !sampled.contains(id)).count();
        ensure!(foreign == 0, "{foreign} of the ids to remove were not sampled");
        // No stamp is later than what a script can represent exactly.
        Ok(Self { name, ids, stamp: stamp.min(INTEGER_MAX) })
    }
}

impl Operation for Remove {
    head!(
        "tracker.remove",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "remove.lua"]
    );
    type Output = u64;
    /// A second run removes nothing, and would report 0.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let mut args = ByteList::default();
        args.push_number(self.stamp);
        args.append(&self.ids);
        Invocation { script: Self::script(), keys: self.name.keys(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.ids.len())
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<u64> {
        state.step(context, |tracker, _, effects| {
            Ok(tracker.remove_sampled(&self.ids, self.stamp, effects))
        })
    }
}
