//! Keys and scripts of a store of tasks, for connections that the program owns.

use std::ffi::c_char;

use millpond::step::Operation;
use millpond::tasks::{Modification, Modify};

use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::{Keys, millpond_keys};
use crate::status::millpond_status;

/// The KEYS of the scripts of a store of tasks. For connections of your own; makes no call.
///
/// There are ten. A script takes as many of the first as the comment at the end of its source names:
/// all ten if it has to do with documents, else seven, and `tasks.time` one.
///
/// `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to
/// NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name that is empty or above 64 KiB.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_keys(
    name: *const c_char,
    name_length: usize,
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let keys = caller.new_handle("keys", keys)?;
        let step = Modify::new(caller.name(name, name_length)?, "c", Modification::new())?;
        keys.set(Keys::from_iter(step.invocation().keys));
        Ok(())
    })
}
