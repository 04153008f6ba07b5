//! Where a step has to go: the one server, the master that the sentinels name, or the server that
//! owns the slot. What has been found out is kept until a connection or a reply shows it is stale.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::command;
use super::dial::{Dialer, Peer};
use super::slots::{SlotMap, common_slot};
use super::socket::Socket;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Address, Target};
use crate::runtime::sync::{lock, wait_until};
use crate::step::Reply;

/// Knows the topology, and queries it when it has forgotten it.
pub(super) struct Router {
    pub(super) dialer: Dialer,
    known: Mutex<Known>,
    /// Whether a topology query is under way; other callers wait for its result.
    is_querying: Mutex<bool>,
    queried: Condvar,
    /// Whether a step has had a reply.
    is_reached: AtomicBool,
}

#[derive(Default)]
struct Known {
    /// The sentinels' master.
    master: Option<Address>,
    slots: Option<SlotMap>,
    /// Servers of the cluster that were seen; queried when the map has been forgotten.
    servers: Vec<Address>,
}

impl Router {
    pub(super) fn new(dialer: Dialer) -> Self {
        let (known, is_querying, queried) = (Mutex::default(), Mutex::default(), Condvar::new());
        Self { dialer, known, is_querying, queried, is_reached: AtomicBool::new(false) }
    }

    /// Whether a step has had a reply since this process began to use the servers.
    pub(super) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    pub(super) fn reached(&self) {
        if !self.is_reached() {
            self.is_reached.store(true, Ordering::Relaxed);
        }
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

    /// The server of a slot, if it is known without a query.
    pub(super) fn known_address(&self, slot: u16) -> Option<Address> {
        match self.dialer.options.target() {
            Target::Server(address) => Some(address.clone()),
            Target::Sentinel { .. } => lock(&self.known).master.clone(),
            Target::Cluster(_) => lock(&self.known).slots.as_ref()?.owner(slot).cloned(),
            Target::Memory(_) | Target::File(_) => None,
        }
    }

    /// The server of a slot. Queries the topology over a connection of its own if it has to, so this
    /// may block, but no longer than until the deadline.
    pub(super) fn address(&self, slot: u16, deadline: Instant) -> Result<Address> {
        let query = loop {
            let mut is_querying = lock(&self.is_querying);
            if let Some(address) = self.known_address(slot) {
                return Ok(address);
            }
            if !std::mem::replace(&mut *is_querying, true) {
                break Query(self);
            }
            // The caller that queries may have more time than this one.
            if Instant::now() >= deadline {
                return Err(query_failed());
            }
            drop(wait_until(&self.queried, is_querying, Some(deadline)));
        };
        let address = self.query(slot, deadline);
        drop(query);
        address
    }

    /// The same for a task, which must not block.
    pub(super) async fn find_address(
        self: Arc<Self>,
        slot: u16,
        deadline: Instant,
    ) -> Result<Address> {
        let found = tokio::task::spawn_blocking(move || self.address(slot, deadline)).await;
        found.unwrap_or_else(|error| {
            Err(Error::new(ErrorKind::Internal, "the topology query panicked").with_source(error))
        })
    }

    fn query(&self, slot: u16, deadline: Instant) -> Result<Address> {
        match self.dialer.options.target() {
            Target::Sentinel { sentinels, service } => {
                let query = |sentinel: &Address, until| self.find_master(sentinel, service, until);
                let master = first_reply(sentinels, deadline, query)?;
                lock(&self.known).master = Some(master.clone());
                Ok(master)
            }
            Target::Cluster(seeds) => {
                let mut servers = lock(&self.known).servers.clone();
                let unseen = seeds.iter().filter(|seed| !servers.contains(seed));
                servers.extend(unseen.cloned().collect::<Vec<_>>());
                let query = |server: &Address, until| {
                    Ok((self.fetch_slots(server, until)?, server.clone()))
                };
                let (slots, replied) = first_reply(&servers, deadline, query)?;
                let owner = slots.owner(slot).cloned();
                let mut known = lock(&self.known);
                known.servers = slots.servers();
                // The one that has replied is queried first again, and not one that hangs.
                known.servers.sort_by_key(|server| *server != replied);
                known.slots = Some(slots);
                drop(known);
                owner.ok_or_else(|| {
                    self.forget();
                    let message = format!("no server of the cluster has slot {slot}");
                    Error::new(ErrorKind::Unavailable, message)
                })
            }
            _ => Err(Error::new(ErrorKind::Internal, "an embedded engine has no address")),
        }
    }

    /// The lowest slot of the server of a cluster that comes next after this slot, by the lowest slots of all;
    /// nothing behind the last, and where there is no cluster.
    pub(super) fn next_server(&self, slot: u16) -> Result<Option<u16>> {
        if !matches!(self.dialer.options.target(), Target::Cluster(_)) {
            return Ok(None);
        }
        let known = lock(&self.known);
        let slots = known.slots.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, "the servers of the cluster have just changed")
        })?;
        Ok(slots.first_slots().into_iter().find(|first| *first > slot))
    }

    /// Forgets the topology, since a server of it did not reply as it should.
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

    /// The address in a redirection, `host:port`; the host may be empty and is then that of the server
    /// which gave it.
    pub(super) fn redirected(&self, text: &str, server: &Address) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        let Target::Cluster(_) = self.dialer.options.target() else { return None };
        Some(super::slots::address(host, port.parse().ok()?, server))
    }

    /// Sends a command over a connection of its own. This is as much as connecting and takes no longer.
    fn call_once(
        &self,
        peer: Peer,
        address: &Address,
        words: &[&str],
        deadline: Instant,
    ) -> Result<Reply> {
        let deadline = deadline.min(Instant::now() + self.dialer.options.connect_timeout);
        let mut socket = Socket::open(&self.dialer, address, peer, deadline)?;
        socket.call(&command::words(words), deadline).map_err(|error| match error.kind() {
            ErrorKind::Cancelled => error,
            // The step itself was not sent.
            _ => query_failed().with_source(error),
        })
    }

    fn find_master(&self, sentinel: &Address, service: &str, until: Instant) -> Result<Address> {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", service];
        let reply = self.call_once(Peer::Sentinel, sentinel, &words, until)?.elements()?;
        let master = <[_; 2]>::try_from(reply).ok().and_then(|[host, port]| {
            let host = String::from_utf8(host.bytes().ok()?).ok()?;
            let port = String::from_utf8(port.bytes().ok()?).ok()?.parse().ok()?;
            Some(Address::Tcp(host.into(), port))
        });
        let master = master.ok_or_else(|| {
            Error::new(ErrorKind::Unavailable, format!("{sentinel} knows no service {service}"))
        })?;
        // A sentinel that has not noticed yet still names the old master.
        let role = self.call_once(Peer::Server, &master, &["ROLE"], until)?.elements()?;
        match role.into_iter().next().map(Reply::bytes) {
            Some(Ok(role)) if role == b"master" => Ok(master),
            _ => Err(Error::new(ErrorKind::Unavailable, format!("{master} is not a master now"))),
        }
    }

    fn fetch_slots(&self, server: &Address, until: Instant) -> Result<SlotMap> {
        SlotMap::parse(self.call_once(Peer::Server, server, &["CLUSTER", "SLOTS"], until)?, server)
    }
}

/// A topology query: until this is dropped, nobody else begins one.
struct Query<'a>(&'a Router);

impl Drop for Query<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_querying) = false;
        self.0.queried.notify_all();
    }
}

/// Queries one peer after the other until one replies. Each has its share of the time that is left,
/// so that one that hangs does not hide those after it.
fn first_reply<T>(
    peers: &[Address],
    deadline: Instant,
    query: impl Fn(&Address, Instant) -> Result<T>,
) -> Result<T> {
    let mut failure = query_failed();
    for (tried, peer) in peers.iter().enumerate() {
        let now = Instant::now();
        let share = deadline.saturating_duration_since(now) / (peers.len() - tried) as u32;
        if share.is_zero() {
            break;
        }
        match query(peer, now + share) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            // What somebody has to mend says more than what may pass. The next may yet reply: at this
            // address there may be something else by now.
            Err(error) if !failure.is_final() => failure = error,
            Err(_) => {}
        }
    }
    Err(failure)
}

fn query_failed() -> Error {
    Error::new(ErrorKind::ConnectionFailed, "the topology query failed")
}
