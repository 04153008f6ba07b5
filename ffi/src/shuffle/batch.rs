//! Messages, as a call returns them.

use std::ffi::c_char;
use std::ptr;

use millpond::shuffle::{Message, Receipt};

use super::receipt::millpond_shuffle_receipt;
use super::write::millpond_shuffle_field;
use crate::caller::Caller;

/// A message that was delivered to a consumer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_message {
    /// Where it is: pass this to acknowledge it.
    pub receipt: millpond_shuffle_receipt,
    /// How often it was delivered, including this time: 1 for a read, more for a reclaim.
    pub deliveries: u64,
    /// Its fields and their values, as they were written. They are valid as long as the batch.
    pub fields: *const millpond_shuffle_field,
    /// How many there are.
    pub field_count: usize,
}

/// What a handle of a batch refers to: the messages, their fields and the bytes of these, each
/// without gaps.
pub(crate) struct Batch {
    pub(crate) list: Box<[millpond_shuffle_message]>,
    pub(crate) fields: Box<[millpond_shuffle_field]>,
    pub(crate) bytes: Box<[u8]>,
}

// SAFETY: the pointers point into `fields` and `bytes`, which are never changed or moved.
unsafe impl Send for Batch {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Batch {}

impl From<Vec<Message>> for Batch {
    fn from(messages: Vec<Message>) -> Self {
        Self::new(messages.iter())
    }
}

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
        Self { list: messages.collect(), fields, bytes }
    }
}

/// The first field with this name of a message that was read, or NULL if the message has no such
/// field. Lives as long as the message's batch. NULL for NULL.
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
        let (fields, count) = caller.record(message, |message| {
            // SAFETY: the header says that there is a message; these fields have existed since the first version.
            unsafe { ((*message).fields, (*message).field_count) }
        })?;
        let name = caller.name(name, name_length).ok()?;
        let fields = caller.array(String::new, fields, count).ok()?;
        let own = |field: &millpond_shuffle_field| caller.name(field.field, field.field_length);
        fields.iter().find(|field| own(field).is_ok_and(|own| own == name))
    };
    caller.run_or(ptr::null(), || find().map_or(ptr::null(), ptr::from_ref))
}
