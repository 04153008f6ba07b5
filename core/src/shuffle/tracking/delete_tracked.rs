//! Delete: the message that a value is tracked for.

use super::{Keys, State, TrackKeys};
use crate::error::Result;
use crate::shuffle::message::{Receipt, Stream, decode_id};
use crate::shuffle::name::Name;
use crate::shuffle::{StreamNumber, embedded, head};
use crate::step::reply::{Reply, malformed};
use crate::step::{Invocation, Operation, StepContext};

/// Deletes a tracked message for all groups, wherever it is, and its record.
#[derive(Clone, Debug)]
pub struct DeleteTracked {
    keys: Keys,
    value: Vec<u8>,
}

impl DeleteTracked {
    /// Deletes the message that was last written with this value in its tracked field.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is empty or too long.
    pub fn new(
        name: impl AsRef<[u8]>,
        track_keys: TrackKeys,
        value: impl AsRef<[u8]>,
    ) -> Result<Self> {
        Ok(Self::of(&Name::new(name.as_ref())?, track_keys, value.as_ref()))
    }

    pub(in crate::shuffle) fn of(name: &Name, track_keys: TrackKeys, value: &[u8]) -> Self {
        Self { keys: Keys::of(name, track_keys), value: value.to_vec() }
    }
}

impl Operation for DeleteTracked {
    head!("shuffle.delete_tracked", State, keys, ["tracking.lua", "delete_tracked.lua"]);
    type Output = Option<Receipt>;
    /// The message ends up deleted, but a second run would not find it.
    const IDEMPOTENT: bool = false;

    fn invocation(&self) -> Invocation {
        let args = [&self.value].into_iter().collect();
        Invocation { script: Self::script(), keys: self.keys.all(), args }
    }

    fn decode(&self, reply: Reply) -> Result<Option<Receipt>> {
        if matches!(reply, Reply::Nil) {
            return Ok(None);
        }
        let mut replies = reply.list()?;
        let (key, id) = (replies.next()?.bytes()?, decode_id(replies.next()?)?);
        replies.end()?;
        let number = key.rsplit(|byte| *byte == b':').next().and_then(|end| end.strip_prefix(b"s"));
        let number = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
        let number: StreamNumber = number.ok_or_else(malformed)?;
        Ok(Some(Receipt { stream: Stream::from_wire(number.into())?, id }))
    }

    fn apply(self, state: &State, context: &mut StepContext<'_>) -> Result<Option<Receipt>> {
        context.mark_evictable();
        let (mut tracked, mut effects) = state.open(context);
        let Some(record) = tracked.delete(&self.value, &mut effects) else { return Ok(None) };
        let queue = context.state::<embedded::State>(&record.queue)?;
        // Lock order: the tracking state's lock is held.
        let (mut queue, mut on_queue) = queue.open(context);
        let deleted = queue.delete(&record.receipt, &mut on_queue);
        context.record_other::<embedded::State>(&record.queue, on_queue.into_record());
        effects.record(context);
        Ok(deleted.then_some(record.receipt))
    }
}
