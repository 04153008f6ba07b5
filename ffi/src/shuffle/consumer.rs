//! A consumer of a group, and its steps.

use std::ffi::c_char;
use std::time::Duration;

use millpond::shuffle::ShuffleConsumer;

use super::batch::{Batch, millpond_shuffle_batch};
use super::queue::{Queue, millpond_shuffle_queue};
use crate::caller::{self, Caller};
use crate::error::millpond_error;
use crate::options::wait_time;
use crate::shuffle::generated::millpond_shuffle_consumer_options;
use crate::status::millpond_status;

/// One consumer of a group of a queue's consumers. Each message goes to one consumer of each group;
/// a group begins with what the queue holds when it first reads. Any number of threads may use one
/// consumer at a time. Freed with `millpond_shuffle_consumer_free`.
pub struct millpond_shuffle_consumer {
    _private: (),
}

/// What a handle of a consumer refers to. Boxed, or every handle would take as much memory.
pub(crate) type Consumer = Box<ShuffleConsumer>;

/// A consumer of a group, by the names of both, with these settings; `options` may be NULL. Makes
/// no call.
///
/// `made` is set to the consumer, which the caller frees with `millpond_shuffle_consumer_free`, or
/// on failure to NULL.
///
///     millpond_shuffle_consumer *consumer;
///     status = millpond_shuffle_consumer_new(queue, "workers", 7, "worker-1", 8, NULL, &consumer,
///                                            &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `prefer_stream` that is no number of a stream. An empty group or consumer is refused by the step that needs it.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_consumer_new(
    queue: *mut millpond_shuffle_queue,
    group: *const c_char,
    group_length: usize,
    consumer: *const c_char,
    consumer_length: usize,
    options: *const millpond_shuffle_consumer_options,
    made: *mut *mut millpond_shuffle_consumer,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let made = caller.new_handle("made", made)?;
        let queue = caller.held::<Queue>("queue", queue)?;
        let group = caller.bytes(|| "group".to_owned(), group, group_length)?;
        let consumer = caller.bytes(|| "consumer".to_owned(), consumer, consumer_length)?;
        let options = caller.options("options", options)?;
        made.set(Box::new(options.read(&caller, queue.consumer(group, consumer))?));
        Ok(())
    })
}

/// Reads up to `max` messages, from the streams in turn: the same ones that `max` reads of one
/// message would return. With a `wait_ms` of 0 it returns at once; else it waits up to `wait_ms`
/// milliseconds if there is no message, with -1 without limit, and without polling.
/// `millpond_close` on the client ends the wait.
///
/// `batch` is set to the messages, which may be none and which the caller frees with
/// `millpond_shuffle_batch_free`, or on failure to NULL.
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
        let consumer = caller.held::<Consumer>("consumer", consumer)?;
        let messages = match wait_time(wait_ms)? {
            None => consumer.read_many(max)?,
            Some(wait) => consumer.messages(max).wait(wait).next().transpose()?.unwrap_or_default(),
        };
        batch.set(Batch::new(messages.iter()));
        Ok(())
    })
}

/// Takes over up to `max` messages that were delivered at least `min_idle_ms` milliseconds ago and
/// neither acknowledged nor extended since: those of consumers that are gone. One that was
/// delivered `max_deliveries` times becomes a dead letter instead.
///
/// `batch` is set to the messages, which the caller frees with
/// `millpond_shuffle_batch_free`, or on failure to NULL. `dead` is set to how many became dead
/// letters; it may be NULL.
///
/// Errors: as `millpond_shuffle_read`; also `MILLPOND_INVALID_ARGUMENT` for a `min_idle_ms` over
/// 100 years.
///
/// Delivery: a slow consumer may still be working on a message that is taken over:
/// `min_idle_ms` has to be longer than its work, or it has to extend what it works on.
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
        let consumer = caller.held::<Consumer>("consumer", consumer)?;
        let reclaimed = consumer.reclaim(Duration::from_millis(min_idle_ms), max)?;
        batch.set(Batch::new(reclaimed.messages.iter()));
        dead.set(reclaimed.dead);
        Ok(())
    })
}

/// Frees a consumer. Messages delivered to it and not acknowledged stay pending; loops that were
/// made from it stay usable. NULL and a consumer that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_consumer_free(consumer: *mut millpond_shuffle_consumer) {
    caller::free::<Consumer>(consumer);
}
