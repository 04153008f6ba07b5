//! A shuffle queue.

use std::ffi::c_char;
use std::time::Duration;

use millpond::shuffle::ShuffleQueue;
use millpond::{Client, Result};

use super::tracking::track_keys;
use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::options::{NOT_SET, given, growing};
use crate::status::millpond_status;

/// A shuffle queue: many tenants share it, and one tenant's burst delays only itself. Each tenant
/// writes to a few of the queue's streams, which its key decides; consumers read from all streams
/// in turn. Any number of threads may use one queue at a time. Freed with
/// `millpond_shuffle_queue_free`.
pub struct millpond_shuffle_queue {
    _private: (),
}

/// What a handle of a queue refers to. Boxed, or every handle would take as much memory.
pub(crate) type Queue = Box<ShuffleQueue>;

/// The settings of a queue. `millpond_shuffle_options_init` fills it; then set what you like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_options {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// How many streams the queue has. The first write to a queue sets it; a write to one that has
    /// another number is refused, and `millpond_shuffle_resize` changes it. Readers need not set it.
    /// `MILLPOND_NOT_SET`: writers use the number that the queue has, and a new queue gets 16.
    pub streams: i64,
    /// How many of the streams a tenant may write to. `MILLPOND_NOT_SET`: the default, 2, or 1 if the
    /// queue has one stream.
    pub streams_per_shard: i64,
    /// How long a stream lives after it was last written to, in milliseconds. **When that time is over
    /// the stream is deleted with all that is in it, unprocessed messages too.** All writers of a queue
    /// should have the same. `MILLPOND_NOT_SET`: nothing that is written expires.
    pub ttl_ms: i64,
    /// How long a dead letter is kept, in milliseconds: each `millpond_shuffle_reclaim` deletes those
    /// that are older. `MILLPOND_NOT_SET`: they stay until `millpond_shuffle_delete_dead_letters`.
    pub dead_ttl_ms: i64,
    /// A `millpond_shuffle_track_keys`: where the records of tracked messages are.
    /// `MILLPOND_NOT_SET`: the default, `MILLPOND_SHUFFLE_TRACK_GLOBAL`.
    pub track_keys: i64,
}

growing! {
    millpond_shuffle_options = Self {
        size: size_of::<Self>(),
        streams: NOT_SET,
        streams_per_shard: NOT_SET,
        ttl_ms: NOT_SET,
        dead_ttl_ms: NOT_SET,
        track_keys: NOT_SET,
    };
}

impl millpond_shuffle_options {
    fn apply(&self, mut queue: ShuffleQueue) -> Result<ShuffleQueue> {
        if let Some(streams) = given("streams", self.streams)? {
            queue = queue.streams(streams);
        }
        if let Some(streams) = given("streams_per_shard", self.streams_per_shard)? {
            queue = queue.streams_per_shard(streams);
        }
        if let Some(ttl_ms) = given("ttl_ms", self.ttl_ms)? {
            queue = queue.ttl(Duration::from_millis(ttl_ms));
        }
        if let Some(dead_ttl_ms) = given("dead_ttl_ms", self.dead_ttl_ms)? {
            queue = queue.dead_ttl(Duration::from_millis(dead_ttl_ms));
        }
        if let Some(number) = given("track_keys", self.track_keys)? {
            queue = queue.track_keys(track_keys(number)?);
        }
        Ok(queue)
    }
}

/// Fills options with their defaults.
///
///     millpond_shuffle_options options;
///     millpond_shuffle_options_init(&options, sizeof options);
///     options.streams = 64;
///     options.streams_per_shard = 4;
///
/// Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_options_init(
    options: *mut millpond_shuffle_options,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(options, size);
}

/// The shuffle queue of this name, with these settings; `options` may be NULL. Makes no call:
/// invalid settings are refused by the step that needs them.
///
/// `queue` is set to the queue, which the caller frees with `millpond_shuffle_queue_free`, or on
/// failure to NULL.
///
///     millpond_shuffle_queue *queue;
///     status = millpond_shuffle_queue_new(client, "jobs", 4, NULL, &queue, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an option below 0 or beyond its type, and a
/// `track_keys` that is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_queue_new(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    options: *const millpond_shuffle_options,
    queue: *mut *mut millpond_shuffle_queue,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("queue", queue)?;
        let client = caller.held::<Client>("client", client)?;
        let name = caller.name(name, name_length)?;
        let options = caller.options("options", options)?;
        out.set(Box::new(options.apply(client.shuffle_queue(name))?));
        Ok(())
    })
}

/// Changes the number of streams: more at once, fewer as soon as those beyond have nothing left to
/// deliver or to acknowledge. Until then writers spread over the new number already and readers still
/// read from all; a later write or resize removes the others. A queue that was never written to is
/// created with this number. Clients with another number of `streams` are refused from then on.
///
/// `now` is set to how many streams the queue has now; it may be NULL.
///
/// Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for no stream or more than
/// 65,536.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_resize(
    queue: *mut millpond_shuffle_queue,
    streams: u32,
    now: *mut u32,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let now = caller.optional_out(now, 0);
        now.set(caller.held::<Queue>("queue", queue)?.resize(streams)?);
        Ok(())
    })
}

/// How many entries the streams hold, finished ones that were not deleted included.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB;
/// `MILLPOND_WRONG_TYPE` if a key holds something else; those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_len(
    queue: *mut millpond_shuffle_queue,
    len: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let len = caller.out("len", len, 0)?;
        len.set(caller.held::<Queue>("queue", queue)?.len()?);
        Ok(())
    })
}

/// How many messages are not yet delivered to some group, or not acknowledged by it.
///
/// Errors: as `millpond_shuffle_len`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_backlog(
    queue: *mut millpond_shuffle_queue,
    backlog: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let backlog = caller.out("backlog", backlog, 0)?;
        backlog.set(caller.held::<Queue>("queue", queue)?.backlog()?);
        Ok(())
    })
}

/// How many messages were delivered to a group and are not acknowledged.
///
/// Errors: as `millpond_shuffle_len`; also `MILLPOND_INVALID_ARGUMENT` for an empty group.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_pending_count(
    queue: *mut millpond_shuffle_queue,
    group: *const c_char,
    group_length: usize,
    pending: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let pending = caller.out("pending", pending, 0)?;
        let queue = caller.held::<Queue>("queue", queue)?;
        let group = caller.bytes(|| "group".to_owned(), group, group_length)?;
        pending.set(queue.pending_count(group)?);
        Ok(())
    })
}

/// Frees a queue. Consumers that were made from it stay usable. NULL and a queue that was freed
/// before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_queue_free(queue: *mut millpond_shuffle_queue) {
    caller::free::<Queue>(queue);
}
