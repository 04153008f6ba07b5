//! Cordon: values whose deadline passed a short while ago.

use std::time::Duration;

use super::{DEADLINE_MAX, Keys, State, TrackKeys};
use crate::error::{Result, invalid};
use crate::shuffle::head;
use crate::shuffle::name::Name;
use crate::step::{Invocation, Operation, Reply, StepContext};

/// The longest time for which a cordon can look back: 15 digits of seconds.
pub const CORDON_WITHIN_MAX: Duration = Duration::from_secs(999_999_999_999_999);

/// Takes values whose deadline passed within a window out of the deadlines, and marks them as
/// garbage.
#[derive(Clone, Debug)]
pub struct Cordon {
    keys: Keys,
    within_s: i64,
}

impl Cordon {
    /// Looks back `within`, in whole seconds; a fraction of a second counts as one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and for a `within` above
    /// [`CORDON_WITHIN_MAX`].
    pub fn new(name: impl AsRef<[u8]>, track_keys: TrackKeys, within: Duration) -> Result<Self> {
        Self::of(&Name::new(name.as_ref())?, track_keys, within)
    }

    pub(in crate::shuffle) fn of(
        name: &Name,
        track_keys: TrackKeys,
        within: Duration,
    ) -> Result<Self> {
        let seconds = within.as_secs().saturating_add(u64::from(within.subsec_nanos() > 0));
        if seconds > CORDON_WITHIN_MAX.as_secs() {
            return Err(invalid("within is longer than 10^15 seconds"));
        }
        Ok(Self { keys: Keys::of(name, track_keys), within_s: seconds as i64 })
    }
}

impl Operation for Cordon {
    head!("shuffle.cordon", State, keys, ["tracking.lua", "cordon.lua"]);
    type Output = Vec<Vec<u8>>;
    /// A second run would not find them any more.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let args = [self.within_s.to_string()].into_iter().collect();
        Invocation { script: Self::script(), keys: self.keys.all(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Vec<Vec<u8>>> {
        reply.list()?.all(usize::MAX, |replies| replies.next()?.bytes())
    }

    fn apply(self, state: &State, context: &mut StepContext<'_>) -> Result<Vec<Vec<u8>>> {
        context.mark_evictable();
        let now = (context.now() / 1_000_000) as i64;
        let (mut tracked, mut effects) = state.open(context);
        let first = (now - self.within_s).max(-DEADLINE_MAX);
        let values = tracked.cordon(first..=now, &mut effects);
        effects.record(context);
        Ok(values)
    }
}
