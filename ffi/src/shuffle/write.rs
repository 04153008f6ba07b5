//! Writing messages.

use std::ffi::c_char;

use millpond::Result;
use millpond::shuffle;

use crate::caller::Caller;
use crate::error::millpond_error;
use crate::options::{Element, growing};
use crate::status::millpond_status;

/// A field of a message and its value: any bytes. In a message to write, both may be NULL if their length is 0; in a
/// message that was read they are never NULL, and nothing is NUL-terminated. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_field {
    /// The field's name. The same name may occur more than once.
    pub field: *const c_char,
    /// How many bytes it has.
    pub field_length: usize,
    /// The value.
    pub value: *const c_char,
    /// How many bytes it has.
    pub value_length: usize,
}

/// A message to write. `millpond_shuffle_new_message_init` fills it; then set its fields and its
/// tenant.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_shuffle_new_message {
    /// The size of the structure in the program, in bytes; set by its `_init`.
    pub size: usize,
    /// The key of the tenant.
    pub shard_key: *const c_char,
    /// How many bytes it has.
    pub shard_key_length: usize,
    /// The message's fields, in their order.
    pub fields: *const millpond_shuffle_field,
    /// How many there are.
    pub field_count: usize,
}

growing! { millpond_shuffle_new_message {} }

/// Fills a message to write with its defaults: no fields, and no tenant. Does nothing for NULL.
///
///     millpond_shuffle_field task = {"task", 4, "resize", 6};
///     millpond_shuffle_new_message message;
///     millpond_shuffle_new_message_init(&message, sizeof message);
///     message.shard_key = "tenant-7";
///     message.shard_key_length = 8;
///     message.fields = &task;
///     message.field_count = 1;
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_new_message_init(
    message: *mut millpond_shuffle_new_message,
    size: usize,
) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(message, size);
}

impl Element for millpond_shuffle_field {
    type Core<'c> = (&'c [u8], &'c [u8]);

    fn read<'c>(
        &self,
        caller: &'c Caller,
        of: impl Fn(&str) -> String,
    ) -> Result<(&'c [u8], &'c [u8])> {
        let field = caller.bytes(|| of("field"), self.field, self.field_length)?;
        Ok((field, caller.bytes(|| of("value"), self.value, self.value_length)?))
    }
}

impl Caller {
    /// The messages to write: each the key of its tenant and its fields.
    #[expect(clippy::type_complexity, reason = "an alias cannot hold an impl")]
    pub(super) fn messages(
        &self,
        argument: &str,
        messages: *const millpond_shuffle_new_message,
        count: usize,
    ) -> Result<Vec<(&[u8], impl Iterator<Item = (&[u8], &[u8])>)>> {
        let messages = self.structures(argument, messages, count)?;
        let messages = messages.enumerate().map(|(index, message)| {
            let message = message?;
            let shard_key = || format!("{argument}[{index}].shard_key");
            let key = self.bytes(shard_key, message.shard_key, message.shard_key_length)?;
            let fields = format!("{argument}[{index}].fields");
            Ok((key, self.list(&fields, message.fields, message.field_count)?))
        });
        messages.collect()
    }
}

/// The streams of a tenant: `streams_per_shard` of `streams`, in the order in which ties between
/// them are broken. The same in every language. Sends nothing.
///
/// `streams_per_shard` numbers are written to `numbers`, here 15, 13, 2 and 12; on failure nothing
/// is written.
///
///     uint32_t numbers[4];
///     status = millpond_shuffle_shard(16, 4, "tuna", 4, numbers, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for 0 or more than 65,536 streams, for a shard of 0 streams
/// or more than there are, and for an empty key.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_shuffle_shard(
    streams: u32,
    streams_per_shard: u32,
    shard_key: *const c_char,
    shard_key_length: usize,
    numbers: *mut u32,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let shard_key = caller.bytes(|| "shard_key".to_owned(), shard_key, shard_key_length)?;
        let shard = shuffle::shard(streams, streams_per_shard, shard_key)?;
        caller.out_array("numbers", numbers, shard.len())?.set(shard);
        Ok(())
    })
}
