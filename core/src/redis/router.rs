//! Where a step has to go: the server, the sentinels' master, or the slot's owner.

use std::sync::Mutex;
use std::time::Instant;

use super::command;
use super::dial::{Dialer, Peer};
use super::slots::{SlotMap, common_slot};
use super::socket::Socket;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Target};
use crate::sync::lock;

/// Knows the way, and asks for it when it has forgotten.
pub(super) struct Router {
    dialer: Dialer,
    known: Mutex<Known>,
    /// Held by whoever asks for the way; the others wait for the answer.
    // Lock order: this before `known`.
    asking: Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// The sentinels' master.
    master: Option<Address>,
    slots: Option<SlotMap>,
    /// Servers of the cluster that were seen; asked when the map has been forgotten.
    servers: Vec<Address>,
}

impl Router {
    pub(super) fn new(dialer: Dialer) -> Self {
        Self { dialer, known: Mutex::default(), asking: Mutex::default() }
    }

    /// The slot of a step's keys; 0 where there is no cluster.
    ///
    /// # Errors
    /// `CROSS_SLOT` on a cluster, if the keys lie in several slots.
    pub(super) fn slot<K: AsRef<[u8]>>(&self, keys: &[K], advice: &str) -> Result<u16> {
        match self.dialer.options.target() {
            Target::Cluster(_) => common_slot(keys, advice),
            _ => Ok(0),
        }
    }

    /// The server of a slot, if it is known without asking anybody.
    pub(super) fn known_address(&self, slot: u16) -> Option<Address> {
        match self.dialer.options.target() {
            Target::Server(address) => Some(address.clone()),
            Target::Sentinel { .. } => lock(&self.known).master.clone(),
            Target::Cluster(_) => lock(&self.known).slots.as_ref()?.owner(slot).cloned(),
            Target::Memory(_) | Target::File(_) => None,
        }
    }

    /// The server of a slot. Asks over a connection of its own if it has to, so this may block.
    pub(super) fn address(&self, slot: u16) -> Result<Address> {
        if let Some(address) = self.known_address(slot) {
            return Ok(address);
        }
        let _asking = lock(&self.asking);
        if let Some(address) = self.known_address(slot) {
            return Ok(address);
        }
        match self.dialer.options.target() {
            Target::Sentinel { sentinels, service } => {
                let master =
                    self.ask_each(sentinels, |sentinel| self.ask_sentinel(sentinel, service))?;
                lock(&self.known).master = Some(master.clone());
                Ok(master)
            }
            Target::Cluster(seeds) => {
                let mut servers = lock(&self.known).servers.clone();
                servers.extend(
                    seeds
                        .iter()
                        .filter(|seed| !servers.contains(seed))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                let slots = self.ask_each(&servers, |server| self.ask_slots(server))?;
                let owner = slots.owner(slot).cloned();
                let mut known = lock(&self.known);
                known.servers = slots.servers();
                known.slots = Some(slots);
                drop(known);
                owner.ok_or_else(|| {
                    self.forget();
                    Error::new(
                        ErrorKind::Unavailable,
                        format!("no server of the cluster has slot {slot}"),
                    )
                })
            }
            _ => Err(Error::new(ErrorKind::Internal, "an embedded engine has no address")),
        }
    }

    /// Forgets the way, since what it led to did not answer as it should.
    pub(super) fn forget(&self) {
        let mut known = lock(&self.known);
        known.master = None;
        known.slots = None;
    }

    /// Learns that a slot has moved for good.
    pub(super) fn moved(&self, slot: u16, owner: Address) {
        if let Some(slots) = &mut lock(&self.known).slots
            && usize::from(slot) < super::slots::SLOTS
        {
            slots.assign(slot, owner);
        }
    }

    /// The address in a redirection, `host:port`; the host may be empty.
    pub(super) fn redirected(&self, text: &str) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        let asked = match self.dialer.options.target() {
            Target::Cluster(seeds) => seeds.first()?,
            _ => return None,
        };
        Some(super::slots::address(host, port.parse().ok()?, asked))
    }

    /// Asks one after the other until one answers.
    fn ask_each<T>(&self, peers: &[Address], ask: impl Fn(&Address) -> Result<T>) -> Result<T> {
        let mut failure =
            Error::new(ErrorKind::ConnectionFailed, "there is nobody to ask for the way");
        for peer in peers {
            match ask(peer) {
                Ok(answer) => return Ok(answer),
                // A wrong password does not become right at the next one.
                Err(error) if error.kind() == ErrorKind::AuthenticationFailed => return Err(error),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// When one peer has to have answered: a question for the way is a part of connecting.
    fn deadline(&self) -> Instant {
        Instant::now() + self.dialer.options.connect_timeout
    }

    fn ask_sentinel(&self, sentinel: &Address, service: &str) -> Result<Address> {
        let deadline = self.deadline();
        let mut socket = Socket::open(&self.dialer, sentinel, Peer::Sentinel, deadline)?;
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", service];
        let answer = socket.call(&command::packed_words(&words), deadline);
        let answer = answer.map_err(unsent)?.elements()?;
        let master = <[_; 2]>::try_from(answer).ok().and_then(|[host, port]| {
            let host = String::from_utf8(host.bytes().ok()?).ok()?;
            let port = String::from_utf8(port.bytes().ok()?).ok()?.parse().ok()?;
            Some(Address::Tcp(host.into(), port))
        });
        let master = master.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, format!("{sentinel} knows no service {service}"))
        })?;
        // A sentinel that has not noticed yet still names the old master.
        let deadline = self.deadline();
        let mut socket = Socket::open(&self.dialer, &master, Peer::Server, deadline)?;
        let role = socket.call(&command::packed_words(&["ROLE"]), deadline);
        let role = role.map_err(unsent)?.elements()?;
        match role.into_iter().next().map(crate::reply::Reply::bytes) {
            Some(Ok(role)) if role == b"master" => Ok(master),
            _ => Err(Error::new(ErrorKind::Unavailable, format!("{master} is not a master now"))),
        }
    }

    fn ask_slots(&self, server: &Address) -> Result<SlotMap> {
        let deadline = self.deadline();
        let mut socket = Socket::open(&self.dialer, server, Peer::Server, deadline)?;
        let reply = socket.call(&command::packed_words(&["CLUSTER", "SLOTS"]), deadline);
        SlotMap::parse(reply.map_err(unsent)?, server)
    }
}

/// A question for the way that got no answer: the step itself was not sent.
fn unsent(error: Error) -> Error {
    Error::new(ErrorKind::ConnectionFailed, "no answer to the question for the way")
        .with_source(error)
}
