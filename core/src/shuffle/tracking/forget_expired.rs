//! Forget: the records of messages whose deadline has passed.

use super::{Expiry, Keys, State, TrackKeys};
use crate::error::{Result, invalid};
use crate::shuffle::head;
use crate::shuffle::name::Name;
use crate::step::{Invocation, Operation, Reply, StepContext};

/// Deletes the records of deadlines that have passed. The messages themselves stay.
#[derive(Clone, Debug)]
pub struct ForgetExpired {
    keys: Keys,
    expiries: Vec<Expiry>,
}

impl ForgetExpired {
    /// Forgets what [`ScanExpired`](super::ScanExpired) found.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long and for a deadline that is not a number.
    pub fn new(
        name: impl AsRef<[u8]>,
        track_keys: TrackKeys,
        expiries: impl Into<Vec<Expiry>>,
    ) -> Result<Self> {
        let expiries = expiries.into();
        let is_number =
            |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.parse::<f64>().is_ok());
        if !expiries.iter().all(|expiry| is_number(&expiry.deadline)) {
            return Err(invalid("a deadline is no number"));
        }
        Ok(Self::of(&Name::new(name.as_ref())?, track_keys, expiries))
    }

    pub(super) fn of(name: &Name, track_keys: TrackKeys, expiries: Vec<Expiry>) -> Self {
        Self { keys: Keys::of(name, track_keys), expiries }
    }
}

impl Operation for ForgetExpired {
    head!("shuffle.forget_expired", State, keys, ["tracking.lua", "forget_expired.lua"]);
    /// How many records were deleted.
    type Output = u64;
    /// The records end up deleted, but a second run would count none.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let strings = self.expiries.iter().flat_map(|expiry| [&expiry.value, &expiry.deadline]);
        let args = strings.collect();
        Invocation { script: Self::script(), keys: self.keys.all(), args }
    }

    fn decode(&self, reply: Reply) -> Result<u64> {
        reply.count(self.expiries.len())
    }

    fn apply(self, state: &State, context: &mut StepContext<'_>) -> Result<u64> {
        context.mark_evictable();
        let (mut tracked, mut effects) = state.open(context);
        let forget = |expiry: &&Expiry| tracked.forget(expiry, &mut effects);
        let deleted = self.expiries.iter().filter(forget).count() as u64;
        effects.record(context);
        Ok(deleted)
    }
}
