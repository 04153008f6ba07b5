//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use std::ffi::c_char;
use std::time::Duration;

use millpond::{Result, ick};

use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::exclusive::Exclusive;
use crate::ick::entries::{Entries, millpond_ick_entries};
use crate::options::wait_time;
use crate::status::millpond_status;

/// The loop of a consumer: batches to work on, each committed when the next is requested. Freed
/// with `millpond_ick_batches_free`.
///
/// One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
/// once. Threads that consume together have batches of their own, on a channel for instance.
pub struct millpond_ick_batches {
    _private: (),
}

/// What a handle of batches refers to.
pub(crate) struct Batches(Exclusive<ick::Batches>);

impl Batches {
    const BUSY: &str = "another thread is requesting a batch; each thread needs batches of its own";

    pub(crate) fn new(batches: ick::Batches, wait: Option<Duration>) -> Self {
        Self(Exclusive::new(match wait {
            Some(wait) => batches.wait(wait),
            None => batches,
        }))
    }

    fn next(&self) -> Result<Option<ick::Batch>> {
        self.0.run(Self::BUSY, |batches| batches.next().transpose())
    }

    fn commit(&self) -> Result<u64> {
        self.0.run(Self::BUSY, ick::Batches::commit)
    }
}

/// The loop of a consumer of one Ick. Each batch has at most `max` members, and never more than
/// 250,000. With a `wait_ms` of 0 the loop is over when there is nothing left; else each call
/// waits up to `wait_ms` milliseconds for work, with -1 without limit. It waits without
/// polling: it is woken when members are added, and polls every five seconds for producers that do
/// not publish notifications. `millpond_close` on the client ends the wait.
///
/// `batches` is set to the loop, which the caller frees with `millpond_ick_batches_free`, or on failure
/// to NULL. Makes no call yet.
///
///     millpond_ick_batches *batches;
///     millpond_ick_entries *entries;
///     if (millpond_ick_batches_new(client, "files", 5, 100, 0, &batches, &error) != MILLPOND_OK)
///         return failed(error);
///     while (millpond_ick_batches_next(batches, &entries, &error) == MILLPOND_OK && entries != NULL) {
///         work_on(entries);
///         millpond_ick_entries_free(entries);
///     }
///     millpond_ick_batches_free(batches);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_batches_new(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    max: u64,
    wait_ms: i64,
    batches: *mut *mut millpond_ick_batches,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("batches", batches)?;
        let ick = caller.ick(client, name, name_length)?;
        out.set(Batches::new(ick.batches(max), wait_time(wait_ms)?));
        Ok(())
    })
}

/// Commits the last batch and takes the next, in one round trip.
///
/// `entries` is set to the batch, which the caller frees with `millpond_ick_entries_free`; to NULL on
/// failure, and also on success when the loop is over. After an error that a retry can fix (see
/// `millpond_error_retry`) the loop can be continued: a batch whose commit may or may not have
/// been done is delivered again if it was not.
///
/// Errors: as `millpond_ick_exchange`; `MILLPOND_LEASE_LOST` for the batches of a lease;
/// `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the
/// client was closed.
///
/// Threads: one at a time; see `millpond_ick_batches`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_batches_next(
    batches: *mut millpond_ick_batches,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        if let Some(batch) = caller.held::<Batches>("batches", batches)?.next()? {
            entries.set(Entries::new(&batch));
        }
        Ok(())
    })
}

/// Commits the last batch, for a loop that is left before its end.
///
/// `committed` is set to how many members were still reserved, which is 0 if the batch was
/// committed already, or if that was tried and failed: it is then delivered again if it was not
/// committed. It may be NULL.
///
/// Errors: as `millpond_ick_commit`; `MILLPOND_LEASE_LOST` for the batches of a lease.
///
/// Threads: one at a time; see `millpond_ick_batches`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_batches_commit(
    batches: *mut millpond_ick_batches,
    committed: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let committed = caller.optional_out(committed, 0);
        committed.set(caller.held::<Batches>("batches", batches)?.commit()?);
        Ok(())
    })
}

/// Frees batches. The last batch stays reserved unless it was committed: the next reserve returns
/// it again. NULL and batches that were freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_batches_free(batches: *mut millpond_ick_batches) {
    caller::free::<Batches>(batches);
}
