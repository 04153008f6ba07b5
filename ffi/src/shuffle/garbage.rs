//! The collection of what is recorded of tracked messages.

use millpond::Result;
use millpond::shuffle;

use super::queue::{Queue, millpond_shuffle_queue};
use crate::caller::{self, Caller};
use crate::error::millpond_error;
use crate::exclusive::Exclusive;
use crate::keys::{Keys, millpond_keys};
use crate::options::given;
use crate::status::millpond_status;

/// Values of tracked messages whose deadline has passed, in batches. Freed with
/// `millpond_shuffle_garbage_free`.
///
/// One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
/// once.
pub struct millpond_shuffle_garbage {
    _private: (),
}

/// What a handle of garbage refers to.
pub(crate) struct Garbage(Exclusive<shuffle::Garbage>);

impl Garbage {
    fn run<T>(&self, body: impl FnOnce(&mut shuffle::Garbage) -> Result<T>) -> Result<T> {
        self.0.run("another thread is collecting; each thread needs a collection of its own", body)
    }
}

/// Collects what is recorded of tracked messages whose deadline has passed, in batches of values,
/// those that were cordoned first. `time_digits`, 1 to 10, limits it to deadlines that begin with
/// as many of the first digits of the time: with 6, to those of the same 10,000 seconds. `MILLPOND_NOT_SET` is
/// for all. Makes no call yet.
///
/// `garbage` is set to the collection, which the caller frees with `millpond_shuffle_garbage_free`,
/// or on failure to NULL.
///
///     millpond_shuffle_garbage *garbage;
///     millpond_keys *values;
///     if (millpond_shuffle_gc(queue, MILLPOND_NOT_SET, &garbage, &error) != MILLPOND_OK)
///         return failed(error);
///     while (millpond_shuffle_garbage_next(garbage, &values, &error) == MILLPOND_OK &&
///            values != NULL) {
///         report(millpond_keys_data(values), millpond_keys_length(values));
///         millpond_keys_free(values);
///     }
///     millpond_shuffle_garbage_free(garbage);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `time_digits` below 0 or above 255; another invalid
/// one is refused when the first batch is requested.
///
/// Delivery: at least once: what was returned and not deleted yet is returned again by the
/// next collection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_gc(
    queue: *mut millpond_shuffle_queue,
    time_digits: i64,
    garbage: *mut *mut millpond_shuffle_garbage,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let garbage = caller.new_handle("garbage", garbage)?;
        let queue = caller.held::<Queue>("queue", queue)?;
        let collection = queue.gc().time_digits(given::<u8>("time_digits", time_digits)?);
        garbage.set(Garbage(Exclusive::new(collection)));
        Ok(())
    })
}

/// Deletes what is recorded of the last batch of values, and finds the next. The messages
/// themselves stay in their streams.
///
/// `values` is set to the batch, which the caller frees with `millpond_keys_free`; to NULL on
/// failure, and also on success when all is collected. After an error that a retry can fix (see
/// `millpond_error_retry`) the collection can be continued.
///
/// Errors: as `millpond_shuffle_delete_tracked`; also `MILLPOND_INVALID_ARGUMENT` for a
/// `time_digits` that is not 1 to 10.
///
/// Threads: one at a time; see `millpond_shuffle_garbage`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_garbage_next(
    garbage: *mut millpond_shuffle_garbage,
    values: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let values = caller.new_handle("values", values)?;
        let garbage = caller.held::<Garbage>("garbage", garbage)?;
        if let Some(batch) = garbage.run(|garbage| garbage.next().transpose())? {
            values.set(Keys::from_iter(batch));
        }
        Ok(())
    })
}

/// How many entries were scanned so far, and how many records were deleted. Both may be NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a collection, and while another
/// thread is in it.
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
    caller.run(error, || {
        let (scanned, deleted) = (caller.optional_out(scanned, 0), caller.optional_out(deleted, 0));
        caller.held::<Garbage>("garbage", garbage)?.run(|garbage| {
            scanned.set(garbage.scanned());
            deleted.set(garbage.deleted());
            Ok(())
        })
    })
}

/// Frees a collection; what is recorded of the last batch stays for the next one. NULL and what was
/// freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_garbage_free(garbage: *mut millpond_shuffle_garbage) {
    caller::free::<Garbage>(garbage);
}
