//! The collection of the records of tracked messages.

use super::generated_calls::millpond_shuffle_garbage;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::status::millpond_status;

/// How many entries were scanned so far, and how many records were deleted. Both may be NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a collection, and while another
/// thread uses it.
///
/// Threads: one at a time; see `millpond_shuffle_garbage`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_garbage_counts(
    garbage: *const millpond_shuffle_garbage,
    scanned: *mut u64,
    deleted: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let (scanned, deleted) = (caller.optional_out(scanned, 0), caller.optional_out(deleted, 0));
        caller.held("garbage", garbage)?.run(|garbage| {
            scanned.set(garbage.scanned());
            deleted.set(garbage.deleted());
            Ok(())
        })
    })
}
