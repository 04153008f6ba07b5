//! A store of tasks and documents.

use std::ffi::c_char;

use millpond::Client;
use millpond::tasks::TaskStore;

use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::keys::millpond_bytes;
use crate::status::millpond_status;

/// A store of tasks and documents, for one claimant. Everything that one modification spans is in
/// one store. Any number of threads may use one store at a time. Freed with
/// `millpond_tasks_store_free`.
pub struct millpond_tasks_store {
    _private: (),
}

/// What a handle of a store refers to. Boxed, or every handle would take as much memory.
pub(crate) type Store = Box<TaskStore>;

/// The store of tasks of this name, for a claimant: the name that claims are made under. It has 1
/// to 64 characters, and is 16 random hexadecimal digits for NULL. It is no secret: any program
/// that uses a claimant's name can do what that claimant can. Each job of a worker has a claimant
/// of its own: this one, cut to 47 characters, `/` and 16 random hexadecimal digits. So two jobs
/// never hold the same task or document, and `millpond_tasks_modify` is refused for what a job
/// holds. What a job's end delays to a time in the future, this claimant holds until then. Makes no
/// call: an invalid name is refused by the step that needs it.
///
/// `store` is set to the store, which the caller frees with `millpond_tasks_store_free`, or on
/// failure to NULL.
///
///     millpond_tasks_store *store;
///     status = millpond_tasks_store_new(client, "shop", 4, NULL, 0, &store, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a claimant that is not UTF-8.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_store_new(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    claimant: *const c_char,
    claimant_length: usize,
    store: *mut *mut millpond_tasks_store,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("store", store)?;
        let client = caller.held::<Client>("client", client)?;
        let store = client.tasks(caller.name(name, name_length)?);
        let claimant = millpond_bytes { data: claimant, length: claimant_length };
        out.set(Box::new(match caller.optional_text(|| "claimant".to_owned(), claimant)? {
            Some(claimant) => store.claimant(claimant),
            None => store,
        }));
        Ok(())
    })
}

/// Who claims through this store. Lives until the store is freed.
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
    caller.run(error, || {
        let claimant = caller.out("claimant", claimant, millpond_bytes::NONE)?;
        let store = caller.held::<Store>("store", store)?;
        claimant.set(millpond_bytes::of(store.claimant_id().as_bytes()));
        Ok(())
    })
}

/// Frees a store. Loops and jobs that were made from it stay usable. NULL and a store that was
/// freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_store_free(store: *mut millpond_tasks_store) {
    caller::free::<Store>(store);
}
