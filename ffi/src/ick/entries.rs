//! Entries: members and their scores, as a call returns them.

use std::ffi::c_char;

use millpond::ick::{Batch, Entry};

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
    pub(crate) list: Box<[millpond_ick_entry]>,
    pub(crate) bytes: Box<[u8]>,
}

// SAFETY: the pointers in the list point into `bytes`, which is never changed or moved.
unsafe impl Send for Entries {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Entries {}

impl From<Batch> for Entries {
    fn from(batch: Batch) -> Self {
        batch.into_iter().collect::<Vec<_>>().into()
    }
}

impl From<Vec<Entry>> for Entries {
    fn from(entries: Vec<Entry>) -> Self {
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
        Self { list: list.collect(), bytes: members }
    }
}
