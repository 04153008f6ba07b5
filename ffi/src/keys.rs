//! Byte strings: as arguments, and keys as a call returns them.

use std::ffi::c_char;
use std::ptr;

use crate::caller::{self, Caller};
use crate::handle::Held;

/// A string of bytes: any bytes, NUL among them. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_bytes {
    /// The bytes; may be NULL if there are none.
    pub data: *const c_char,
    /// How many there are.
    pub length: usize,
}

impl millpond_bytes {
    pub(crate) const NONE: Self = Self { data: ptr::null(), length: 0 };

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }
}

/// A text where it is; NULL for none.
pub(crate) fn own(text: Option<&str>) -> millpond_bytes {
    text.map_or(millpond_bytes::NONE, |text| millpond_bytes::of(text.as_bytes()))
}

/// A list of byte strings, such as the keys of a queue. The caller frees it with
/// `millpond_keys_free`. Any thread may read it.
pub struct millpond_keys {
    _private: (),
}

/// What a handle of keys refers to.
pub(crate) struct Keys {
    list: Vec<millpond_bytes>,
    /// What the list points to.
    _keys: Vec<Box<[u8]>>,
}

// SAFETY: the pointers in the list point into `_keys`, which nobody changes or moves.
unsafe impl Send for Keys {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Keys {}

impl<K: AsRef<[u8]>> FromIterator<K> for Keys {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let keys: Vec<Box<[u8]>> = keys.into_iter().map(|key| key.as_ref().into()).collect();
        Self { list: keys.iter().map(|key| millpond_bytes::of(key)).collect(), _keys: keys }
    }
}

fn read<T: Copy>(keys: *const millpond_keys, empty: T, part: impl FnOnce(Held<Keys>) -> T) -> T {
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(empty, || caller.held("keys", keys).map_or(empty, part))
}

/// The keys as an array of `millpond_keys_length`. Lives until the keys are freed. NULL for NULL
/// and for a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_keys_data(keys: *const millpond_keys) -> *const millpond_bytes {
    read(keys, ptr::null(), |keys| keys.list.as_ptr())
}

/// How many keys there are; 0 where `millpond_keys_data` is NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_keys_length(keys: *const millpond_keys) -> usize {
    read(keys, 0, |keys| keys.list.len())
}

/// Frees keys. NULL and keys that were freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_keys_free(keys: *mut millpond_keys) {
    caller::free::<Keys>(keys);
}
