//! Dead letters: messages that were delivered too often.

use std::ffi::c_char;
use std::ptr;

use millpond::shuffle::{DeadLetter, MessageId};

use super::batch::{Batch, millpond_shuffle_message};
use super::queue::{Queue, millpond_shuffle_queue};
use crate::caller::{self, Caller, at};
use crate::error::millpond_error;
use crate::handle::Held;
use crate::status::millpond_status;

/// A list of dead letters. The caller frees it with `millpond_shuffle_dead_letters_free`. Any
/// thread may read it.
pub struct millpond_shuffle_dead_letters {
    _private: (),
}

/// A message that was delivered too often without being acknowledged, and its history.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_dead_letter {
    /// The first half of its id among the dead letters, in milliseconds since the Unix epoch.
    pub id_time_ms: u64,
    /// The second half of that id.
    pub id_sequence: u64,
    /// The group that it was delivered to; not NUL-terminated.
    pub group: *const c_char,
    /// How many bytes the group's name has.
    pub group_length: usize,
    /// The last consumer that it was delivered to; not NUL-terminated.
    pub consumer: *const c_char,
    /// How many bytes the consumer's name has.
    pub consumer_length: usize,
    /// The message as it was, and how often it was delivered.
    pub message: *const millpond_shuffle_message,
}

/// What a handle of dead letters refers to.
pub(crate) struct DeadLetters {
    list: Box<[millpond_shuffle_dead_letter]>,
    /// What the list points to: the messages and the names.
    _messages: Batch,
    _letters: Vec<DeadLetter>,
}

// SAFETY: the pointers in the list point into the other two, which nobody changes or moves.
unsafe impl Send for DeadLetters {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for DeadLetters {}

impl DeadLetters {
    pub(super) fn new(letters: Vec<DeadLetter>) -> Self {
        let messages = Batch::new(letters.iter().map(|letter| &letter.message));
        let list = letters.iter().zip(&messages.messages).map(|(letter, message)| {
            millpond_shuffle_dead_letter {
                id_time_ms: letter.id.time_ms,
                id_sequence: letter.id.sequence,
                group: letter.group.as_ptr().cast(),
                group_length: letter.group.len(),
                consumer: letter.consumer.as_ptr().cast(),
                consumer_length: letter.consumer.len(),
                message,
            }
        });
        Self { list: list.collect(), _messages: messages, _letters: letters }
    }
}

fn read<T: Copy>(
    letters: *const millpond_shuffle_dead_letters,
    empty: T,
    part: impl FnOnce(Held<DeadLetters>) -> T,
) -> T {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(empty, || caller.held("letters", letters).map_or(empty, part))
}

/// The dead letter with this number, from 0, the oldest first. Lives until they are freed. NULL past
/// the end, for NULL and for a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_dead_letters_at(
    letters: *const millpond_shuffle_dead_letters,
    index: usize,
) -> *const millpond_shuffle_dead_letter {
    read(letters, ptr::null(), |letters| at(&letters.list, index))
}

/// The first of the dead letters, `millpond_shuffle_dead_letters_length` of which lie one after the
/// other, `millpond_shuffle_dead_letters_stride` bytes apart. Lives as long as they do. NULL for NULL
/// and for a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_dead_letters_data(
    letters: *const millpond_shuffle_dead_letters,
) -> *const millpond_shuffle_dead_letter {
    read(letters, ptr::null(), |letters| letters.list.as_ptr())
}

/// How many dead letters there are; 0 where `millpond_shuffle_dead_letters_data` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_dead_letters_length(
    letters: *const millpond_shuffle_dead_letters,
) -> usize {
    read(letters, 0, |letters| letters.list.len())
}

/// How many bytes lie between the beginnings of a dead letter and of the next. Always the same in one
/// library, and not always the size that one has in the program: it can get fields.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_shuffle_dead_letters_stride() -> usize {
    size_of::<millpond_shuffle_dead_letter>()
}

/// The id of a dead letter: its `id_time_ms` and `id_sequence`. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_id {
    /// The first half, in milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// The second half.
    pub sequence: u64,
}

/// Deletes dead letters by their ids.
///
/// `deleted` is set to how many of these there were; it may be NULL.
///
///     millpond_shuffle_id id = {letter->id_time_ms, letter->id_sequence};
///     status = millpond_shuffle_delete_dead_letters(queue, &id, 1, NULL, &error);
///
/// Errors: as `millpond_shuffle_len`.
///
/// Delivery: deleting twice is safe. Above 10,000 letters it takes several steps.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_delete_dead_letters(
    queue: *mut millpond_shuffle_queue,
    ids: *const millpond_shuffle_id,
    count: usize,
    deleted: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let deleted = caller.optional_out(deleted, 0);
        let queue = caller.held::<Queue>("queue", queue)?;
        let ids = caller.array(|| "ids".to_owned(), ids, count)?.iter();
        let ids = ids.map(|id| MessageId { time_ms: id.time_ms, sequence: id.sequence });
        deleted.set(queue.delete_dead_letters(ids)?);
        Ok(())
    })
}

/// Frees dead letters; they stay in the queue. NULL and what was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_dead_letters_free(
    letters: *mut millpond_shuffle_dead_letters,
) {
    caller::free::<DeadLetters>(letters);
}
