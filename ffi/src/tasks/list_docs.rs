//! Documents: lease those of a key, get and put one, find them by their ids, and list a namespace page by page.

use std::ffi::c_char;

use millpond::Result;

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// The document of these keys that was inserted without an id of its own. A document with an id of
/// its own is found by that, with `millpond_tasks_fetch_docs`.
///
/// `result` is set to it, or to no document if it is not there; the caller frees it with
/// `millpond_tasks_result_free`. On failure it is NULL. `secondary_key` may be NULL, for none.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an empty key and names beyond their limits;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those
/// of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_get_doc(
    store: *mut millpond_tasks_store,
    namespace_name: *const c_char,
    namespace_name_length: usize,
    key: *const c_char,
    key_length: usize,
    secondary_key: *const c_char,
    secondary_key_length: usize,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let namespace = caller.namespace_name(namespace_name, namespace_name_length)?;
        let secondary_key = millpond_bytes { data: secondary_key, length: secondary_key_length };
        let secondary_key = caller.text(|| "secondary_key".to_owned(), secondary_key)?;
        let key = (caller.key(key, key_length)?, secondary_key);
        result.set(Parts::docs(store.get_doc(namespace, key)?.as_slice()));
        Ok(())
    })
}

impl Caller {
    pub(super) fn namespace_name(&self, data: *const c_char, length: usize) -> Result<&str> {
        self.text(|| "namespace_name".to_owned(), millpond_bytes { data, length })
    }

    /// A primary key.
    pub(super) fn key(&self, data: *const c_char, length: usize) -> Result<&str> {
        self.text(|| "key".to_owned(), millpond_bytes { data, length })
    }
}
