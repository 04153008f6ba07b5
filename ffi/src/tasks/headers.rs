//! Headers of tasks, which are a single byte string in C.

use std::ffi::c_char;
use std::slice;

use crate::keys::millpond_bytes;

/// The length of headers of which one did not fit.
pub(crate) const OVERFLOW: usize = usize::MAX;

/// Takes the first header off the headers of a task, which are in one piece: `name` and `value` are set to point into
/// that piece, and `headers` to what is left. Returns whether there was a header; it returns false after the last
/// header, and for one that is truncated.
///
///     millpond_bytes headers = task->headers, name, value;
///     while (millpond_headers_next(&headers, &name, &value)) {
///         printf("%.*s: %zu bytes\n", (int)name.length, name.data, value.length);
///     }
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_headers_next(
    headers: *mut millpond_bytes,
    name: *mut millpond_bytes,
    value: *mut millpond_bytes,
) -> bool {
    if headers.is_null() || name.is_null() || value.is_null() {
        return false;
    }
    // SAFETY: the header says that it points to bytes.
    let piece = unsafe { headers.read() };
    if piece.data.is_null() || piece.length == OVERFLOW {
        return false;
    }
    // SAFETY: as above.
    let piece = unsafe { slice::from_raw_parts(piece.data.cast::<u8>(), piece.length) };
    let Some((first, rest)) = cut(piece) else { return false };
    let Some((second, rest)) = cut(rest) else { return false };
    // SAFETY: none of them is NULL.
    unsafe {
        name.write(millpond_bytes::of(first));
        value.write(millpond_bytes::of(second));
        headers.write(millpond_bytes::of(rest));
    }
    true
}

/// Adds a header to headers in one piece, as `millpond_new_task` and `millpond_task_change` take them: to the `length`
/// bytes at `headers`, where there is room for `size`. Returns the new number of bytes. The order of headers does not
/// matter.
///
/// If there is no room for the header, or its name or value has more than 65,535 bytes, it writes nothing and returns
/// `SIZE_MAX`. So does every later call with that length, and a task or event with headers of that length is refused
/// with `MILLPOND_INVALID_ARGUMENT`: no header is lost unnoticed.
///
///     char headers[256];
///     size_t length = 0;
///     length = millpond_headers_add(headers, length, sizeof headers, "tenant", 6, "7", 1);
///     length = millpond_headers_add(headers, length, sizeof headers, "trace", 5, "4bf92f", 6);
///     task.headers = (millpond_bytes){headers, length};
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_headers_add(
    headers: *mut c_char,
    length: usize,
    size: usize,
    name: *const c_char,
    name_length: usize,
    value: *const c_char,
    value_length: usize,
) -> usize {
    let (Ok(first), Ok(second)) = (u16::try_from(name_length), u16::try_from(value_length)) else {
        return OVERFLOW;
    };
    let more = 4 + name_length + value_length;
    let is_missing = name.is_null() && first > 0 || value.is_null() && second > 0;
    if headers.is_null() || is_missing || size.saturating_sub(length) < more {
        return OVERFLOW;
    }
    let mut at = length;
    for (text, own) in [(name, first), (value, second)] {
        // SAFETY: the header says that there is room for `size` bytes, and how many are at `text`.
        unsafe {
            let to = headers.cast::<u8>().add(at);
            to.copy_from_nonoverlapping(own.to_be_bytes().as_ptr(), 2);
            to.add(2).copy_from_nonoverlapping(text.cast(), own.into());
        }
        at += 2 + usize::from(own);
    }
    at
}

/// The first part of a piece, behind its length, and what is behind it.
fn cut(piece: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = piece.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}
