//! List stores: the names of all task stores.

use super::*;
use crate::caller::Caller;
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::keys::Keys;
use crate::status::millpond_status;

/// The names of all task stores that hold tasks or documents, or that have a paused queue, by
/// name.
///
/// On Redis there is no list of stores, since maintaining one would make every insert more
/// expensive. Instead, this call scans all keys of the server, or, in a cluster, those of one
/// master after another. A step scans about 1,000 keys and takes less than a millisecond, so a
/// server with a million keys takes about 1,000 steps. A store that exists during the whole
/// scan is found, unless its slot moves to another server in that time. A user sees only the
/// stores that it may access.
///
/// `names` is set to the names, which the caller frees with `millpond_keys_free`; on failure it
/// is set to NULL.
///
/// Errors: `MILLPOND_UNAVAILABLE` if the cluster changes during the scan, in which case try
/// again; otherwise only those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_client_task_stores(
    client: *mut millpond_client,
    names: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let names = caller.new_handle("names", names)?;
        let client = caller.held("client", client)?;
        names.set(Keys::from(client.task_stores()?));
        Ok(())
    })
}
