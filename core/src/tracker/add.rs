//! Add: track ids.

use super::name::Name;
use super::{embedded, limits};
use crate::error::Result;
use crate::step::{ByteList, Invocation, Operation, Reply, StepContext, head};

/// Adds ids, or gives a new stamp to those that are already tracked.
#[derive(Clone, Debug)]
pub struct Add {
    name: Name,
    ids: ByteList,
}

impl Add {
    /// Adds these ids.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long, no id or more than [`IDS_MAX`](super::IDS_MAX), and an
    /// id that is empty or above [`ID_BYTES_MAX`](super::ID_BYTES_MAX).
    pub fn new<I: AsRef<[u8]>>(
        name: impl AsRef<[u8]>,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Self> {
        Self::of(Name::new(name.as_ref())?, ids)
    }

    pub(super) fn of<I: AsRef<[u8]>>(name: Name, ids: impl IntoIterator<Item = I>) -> Result<Self> {
        Ok(Self { name, ids: limits::some_ids(ids)? })
    }
}

impl Operation for Add {
    head!(
        "tracker.add",
        embedded::State,
        name,
        ["../step/commands.lua", "../step/numbers.lua", "tracker.lua", "add.lua"]
    );
    type Output = ();
    const IDEMPOTENT: bool = true;

    fn invocation(&self) -> Invocation {
        Invocation { script: Self::script(), keys: self.name.keys(), args: self.ids.clone() }
    }

    fn decode(&self, reply: Reply) -> Result<()> {
        reply.count(self.ids.len()).map(drop)
    }

    fn apply(self, state: &embedded::State, context: &mut StepContext<'_>) -> Result<()> {
        state.step(context, |tracker, now, effects| {
            tracker.add(&self.ids, now, effects);
            Ok(())
        })
    }
}
