//! A slice: how it ends.

use std::ops::Deref;

use millpond::recruiter::{self, Duty};
use millpond::{Error, ErrorKind, Result};

use super::{millpond_duty, millpond_recruiter_slice};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::exclusive::Own;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// What a handle of a slice refers to. The child of a fork does not end its parent's slice.
pub(crate) struct Slice(Own<recruiter::Slice>);

impl From<recruiter::Slice> for Slice {
    fn from(slice: recruiter::Slice) -> Self {
        Self(slice.into())
    }
}

impl Deref for Slice {
    type Target = recruiter::Slice;

    fn deref(&self) -> &recruiter::Slice {
        &self.0
    }
}

/// Ends a slice in this way.
fn end(
    caller: &Caller,
    slice: *mut millpond_recruiter_slice,
    duty: *mut millpond_duty,
    end: impl FnOnce(&recruiter::Slice) -> Duty,
) -> Result<()> {
    let duty = caller.optional_out(duty, millpond_duty::NONE);
    let slice = caller.held("slice", slice)?;
    if !slice.0.is_own() {
        return Err(Error::new(ErrorKind::Forked, "the slice belongs to the parent process"));
    }
    duty.set(millpond_duty::new(&end(&slice), millpond_bytes::of(slice.job().as_bytes())));
    Ok(())
}

/// Ends the slice, which worked on this many items; 0 says that there was nothing to do: then the job runs less often for
/// a while. Only the first end of a slice counts.
///
/// `duty` is set to what the enlistment did. It may be NULL.
///
/// Errors: `MILLPOND_FORKED` in the child of a fork, for a slice of its parent.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_slice_end(
    slice: *mut millpond_recruiter_slice,
    items: u64,
    duty: *mut millpond_duty,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || end(&caller, slice, duty, |slice| slice.end(items)))
}

/// Ends the slice, which failed. Nothing is tried again: the next slice of the job does it. Only the first end of a slice
/// counts.
///
/// `duty` is set to what the enlistment did. It may be NULL.
///
/// Errors: `MILLPOND_FORKED` in the child of a fork, for a slice of its parent.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recruiter_slice_fail(
    slice: *mut millpond_recruiter_slice,
    duty: *mut millpond_duty,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || end(&caller, slice, duty, recruiter::Slice::fail))
}
