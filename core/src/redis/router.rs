//! Where a step has to go: the server, the sentinels' master, or the slot's owner.

use std::sync::{Condvar, Mutex};
use std::time::Instant;

use super::command;
use super::dial::{Dialer, Peer};
use super::slots::{SlotMap, common_slot};
use super::socket::Socket;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Target};
use crate::runtime::sync::{lock, wait_until};
use crate::step::Reply;

/// Knows the way, and asks for it when it has forgotten.
pub(super) struct Router {
    dialer: Dialer,
    known: Mutex<Known>,
    /// Whether somebody asks for the way; the others wait for the answer.
    asking: Mutex<bool>,
    asked: Condvar,
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
        let (known, asking, asked) = (Mutex::default(), Mutex::default(), Condvar::new());
        Self { dialer, known, asking, asked }
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

    /// The server of a slot. Asks over a connection of its own if it has to, so this may block, but
    /// no longer than until the deadline.
    pub(super) fn address(&self, slot: u16, deadline: Instant) -> Result<Address> {
        let asking = loop {
            let mut asking = lock(&self.asking);
            if let Some(address) = self.known_address(slot) {
                return Ok(address);
            }
            if !std::mem::replace(&mut *asking, true) {
                break Asking(self);
            }
            // Whoever asks may have more time than we have.
            if Instant::now() >= deadline {
                return Err(unanswered());
            }
            drop(wait_until(&self.asked, asking, Some(deadline)));
        };
        let address = self.ask(slot, deadline);
        drop(asking);
        address
    }

    fn ask(&self, slot: u16, deadline: Instant) -> Result<Address> {
        match self.dialer.options.target() {
            Target::Sentinel { sentinels, service } => {
                let ask = |sentinel: &Address, until| self.ask_sentinel(sentinel, service, until);
                let master = self.ask_each(sentinels, deadline, ask)?;
                lock(&self.known).master = Some(master.clone());
                Ok(master)
            }
            Target::Cluster(seeds) => {
                let mut servers = lock(&self.known).servers.clone();
                let unseen = seeds.iter().filter(|seed| !servers.contains(seed));
                servers.extend(unseen.cloned().collect::<Vec<_>>());
                let ask = |server: &Address, until| self.ask_slots(server, until);
                let slots = self.ask_each(&servers, deadline, ask)?;
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

    /// Asks one after the other until one answers. Each has its share of the time that is left, so
    /// that one that hangs does not hide those after it.
    fn ask_each<T>(
        &self,
        peers: &[Address],
        deadline: Instant,
        ask: impl Fn(&Address, Instant) -> Result<T>,
    ) -> Result<T> {
        let mut failure = unanswered();
        for (asked, peer) in peers.iter().enumerate() {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now) / (peers.len() - asked) as u32;
            if share.is_zero() {
                break;
            }
            match ask(peer, now + share) {
                Ok(answer) => return Ok(answer),
                // A wrong password does not become right at the next one.
                Err(error) if error.kind() == ErrorKind::AuthenticationFailed => return Err(error),
                Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Asks over a connection of its own, which is as much as connecting: it takes no longer.
    fn ask_one(
        &self,
        peer: Peer,
        address: &Address,
        words: &[&str],
        deadline: Instant,
    ) -> Result<Reply> {
        let deadline = deadline.min(Instant::now() + self.dialer.options.connect_timeout);
        let mut socket = Socket::open(&self.dialer, address, peer, deadline)?;
        socket.call(&command::words(words), deadline).map_err(unsent)
    }

    fn ask_sentinel(&self, sentinel: &Address, service: &str, until: Instant) -> Result<Address> {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", service];
        let answer = self.ask_one(Peer::Sentinel, sentinel, &words, until)?.elements()?;
        let master = <[_; 2]>::try_from(answer).ok().and_then(|[host, port]| {
            let host = String::from_utf8(host.bytes().ok()?).ok()?;
            let port = String::from_utf8(port.bytes().ok()?).ok()?.parse().ok()?;
            Some(Address::Tcp(host.into(), port))
        });
        let master = master.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, format!("{sentinel} knows no service {service}"))
        })?;
        // A sentinel that has not noticed yet still names the old master.
        let role = self.ask_one(Peer::Server, &master, &["ROLE"], until)?.elements()?;
        match role.into_iter().next().map(Reply::bytes) {
            Some(Ok(role)) if role == b"master" => Ok(master),
            _ => Err(Error::new(ErrorKind::Unavailable, format!("{master} is not a master now"))),
        }
    }

    fn ask_slots(&self, server: &Address, until: Instant) -> Result<SlotMap> {
        SlotMap::parse(self.ask_one(Peer::Server, server, &["CLUSTER", "SLOTS"], until)?, server)
    }
}

/// Somebody asks for the way: until this is dropped, nobody else does.
struct Asking<'a>(&'a Router);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        *lock(&self.0.asking) = false;
        self.0.asked.notify_all();
    }
}

/// A question for the way that got no answer: the step itself was not sent.
fn unsent(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Cancelled => error,
        _ => unanswered().with_source(error),
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::ConnectionFailed, "no answer to the question for the way")
}
