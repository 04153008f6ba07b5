//! The state of a queue on the embedded engine, and its persistence.

use std::any::Any;
use std::sync::Arc;

use super::{Constants, sealed};
use crate::error::Result;

/// The state of one queue on the embedded engine. A state does its own locking, so that a kind of queue can have finer
/// locks than one per queue.
pub trait State: sealed::Sealed + Any + Send + Sync {
    /// The number of this kind of queue in the journal; never used for another kind.
    fn kind() -> u8
    where
        Self: Sized;

    /// The constants that the scripts of the queue share with the embedded engine: in a script, the name of such a
    /// constant stands for its value.
    fn constants() -> Constants
    where
        Self: Sized,
    {
        &[]
    }

    /// Replays a journal record: one of the log, with its sequence, or one of a snapshot. Records from before the
    /// snapshot of the state began are not replayed.
    ///
    /// # Errors
    /// `CORRUPT` for a record that this version cannot read.
    fn replay(&self, record: &[u8], sequence: Option<u64>) -> Result<()>;

    /// Called when everything has been replayed.
    fn replayed(&self) {}

    /// Writes records that recreate this state when they are replayed on an empty one. Calls [`Snapshot::begin`]
    /// while it holds every lock of the state, so that the records are exactly the state at that moment, and keeps
    /// the locks until it has copied all of it. A state that is copied in sections calls it before the first section
    /// and again at each one, and stores the sequences with the sections. When a record is replayed, such a state
    /// itself skips the part that a section already contains.
    fn snapshot(&self, out: &mut dyn Snapshot);

    /// Whether the state equals that of a queue that was never used, in which case the engine evicts it.
    fn is_unused(&self) -> bool;
}

/// Where a [`State`] writes its snapshot.
pub trait Snapshot {
    /// Marks the moment that the records describe, and returns the sequence of the first record of the
    /// log that comes after it.
    fn begin(&mut self) -> u64;
    /// One record, as [`State::replay`] reads it.
    fn record(&mut self, record: &[u8]);
}

/// The states of an engine.
pub(crate) trait States {
    /// The state of a queue, an empty one if there is none.
    ///
    /// # Errors
    /// `INCOMPATIBLE_VERSION` for an unknown kind.
    fn state_of_kind(&self, kind: u8, name: &[u8]) -> Result<Arc<dyn State>>;

    /// The names of all queues of a kind, except unused ones, at about this moment.
    fn names_of_kind(&self, kind: u8) -> Vec<Box<[u8]>>;
}

/// The changes of a step in one state, if it changes several.
pub(crate) struct StateEffects {
    pub(crate) kind: u8,
    pub(crate) name: Arc<[u8]>,
    pub(crate) effects: Vec<u8>,
}

/// Where the effects of steps are written so that they survive the process.
pub(crate) trait Journal {
    /// Appends one step's effects, those on its own state and those on others. They are recovered together or not at
    /// all, and records are recovered in this order. Called under the states' locks, so it only copies.
    fn append(&self, own: &[u8], others: &[StateEffects]);
}
