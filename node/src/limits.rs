//! What a call takes at most. JavaScript reads what may have no end, so it stops there.

use millpond::{CALL_BYTES_MAX, CALL_ITEMS_MAX, ick, shuffle, tasks};
use napi_derive::napi;

/// The most that arguments of a call may have.
#[napi(object, object_from_js = false)]
pub struct Limits {
    /// Members of an add and a commit, messages of a write and an ack.
    pub items: u32,
    /// Bytes of all strings of a call.
    pub bytes: u32,
    /// Members of one step.
    pub step_members: u32,
    /// Icks of a channel.
    pub icks: u32,
    /// Fields of a message.
    pub fields: u32,
    /// Queues of a claim.
    pub queues: u32,
    /// Ids of a fetch.
    pub ids: u32,
    /// Names and prefixes to filter by.
    pub names: u32,
    /// Entries of one kind, of a modification and a renewal.
    pub entries: u32,
    /// The default of a worker's `backoffMs`, which goes with another.
    pub backoff_ms: u32,
    /// And of `backoffMaxMs`.
    pub backoff_max_ms: u32,
}

/// The limits of the core.
#[napi]
pub fn limits() -> Limits {
    Limits {
        items: CALL_ITEMS_MAX as u32,
        bytes: CALL_BYTES_MAX as u32,
        step_members: ick::BATCH_MEMBERS_MAX as u32,
        icks: ick::SHARDS_MAX,
        fields: shuffle::FIELDS_MAX as u32,
        queues: tasks::CLAIM_QUEUES_MAX as u32,
        ids: tasks::PAGE_MAX as u32,
        names: tasks::FILTER_NAMES_MAX as u32,
        entries: tasks::MODIFICATION_ENTRIES_MAX as u32,
        backoff_ms: tasks::BACKOFF_DEFAULT.as_millis() as u32,
        backoff_max_ms: tasks::BACKOFF_MAX_DEFAULT.as_millis() as u32,
    }
}
