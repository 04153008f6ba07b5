//! An Ick and its steps.

use std::ffi::c_char;

use millpond::ick::{Added, Ick, Name, Set, Stats};
use millpond::{Client, Result};

use crate::caller::{Caller, invalid};
use crate::client::millpond_client;
use crate::error::millpond_error;
use crate::ick::entries::{Entries, millpond_ick_entries};
use crate::keys::{Keys, millpond_bytes, millpond_keys};
use crate::options::{c_bool, growing};
use crate::status::millpond_status;

/// A member to flag, and its score. Its layout is fixed.
#[repr(C)]
pub struct millpond_ick_pair {
    /// The member: any bytes. May be NULL if the length is 0.
    pub member: *const c_char,
    /// How many bytes it has.
    pub member_length: usize,
    /// The score: any number but NaN. Lower scores come first.
    pub score: f64,
    /// Whether the score is the server's time in seconds, instead of `score`.
    pub score_is_now: c_bool,
}

/// What an add changed. A member that is passed twice can count in both. Its layout is fixed.
#[repr(C)]
#[derive(Default)]
pub struct millpond_ick_added {
    /// Members that were not in the producer set.
    pub new_members: u64,
    /// Members that were, and whose score went down.
    pub lowered_members: u64,
}

/// The sizes and score ranges of an Ick. Scores are exact. The minimum and the maximum of a set
/// that is empty are 0 and mean nothing.
///
/// `millpond_ick_stats_init` prepares it, and then any number of reads fill it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_ick_stats {
    /// What the structure's `_init` sets: how many bytes it has in the program.
    pub size: usize,
    /// Whether there is such an Ick. If not, everything else is 0.
    pub exists: c_bool,
    /// Members that are flagged and not reserved.
    pub pset_size: u64,
    /// Members that are reserved and not committed.
    pub cset_size: u64,
    /// Both together; a member that is in both counts twice.
    pub total_size: u64,
    /// The lowest score in the producer set.
    pub pset_min: f64,
    /// The highest score in the producer set.
    pub pset_max: f64,
    /// The lowest score in the consumer set.
    pub cset_min: f64,
    /// The highest score in the consumer set.
    pub cset_max: f64,
    /// The lowest score in both sets.
    pub total_min: f64,
    /// The highest score in both sets.
    pub total_max: f64,
}

growing! {
    millpond_ick_stats = Self {
        size: size_of::<Self>(),
        exists: c_bool::FALSE,
        pset_size: 0,
        cset_size: 0,
        total_size: 0,
        pset_min: 0.0,
        pset_max: 0.0,
        cset_min: 0.0,
        cset_max: 0.0,
        total_min: 0.0,
        total_max: 0.0,
    };
}

/// One of the two sets of an Ick.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum millpond_ick_set {
    /// Members that are flagged and not reserved.
    MILLPOND_ICK_PRODUCER = 1,
    /// Members that are reserved and not committed.
    MILLPOND_ICK_CONSUMER = 2,
}

impl Caller {
    /// The Ick of a call.
    pub(crate) fn ick(
        &self,
        client: *const millpond_client,
        name: *const c_char,
        name_length: usize,
    ) -> Result<Ick> {
        let client = self.held::<Client>("client", client)?;
        Ok(client.ick(self.name(name, name_length)?))
    }

    /// The pairs of an add.
    pub(crate) fn pairs(
        &self,
        pairs: *const millpond_ick_pair,
        count: usize,
    ) -> Result<impl Iterator<Item = (Option<f64>, &[u8])>> {
        let pairs = self.array(|| "pairs".to_owned(), pairs, count)?;
        for (index, pair) in pairs.iter().enumerate() {
            self.bytes(|| format!("pairs[{index}].member"), pair.member, pair.member_length)?;
        }
        Ok(pairs.iter().map(|pair| {
            let score = (!pair.score_is_now.is_true()).then_some(pair.score);
            (score, self.checked(pair.member, pair.member_length))
        }))
    }
}

impl From<Added> for millpond_ick_added {
    fn from(added: Added) -> Self {
        Self { new_members: added.new, lowered_members: added.lowered }
    }
}

impl From<Stats> for millpond_ick_stats {
    fn from(stats: Stats) -> Self {
        let (pset_min, pset_max) = stats.producer_range.unwrap_or_default();
        let (cset_min, cset_max) = stats.consumer_range.unwrap_or_default();
        let (total_min, total_max) = stats.total_range().unwrap_or_default();
        Self {
            size: size_of::<Self>(),
            exists: true.into(),
            pset_size: stats.producer_size,
            cset_size: stats.consumer_size,
            total_size: stats.total_size(),
            pset_min,
            pset_max,
            cset_min,
            cset_max,
            total_min,
            total_max,
        }
    }
}

/// Flags members as dirty: each keeps the lower of its old and its new score. No pairs at all make
/// the Ick if it is not there.
///
/// `added` may be NULL.
///
///     millpond_ick_pair pairs[] = {{"a.txt", 5, 1.0, false}, {"b.txt", 5, 0, true}};
///     status = millpond_ick_add(client, "files", 5, pairs, 2, NULL, &error);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a NaN, a member above 16 MiB or a name above 64 KiB,
/// before anything is sent; `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys
/// hold something else; those of the connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` the members may or may not be flagged; adding them
/// again is safe. Above 250,000 members it takes several steps, each atomic.
/// A call takes up to 1,000,000 members.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_add(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    pairs: *const millpond_ick_pair,
    count: usize,
    added: *mut millpond_ick_added,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let added = caller.optional_out(added, millpond_ick_added::default());
        let ick = caller.ick(client, name, name_length)?;
        added.set(ick.add(caller.pairs(pairs, count)?)?.into());
        Ok(())
    })
}

/// Moves the lowest members to the consumer set until that holds `max`, and returns its first
/// `max`, lowest first. What was reserved before and not committed is part of the batch. With
/// `backwash` it first folds the whole consumer set back into the producer set, so that the batch
/// holds the lowest scores of both.
///
/// `entries` is set to the batch, which may be empty and which the caller frees with
/// `millpond_ick_entries_free`, or on failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a `max` from 10^17 on; `MILLPOND_WRONG_TYPE` and
/// `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something else; those of the connection.
///
/// Delivery: at least once. A batch stays reserved until it is committed, whatever happens to its
/// consumer.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_reserve(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    max: u64,
    backwash: bool,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        let ick = caller.ick(client, name, name_length)?;
        let batch = match backwash {
            false => ick.reserve(max)?,
            true => ick.reserve_backwash(max)?,
        };
        entries.set(Entries::new(&batch));
        Ok(())
    })
}

/// Removes members that are done from the consumer set. A member that was added again meanwhile
/// stays dirty.
///
/// `committed` is set to how many were there; it may be NULL.
///
/// Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
/// else; those of the connection.
///
/// Delivery: after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` do not commit again, but
/// reserve: it returns what is left to do. Above 250,000 members it takes several steps, each
/// atomic. A call takes up to 1,000,000 members.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_commit(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    members: *const millpond_bytes,
    count: usize,
    committed: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let committed = caller.optional_out(committed, 0);
        let ick = caller.ick(client, name, name_length)?;
        committed.set(ick.commit(caller.byte_strings("members", members, count)?)?);
        Ok(())
    })
}

/// Commits one batch and reserves the next in one step: one round trip a batch. Arguments and
/// result are those of `millpond_ick_commit` and `millpond_ick_reserve`.
///
/// Errors: as both; also `MILLPOND_INVALID_ARGUMENT` for more than 250,000 members.
///
/// Delivery: as both; after `MILLPOND_CONNECTION_LOST` or `MILLPOND_TIMEOUT` continue with an
/// exchange that commits nothing.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_exchange(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    max: u64,
    members: *const millpond_bytes,
    count: usize,
    backwash: bool,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        let ick = caller.ick(client, name, name_length)?;
        let members = caller.byte_strings("members", members, count)?;
        let batch = match backwash {
            false => ick.exchange(max, members)?,
            true => ick.exchange_backwash(max, members)?,
        };
        entries.set(Entries::new(&batch));
        Ok(())
    })
}

/// Prepares the place for what `millpond_ick_stats_read` reads. Does nothing for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_stats_init(stats: *mut millpond_ick_stats, size: usize) {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.init(stats, size);
}

/// Reads the sizes and score ranges of both sets. An Ick that is not there is no error: see
/// `exists`.
///
///     millpond_ick_stats stats;
///     millpond_ick_stats_init(&stats, sizeof stats);
///     status = millpond_ick_stats_read(client, "files", 5, &stats, &error);
///
/// Errors: `MILLPOND_WRONG_TYPE` and `MILLPOND_INCOMPATIBLE_VERSION` if the keys hold something
/// else; those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_stats_read(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    stats: *mut millpond_ick_stats,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let size = caller.structure_size(|| "stats".to_owned(), stats)?;
        caller.init(stats, size);
        if let Some(found) = caller.ick(client, name, name_length)?.stats()? {
            caller.fill(stats, size, found.into());
        }
        Ok(())
    })
}

/// Reads up to `max` of the lowest members of one set and moves nothing. `set` is
/// `MILLPOND_ICK_PRODUCER` or `MILLPOND_ICK_CONSUMER`.
///
/// `entries` is set to what was found, which the caller frees with `millpond_ick_entries_free`, or on
/// failure to NULL.
///
/// Errors: as `millpond_ick_reserve`; `MILLPOND_INVALID_ARGUMENT` for another `set`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_peek(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    set: u32,
    max: u64,
    entries: *mut *mut millpond_ick_entries,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let entries = caller.new_handle("entries", entries)?;
        let ick = caller.ick(client, name, name_length)?;
        let set = [
            (millpond_ick_set::MILLPOND_ICK_PRODUCER, Set::Producer),
            (millpond_ick_set::MILLPOND_ICK_CONSUMER, Set::Consumer),
        ]
        .into_iter()
        .find_map(|(number, meant)| (number as u32 == set).then_some(meant))
        .ok_or_else(|| {
            invalid(format!(
                "set is {set}; it has to be MILLPOND_ICK_PRODUCER or MILLPOND_ICK_CONSUMER"
            ))
        })?;
        entries.set(Entries::new(&ick.peek(set, max)?));
        Ok(())
    })
}

/// Removes the Ick's three keys, whatever they hold, so it also removes a broken Ick. With
/// `unlink` Redis frees the memory in the background.
///
/// `removed` is set to how many keys there were; it may be NULL.
///
/// Errors: those of the connection.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_delete(
    client: *mut millpond_client,
    name: *const c_char,
    name_length: usize,
    unlink: bool,
    removed: *mut u64,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let removed = caller.optional_out(removed, 0);
        let ick = caller.ick(client, name, name_length)?;
        removed.set(match unlink {
            false => ick.delete()?,
            true => ick.unlink()?,
        });
        Ok(())
    })
}

/// The version flag of every Ick, `ick.v1`; lives forever.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_ick_version() -> *const c_char {
    const VERSION: &std::ffi::CStr = c"ick.v1";
    VERSION.as_ptr()
}

/// The KEYS of every script of an Ick but those of the lease, in order: the flag (which is the name
/// itself), the producer set, the consumer set. For connections of your own; makes no call. A step
/// that is fenced by a lease has that of `millpond_ick_lease_keys` as its fourth.
///
/// `keys` is set to the keys, which the caller frees with `millpond_keys_free`, or on failure to
/// NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name above 64 KiB.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_keys(
    name: *const c_char,
    name_length: usize,
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let keys = caller.new_handle("keys", keys)?;
        let name = Name::new(caller.name(name, name_length)?)?;
        keys.set(Keys::from_iter([name.flag_key(), name.producer_key(), name.consumer_key()]));
        Ok(())
    })
}

/// The KEYS of the scripts `ick.acquire`, `ick.renew` and `ick.release`, which is one: the lease.
/// The caller frees `keys` as in `millpond_ick_keys`.
///
/// Errors: as `millpond_ick_keys`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_lease_keys(
    name: *const c_char,
    name_length: usize,
    keys: *mut *mut millpond_keys,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let keys = caller.new_handle("keys", keys)?;
        let name = Name::new(caller.name(name, name_length)?)?;
        keys.set(Keys::from_iter([name.lease_key()]));
        Ok(())
    })
}
