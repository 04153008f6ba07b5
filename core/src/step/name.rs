//! Names of queues.

use crate::error::{Result, ensure, invalid};

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

/// The prefix of all keys of a queue: the name and `inside`, in braces unless the name already contains a {tag}, so
/// that the keys lie in one cluster slot; then `end`.
pub(crate) fn tagged_name(what: &str, name: &[u8], inside: &[u8], end: &[u8]) -> Result<Vec<u8>> {
    check_name(what, name)?;
    ensure!(name[0] != b'}', "{what} begins with a brace that closes");
    Ok(match has_tag(name) {
        true => [name, inside, end].concat(),
        false => [b"{", name, inside, b"}", end].concat(),
    })
}

/// Whether a cluster hashes a part of the name instead of the whole.
pub(crate) fn has_tag(name: &[u8]) -> bool {
    let Some(open) = name.iter().position(|byte| *byte == b'{') else { return false };
    name[open + 1..].iter().position(|byte| *byte == b'}').is_some_and(|length| length > 0)
}
