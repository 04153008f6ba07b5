//! A consumer of a group, and its steps.

use std::time::Duration;

use super::*;
use crate::caller::Caller;
use crate::error::millpond_error;
use crate::options::wait_time;
use crate::status::millpond_status;

/// Reads up to `max` messages, from the streams in turn: the same ones that `max` reads of one
/// message would return. With a `wait_ms` of 0 it returns immediately. Otherwise, if there is no
/// message, it waits up to `wait_ms` milliseconds, or without limit for -1; it does not poll.
/// `millpond_close` on the client ends the wait.
///
/// `batch` is set to the messages, which the caller frees with `millpond_shuffle_batch_free` even
/// if there are none, or on failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `max` of 0 or above 10,000, a `wait_ms` below -1, an
/// empty group or consumer, a `ttl_ms` under a second or over 100 years, and a name that is empty
/// or above 64 KiB; `MILLPOND_WRONG_TYPE` if a key holds something else; `MILLPOND_CANCELLED` if
/// `millpond_on_interrupt` asked for it; `MILLPOND_CLOSED` once the client was closed; those of
/// the connection.
///
/// Delivery: at least once. A delivered message belongs to its consumer until it is
/// acknowledged. After `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` messages may be pending
/// that the consumer never received: `millpond_shuffle_reclaim` returns them.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_read(
    consumer: *mut millpond_shuffle_consumer,
    max: usize,
    wait_ms: i64,
    batch: *mut *mut millpond_shuffle_batch,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let batch = caller.new_handle("batch", batch)?;
        let consumer = caller.held("consumer", consumer)?;
        let messages = match wait_time(wait_ms)? {
            None => consumer.read_many(max)?,
            Some(wait) => consumer.messages(max).wait(wait).next().transpose()?.unwrap_or_default(),
        };
        batch.set(messages.into());
        Ok(())
    })
}

/// Takes over up to `max` messages of consumers that are gone: messages that were delivered at
/// least `min_idle_ms` ago and neither acknowledged nor renewed since. After `max_deliveries` a
/// message becomes a dead letter instead.
///
/// A program that crashes on one message leaves behind all that it had taken. So that the
/// others do not become dead letters because of that one, a message that is taken over for at
/// least the second time, or delivered for the last time, is returned alone: the call returns
/// this one message, whatever `max` is, and the next call returns the next one. Finish the
/// message before the next call. Released messages do not count as left behind.
///
/// `batch` is set to the messages, which the caller frees with `millpond_shuffle_batch_free`;
/// on failure it is set to NULL. `dead` is set to the number of messages that became dead
/// letters; it may be NULL.
///
/// Errors: as `millpond_shuffle_read`; also `MILLPOND_INVALID_ARGUMENT` for a `min_idle_ms`
/// over 100 years.
///
/// Delivery: a consumer that is only slow may still be working on a message that is taken over:
/// `min_idle_ms` must be longer than its work, or it must renew the messages that it works on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_reclaim(
    consumer: *mut millpond_shuffle_consumer,
    min_idle_ms: u64,
    max: usize,
    batch: *mut *mut millpond_shuffle_batch,
    dead: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let batch = caller.new_handle("batch", batch)?;
        let dead = caller.optional_out(dead, 0);
        let consumer = caller.held("consumer", consumer)?;
        let reclaimed = consumer.reclaim(Duration::from_millis(min_idle_ms), max)?;
        batch.set(reclaimed.messages.into());
        dead.set(reclaimed.dead);
        Ok(())
    })
}
