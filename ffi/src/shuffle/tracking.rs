//! Tracked messages: found and deleted by the value of one of their fields, and collected when
//! their deadline has passed.

use std::ffi::c_char;

use millpond::Result;
use millpond::shuffle::{Deadline, TrackKeys};

use super::queue::{Queue, millpond_shuffle_queue};
use super::receipt::millpond_shuffle_receipt;
use super::write::{millpond_shuffle_field, millpond_shuffle_new_message};
use crate::caller::{Caller, invalid};
use crate::error::millpond_error;
use crate::status::millpond_status;

/// Where the records of tracked messages are. All programs that write, delete or collect tracked
/// messages of a queue have to set the same.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_shuffle_track_keys {
    /// In the three keys `meta:cancelation`, `meta:deadlines` and `meta:presortedgarbage`, together
    /// with those of every other queue of the server that tracks so: where the Go package that
    /// introduced this queue has them. A cluster refuses it with `MILLPOND_CROSS_SLOT`.
    MILLPOND_SHUFFLE_TRACK_GLOBAL = 1,
    /// In three keys of the queue, `<queue>:meta:cancelation` and so on.
    MILLPOND_SHUFFLE_TRACK_QUEUE = 2,
}

/// The track keys with this number.
pub(crate) fn track_keys(number: u32) -> Result<TrackKeys> {
    [
        (millpond_shuffle_track_keys::MILLPOND_SHUFFLE_TRACK_GLOBAL, TrackKeys::Global),
        (millpond_shuffle_track_keys::MILLPOND_SHUFFLE_TRACK_QUEUE, TrackKeys::Queue),
    ]
    .into_iter()
    .find_map(|(named, meant)| (named as u32 == number).then_some(meant))
    .ok_or_else(|| {
        invalid(format!(
            "track_keys is {number}; it has to be MILLPOND_SHUFFLE_TRACK_GLOBAL or \
             MILLPOND_SHUFFLE_TRACK_QUEUE"
        ))
    })
}

/// Writes one message of a tenant, and remembers where it is by the value of its field
/// `track_field`, until `deadline_s`: seconds since the Unix epoch, or 0 for the server's time and
/// the queue's `ttl_ms`, or a day without one. A message without that field, or with nothing in it, is written and not
/// tracked; of two messages with the same value the later one is tracked.
///
/// `receipt` is set to where the message is; it may be NULL.
///
///     millpond_shuffle_field fields[] = {{"job", 3, "j-1", 3}, {"task", 4, "resize", 6}};
///     status = millpond_shuffle_write_tracked(queue, "tenant-7", 8, fields, 2, "job", 3, 0, NULL,
///                                             &error);
///
/// Errors: as `millpond_shuffle_write`; also `MILLPOND_INVALID_ARGUMENT` for an empty `track_field`
/// and a deadline more than 2^53 seconds from the epoch, and `MILLPOND_CROSS_SLOT` on a cluster with
/// the global keys.
///
/// Delivery: as `millpond_shuffle_write`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_write_tracked(
    queue: *mut millpond_shuffle_queue,
    shard_key: *const c_char,
    shard_key_length: usize,
    fields: *const millpond_shuffle_field,
    field_count: usize,
    track_field: *const c_char,
    track_field_length: usize,
    deadline_s: i64,
    receipt: *mut millpond_shuffle_receipt,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let receipt = caller.optional_out(receipt, millpond_shuffle_receipt::default());
        let queue = caller.held::<Queue>("queue", queue)?;
        let shard_key = caller.shard_key(shard_key, shard_key_length)?;
        let fields = caller.fields(String::new, fields, field_count)?;
        let field = caller.bytes(|| "track_field".to_owned(), track_field, track_field_length)?;
        let deadline: Deadline = deadline_s;
        receipt.set(queue.write_tracked(shard_key, fields, field, deadline)?.into());
        Ok(())
    })
}

/// Writes many messages, each for its tenant, and remembers where they are, as
/// `millpond_shuffle_write_tracked` would one after the other with the same `track_field` and
/// `deadline_s`.
///
/// `receipts` is where as many receipts go as there are messages, in their order; it may be NULL.
/// On failure they are all 0.
///
/// Errors: as `millpond_shuffle_write_tracked`; a message that is refused refuses all.
///
/// Delivery: as `millpond_shuffle_write_many`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_write_tracked_many(
    queue: *mut millpond_shuffle_queue,
    messages: *const millpond_shuffle_new_message,
    count: usize,
    track_field: *const c_char,
    track_field_length: usize,
    deadline_s: i64,
    receipts: *mut millpond_shuffle_receipt,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let receipts =
            caller.optional_out_array(receipts, count, millpond_shuffle_receipt::default());
        let messages = caller.messages(messages, count)?;
        let queue = caller.held::<Queue>("queue", queue)?;
        let field = caller.bytes(|| "track_field".to_owned(), track_field, track_field_length)?;
        let deadline: Deadline = deadline_s;
        let written = queue.write_tracked_many(messages, field, deadline)?;
        receipts.set(written.into_iter().map(Into::into));
        Ok(())
    })
}

/// Deletes the message that is tracked by this value, for all groups, delivered or not. With the
/// global keys it is found in any queue.
///
/// `deleted` is set to whether there was one, and `receipt` to where it was, or to 0 if there is
/// none (any more). Both may be NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB;
/// `MILLPOND_WRONG_TYPE` if a key holds something else, `MILLPOND_CORRUPT` if the record of this value
/// names no message and `MILLPOND_CROSS_SLOT` on a cluster with the global keys, and then nothing has
/// changed; those of the connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may be done; repeated, it
/// finds nothing then. A consumer that works on the message is not stopped.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_delete_tracked(
    queue: *mut millpond_shuffle_queue,
    value: *const c_char,
    value_length: usize,
    deleted: *mut bool,
    receipt: *mut millpond_shuffle_receipt,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let deleted = caller.optional_out(deleted, false);
        let receipt = caller.optional_out(receipt, millpond_shuffle_receipt::default());
        let queue = caller.held::<Queue>("queue", queue)?;
        let value = caller.bytes(|| "value".to_owned(), value, value_length)?;
        if let Some(found) = queue.delete_tracked(value)? {
            deleted.set(true);
            receipt.set(found.into());
        }
        Ok(())
    })
}
