//! The loop of a consumer. The core does the loop; this asks it for the next batch.

use millpond::Result;
use millpond::shuffle::{self, Message};

use super::batch::{Batch, millpond_shuffle_batch};
use super::consumer::{Consumer, millpond_shuffle_consumer};
use crate::caller::{self, Caller};
use crate::error::millpond_error;
use crate::exclusive::Exclusive;
use crate::options::wait_time;
use crate::status::millpond_status;

/// The loop of a consumer: batches of messages. A message is done when it is acknowledged and not
/// before: asking for the next batch says nothing about the last one. Freed with
/// `millpond_shuffle_messages_free`.
///
/// One thread at a time: a second one that calls meanwhile gets `MILLPOND_INVALID_ARGUMENT` at
/// once. Threads that consume together have loops of their own.
pub struct millpond_shuffle_messages {
    _private: (),
}

/// What a handle of such a loop refers to.
pub(crate) struct Messages(Exclusive<shuffle::Messages>);

impl Messages {
    fn next(&self) -> Result<Option<Vec<Message>>> {
        let busy = "another thread is requesting messages; each thread needs a loop of its own";
        self.0.run(busy, |messages| messages.next().transpose())
    }
}

/// The loop of a consumer, in batches of up to `max` messages. With a `wait_ms` of 0 the loop is
/// over when there is nothing left; else each call waits up to `wait_ms` milliseconds for a
/// message, with -1 without limit. It waits without polling: all that wait in a process
/// share one connection, and a message wakes one of them. `millpond_close` on the client ends the
/// wait.
///
/// `messages` is set to the loop, which the caller frees with `millpond_shuffle_messages_free`, or
/// on failure to NULL. Makes no call yet.
///
///     millpond_shuffle_messages *messages;
///     millpond_shuffle_batch *batch;
///     if (millpond_shuffle_messages_new(consumer, 100, 0, &messages, &error) != MILLPOND_OK)
///         return failed(error);
///     while (millpond_shuffle_messages_next(messages, &batch, &error) == MILLPOND_OK &&
///            batch != NULL) {
///         work_on_and_acknowledge(batch);
///         millpond_shuffle_batch_free(batch);
///     }
///     millpond_shuffle_messages_free(messages);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `wait_ms` below -1.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_messages_new(
    consumer: *mut millpond_shuffle_consumer,
    max: usize,
    wait_ms: i64,
    messages: *mut *mut millpond_shuffle_messages,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("messages", messages)?;
        let consumer = caller.held::<Consumer>("consumer", consumer)?;
        let messages = consumer.messages(max);
        let messages = match wait_time(wait_ms)? {
            Some(wait) => messages.wait(wait),
            None => messages,
        };
        out.set(Messages(Exclusive::new(messages)));
        Ok(())
    })
}

/// Takes the next batch; acknowledges nothing.
///
/// `batch` is set to the messages, which the caller frees with `millpond_shuffle_batch_free`; to
/// NULL on failure, and also on success when the loop is over. After an error that a retry can
/// fix (see `millpond_error_retry`) the loop can be continued.
///
/// Errors: as `millpond_shuffle_read`.
///
/// Delivery: as `millpond_shuffle_read`.
///
/// Threads: one at a time; see `millpond_shuffle_messages`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_messages_next(
    messages: *mut millpond_shuffle_messages,
    batch: *mut *mut millpond_shuffle_batch,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let batch = caller.new_handle("batch", batch)?;
        if let Some(messages) = caller.held::<Messages>("messages", messages)?.next()? {
            batch.set(Batch::new(messages.iter()));
        }
        Ok(())
    })
}

/// Frees the loop. Messages that were not acknowledged stay pending. NULL and a loop that was
/// freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_messages_free(messages: *mut millpond_shuffle_messages) {
    caller::free::<Messages>(messages);
}
