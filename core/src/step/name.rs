//! Names of queues.

use crate::error::{Result, invalid};

/// The longest name of a queue, in bytes.
pub const NAME_BYTES_MAX: usize = 64 * 1024;

/// Refuses a name that is too long; `what` says in the error which name it is.
pub(crate) fn check_name_length(what: &str, name: &[u8]) -> Result<()> {
    match name.len() {
        len if len > NAME_BYTES_MAX => {
            Err(invalid(format!("{what} has {len} bytes; {NAME_BYTES_MAX} are allowed")))
        }
        _ => Ok(()),
    }
}

/// Refuses a name that is empty or too long.
pub(crate) fn check_name(what: &str, name: &[u8]) -> Result<()> {
    match name.is_empty() {
        true => Err(invalid(format!("{what} is empty"))),
        false => check_name_length(what, name),
    }
}
