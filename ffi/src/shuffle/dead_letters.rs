//! Dead letters: messages that were given up.

use std::ffi::c_char;

use millpond::Result;
use millpond::shuffle::{DeadLetter, MessageId};

use super::batch::{Batch, millpond_shuffle_message};
use crate::caller::Caller;
use crate::options::Element;

/// A message that was delivered too often or rejected, and its history.
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
    /// Why: `exhausted: max_deliveries` if it was delivered too often, or the reason that its consumer gave when it
    /// rejected the message; not NUL-terminated.
    pub reason: *const c_char,
    /// How many bytes the reason has.
    pub reason_length: usize,
}

/// What a handle of dead letters refers to.
pub(crate) struct DeadLetters {
    pub(crate) list: Box<[millpond_shuffle_dead_letter]>,
    /// What the list points to: the messages and the names.
    _messages: Batch,
    _letters: Vec<DeadLetter>,
}

// SAFETY: the pointers in the list point into the other two, which are never changed or moved.
unsafe impl Send for DeadLetters {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for DeadLetters {}

impl From<Vec<DeadLetter>> for DeadLetters {
    fn from(letters: Vec<DeadLetter>) -> Self {
        let messages = Batch::new(letters.iter().map(|letter| &letter.message));
        let list = letters.iter().zip(&messages.list).map(|(letter, message)| {
            millpond_shuffle_dead_letter {
                id_time_ms: letter.id.time_ms,
                id_sequence: letter.id.sequence,
                group: letter.group.as_ptr().cast(),
                group_length: letter.group.len(),
                consumer: letter.consumer.as_ptr().cast(),
                consumer_length: letter.consumer.len(),
                message,
                reason: letter.reason.as_ptr().cast(),
                reason_length: letter.reason.len(),
            }
        });
        Self { list: list.collect(), _messages: messages, _letters: letters }
    }
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

impl Element for millpond_shuffle_id {
    type Core<'c> = MessageId;

    fn read(&self, _: &Caller, _: impl Fn(&str) -> String) -> Result<MessageId> {
        Ok(MessageId { time_ms: self.time_ms, sequence: self.sequence })
    }
}
