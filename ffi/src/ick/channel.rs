//! A channel of several Icks.

use std::ffi::c_char;

use millpond::Client;
use millpond::ick::IckChannel;

use crate::caller::{self, Caller};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::ick::batches::{Batches, millpond_ick_batches};
use crate::ick::steps::{millpond_ick_added, millpond_ick_pair};
use crate::keys::{Keys, millpond_keys};
use crate::options::wait_time;
use crate::status::millpond_status;

/// Several Icks that share the members of one dirty list, so that as many consumers can work at
/// once. A member lives in the Ick numbered FNV-1a-64(member) mod the number of Icks, which is
/// named `<name>/<number>`. Any number of threads may use one channel at a time. Freed with
/// `millpond_ick_channel_free`.
pub struct millpond_ick_channel {
    _private: (),
}

/// The channel of `shards` Icks of this name. A consumer that also reads the Icks of an earlier,
/// larger number says so by `draining`, which is 0 otherwise. Resizing is safe at any time: a
/// member may be processed twice on the way; none is lost. Makes no call.
///
/// `channel` is set to the channel, which the caller frees with `millpond_ick_channel_free`, or on
/// failure to NULL.
///
///     millpond_ick_channel *channel;
///     status = millpond_ick_channel_new(client, "files", 5, 4, 0, &channel, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for no Ick or more than 65,536.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_new(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    shards: u32,
    draining: u32,
    channel: *mut *mut millpond_ick_channel,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let channel = caller.new_handle("channel", channel)?;
        let client = caller.held::<Client>("client", client)?;
        let name = caller.name(name, name_length)?;
        channel.set(client.ick_channel(name, shards)?.draining(draining));
        Ok(())
    })
}

/// How many Icks members are spread over.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a channel.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_shards(
    channel: *const millpond_ick_channel,
    shards: *mut u32,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let shards = caller.out("shards", shards, 0)?;
        shards.set(caller.held::<IckChannel>("channel", channel)?.shards());
        Ok(())
    })
}

/// How many Icks consumers have to read, more than that while an earlier size is drained.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a channel.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_readable(
    channel: *const millpond_ick_channel,
    readable: *mut u32,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let readable = caller.out("readable", readable, 0)?;
        readable.set(caller.held::<IckChannel>("channel", channel)?.readable());
        Ok(())
    })
}

/// The number of the Ick in which this member lives.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a channel.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_ick_of(
    channel: *const millpond_ick_channel,
    member: *const c_char,
    member_length: usize,
    number: *mut u32,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let number = caller.out("number", number, 0)?;
        let channel = caller.held::<IckChannel>("channel", channel)?;
        let member = caller.bytes(|| "member".to_owned(), member, member_length)?;
        number.set(channel.ick_of(member));
        Ok(())
    })
}

/// The name of the Ick with this number, for the functions of an Ick.
///
/// `name` is set to a list of one, which the caller frees with `millpond_keys_free`, or on failure
/// to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a channel.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_ick_name(
    channel: *const millpond_ick_channel,
    number: u32,
    name: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let name = caller.new_handle("name", name)?;
        let channel = caller.held::<IckChannel>("channel", channel)?;
        name.set(Keys::from_iter([channel.ick_name(number)]));
        Ok(())
    })
}

/// Flags members as dirty, each in its Ick; see `millpond_ick_add`.
///
/// Errors: as `millpond_ick_add`. One step an Ick: after an error some Icks may have their members
/// already; adding all of them again is safe.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_add(
    channel: *mut millpond_ick_channel,
    pairs: *const millpond_ick_pair,
    count: usize,
    added: *mut millpond_ick_added,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let added = caller.optional_out(added, millpond_ick_added::default());
        let channel = caller.held::<IckChannel>("channel", channel)?;
        added.set(channel.add(caller.pairs(pairs, count)?)?.into());
        Ok(())
    })
}

/// The loop of a consumer of the Icks with these numbers: reserves from each in turn. Everything
/// else is as in `millpond_ick_batches_new`.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a number that the channel does not have, or no number.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_batches(
    channel: *mut millpond_ick_channel,
    numbers: *const u32,
    count: usize,
    max: u64,
    wait_ms: i64,
    batches: *mut *mut millpond_ick_batches,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let out = caller.new_handle("batches", batches)?;
        let channel = caller.held::<IckChannel>("channel", channel)?;
        let numbers = caller.array(|| "numbers".to_owned(), numbers, count)?;
        let wait = wait_time(wait_ms)?;
        out.set(Batches::new(channel.batches(numbers.iter().copied(), max)?, wait));
        Ok(())
    })
}

/// Frees a channel. Batches that were made from it stay usable. NULL and a channel that was freed
/// before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_channel_free(channel: *mut millpond_ick_channel) {
    caller::free::<IckChannel>(channel);
}
