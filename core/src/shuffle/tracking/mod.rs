//! Tracked messages: found again by a value in one of their fields, deleted by it, and looked after
//! when their deadline has passed.

mod cordon;
mod delete_tracked;
mod embedded;
mod forget_expired;
mod garbage;
mod scan_expired;
#[cfg(test)]
mod tests;

pub use cordon::{CORDON_WITHIN_MAX, Cordon};
pub use delete_tracked::DeleteTracked;
pub(super) use embedded::KIND;
pub(super) use embedded::Record;
pub(crate) use embedded::State;
pub use forget_expired::ForgetExpired;
pub use garbage::Garbage;
pub use scan_expired::{Expired, Expiry, ScanExpired, TIME_DIGITS_MAX};

use std::sync::Arc;
use std::time::Duration;

use super::name::Name;
use crate::error::{Result, invalid};

/// Seconds since the Unix epoch; negative before it.
pub type Deadline = i64;

/// The greatest distance of a deadline from the epoch, in either direction: 2^53 seconds, which a
/// score can still hold exactly.
pub const DEADLINE_MAX: Deadline = 1 << 53;

/// How long after its message the record of a tracked message may be collected, if neither a
/// deadline nor a `ttl` is given: a day.
pub const DEADLINE_DEFAULT: Duration = Duration::from_secs(86_400);

/// Where the records of tracked messages are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TrackKeys {
    /// In the three keys `meta:cancelation`, `meta:deadlines` and `meta:presortedgarbage`, which
    /// all queues of the server with this setting share, as in the package that introduced this
    /// queue. A cluster refuses it with `CROSS_SLOT`, since nothing ties these keys to the queue's
    /// slot.
    #[default]
    Global,
    /// In three keys of the queue, `<queue>:meta:cancelation` and so on.
    Queue,
}

/// The keys of the records.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// What the embedded engine calls them: the queue's name, or nothing for the global ones.
    pub(super) scope: Arc<[u8]>,
    /// Those of the records, of their deadlines and of the garbage.
    redis: [Arc<[u8]>; 3],
}

impl Keys {
    pub(super) fn of(name: &Name, keys: TrackKeys) -> Self {
        let queue = name.queue_key();
        let (scope, prefix) = match keys {
            TrackKeys::Global => (Arc::default(), Vec::new()),
            TrackKeys::Queue => (queue.clone(), [&*queue, b":"].concat()),
        };
        let keys = ["meta:cancelation", "meta:deadlines", "meta:presortedgarbage"];
        Self { scope, redis: keys.map(|key| [&*prefix, key.as_bytes()].concat().into()) }
    }

    /// The name of the state on the embedded engine.
    fn as_bytes(&self) -> &[u8] {
        &self.scope
    }

    /// The keys of a tracked write.
    pub(super) fn written(&self) -> &[Arc<[u8]>] {
        &self.redis[..2]
    }

    /// The keys of every other step.
    fn all(&self) -> Vec<Arc<[u8]>> {
        self.redis.to_vec()
    }
}

/// Which field of messages tracks them, and until when; what [`Write`](super::Write) takes.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) field: Vec<u8>,
    /// `None` for as long as the stream lives, or [`DEADLINE_DEFAULT`].
    pub(super) deadline: Option<Deadline>,
    pub(super) keys: Keys,
}

impl Track {
    pub(super) fn new(field: &[u8], deadline: Option<Deadline>, keys: Keys) -> Result<Self> {
        if field.is_empty() {
            return Err(invalid("the field that tracks messages has no name"));
        }
        // The original's way to say that there is none.
        let deadline = deadline.filter(|deadline| *deadline != 0);
        if deadline.is_some_and(|deadline| deadline.unsigned_abs() > DEADLINE_MAX.unsigned_abs()) {
            return Err(invalid("a deadline is up to 2^53 seconds from the epoch"));
        }
        Ok(Self { field: field.to_vec(), deadline, keys })
    }
}
