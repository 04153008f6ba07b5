//! Messages, as a call returns them.

use std::ffi::c_char;
use std::ptr;

use millpond::shuffle::{Message, Receipt};

use super::receipt::millpond_shuffle_receipt;
use super::write::millpond_shuffle_field;
use crate::caller::{self, Caller, at};
use crate::handle::Held;

/// A list of messages, such as the result of a read. The caller frees it with
/// `millpond_shuffle_batch_free`, which does not acknowledge them. Any thread may read it.
pub struct millpond_shuffle_batch {
    _private: (),
}

/// A message that was delivered to a consumer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_message {
    /// Where it is: pass this to acknowledge it.
    pub receipt: millpond_shuffle_receipt,
    /// How often it was delivered, this time included: 1 after a read, more after a reclaim.
    pub deliveries: u64,
    /// Its fields, in the order in which they were written; lives as long as the batch.
    pub fields: *const millpond_shuffle_field,
    /// How many there are.
    pub field_count: usize,
}

/// What a handle of a batch refers to: the messages, their fields and the bytes of these, each
/// without gaps.
pub(crate) struct Batch {
    pub(super) messages: Box<[millpond_shuffle_message]>,
    fields: Box<[millpond_shuffle_field]>,
    bytes: Box<[u8]>,
}

// SAFETY: the pointers point into `fields` and `bytes`, which nobody changes or moves.
unsafe impl Send for Batch {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Batch {}

impl Batch {
    pub(super) fn new<'m>(messages: impl Iterator<Item = &'m Message> + Clone) -> Self {
        let all_fields = || messages.clone().flat_map(|message| &message.fields);
        let length = all_fields().map(|(field, value)| field.len() + value.len()).sum();
        let mut bytes = Vec::with_capacity(length);
        for (field, value) in all_fields() {
            bytes.extend_from_slice(field);
            bytes.extend_from_slice(value);
        }
        let bytes = bytes.into_boxed_slice();
        let mut rest = &*bytes;
        let mut next = |length| {
            let (string, after) = rest.split_at(length);
            rest = after;
            string.as_ptr().cast()
        };
        let fields = all_fields().map(|(field, value)| millpond_shuffle_field {
            field: next(field.len()),
            field_length: field.len(),
            value: next(value.len()),
            value_length: value.len(),
        });
        let fields: Box<[_]> = fields.collect();
        let mut rest = &*fields;
        let messages = messages.map(|message| {
            let (own, after) = rest.split_at(message.fields.len());
            rest = after;
            millpond_shuffle_message {
                receipt: Receipt::from(message).into(),
                deliveries: message.deliveries,
                fields: own.as_ptr(),
                field_count: own.len(),
            }
        });
        Self { messages: messages.collect(), fields, bytes }
    }
}

fn read<T: Copy>(
    batch: *const millpond_shuffle_batch,
    empty: T,
    part: impl FnOnce(Held<Batch>) -> T,
) -> T {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(empty, || caller.held("batch", batch).map_or(empty, part))
}

/// The message with this number, from 0, in the order in which they were read. Lives until the batch
/// is freed. NULL past the end, for NULL and for a handle that was freed or is none.
///
///     const millpond_shuffle_message *message;
///     for (size_t i = 0; (message = millpond_shuffle_batch_at(batch, i)) != NULL; i++) {
///         work_on(message->fields, message->field_count);
///         millpond_shuffle_ack(consumer, &message->receipt, 1, NULL, &error);
///     }
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_at(
    batch: *const millpond_shuffle_batch,
    index: usize,
) -> *const millpond_shuffle_message {
    read(batch, ptr::null(), |batch| at(&batch.messages, index))
}

/// The first of the messages, `millpond_shuffle_batch_length` of which lie one after the other,
/// `millpond_shuffle_batch_stride` bytes apart. Lives as long as they do. NULL for NULL and for a
/// handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_messages(
    batch: *const millpond_shuffle_batch,
) -> *const millpond_shuffle_message {
    read(batch, ptr::null(), |batch| batch.messages.as_ptr())
}

/// How many messages there are; 0 where `millpond_shuffle_batch_messages` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_length(
    batch: *const millpond_shuffle_batch,
) -> usize {
    read(batch, 0, |batch| batch.messages.len())
}

/// How many bytes lie between the beginnings of a message and of the next. Always the same in one
/// library, and not always the size that a message has in the program: it can get fields.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_shuffle_batch_stride() -> usize {
    size_of::<millpond_shuffle_message>()
}

/// The fields of all messages, one after the other without gaps, in the order of the messages: for
/// interpreters, which copy them in one go. Lives until the batch is freed. NULL as in
/// `millpond_shuffle_batch_messages`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_fields(
    batch: *const millpond_shuffle_batch,
) -> *const millpond_shuffle_field {
    read(batch, ptr::null(), |batch| batch.fields.as_ptr())
}

/// How many fields all messages have together.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_fields_length(
    batch: *const millpond_shuffle_batch,
) -> usize {
    read(batch, 0, |batch| batch.fields.len())
}

/// The bytes of all fields, each field's name and then its value, one after the other without gaps,
/// in the order of the fields: for interpreters, which copy them in one go. Lives until the batch
/// is freed. NULL as in `millpond_shuffle_batch_messages`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_bytes(
    batch: *const millpond_shuffle_batch,
) -> *const c_char {
    read(batch, ptr::null(), |batch| batch.bytes.as_ptr().cast())
}

/// How many bytes all fields have together.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_bytes_length(
    batch: *const millpond_shuffle_batch,
) -> usize {
    read(batch, 0, |batch| batch.bytes.len())
}

/// The first field of this name of a message that was read, or NULL if it has none. Lives as long
/// as the message's batch. NULL for NULL.
///
///     const millpond_shuffle_field *image = millpond_shuffle_message_field(message, "image", 5);
///     if (image != NULL)
///         resize(image->value, image->value_length);
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_message_field(
    message: *const millpond_shuffle_message,
    name: *const c_char,
    name_length: usize,
) -> *const millpond_shuffle_field {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    let find = || {
        let [message] = caller.array(String::new, message, 1).ok()? else { return None };
        let name = caller.name(name, name_length).ok()?;
        let fields = caller.array(String::new, message.fields, message.field_count).ok()?;
        fields.iter().find(|field| caller.checked(field.field, field.field_length) == name)
    };
    caller.run_or(ptr::null(), || find().map_or(ptr::null(), ptr::from_ref))
}

/// Frees a batch. Its messages stay pending until they are acknowledged. NULL and a batch that
/// was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_batch_free(batch: *mut millpond_shuffle_batch) {
    caller::free::<Batch>(batch);
}
