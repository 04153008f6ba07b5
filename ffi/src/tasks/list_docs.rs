//! Documents: lease those of a key, get and put one, find them by their ids, and list a namespace page by page.

use std::ffi::c_char;

use millpond::Result;

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use super::when;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;
use crate::tasks::generated::{millpond_doc_query, millpond_new_doc};

/// Leases all documents of a primary key for `lease_ms` milliseconds (`MILLPOND_NOT_SET` is 30,000), or none if
/// another claimant holds one of them. The claimant that holds them can claim them again.
///
/// `result` is set to them, by secondary key, which the caller frees with
/// `millpond_tasks_result_free`, or on failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an empty key, names beyond their limits and a lease
/// below 0 or above 100 years; `MILLPOND_DEPENDENCY` if another claimant holds one of them;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those
/// of the connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` they may be leased; claiming
/// them again is safe.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claim_docs(
    store: *mut millpond_tasks_store,
    namespace_name: *const c_char,
    namespace_name_length: usize,
    key: *const c_char,
    key_length: usize,
    lease_ms: i64,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let namespace = caller.namespace_name(namespace_name, namespace_name_length)?;
        let key = caller.key(key, key_length)?;
        result.set(Parts::docs(&store.claim_docs(namespace, key, when::lease(lease_ms)?)?));
        Ok(())
    })
}

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

/// Inserts a document, or replaces the content of the one of its id, in one step; without an id of
/// its own that is the document of its keys. The document's claimant stays the same. It needs a
/// content; `skip_colliding` is ignored.
///
///     millpond_new_doc doc;
///     millpond_new_doc_init(&doc, sizeof doc);
///     doc.namespace_name = (millpond_bytes){"rates", 5};
///     doc.key = (millpond_bytes){"eur", 3};
///     doc.content = (millpond_bytes){"1.1", 3};
///     status = millpond_tasks_put_doc(store, &doc, NULL, &error);
///
/// `result` is set to the document as it is now, which the caller frees with
/// `millpond_tasks_result_free`, or on failure to NULL. It may be NULL.
///
/// Errors: as `millpond_tasks_modify`: `MILLPOND_INVALID_ARGUMENT` also for a document without a
/// content; `MILLPOND_DEPENDENCY` if another claimant holds the document, or one with other keys has
/// its id.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` it may be done; sent again, it
/// replaces what others put meanwhile.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_put_doc(
    store: *mut millpond_tasks_store,
    doc: *const millpond_new_doc,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.optional_handle(result);
        let store = caller.held::<Store>("store", store)?;
        let doc = caller.structure("doc", doc)?;
        let doc = store.put_doc(doc.read(&caller, |field| format!("doc.{field}"))?)?;
        if let Some(result) = result {
            result.set(Parts::docs(&[doc]));
        }
        Ok(())
    })
}

/// The documents of these ids, in the same order; missing ones are left out.
///
/// `result` is set to them, which the caller frees with `millpond_tasks_result_free`, or on failure
/// to NULL.
///
/// Errors: as `millpond_tasks_fetch`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_fetch_docs(
    store: *mut millpond_tasks_store,
    namespace_name: *const c_char,
    namespace_name_length: usize,
    ids: *const millpond_bytes,
    id_count: usize,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let namespace = caller.namespace_name(namespace_name, namespace_name_length)?;
        let ids = caller.texts("ids", ids, id_count)?;
        result.set(Parts::docs(&store.fetch_docs(namespace, ids)?));
        Ok(())
    })
}

/// A page of a namespace's documents, by primary key, secondary key and id; `query` may be NULL.
///
/// `result` is set to it, with what the next page comes after in `next_doc`; the caller frees it
/// with `millpond_tasks_result_free`. On failure it is NULL.
///
/// Errors: as `millpond_tasks_list`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_list_docs(
    store: *mut millpond_tasks_store,
    namespace_name: *const c_char,
    namespace_name_length: usize,
    query: *const millpond_doc_query,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let namespace = caller.namespace_name(namespace_name, namespace_name_length)?;
        let query = caller.options("query", query)?.read(&caller, str::to_owned)?;
        result.set(Parts::doc_page(store.list_docs(namespace, query)?));
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
