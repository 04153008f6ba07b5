//! Byte strings: as arguments, and keys as a call returns them.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use millpond::Result;

use crate::caller::{Caller, invalid};
use crate::options::Element;

/// A string of bytes: any bytes, NUL among them. Its layout is fixed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_bytes {
    /// The bytes; may be NULL if there are none.
    pub data: *const c_char,
    /// How many there are.
    pub length: usize,
}

impl Element for millpond_bytes {
    type Core<'c> = &'c [u8];

    fn read<'c>(&self, caller: &'c Caller, of: impl Fn(&str) -> String) -> Result<&'c [u8]> {
        caller.bytes(|| of("data"), self.data, self.length)
    }
}

impl millpond_bytes {
    pub(crate) const NONE: Self = Self { data: ptr::null(), length: 0 };

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), length: bytes.len() }
    }
}

/// A text, not copied; NULL for none.
pub(crate) fn own(text: Option<&[u8]>) -> millpond_bytes {
    text.map_or(millpond_bytes::NONE, millpond_bytes::of)
}

/// Bytes as a record of the core has them.
pub(crate) fn bytes<T: Owned>(
    caller: &Caller,
    argument: String,
    given: millpond_bytes,
) -> Result<T> {
    T::of(caller.given_bytes(|| argument.clone(), given)?, &argument)
}

/// Bytes that a record owns: any number of them, or a fixed one.
pub(crate) trait Owned: Sized {
    fn of(bytes: &[u8], argument: &str) -> Result<Self>;
}

impl Owned for Vec<u8> {
    fn of(bytes: &[u8], _: &str) -> Result<Self> {
        Ok(bytes.to_vec())
    }
}

impl<const N: usize> Owned for [u8; N] {
    fn of(bytes: &[u8], argument: &str) -> Result<Self> {
        let wrong = || invalid(format!("{argument} has {} bytes; it has to have {N}", bytes.len()));
        bytes.try_into().map_err(|_| wrong())
    }
}

/// What a handle of keys refers to.
pub(crate) struct Keys {
    pub(crate) list: Vec<millpond_bytes>,
    /// What the list points to.
    _keys: Vec<Box<[u8]>>,
}

// SAFETY: the pointers in the list point into `_keys`, which is never changed or moved.
unsafe impl Send for Keys {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Keys {}

impl<K: AsRef<[u8]>> FromIterator<K> for Keys {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let keys: Vec<Box<[u8]>> = keys.into_iter().map(|key| key.as_ref().into()).collect();
        Self { list: keys.iter().map(|key| millpond_bytes::of(key)).collect(), _keys: keys }
    }
}

impl From<Vec<Vec<u8>>> for Keys {
    fn from(keys: Vec<Vec<u8>>) -> Self {
        keys.into_iter().collect()
    }
}

impl From<Vec<Arc<[u8]>>> for Keys {
    fn from(keys: Vec<Arc<[u8]>>) -> Self {
        keys.into_iter().collect()
    }
}

impl From<Vec<u8>> for Keys {
    fn from(key: Vec<u8>) -> Self {
        Self::from_iter([key])
    }
}
