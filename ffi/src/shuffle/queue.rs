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

/// Frees a queue. Consumers that were made from it stay usable. NULL and a queue that was freed
/// before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_queue_free(queue: *mut millpond_shuffle_queue) {
    caller::free::<Queue>(queue);
}
