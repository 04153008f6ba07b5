//! Scripts, for connections that the program owns.

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use millpond::{Error, ErrorKind, Result, step::Reply};
use once_cell::race::OnceBox;

use crate::caller::{Caller, invalid};
use crate::error::millpond_error;
use crate::status::millpond_status;

/// The Lua script of a step, for a Redis connection of your own: send
/// `EVALSHA sha1 <number of keys> keys ... arguments ...`, and on a `NOSCRIPT` error send `EVAL source` with the same.
/// An `AGAIN` error means that nothing was done yet: send the same again immediately. The comment at the end of the
/// source describes the arguments and the result. Everything in it lives forever.
///
/// Such a connection must not resend a call automatically after a dropped connection, as some
/// client libraries do: an exchange that runs twice can lose a member. Disable that.
#[repr(C)]
pub struct millpond_script {
    /// The step, such as `ick.add`; NUL-terminated.
    pub name: *const c_char,
    /// The source; NUL-terminated.
    pub source: *const c_char,
    /// How many bytes the source has, without the NUL.
    pub source_length: usize,
    /// The SHA1 of the source, in 40 hexadecimal digits; NUL-terminated.
    pub sha1: *const c_char,
}

/// A script, and what it points to.
struct Text {
    script: millpond_script,
    name: CString,
    _source: CString,
    _sha1: CString,
}

// SAFETY: the pointers in the script point into the other three, which are never changed or moved.
unsafe impl Send for Text {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Text {}

impl Text {
    fn new(name: &str, source: &str, sha1: &str) -> Result<Self> {
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| Error::new(ErrorKind::Internal, "a script has a NUL"))
        };
        let (name, source, sha1) = (c_string(name)?, c_string(source)?, c_string(sha1)?);
        let script = millpond_script {
            name: name.as_ptr(),
            source: source.as_ptr(),
            source_length: source.count_bytes(),
            sha1: sha1.as_ptr(),
        };
        Ok(Self { script, name, _source: source, _sha1: sha1 })
    }
}

/// The scripts of all queues.
fn all() -> Result<&'static [Text]> {
    static ALL: OnceBox<Vec<Text>> = OnceBox::new();
    let all = ALL.get_or_try_init(|| {
        let scripts = millpond::kinds().iter().flat_map(millpond::Kind::scripts);
        let texts = scripts.map(|(name, script)| Text::new(name, script.source(), script.sha1()));
        texts.collect::<Result<_>>().map(Box::new)
    })?;
    Ok(all)
}

/// Finds the script of a step by its name, such as `ick.add`. Sends nothing.
///
/// `script` is set to the script, which lives forever, or on failure to NULL.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a name that no step has.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_script_find(
    name: *const c_char,
    script: *mut *const millpond_script,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let script = caller.out("script", script, ptr::null())?;
        if name.is_null() {
            return Err(invalid("name is NULL"));
        }
        // SAFETY: it is not null, and the header says that it has to be NUL-terminated.
        let name = unsafe { CStr::from_ptr(name) };
        let found = all()?.iter().find(|text| *text.name == *name);
        let found = found.ok_or_else(|| {
            invalid(format!("name is {name:?}, which no script has; there are ick.add and others"))
        })?;
        script.set(&raw const found.script);
        Ok(())
    })
}

/// How many scripts there are.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn millpond_script_count() -> usize {
    // SAFETY: there are no pointers.
    let caller = unsafe { Caller::trusted() };
    caller.run_or(0, || all().map_or(0, <[Text]>::len))
}

/// The script with this number, from 0, to load all scripts in advance. `script` is set as by `millpond_script_find`.
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for an index that is not below `millpond_script_count`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_script_at(
    index: usize,
    script: *mut *const millpond_script,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let script = caller.out("script", script, ptr::null())?;
        let found =
            all()?.get(index).ok_or_else(|| invalid(format!("there is no script {index}")))?;
        script.set(&raw const found.script);
        Ok(())
    })
}

/// Translates an error that a server returned for a script on your own connection:
/// `reply` is its text, such as `WRONGTYPE the key ...`, without the `-` of the protocol.
///
/// Errors: the error that Millpond's own call would have returned; so this always fails.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_script_error(
    reply: *const c_char,
    reply_length: usize,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let reply = caller.bytes(|| "reply".to_owned(), reply, reply_length)?;
        Reply::Error(String::from_utf8_lossy(reply).into_owned()).ok().map(drop)
    })
}
