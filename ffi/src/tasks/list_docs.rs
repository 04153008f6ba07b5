//! One document by its keys.

use std::ffi::c_char;

use super::millpond_tasks_result;
use super::millpond_tasks_store;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// The document of these keys that was inserted without an explicit id. A document with an
/// explicit id is found by that id, with `millpond_tasks_fetch_docs`.
///
/// `result` is set to the document, or to no document if it does not exist; the caller frees it
/// with `millpond_tasks_result_free`. On failure it is NULL. `secondary_key` may be NULL, for
/// none.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an empty key and names beyond their limits;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
/// those of the connection.
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
        let store = caller.held("store", store)?;
        let namespace = millpond_bytes { data: namespace_name, length: namespace_name_length };
        let namespace = caller.text(|| "namespace_name".to_owned(), namespace)?;
        let key = millpond_bytes { data: key, length: key_length };
        let key = caller.text(|| "key".to_owned(), key)?;
        let secondary_key = millpond_bytes { data: secondary_key, length: secondary_key_length };
        let secondary_key = caller.text(|| "secondary_key".to_owned(), secondary_key)?;
        result.set(store.get_doc(namespace, (key, secondary_key))?.into());
        Ok(())
    })
}
