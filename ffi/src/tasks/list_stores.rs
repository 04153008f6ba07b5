//! List stores: the names of all task stores.

use super::*;
use crate::caller::Caller;
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::keys::Keys;
use crate::status::millpond_status;

/// The names of all task stores that hold tasks or documents, or of which a queue is paused, by
/// name.
///
/// On Redis there is no list of them, as that would cost every insert something: this goes
/// through all keys of the server, and of a cluster through those of one master after the
/// other. A step looks at about 1,000 keys and takes less than a millisecond, and there are as
/// many steps as the server has thousands of keys. A store that is there all the time is found,
/// unless its slot moves to another server meanwhile; a user sees those to which it has a
/// right.
///
/// `names` is set to the names, which the caller frees with `millpond_keys_free`, or on failure
/// to NULL.
///
/// Errors: `MILLPOND_UNAVAILABLE` if a cluster changes meanwhile; then try again. Else only
/// those of the connection.
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
