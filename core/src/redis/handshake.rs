//! What a connection says first, the same for every kind of connection: AUTH, SELECT and CLIENT
//! SETNAME in one round trip, and PING where the options ask for none of them.
//!
//! No step is sent before the replies are there. What a server has to say against a connection, it says
//! to the first command: that it wants a password, that it has too many clients, that it speaks
//! something else. To a step it might say so and hang up in the middle of it, and whether the step was
//! done would be anybody's guess. A connection costs a round trip more for it.

use std::collections::VecDeque;
use std::error::Error as _;
use std::io;

use super::command;
use super::dial::{Dialer, Peer};
use super::resp::NotResp;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::reply::{Reply, server_error};

/// The commands of a handshake, to be sent together; each gets a reply.
pub(super) struct Handshake {
    packed: Vec<u8>,
    /// The names of those without a reply yet.
    names: VecDeque<&'static str>,
    /// The server has taken the password of a URL of the [old form](OLD_USER).
    has_password: bool,
}

/// The user in a URL of the form that was handed out before servers had users, `redis://h:password@host`.
/// The password is tried without it first: a server that has a user of this name may yet want it.
const OLD_USER: &str = "h";

/// The name of the command that tries it.
const OLD_AUTH: &str = "AUTH without the user";

impl Handshake {
    pub(super) fn new(dialer: &Dialer, peer: Peer) -> Self {
        let mut handshake =
            Self { packed: Vec::new(), names: VecDeque::new(), has_password: false };
        let (user, password) = dialer.credentials(peer);
        if let Some(password) = password {
            if user == Some(OLD_USER) {
                handshake.add(OLD_AUTH, &["AUTH", password]);
            }
            match user {
                Some(user) => handshake.add("AUTH", &["AUTH", user, password]),
                None => handshake.add("AUTH", &["AUTH", password]),
            }
        }
        if peer == Peer::Server {
            if dialer.options.db != 0 {
                handshake.add("SELECT", &["SELECT", &dialer.options.db.to_string()]);
            }
            if let Some(name) = &dialer.options.client_name {
                handshake.add("CLIENT SETNAME", &["CLIENT", "SETNAME", name]);
            }
        }
        if handshake.names.is_empty() {
            handshake.add("PING", &["PING"]);
        }
        handshake
    }

    fn add(&mut self, name: &'static str, words: &[&str]) {
        self.packed.extend(command::words(words));
        self.names.push_back(name);
    }

    /// What has to be sent; never empty.
    pub(super) fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Whether all replies have come.
    pub(super) fn is_done(&self) -> bool {
        self.names.is_empty()
    }

    /// Handles the next reply. Whatever went wrong, no step has been sent.
    pub(super) fn check(&mut self, address: &Address, reply: Result<Reply>) -> Result<()> {
        let name = self.names.pop_front().unwrap_or_default();
        match reply {
            Ok(Reply::Error(_)) if name == OLD_AUTH || self.has_password && name == "AUTH" => {
                Ok(())
            }
            Ok(Reply::Error(text)) => refused(address, name, &text),
            Ok(_) => {
                self.has_password |= name == OLD_AUTH;
                Ok(())
            }
            Err(error) => Err(unanswered(address, name, error)),
        }
    }
}

/// The error of a handshake whose command had no reply.
fn unanswered(address: &Address, name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::Cancelled {
        return error;
    }
    let cause = io_cause(&error).and_then(io::Error::get_ref);
    let foreign = cause.and_then(|cause| cause.downcast_ref::<NotResp>()).map(not_redis);
    #[cfg(feature = "tls")]
    let foreign = foreign.or_else(|| super::tls::refusal(cause?));
    if let Some(what) = foreign {
        return Error::new(ErrorKind::InvalidUrl, format!("{address} {what}"));
    }
    let what = if is_hang_up(&error) { "hung up in place of a reply" } else { "did not reply" };
    let message = format!("{address} {what} to {name}");
    Error::new(ErrorKind::ConnectionFailed, message).with_source(error)
}

/// The system's error at the bottom of one of ours.
fn io_cause(error: &Error) -> Option<&io::Error> {
    let mut cause = error.source()?;
    loop {
        match cause.downcast_ref() {
            Some(error) => return Some(error),
            None => cause = cause.source()?,
        }
    }
}

/// Whether the peer ended the connection.
pub(super) fn is_hang_up(error: &Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let ends = [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof];
    io_cause(error).is_some_and(|cause| ends.contains(&cause.kind()))
}

/// What a peer is that does not speak RESP, by the first it says.
fn not_redis(NotResp(begins): &NotResp) -> String {
    other_protocol(begins)
        .unwrap_or_else(|| format!("is not Redis: it said \"{}\"", begins.escape_ascii()))
}

/// What a peer speaks that begins like this, if that can be told.
pub(super) fn other_protocol(begins: &[u8]) -> Option<String> {
    let what = match begins {
        // An alert, or a handshake: the first byte of either, and the major version.
        [0x15 | 0x16, 3, ..] => {
            "speaks TLS: the scheme for that is rediss:, or one that begins with it"
        }
        [b'H', b'T', b'T', b'P', ..] => "is a web server, not Redis",
        _ => return None,
    };
    Some(what.to_owned())
}

/// What becomes of a handshake that the server refused at this command.
fn refused(address: &Address, name: &str, text: &str) -> Result<()> {
    let error = server_error(text);
    let kind = match error.kind() {
        // It is there, and has let this user in.
        ErrorKind::PermissionDenied if name == "PING" => return Ok(()),
        // "ERR AUTH <password> called without any password configured" and the like; and a server in protected
        // mode, which says DENIED before any command to whoever comes from another machine.
        ErrorKind::Server if name == "AUTH" || text.starts_with("DENIED ") => {
            ErrorKind::AuthenticationFailed
        }
        ErrorKind::Server => ErrorKind::InvalidUrl,
        kind => kind,
    };
    let message = format!("{address} refused the connection at {name}: {}", error.message());
    Err(Error::new(kind, message))
}
