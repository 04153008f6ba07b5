//! Keys and scripts of a shuffle queue, for connections that the program owns.

use std::ffi::c_char;
use std::time::Duration;

use millpond::shuffle::{Cordon, ReadDeadLetters};
use millpond::step::Operation;

use super::tracking;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::{Keys, millpond_keys};
use crate::status::millpond_status;

/// The KEYS of the scripts of a shuffle queue, in order: the name itself, the meta hash, the
/// notifications and the dead letters. `shuffle.reclaim`, `shuffle.dead_letters` and
/// `shuffle.delete_dead_letters` take all four, the others the first three. For connections of your own; makes no call.
///
/// `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to
/// NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_keys(
    name: *const c_char,
    name_length: usize,
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let keys = caller.new_handle("keys", keys)?;
        let step = ReadDeadLetters::new(caller.name(name, name_length)?, 1)?;
        keys.set(Keys::from_iter(step.invocation().keys));
        Ok(())
    })
}

/// The KEYS of the scripts `shuffle.delete_tracked`, `shuffle.cordon`, `shuffle.scan_expired` and
/// `shuffle.forget_expired`, in order. `track_keys` is `MILLPOND_SHUFFLE_TRACK_GLOBAL` or
/// `MILLPOND_SHUFFLE_TRACK_QUEUE`. A `shuffle.write` of a tracked message has the first two of these
/// after three of `millpond_shuffle_keys`. The caller frees `keys` as there.
///
/// Errors: as `millpond_shuffle_keys`; also `MILLPOND_INVALID_ARGUMENT` for another `track_keys`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_tracking_keys(
    name: *const c_char,
    name_length: usize,
    track_keys: u32,
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let keys = caller.new_handle("keys", keys)?;
        let name = caller.name(name, name_length)?;
        let step = Cordon::new(name, tracking::track_keys(track_keys)?, Duration::ZERO)?;
        keys.set(Keys::from_iter(step.invocation().keys));
        Ok(())
    })
}
