//! Errors, with codes that are the same in every language.
//!
//! An [`Error`] has a [`kind`](Error::kind), which carries the stable code and says whether a retry can help; the
//! operation that failed; a one-line message for people; and, if another library failed underneath, that library's
//! error as its [`source`](std::error::Error::source). A message never contains a password or a payload.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// A result whose error is a Millpond [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whether a retry can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same call would fail again; something has to change first.
    Never,
    /// Nothing was done; the same call can succeed later.
    Later,
    /// The call may have been done: check before you repeat it.
    Unknown,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal, $name:literal, $retry:ident;)*) => {
        /// The kind of an error. Codes and names are never reused for another kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum ErrorKind {
            $($(#[$doc])* $kind = $code,)*
        }

        impl ErrorKind {
            /// Every kind, so that a binding can check that it has a class for each.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The stable name, the same in every language.
            pub fn name(self) -> &'static str {
                match self { $(ErrorKind::$kind => $name,)* }
            }

            /// Whether a retry can help.
            pub fn retry(self) -> Retry {
                match self { $(ErrorKind::$kind => Retry::$retry,)* }
            }
        }
    };
}

kinds! {
    /// An argument is wrong: its type, its value or its size. Nothing was sent.
    InvalidArgument = 1, "INVALID_ARGUMENT", Never;
    /// The URL or an option of the client is wrong. Nothing was sent.
    InvalidUrl = 2, "INVALID_URL", Never;
    /// This name cannot be used on a cluster: its keys would lie in different slots.
    CrossSlot = 3, "CROSS_SLOT", Never;
    /// A key of the queue holds data of another kind.
    WrongType = 4, "WRONG_TYPE", Never;
    /// The data was written in a version of the format that this version of Millpond does not know.
    IncompatibleVersion = 5, "INCOMPATIBLE_VERSION", Never;
    /// No connection could be made. Nothing was sent.
    ConnectionFailed = 6, "CONNECTION_FAILED", Later;
    /// The connection broke after the call was sent; the call may or may not have been done.
    ConnectionLost = 7, "CONNECTION_LOST", Unknown;
    /// No reply arrived in time: the call may or may not have been done.
    Timeout = 8, "TIMEOUT", Unknown;
    /// The server refused the user or the password.
    AuthenticationFailed = 9, "AUTHENTICATION_FAILED", Never;
    /// The server's access rules do not allow this user to make the call.
    PermissionDenied = 10, "PERMISSION_DENIED", Never;
    /// The server is reachable but cannot serve the call now: loading, failing over, busy or read-only.
    Unavailable = 11, "UNAVAILABLE", Later;
    /// The server has no memory left for writes.
    OutOfMemory = 12, "OUT_OF_MEMORY", Later;
    /// The server returned an error that Millpond has no kind for.
    Server = 13, "SERVER", Never;
    /// The lease has expired, or another client holds it: nothing was done.
    LeaseLost = 14, "LEASE_LOST", Never;
    /// Another process holds this directory; processes share queues over `redis:`.
    Locked = 15, "LOCKED", Later;
    /// Stored data is damaged, or parts of it are missing from disk, in a way that no crash explains; `?repair` opens
    /// the data before the damage.
    Corrupt = 16, "CORRUPT", Never;
    /// The disk returned an error: calls that were not acknowledged may or may not have been done, and their effects
    /// may reappear when the directory is opened again.
    Storage = 17, "STORAGE", Unknown;
    /// The embedded engine was opened before a fork; a child process must open its own.
    Forked = 18, "FORKED", Never;
    /// The client was closed.
    Closed = 19, "CLOSED", Never;
    /// The caller cancelled the call.
    Cancelled = 20, "CANCELLED", Unknown;
    /// A bug in Millpond.
    Internal = 21, "INTERNAL", Unknown;
    /// A task or a document is not in the state that a modification requires: nothing was done.
    Dependency = 22, "DEPENDENCY", Never;
    /// The queue is at its limit: nothing was added.
    QueueFull = 23, "QUEUE_FULL", Later;
    /// Something with this id already exists: nothing was done.
    AlreadyExists = 24, "ALREADY_EXISTS", Never;
    /// A worker put a job aside, into the error queue or the dead letters: it was rejected, tried too often, or crashed
    /// its workers. Only reported, never returned by a call.
    DeadLetter = 25, "DEAD_LETTER", Never;
}

impl ErrorKind {
    /// The stable number, the same in every language.
    pub fn code(self) -> u32 {
        self as u32
    }

    /// The kind with this code.
    ///
    /// ```
    /// use millpond::ErrorKind;
    /// assert_eq!(ErrorKind::from_code(7), Some(ErrorKind::ConnectionLost));
    /// assert_eq!(ErrorKind::from_code(0), None);
    /// ```
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }
}

/// What went wrong: a kind with a stable code, and one line for people.
///
/// ```
/// use millpond::{ErrorKind, Retry};
///
/// let client = millpond::connect("memory:")?;
/// let error = client.ick("files").add([(f64::NAN, "a.txt")]).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
/// assert_eq!(error.retry(), Retry::Never);
/// assert_eq!(error.to_string(), "ick.add: score 0 is NaN; a score can be any number but NaN");
/// # Ok::<(), millpond::Error>(())
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    operation: &'static str,
    message: String,
    details: Option<Arc<dyn Any + Send + Sync>>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of this kind; the message is one line for people, without the kind's name.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Inner { kind, operation: "", message, details: None, source: None }))
    }

    /// The same error, with the operation that failed, such as `ick.add`. An operation that is already set stays, since
    /// the innermost one is the most precise.
    #[must_use]
    pub fn in_operation(mut self, operation: &'static str) -> Self {
        if self.0.operation.is_empty() {
            self.0.operation = operation;
        }
        self
    }

    /// The same error, as that of another operation.
    pub(crate) fn renamed(mut self, operation: &'static str) -> Self {
        self.0.operation = operation;
        self
    }

    /// A copy of the error for another caller that it concerns, without its source.
    pub(crate) fn copy(&self) -> Self {
        let mut copy = Self::new(self.kind(), self.message()).in_operation(self.operation());
        copy.0.details.clone_from(&self.0.details);
        copy
    }

    /// The same error, with the error of another library that caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error, with details that a queue adds to the message.
    #[must_use]
    pub(crate) fn with_details(mut self, details: impl Any + Send + Sync) -> Self {
        self.0.details = Some(Arc::new(details));
        self
    }

    /// The details that a queue added to the message, if they are of this type.
    pub(crate) fn details<T: Any>(&self) -> Option<&T> {
        self.0.details.as_deref().and_then(|details| details.downcast_ref())
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether a retry can help.
    pub fn retry(&self) -> Retry {
        self.0.kind.retry()
    }

    /// Whether a retry loop should give up: a retry cannot help, or the disk has failed, possibly for good.
    pub(crate) fn is_final(&self) -> bool {
        self.retry() == Retry::Never || self.kind() == ErrorKind::Storage
    }

    /// The operation that failed, such as `ick.add`; empty if no operation was running.
    pub fn operation(&self) -> &'static str {
        self.0.operation
    }

    /// One line for people, without the operation.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.operation.is_empty() {
            write!(f, "{}: ", self.0.operation)?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self, self.0.kind.name())?;
        match &self.0.source {
            Some(source) => write!(f, ", because {source}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}

/// Shorthand for the many places that refuse an argument.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// Returns `INVALID_ARGUMENT` with this message, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err($crate::error::invalid(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;
