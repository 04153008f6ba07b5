//! A shuffle queue.

use std::ffi::c_char;

use millpond::Client;
use millpond::shuffle::ShuffleQueue;

use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::shuffle::generated::millpond_shuffle_options;
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
        out.set(Box::new(options.read(&caller, client.shuffle_queue(name))?));
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
