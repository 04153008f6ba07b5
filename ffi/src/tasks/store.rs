//! A store of tasks and documents.

use super::millpond_tasks_store;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// The claimant of this store. Lives until the store is freed.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a store.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claimant(
    store: *const millpond_tasks_store,
    claimant: *mut millpond_bytes,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let claimant = caller.out("claimant", claimant, millpond_bytes::NONE)?;
        let store = caller.held("store", store)?;
        claimant.set(millpond_bytes::of(store.claimant_id().as_bytes()));
        Ok(())
    })
}
