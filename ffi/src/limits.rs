//! The limits of a call.

use millpond::{CALL_BYTES_MAX, CALL_ITEMS_MAX, events, ick, shuffle, tasks};

/// The most that one call takes. Anything above is refused with `MILLPOND_INVALID_ARGUMENT`; code that builds lists
/// from input without a known end should stop there. See `millpond_limits_data`.
#[repr(C)]
pub struct millpond_limits {
    /// Members of an add and a commit, messages of a write, an ack and a renewal.
    pub items: usize,
    /// Total bytes of all strings of a call.
    pub bytes: usize,
    /// Members of an exchange, and of a commit through a lease.
    pub step_members: usize,
    /// Icks of a channel.
    pub icks: usize,
    /// Fields of a message.
    pub fields: usize,
    /// Queues of a claim.
    pub queues: usize,
    /// Ids of a fetch.
    pub ids: usize,
    /// Names and prefixes of a filter.
    pub names: usize,
    /// Entries of a modification, tasks and documents of a renewal.
    pub entries: usize,
    /// Schedules of a synchronization.
    pub schedules: usize,
}

/// The limits of this library; live forever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_limits_data() -> *const millpond_limits {
    static LIMITS: millpond_limits = millpond_limits {
        items: CALL_ITEMS_MAX,
        bytes: CALL_BYTES_MAX,
        step_members: ick::BATCH_MEMBERS_MAX,
        icks: ick::SHARDS_MAX as usize,
        fields: shuffle::FIELDS_MAX,
        queues: tasks::CLAIM_QUEUES_MAX,
        ids: tasks::PAGE_MAX,
        names: tasks::FILTER_NAMES_MAX,
        entries: tasks::MODIFICATION_ENTRIES_MAX,
        schedules: events::SYNC_SCHEDULES_MAX,
    };
    &raw const LIMITS
}
