//! Status codes. They are those of the core's kinds of errors, which a test proves.

/// How a call went: `MILLPOND_OK`, or what went wrong. The numbers are the same in every language
/// and are never used again for something else. `millpond_error_kind_at` has them as a table.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_status {
    /// The call did what it says.
    MILLPOND_OK = 0,
    /// An argument is wrong: its type, its value or its size. Nothing was sent.
    MILLPOND_INVALID_ARGUMENT = 1,
    /// The URL or an option of the client is wrong. Nothing was sent.
    MILLPOND_INVALID_URL = 2,
    /// This name cannot be used on a cluster: its keys would lie in different slots.
    MILLPOND_CROSS_SLOT = 3,
    /// A key of the queue holds data of another kind.
    MILLPOND_WRONG_TYPE = 4,
    /// The data was written by a version of the format that this version does not know.
    MILLPOND_INCOMPATIBLE_VERSION = 5,
    /// No connection could be made. Nothing was sent.
    MILLPOND_CONNECTION_FAILED = 6,
    /// The connection broke after the call was sent: it may or may not have been done.
    MILLPOND_CONNECTION_LOST = 7,
    /// No reply came in time: the call may or may not have been done.
    MILLPOND_TIMEOUT = 8,
    /// The server refused the user or the password.
    MILLPOND_AUTHENTICATION_FAILED = 9,
    /// The server's access rules forbid this user the call.
    MILLPOND_PERMISSION_DENIED = 10,
    /// The server is there but cannot do it now: loading, failing over, busy or read-only.
    MILLPOND_UNAVAILABLE = 11,
    /// The server has no memory left for writes.
    MILLPOND_OUT_OF_MEMORY = 12,
    /// The server returned an error that Millpond has no kind for.
    MILLPOND_SERVER = 13,
    /// The lease has expired or another client holds it: nothing was done.
    MILLPOND_LEASE_LOST = 14,
    /// Another process holds this directory; processes share queues over `redis:`.
    MILLPOND_LOCKED = 15,
    /// Stored data is damaged, or lacks what was on disk, in a way that no crash explains; `?repair`
    /// opens what lies before the damage.
    MILLPOND_CORRUPT = 16,
    /// The disk refused a write; what was not acknowledged may be lost.
    MILLPOND_STORAGE = 17,
    /// The embedded engine was opened before a fork; a child process has to open its own.
    MILLPOND_FORKED = 18,
    /// The client was closed.
    MILLPOND_CLOSED = 19,
    /// The caller cancelled.
    MILLPOND_CANCELLED = 20,
    /// A bug in Millpond.
    MILLPOND_INTERNAL = 21,
    /// A task or a document is not as a modification says: nothing was done.
    /// `millpond_error_dependency` lists all that is not.
    MILLPOND_DEPENDENCY = 22,
}

pub use millpond_status::*;

/// Every status but `MILLPOND_OK`, in the order of the core's kinds.
const ALL: [millpond_status; 22] = [
    MILLPOND_INVALID_ARGUMENT,
    MILLPOND_INVALID_URL,
    MILLPOND_CROSS_SLOT,
    MILLPOND_WRONG_TYPE,
    MILLPOND_INCOMPATIBLE_VERSION,
    MILLPOND_CONNECTION_FAILED,
    MILLPOND_CONNECTION_LOST,
    MILLPOND_TIMEOUT,
    MILLPOND_AUTHENTICATION_FAILED,
    MILLPOND_PERMISSION_DENIED,
    MILLPOND_UNAVAILABLE,
    MILLPOND_OUT_OF_MEMORY,
    MILLPOND_SERVER,
    MILLPOND_LEASE_LOST,
    MILLPOND_LOCKED,
    MILLPOND_CORRUPT,
    MILLPOND_STORAGE,
    MILLPOND_FORKED,
    MILLPOND_CLOSED,
    MILLPOND_CANCELLED,
    MILLPOND_INTERNAL,
    MILLPOND_DEPENDENCY,
];

/// Whether to do the same again.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum millpond_retry {
    /// The same call fails again; something has to change first.
    MILLPOND_RETRY_NEVER = 0,
    /// Nothing was done; the same call can succeed later.
    MILLPOND_RETRY_LATER = 1,
    /// The call may have been done: check before you repeat it.
    MILLPOND_RETRY_UNKNOWN = 2,
}

pub use millpond_retry::*;

impl From<millpond::ErrorKind> for millpond_status {
    fn from(kind: millpond::ErrorKind) -> Self {
        // A kind without a status would be a bug that the test below finds first.
        let found = ALL.into_iter().find(|status| *status as u32 == kind.code());
        found.unwrap_or(MILLPOND_INTERNAL)
    }
}

impl From<millpond::Retry> for millpond_retry {
    fn from(retry: millpond::Retry) -> Self {
        match retry {
            millpond::Retry::Never => MILLPOND_RETRY_NEVER,
            millpond::Retry::Later => MILLPOND_RETRY_LATER,
            millpond::Retry::Unknown => MILLPOND_RETRY_UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use millpond::ErrorKind;

    use super::*;

    #[test]
    fn are_the_kinds_of_the_core() {
        let ours = ALL.map(|status| (status as u32, format!("{status:?}")));
        let theirs: Vec<_> = ErrorKind::ALL
            .iter()
            .map(|kind| (kind.code(), format!("MILLPOND_{}", kind.name())))
            .collect();
        assert_eq!(ours.to_vec(), theirs);
        for kind in ErrorKind::ALL {
            assert_eq!(millpond_status::from(*kind) as u32, kind.code());
        }
    }
}
