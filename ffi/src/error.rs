//! The error object, and the table of all kinds of errors.

use std::error::Error as _;
use std::ffi::{CString, c_char};
use std::ptr;

use millpond::{Error, ErrorKind};
use once_cell::race::OnceBox;

use crate::caller::{self, Caller};
use crate::handle::Held;
use crate::status::*;
use crate::tasks::generated::Refusal;

/// What went wrong in one call: a status, one line for people, and whether a retry can help. A
/// function that fails makes an error object if its last argument says where to put it; the caller
/// frees it with `millpond_error_free`. Any thread may read it.
pub struct millpond_error {
    _private: (),
}

/// One row of the table of errors, the same in every language.
#[repr(C)]
pub struct millpond_error_kind {
    /// The number.
    pub code: millpond_status,
    /// The name, such as `CONNECTION_LOST`; lives forever.
    pub name: *const c_char,
    /// Whether a retry can help.
    pub retry: millpond_retry,
}

/// What a handle of an error refers to.
pub(crate) struct Failure {
    kind: ErrorKind,
    operation: CString,
    message: CString,
    cause: Option<CString>,
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Failure {
    pub(crate) fn new(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            operation: c_string(error.operation()),
            message: c_string(&error.to_string()),
            cause: error.source().map(|cause| c_string(&cause.to_string())),
            refusal: error.dependency().map(Refusal::new),
        }
    }
}

/// The text for C. A NUL in it, for example in a key's name, would hide the rest.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).expect("no NUL is left")
}

/// Reads a part of an error; `none` is the result for NULL, `wrong` the result for a handle that is
/// not an error.
fn read<T: Copy>(
    error: *const millpond_error,
    none: T,
    wrong: T,
    part: impl FnOnce(Held<Failure>) -> T,
) -> T {
    if error.is_null() {
        return none;
    }
    // SAFETY: no pointer is read, only the handle.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(wrong, || caller.held("error", error).map_or(wrong, part))
}

/// The status of the error, which is also what the failed function returned. `MILLPOND_OK` for
/// NULL; `MILLPOND_INVALID_ARGUMENT` for a freed or invalid handle.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_code(error: *const millpond_error) -> millpond_status {
    read(error, MILLPOND_OK, MILLPOND_INVALID_ARGUMENT, |failure| failure.kind.into())
}

/// One line for people, in UTF-8: what was being done, and what is wrong. Holds no password and
/// no payload. Never NULL; lives until the error is freed. Empty for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_message(error: *const millpond_error) -> *const c_char {
    let wrong = c"error is no handle of an error, or was freed".as_ptr();
    read(error, c"".as_ptr(), wrong, |failure| failure.message.as_ptr())
}

/// The operation that failed, such as `ick.add`; empty if there was none. Never NULL; lives until
/// the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_operation(error: *const millpond_error) -> *const c_char {
    read(error, c"".as_ptr(), c"".as_ptr(), |failure| failure.operation.as_ptr())
}

/// The message of the underlying error from another library, such as the operating system's
/// "connection refused"; NULL if there is none. Lives until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_cause(error: *const millpond_error) -> *const c_char {
    read(error, ptr::null(), ptr::null(), |failure| {
        failure.cause.as_ref().map_or(ptr::null(), |cause| cause.as_ptr())
    })
}

/// Whether a retry can help. `MILLPOND_RETRY_NEVER` for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_retry(error: *const millpond_error) -> millpond_retry {
    read(error, MILLPOND_RETRY_NEVER, MILLPOND_RETRY_NEVER, |failure| failure.kind.retry().into())
}

/// Frees an error. NULL and an error that was freed before are fine.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_free(error: *mut millpond_error) {
    caller::free(error);
}

/// How many kinds of errors there are.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_error_kind_count() -> usize {
    ErrorKind::ALL.len()
}

/// One row of the table of errors, for a binding that checks that it has a class for each kind;
/// lives forever. NULL for an index that is not below `millpond_error_kind_count`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_error_kind_at(index: usize) -> *const millpond_error_kind {
    kinds().get(index).map_or(ptr::null(), |kind| &raw const kind.row)
}

/// The name of a status, such as `CONNECTION_LOST`: `millpond_status` without the prefix. Never
/// NULL; lives forever. `OK` for `MILLPOND_OK`, and `UNKNOWN` for an unknown number.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_status_name(status: u32) -> *const c_char {
    if status == MILLPOND_OK as u32 {
        return c"OK".as_ptr();
    }
    let kind = kinds().iter().find(|kind| kind.row.code as u32 == status);
    kind.map_or(c"UNKNOWN".as_ptr(), |kind| kind.row.name)
}

/// A row of the table of errors, and its name.
struct Row {
    row: millpond_error_kind,
    _name: CString,
}

// SAFETY: the pointer in the row points into `_name`, which is never changed or moved.
unsafe impl Send for Row {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Row {}

fn kinds() -> &'static [Row] {
    static KINDS: OnceBox<Vec<Row>> = OnceBox::new();
    let make = |kind: &ErrorKind| {
        let name = c_string(kind.name());
        let (code, retry) = ((*kind).into(), kind.retry().into());
        Row { row: millpond_error_kind { code, name: name.as_ptr(), retry }, _name: name }
    };
    KINDS.get_or_init(|| Box::new(ErrorKind::ALL.iter().map(make).collect()))
}
