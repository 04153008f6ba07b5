//! What opening a durable engine found.

use std::ffi::{CString, c_char};
use std::ptr;

use millpond::Recovery;

use crate::caller::Caller;
use crate::client::millpond_client;
use crate::error::{c_string, millpond_error};
use crate::lists::millpond_recovery;
use crate::status::millpond_status;

/// The data of a recovery; see `millpond_recovery_data`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct millpond_recovered {
    /// Records that were read from the snapshot and the log.
    pub records: u64,
    /// Bytes at the end of the log that did not form a whole record and were cut off. Zeros are not
    /// counted, since the file grows ahead of what is written.
    pub torn_bytes: u64,
    /// Size of the snapshot in bytes; 0 without one.
    pub snapshot_bytes: u64,
    /// Size in bytes of the log after the snapshot.
    pub log_bytes: u64,
    /// Whether the last process closed the engine, or there was no earlier process. After a crash
    /// or a kill it is false, which alone is no reason to worry.
    pub closed: bool,
    /// Why acknowledged steps may have been lost, in one sentence: bytes were cut off, or damage
    /// was repaired. NULL if there is no sign of it.
    pub suspicion: *const c_char,
    /// Everything that an operator should know, one sentence each: the suspicion, and that other
    /// users can enter the directory. One line for each warning. NULL if there are none.
    pub warnings: *const c_char,
}

/// What a handle of a recovery refers to.
pub(crate) struct Recovered {
    pub(crate) data: millpond_recovered,
    _texts: [Option<CString>; 2],
}

// SAFETY: the pointers point into `_texts`, which is never changed or moved.
unsafe impl Send for Recovered {}
// SAFETY: as above; nothing changes through a reference.
unsafe impl Sync for Recovered {}

impl Recovered {
    fn new(found: &Recovery) -> Self {
        let suspicion = found.suspicion.as_deref().map(c_string);
        let lines = Some(&found.warnings).filter(|warnings| !warnings.is_empty());
        let warnings = lines.map(|warnings| c_string(&warnings.join("\n")));
        let pointer =
            |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        Self {
            data: millpond_recovered {
                records: found.records,
                torn_bytes: found.torn_bytes,
                snapshot_bytes: found.snapshot_bytes,
                log_bytes: found.log_bytes,
                closed: found.closed,
                suspicion: pointer(&suspicion),
                warnings: pointer(&warnings),
            },
            _texts: [suspicion, warnings],
        }
    }
}

/// Reads what opening the engine of a `file:` found. Clients of one process that share a directory
/// get the same result. The documentation of the Rust method `Client::recovery` lists what is not
/// detected.
///
/// `recovery` is set to the recovery, which the caller frees with `millpond_recovery_free`; to NULL on failure and for
/// a client of another kind of URL.
///
///     millpond_recovery *recovery;
///     if (millpond_recovery_read(client, &recovery, &error) == MILLPOND_OK && recovery) {
///         const millpond_recovered *found = millpond_recovery_data(recovery);
///         printf("%llu records\n", (unsigned long long)found->records);
///         if (found->suspicion)
///             alert_operator(found->suspicion);
///     }
///     millpond_recovery_free(recovery);
///
/// Errors: `MILLPOND_INVALID_ARGUMENT` for a handle that is not a client.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millpond_recovery_read(
    client: *mut millpond_client,
    recovery: *mut *mut millpond_recovery,
    error: *mut *mut millpond_error,
) -> millpond_status {
    // SAFETY: the header says what the pointers have to be.
    let caller = unsafe { Caller::trusted() };
    caller.local(error, || {
        let recovery = caller.new_handle("recovery", recovery)?;
        if let Some(found) = caller.held("client", client)?.recovery() {
            recovery.set(Recovered::new(&found));
        }
        Ok(())
    })
}
