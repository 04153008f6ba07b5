//! The blocking callers' connections: one a call, kept for the next.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use super::attempt::{Outcome, is_demoted, too_late};
use super::dial::{Dialer, Peer};
use super::socket::Socket;
use crate::options::Address;
use crate::runtime::sync::lock;

pub(super) struct Pool {
    dialer: Dialer,
    /// `None` once the client is closed.
    idle: Mutex<Option<HashMap<Address, Vec<Socket>>>>,
}

impl Pool {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer, idle: Mutex::new(Some(HashMap::new())) }
    }

    /// Sends a command over a connection that nobody else uses.
    pub(super) fn call(
        &self,
        address: &Address,
        command: &[u8],
        asking: bool,
        deadline: Instant,
    ) -> Outcome {
        if Instant::now() >= deadline {
            return Outcome::NotSent(too_late());
        }
        let mut socket = match self.idle_socket(address) {
            Some(socket) => socket,
            None => match Socket::open(&self.dialer, address, Peer::Server, deadline) {
                Ok(socket) => socket,
                Err(error) => {
                    // A server that has gone for good must not keep what is left of its sockets.
                    self.discard(address);
                    return Outcome::NotSent(error);
                }
            },
        };
        let reply = match asking {
            true => socket.call_asking(command, deadline),
            false => socket.call(command, deadline),
        };
        match reply {
            Ok(reply) => {
                if is_demoted(&reply) {
                    socket.close();
                    self.discard(address);
                } else {
                    self.keep(address, socket);
                }
                Outcome::Reply(reply, address.clone())
            }
            Err(error) => {
                socket.close();
                Outcome::NoReply(error)
            }
        }
    }

    fn idle_socket(&self, address: &Address) -> Option<Socket> {
        loop {
            let socket = lock(&self.idle).as_mut()?.get_mut(address)?.pop()?;
            if socket.is_quiet() {
                return Some(socket);
            }
        }
    }

    fn keep(&self, address: &Address, socket: Socket) {
        let mut idle = lock(&self.idle);
        match idle.as_mut().map(|idle| idle.entry(address.clone()).or_default()) {
            Some(sockets) if sockets.len() < self.dialer.options.pool => sockets.push(socket),
            _ => socket.close(),
        }
    }

    /// Hangs up on what is idle of this address.
    fn discard(&self, address: &Address) {
        let sockets = lock(&self.idle).as_mut().and_then(|idle| idle.remove(address));
        sockets.into_iter().flatten().for_each(Socket::close);
    }

    /// Hangs up on all that is idle.
    pub(super) fn clear(&self) {
        let idle = lock(&self.idle).as_mut().map(std::mem::take);
        hang_up(idle);
    }

    /// The same, and from now on nothing is kept: a call under way hangs up when it has its reply.
    pub(super) fn close(&self) {
        let idle = lock(&self.idle).take();
        hang_up(idle);
    }
}

fn hang_up(idle: Option<HashMap<Address, Vec<Socket>>>) {
    idle.into_iter().flatten().flat_map(|(_, sockets)| sockets).for_each(Socket::close);
}
