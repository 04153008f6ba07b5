//! A panic on request, for the tests. No header and no release has it.

use crate::caller::Caller;
use crate::error::millpond_error;
use crate::status::millpond_status;

/// Panics inside the library, so that a test can show what the caller gets: `MILLPOND_INTERNAL`.
/// Like any panic, it prints its location to standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_test_panic(error: *mut *mut millpond_error) -> millpond_status {
    // SAFETY: the caller passes NULL or what can be written.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || panic!("on request"))
}
