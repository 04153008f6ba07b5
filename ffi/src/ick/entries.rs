//! Entries: members and their scores, as a call returns them.

use std::ffi::c_char;
use std::ptr;

use millpond::ick::Entry;

use crate::caller::{self, Caller, at};
use crate::handle::Held;

/// A list of members with their scores, such as the result of a reserve. The caller frees it with
/// `millpond_ick_entries_free`. Any thread may read it.
pub struct millpond_ick_entries {
    _private: (),
}

/// A member and its score.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_ick_entry {
    /// The member's bytes; not NUL-terminated. Never NULL.
    pub member: *const c_char,
    /// How many bytes it has.
    pub member_length: usize,
    /// Its score.
    pub score: f64,
}

/// What a handle of entries refers to: the members without gaps, and where each is.
pub(crate) struct Entries {
    list: Box<[millpond_ick_entry]>,
    members: Box<[u8]>,
}

// SAFETY: the pointers in the list point into `members`, which nobody changes or moves.
unsafe impl Send for Entries {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Entries {}

impl Entries {
    pub(crate) fn new(entries: &[Entry]) -> Self {
        let bytes = entries.iter().map(|entry| entry.member.len()).sum();
        let mut members = Vec::with_capacity(bytes);
        entries.iter().for_each(|entry| members.extend_from_slice(&entry.member));
        let members = members.into_boxed_slice();
        let mut rest = &*members;
        let list = entries.iter().map(|entry| {
            let (member, after) = rest.split_at(entry.member.len());
            rest = after;
            millpond_ick_entry {
                member: member.as_ptr().cast(),
                member_length: member.len(),
                score: entry.score,
            }
        });
        Self { list: list.collect(), members }
    }
}

fn read<T: Copy>(
    entries: *const millpond_ick_entries,
    empty: T,
    part: impl FnOnce(Held<Entries>) -> T,
) -> T {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(empty, || caller.held("entries", entries).map_or(empty, part))
}

/// The entry with this number, from 0, lowest score first. Valid until the entries are freed. NULL
/// past the end, for NULL and for a handle that was freed or is none.
///
///     const millpond_ick_entry *entry;
///     for (size_t i = 0; (entry = millpond_ick_entries_at(entries, i)) != NULL; i++)
///         index_document(entry->member, entry->member_length);
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_at(
    entries: *const millpond_ick_entries,
    index: usize,
) -> *const millpond_ick_entry {
    read(entries, ptr::null(), |entries| at(&entries.list, index))
}

/// The first of the entries, `millpond_ick_entries_length` of which lie one after the other,
/// `millpond_ick_entries_stride` bytes apart. Valid as long as they are. NULL for NULL and for a
/// handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_data(
    entries: *const millpond_ick_entries,
) -> *const millpond_ick_entry {
    read(entries, ptr::null(), |entries| entries.list.as_ptr())
}

/// How many entries there are; 0 where `millpond_ick_entries_data` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_length(
    entries: *const millpond_ick_entries,
) -> usize {
    read(entries, 0, |entries| entries.list.len())
}

/// How many bytes lie between the beginnings of an entry and of the next. Always the same in one
/// library, and not always the size that an entry has in the program: it can get fields.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_ick_entries_stride() -> usize {
    size_of::<millpond_ick_entry>()
}

/// The bytes of all members, one after the other without gaps, in the order of the entries: for
/// interpreters, which copy them in one go. Valid until the entries are freed. NULL as in
/// `millpond_ick_entries_data`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_bytes(
    entries: *const millpond_ick_entries,
) -> *const c_char {
    read(entries, ptr::null(), |entries| entries.members.as_ptr().cast())
}

/// How many bytes all members have together.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_bytes_length(
    entries: *const millpond_ick_entries,
) -> usize {
    read(entries, 0, |entries| entries.members.len())
}

/// Frees entries. NULL and entries that were freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_ick_entries_free(entries: *mut millpond_ick_entries) {
    caller::free::<Entries>(entries);
}
