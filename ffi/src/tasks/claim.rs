//! Claims: one at a time, and the loop of a claimant.

use millpond::Result;
use millpond::tasks::{Claims, Task};

use super::result::{Parts, millpond_tasks_result};
use super::store::{Store, millpond_tasks_store};
use super::when;
use crate::caller::{self, Caller};
use crate::error::millpond_error;
use crate::exclusive::Exclusive;
use crate::keys::millpond_bytes;
use crate::options::wait_time;
use crate::status::millpond_status;

/// The loop of a claimant: batches of leased tasks. Asking for the next changes nothing about
/// the one before: its tasks are leased until they are deleted or changed, or until the lease
/// is over. Freed with `millpond_tasks_claims_free`.
///
/// One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
/// once. Threads that claim together have loops of their own.
pub struct millpond_tasks_claims {
    _private: (),
}

/// What a handle of such a loop refers to.
pub(crate) struct Loop(Exclusive<Claims>);

impl Loop {
    fn next(&self) -> Result<Option<Vec<Task>>> {
        let busy = "another thread is requesting tasks; each thread needs a loop of its own";
        self.0.run(busy, |claims| claims.next().transpose())
    }
}

/// The loop of claims that a call asks for.
fn claims_of(
    store: &Store,
    queues: Vec<&str>,
    lease_ms: i64,
    max: usize,
    wait_ms: i64,
) -> Result<Claims> {
    let claims = store.claims(queues).lease(when::lease(lease_ms)?).max(max);
    Ok(match wait_time(wait_ms)? {
        Some(wait) => claims.wait(wait),
        None => claims,
    })
}

/// Leases up to `max` available tasks of these queues for `lease_ms` milliseconds (`MILLPOND_NOT_SET`
/// is 30,000).
/// Of each queue one of the oldest is picked at random, the oldest with a probability of one half,
/// so that a task that fails again and again does not block the others; the order of the queues is
/// random too. With a `wait_ms` of 0 it returns at once; else it waits up to `wait_ms`
/// milliseconds if no task is available, with -1 without limit, and without polling.
/// `millpond_close` on the client ends the wait.
///
/// `result` is set to the tasks, which the caller frees with `millpond_tasks_result_free`; to NULL
/// on failure, and also on success if there are none.
///
///     millpond_bytes inbox = {"inbox", 5};
///     millpond_tasks_result *result;
///     status = millpond_tasks_claim(store, &inbox, 1, MILLPOND_NOT_SET, 1, 0, &result, &error);
///     if (status == MILLPOND_OK && result == NULL)
///         puts("nothing to do");
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for no queue or more than 1,000, names beyond their limits,
/// a lease below 0 or above 100 years, a `max` of 0 or above 1,000, and a `wait_ms` below -1;
/// `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else;
/// `MILLPOND_CANCELLED` if `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the client
/// was closed; those of the connection.
///
/// Delivery: at least once. A task is available again when the lease is over, unless it was deleted
/// or changed before. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` tasks may be leased
/// that no caller received.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claim(
    store: *mut millpond_tasks_store,
    queues: *const millpond_bytes,
    queue_count: usize,
    lease_ms: i64,
    max: usize,
    wait_ms: i64,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        let store = caller.held::<Store>("store", store)?;
        let queues = caller.texts("queues", queues, queue_count)?;
        let mut claims = claims_of(&store, queues, lease_ms, max, wait_ms)?;
        if let Some(tasks) = claims.next().transpose()? {
            result.set(Parts::tasks(&tasks));
        }
        Ok(())
    })
}

/// The loop of a claimant, in batches of up to `max` tasks, each leased for `lease_ms` milliseconds
/// (`MILLPOND_NOT_SET` is 30,000). With a `wait_ms` of 0 the loop is over when nothing is available;
/// else each call waits up to `wait_ms` milliseconds for a task, with -1 without limit. It waits
/// without polling: all that wait in a process share one connection, and a task that becomes
/// available, by a step or as its time comes, wakes one of them. `millpond_close` on the client
/// ends the wait.
///
/// `claims` is set to the loop, which the caller frees with `millpond_tasks_claims_free`, or on
/// failure to NULL. Makes no call yet.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a lease below 0, a `wait_ms` below -1, and for a name that is
/// not UTF-8. Other limits are checked by `millpond_tasks_claims_next`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claims_new(
    store: *mut millpond_tasks_store,
    queues: *const millpond_bytes,
    queue_count: usize,
    lease_ms: i64,
    max: usize,
    wait_ms: i64,
    claims: *mut *mut millpond_tasks_claims,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("claims", claims)?;
        let store = caller.held::<Store>("store", store)?;
        let queues = caller.texts("queues", queues, queue_count)?;
        out.set(Loop(Exclusive::new(claims_of(&store, queues, lease_ms, max, wait_ms)?)));
        Ok(())
    })
}

/// Leases the next batch.
///
/// `result` is set to the tasks, which the caller frees with `millpond_tasks_result_free`; to NULL
/// on failure, and also on success when the loop is over. After an error that a retry can fix (see
/// `millpond_error_retry`) the loop can be continued.
///
/// Errors: as `millpond_tasks_claim`.
///
/// Delivery: as `millpond_tasks_claim`.
///
/// Threads: one at a time; see `millpond_tasks_claims`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claims_next(
    claims: *mut millpond_tasks_claims,
    result: *mut *mut millpond_tasks_result,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let result = caller.new_handle("result", result)?;
        if let Some(tasks) = caller.held::<Loop>("claims", claims)?.next()? {
            result.set(Parts::tasks(&tasks));
        }
        Ok(())
    })
}

/// Frees the loop. Tasks that were neither deleted nor changed stay leased until the lease is over.
/// NULL and a loop that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_tasks_claims_free(claims: *mut millpond_tasks_claims) {
    caller::free::<Loop>(claims);
}
