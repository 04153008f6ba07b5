//! Replies of a server, independent of any client library, so that a step can be sent over a connection of another
//! library and its reply can still be decoded.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::step::limits;
use crate::step::score;

const INTEGER_MAX: i64 = limits::INTEGER_MAX as i64;

/// One RESP value, as a server sent it.
///
/// ```
/// use millpond::step::Reply;
/// let reply = Reply::Array(vec![Reply::Int(2), Reply::Int(0)]);
/// assert_eq!(reply.integers()?, [2, 0]);
/// # Ok::<(), millpond::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The null of RESP 2 or RESP 3.
    Nil,
    /// An integer.
    Int(i64),
    /// A bulk or simple string.
    Bytes(Vec<u8>),
    /// A list of values.
    Array(Vec<Reply>),
    /// An error, as text: the first word is its code.
    Error(String),
}

impl Reply {
    /// This reply, or, if it is an error, the [`Error`] that it stands for.
    ///
    /// # Errors
    /// The error of the server's reply, by its first word.
    pub fn ok(self) -> Result<Reply> {
        match self {
            Reply::Error(text) => Err(server_error(&text)),
            reply => Ok(reply),
        }
    }

    /// This reply as an integer.
    ///
    /// # Errors
    /// The server's error, or `INTERNAL` if the reply is not an integer.
    pub fn integer(self) -> Result<i64> {
        match self.ok()? {
            Reply::Int(value) => Ok(value),
            other => Err(other.unexpected("an integer")),
        }
    }

    /// The elements of this reply; null counts as an empty list.
    ///
    /// # Errors
    /// The server's error, or `INTERNAL` if the reply is not a list.
    pub fn elements(self) -> Result<Vec<Reply>> {
        match self.ok()? {
            Reply::Array(elements) => Ok(elements),
            Reply::Nil => Ok(Vec::new()),
            other => Err(other.unexpected("a list")),
        }
    }

    /// The integers of this reply.
    ///
    /// # Errors
    /// The server's error, or `INTERNAL` if the reply is not a list of integers.
    pub fn integers(self) -> Result<Vec<i64>> {
        self.elements()?.into_iter().map(Reply::integer).collect()
    }

    /// This reply as a string.
    ///
    /// # Errors
    /// The server's error, or `INTERNAL` if the reply is not a string.
    pub fn bytes(self) -> Result<Vec<u8>> {
        match self.ok()? {
            Reply::Bytes(bytes) => Ok(bytes),
            other => Err(other.unexpected("a string")),
        }
    }

    /// This reply as a score, or `None` for null.
    pub(crate) fn score(self) -> Result<Option<f64>> {
        match self.ok()? {
            Reply::Nil => Ok(None),
            Reply::Bytes(text) => match score::parse(&text) {
                Some(score) => Ok(Some(score)),
                None => Err(Reply::Bytes(text).unexpected("a score")),
            },
            other => Err(other.unexpected("a score")),
        }
    }

    /// This reply as an integer, which must not be negative or beyond what Lua can represent exactly.
    pub(crate) fn number<T: TryFrom<i64>>(self) -> Result<T> {
        match self.integer()? {
            number @ 0..=INTEGER_MAX => T::try_from(number).map_err(|_| malformed()),
            _ => Err(malformed()),
        }
    }

    /// This reply as a count, which is at most `max`.
    pub(crate) fn count(self, max: usize) -> Result<u64> {
        match self.number()? {
            count if count <= max as u64 => Ok(count),
            _ => Err(malformed()),
        }
    }

    /// Whether this reply is 1; otherwise it must be 0.
    pub(crate) fn flag(self) -> Result<bool> {
        Ok(self.count(1)? == 1)
    }

    /// The elements of this reply, to be taken one by one; null is not a list.
    pub(crate) fn list(self) -> Result<Replies> {
        match self {
            Reply::Nil => Err(self.unexpected("a list")),
            list => Ok(Replies(list.elements()?.into_iter())),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self {
            Reply::Nil => "null",
            Reply::Int(_) => "an integer",
            Reply::Bytes(_) => "a string",
            Reply::Array(_) => "a list",
            Reply::Error(_) => "an error",
        };
        Error::new(
            ErrorKind::Internal,
            format!("the server replied with {found} in place of {wanted}"),
        )
    }
}

/// The elements of a list, taken one by one: too few or too many are refused.
pub(crate) struct Replies(std::vec::IntoIter<Reply>);

impl Replies {
    pub(crate) fn next(&mut self) -> Result<Reply> {
        self.0.next().ok_or_else(malformed)
    }

    /// How many elements have not been taken.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes all remaining elements as values of several elements each, at most `max` values.
    pub(crate) fn all<T>(
        mut self,
        max: usize,
        mut value: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut values = Vec::new();
        while !self.is_empty() {
            if values.len() == max {
                return Err(malformed());
            }
            values.push(value(&mut self)?);
        }
        Ok(values)
    }

    /// Checks that no elements remain.
    pub(crate) fn end(self) -> Result<()> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(malformed()),
        }
    }
}

/// The error for a reply that none of our scripts returns.
pub(crate) fn malformed() -> Error {
    let message = "the server's reply does not have the form of this step's";
    Error::new(ErrorKind::Internal, message)
}

/// The error that a server's error text stands for. Our scripts return names from [`ErrorKind`]; the rest are the
/// server's own codes.
pub(crate) fn server_error(text: &str) -> Error {
    let text = inner_error(text);
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let own = |kind| Error::new(kind, rest);
    let with_word = |kind| Error::new(kind, text);
    match word {
        "WRONGTYPE" => own(ErrorKind::WrongType),
        "INVALID_ARGUMENT" => own(ErrorKind::InvalidArgument),
        "INCOMPATIBLE_VERSION" => own(ErrorKind::IncompatibleVersion),
        "LEASE_LOST" => own(ErrorKind::LeaseLost),
        "CORRUPT" => own(ErrorKind::Corrupt),
        "QUEUE_FULL" => own(ErrorKind::QueueFull),
        "WRONGPASS" | "NOAUTH" => with_word(ErrorKind::AuthenticationFailed),
        "NOPERM" => with_word(ErrorKind::PermissionDenied),
        "OOM" => with_word(ErrorKind::OutOfMemory),
        "CROSSSLOT" => with_word(ErrorKind::CrossSlot),
        "STALE" => Refusal::Stale.error(rest),
        "MOVING" => Refusal::Moving.error(rest),
        "AGAIN" | "LOADING" | "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" | "READONLY"
        | "MISCONF" | "NOREPLICAS" => with_word(ErrorKind::Unavailable),
        "ERR" if rest.starts_with("max number of clients") => with_word(ErrorKind::Unavailable),
        _ if text.contains(UNKNOWN_COMMAND) => {
            let needed =
                "Millpond needs Redis 6.2 or later, with its commands under their own names";
            Error::new(ErrorKind::Server, format!("{text}: {needed}"))
        }
        "ERR" if ACL_FAILURES.iter().any(|failure| rest.contains(failure)) => {
            with_word(ErrorKind::PermissionDenied)
        }
        _ => with_word(ErrorKind::Server),
    }
}

/// Why a step on a part of a queue did nothing; a detail of an `UNAVAILABLE` error. The caller then reads again which
/// parts the queue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The part differs from what the caller knows.
    Stale,
    /// Items are moving between this part and another one, and the step needs the whole part.
    Moving,
}

impl Refusal {
    /// The error of a step that was refused, with the message that a script returns after the code.
    pub(crate) fn error(self, message: impl fmt::Display) -> Error {
        let code = match self {
            Refusal::Stale => "STALE",
            Refusal::Moving => "MOVING",
        };
        Error::new(ErrorKind::Unavailable, format!("{code} {message}")).with_details(self)
    }

    /// Why the step of this error was refused; `None` for any other error.
    pub(crate) fn of(error: &Error) -> Option<Self> {
        error.details().copied()
    }
}

/// The error texts of Redis 7 and Redis 6.2 for a command that the script's user may not run.
const ACL_FAILURES: [&str; 2] = ["ACL failure in script", "user executing the script can't run"];

/// In the error texts of all versions of Redis for a command in a script that the server does not have.
const UNKNOWN_COMMAND: &str = "Unknown Redis command called from";

/// The error inside the wrapping that Redis 6.2 puts around the error of a command in a script:
/// `ERR Error running script (call to f_…): @user_script:71: -OOM command not allowed …`.
pub(crate) fn inner_error(text: &str) -> &str {
    if !text.starts_with("ERR Error running script") {
        return text;
    }
    text.find(": -").map_or(text, |at| &text[at + 3..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_commands_in_scripts_have_their_own_kind() {
        for (text, kind) in [
            (
                "ERR Error running script (call to f_70d3): @user_script:71: @user_script: 71: \
                 -OOM command not allowed when used memory > 'maxmemory'.",
                ErrorKind::OutOfMemory,
            ),
            (
                "ERR ACL failure in script: User me has no permissions to run the 'zadd' command \
                 script: 70d3, on @user_script:71.",
                ErrorKind::PermissionDenied,
            ),
            (
                "ERR Error running script (call to f_70d3): @user_script:71: -ERR The user \
                 executing the script can't run this command or subcommand",
                ErrorKind::PermissionDenied,
            ),
            ("WRONGTYPE key k holds a hash", ErrorKind::WrongType),
            ("ERR something else", ErrorKind::Server),
        ] {
            assert_eq!(server_error(text).kind(), kind, "{text}");
        }
    }

    #[test]
    fn a_server_that_is_too_old_is_told_from_a_fault() {
        for text in [
            "ERR Error running script (call to f_70d3): @user_script:29: @user_script: 29: \
             Unknown Redis command called from Lua script",
            "ERR Unknown Redis command called from script script: 70d3, on @user_script:29.",
        ] {
            let error = server_error(text);
            assert_eq!(error.kind(), ErrorKind::Server);
            assert!(error.message().contains(": Millpond needs Redis 6.2 or later"), "{error}");
        }
    }

    #[test]
    fn a_refusal_is_known_by_its_code() {
        for (text, refusal) in [
            ("STALE the generation is 7", Some(Refusal::Stale)),
            ("MOVING anything", Some(Refusal::Moving)),
            ("LOADING STALE data is on its way", None),
            ("ERR STALE", None),
        ] {
            let error = server_error(text);
            assert_eq!(Refusal::of(&error), refusal, "{text}");
            assert_eq!(Refusal::of(&error.copy()), refusal, "{text}");
            assert_eq!(error.message(), text);
        }
    }
}
