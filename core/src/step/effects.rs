//! The changes of a step, as its record in the journal.

use super::codec::Field;
use super::{Snapshot, StepContext};

/// Bytes in one snapshot record: large enough to be cheap, small enough to be read in pieces.
pub(crate) const SNAPSHOT_BYTES: usize = 256 * 1024;

/// The effects of one step: tags, each with its data; empty if the engine is not durable.
pub(crate) struct Effects(Option<Vec<u8>>);

impl Effects {
    /// The effects of a step that begins.
    pub(crate) fn of(context: &StepContext<'_>) -> Self {
        Self(context.is_durable().then(Vec::new))
    }

    /// Effects that are not recorded, because they are being replayed.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Effects that continue this record, for a snapshot.
    pub(crate) fn after(record: Vec<u8>) -> Self {
        Self(Some(record))
    }

    pub(crate) fn write(&mut self, tag: u8, rest: impl FnOnce(&mut Vec<u8>)) {
        if let Some(record) = &mut self.0 {
            record.push(tag);
            rest(record);
        }
    }

    /// Adds an effect that [`effects!`](super::codec::effects) defines.
    pub(crate) fn note<'a>(&mut self, effect: &impl Field<'a>) {
        if let Some(record) = &mut self.0 {
            effect.put(record);
        }
    }

    /// Whether they are recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Their length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::len)
    }

    /// Makes a record of the snapshot of these effects if they have at least this many bytes, and begins new ones;
    /// returns whether it did.
    pub(crate) fn flush(&mut self, bytes_min: usize, out: &mut dyn Snapshot) -> bool {
        let is_full = self.len() >= bytes_min;
        if is_full {
            let full = std::mem::replace(self, Self::after(Vec::new()));
            out.record(&full.into_record());
        }
        is_full
    }

    pub(crate) fn into_record(self) -> Vec<u8> {
        self.0.unwrap_or_default()
    }

    /// Records them, if there are any; while the step still holds its locks. In a step that spans
    /// several states the last one records.
    pub(crate) fn record(self, context: &mut StepContext<'_>) {
        context.record(&self.into_record());
    }
}
