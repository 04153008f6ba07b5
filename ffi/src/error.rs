//! The error object, and the table of all kinds of errors.

use std::error::Error as _;
use std::ffi::{CString, c_char};
use std::ptr;

use millpond::{Error, ErrorKind};
use once_cell::race::OnceBox;

use crate::caller::{self, Caller, invalid};
use crate::handle::Held;
use crate::status::*;
use crate::tasks::dependency::Refusal;

/// What went wrong in one call: a status, one line for people, and whether a retry can help. A
/// function that fails makes one if its last argument says where to put it; the caller frees it
/// with `millpond_error_free`. Any thread may read it.
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
    /// Whether to do the same again.
    pub retry: millpond_retry,
}

/// What a handle of an error refers to.
pub(crate) struct Failure {
    kind: ErrorKind,
    operation: CString,
    message: CString,
    cause: Option<CString>,
    refusal: Option<Box<Refusal>>,
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

    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_deref()
    }
}

/// The text as C has it. A NUL in it, of a key's name say, would hide the rest.
pub(crate) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).expect("no NUL is left")
}

/// The name of a kind as C has it.
fn c_name(kind: ErrorKind) -> *const c_char {
    static NAMES: OnceBox<Vec<(ErrorKind, CString)>> = OnceBox::new();
    let names = NAMES.get_or_init(|| {
        let named = |kind: &ErrorKind| (*kind, c_string(kind.name()));
        Box::new(ErrorKind::ALL.iter().map(named).collect())
    });
    let name = names.iter().find(|(named, _)| *named == kind);
    name.map_or(c"".as_ptr(), |(_, name)| name.as_ptr())
}

/// Reads a part of an error; `none` is that of NULL, `wrong` that of a handle that is not an
/// error.
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

/// The status of the error, the same that the failed function returned. `MILLPOND_OK` for NULL;
/// `MILLPOND_INVALID_ARGUMENT` for a handle that was freed or is none.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_code(error: *const millpond_error) -> millpond_status {
    read(error, MILLPOND_OK, MILLPOND_INVALID_ARGUMENT, |failure| failure.kind.into())
}

/// The name of the error, such as `CONNECTION_LOST`: `millpond_status` without the prefix. Never
/// NULL; lives forever. `OK` for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_name(error: *const millpond_error) -> *const c_char {
    let wrong = c_name(ErrorKind::InvalidArgument);
    read(error, c"OK".as_ptr(), wrong, |failure| c_name(failure.kind))
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

/// What another library said that caused the error, such as the operating system's "connection
/// refused"; NULL where there is none. Lives until the error is freed.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_cause(error: *const millpond_error) -> *const c_char {
    read(error, ptr::null(), ptr::null(), |failure| {
        failure.cause.as_ref().map_or(ptr::null(), |cause| cause.as_ptr())
    })
}

/// Whether doing the same again can help. `MILLPOND_RETRY_NEVER` for NULL.
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
    caller::free::<Failure>(error);
}

/// How many kinds of errors there are.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_error_kind_count() -> usize {
    ErrorKind::ALL.len()
}

/// One row of the table of errors, for a binding that proves that it has a class for each.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an index from `millpond_error_kind_count` on.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_error_kind_at(
    index: usize,
    kind: *mut millpond_error_kind,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.run(error, || {
        let nothing = millpond_error_kind {
            code: MILLPOND_OK,
            name: c"".as_ptr(),
            retry: MILLPOND_RETRY_NEVER,
        };
        let out = caller.out("kind", kind, nothing)?;
        let kind = *ErrorKind::ALL
            .get(index)
            .ok_or_else(|| invalid(format!("there is no kind of error {index}")))?;
        out.set(millpond_error_kind {
            code: kind.into(),
            name: c_name(kind),
            retry: kind.retry().into(),
        });
        Ok(())
    })
}
