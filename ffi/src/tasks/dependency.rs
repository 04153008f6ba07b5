//! Why a modification was refused.

use std::ptr;

use super::generated::millpond_tasks_dependency;
use crate::caller::read;
use crate::error::millpond_error;

/// Everything that is not as a modification requires; NULL for an error that is not
/// `MILLPOND_DEPENDENCY`. Lives until the error is freed.
///
///     const millpond_tasks_dependency *refused = millpond_error_dependency(error);
///     if (refused != NULL && refused->only_claims)
///         puts("somebody else holds it: later, then");
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_dependency(
    error: *const millpond_error,
) -> *const millpond_tasks_dependency {
    read(error, ptr::null(), |error| {
        error.refusal.as_ref().map_or(ptr::null(), |refusal| &raw const refusal.lists)
    })
}
