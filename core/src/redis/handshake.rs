//! How a connection logs in: AUTH, SELECT and CLIENT SETNAME in one round trip, the same for every
//! kind of connection.

use super::command;
use super::dial::{Dialer, Peer};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::reply::{Reply, server_error};

/// The commands of a handshake, to be sent together; each gets a reply.
pub(super) struct Handshake {
    packed: Vec<u8>,
    names: Vec<&'static str>,
}

impl Handshake {
    pub(super) fn new(dialer: &Dialer, peer: Peer) -> Self {
        let mut handshake = Self { packed: Vec::new(), names: Vec::new() };
        let (user, password) = dialer.credentials(peer);
        if let Some(password) = password {
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
        handshake
    }

    fn add(&mut self, name: &'static str, words: &[&str]) {
        self.packed.extend(command::words(words));
        self.names.push(name);
    }

    /// What has to be sent; may be empty.
    pub(super) fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// The names of the commands, one for each reply.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().copied()
    }
}

/// Handles the reply to a command of the handshake. Whatever went wrong, no step has been sent.
pub(super) fn check(address: &Address, name: &str, reply: Result<Reply>) -> Result<()> {
    match reply {
        Ok(Reply::Error(text)) => Err(refused(address, name, &text)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
        Err(error) => {
            let message = format!("{address} did not reply to {name}");
            Err(Error::new(ErrorKind::ConnectionFailed, message).with_source(error))
        }
    }
}

/// The error of a handshake that the server refused at this command.
fn refused(address: &Address, name: &str, text: &str) -> Error {
    let error = server_error(text);
    let kind = match error.kind() {
        // "ERR AUTH <password> called without any password configured" and the like.
        ErrorKind::Server if name == "AUTH" => ErrorKind::AuthenticationFailed,
        ErrorKind::Server => ErrorKind::InvalidUrl,
        kind => kind,
    };
    let message = format!("{address} refused the connection at {name}: {}", error.message());
    Error::new(kind, message)
}
