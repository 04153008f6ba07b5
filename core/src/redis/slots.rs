//! The slots of a cluster: which key lies where.

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::options::Address;
use crate::step::Reply;

/// The slots of every cluster.
pub(super) const SLOTS: usize = 16_384;

/// The slot of a key: of what is between its first `{` and the next `}`, if that is not empty.
pub(super) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        Some(&rest[..close]).filter(|tag| !tag.is_empty())
    });
    crc16::State::<crc16::XMODEM>::calculate(tag.unwrap_or(key)) % SLOTS as u16
}

/// The one slot of a step's keys; `advice` is added to the error if they have none.
pub(super) fn common_slot<K: AsRef<[u8]>>(keys: &[K], advice: &str) -> Result<u16> {
    let first = keys.first().map_or(0, |key| slot(key.as_ref()));
    let Some(other) = keys.iter().find(|key| slot(key.as_ref()) != first) else {
        return Ok(first);
    };
    let [first, other] = [&keys[0], other].map(|key| String::from_utf8_lossy(key.as_ref()));
    let message =
        format!("the keys {first:?} and {other:?} lie in different slots of the cluster; {advice}");
    Err(Error::new(ErrorKind::CrossSlot, message))
}

/// Which server has which slot.
#[derive(Debug)]
pub(super) struct SlotMap {
    owners: Vec<Option<Address>>,
}

impl SlotMap {
    /// Reads the reply to CLUSTER SLOTS. `asked` is the server that sent it: it may call itself by an
    /// empty name.
    pub(super) fn parse(reply: Reply, asked: &Address) -> Result<Self> {
        let mut owners = vec![None; SLOTS];
        for range in reply.elements()? {
            let mut fields = range.elements()?.into_iter();
            let (Some(first), Some(last), Some(master)) =
                (fields.next(), fields.next(), fields.next())
            else {
                return Err(malformed());
            };
            let mut master = master.elements()?.into_iter();
            let (Some(host), Some(port)) = (master.next(), master.next()) else {
                return Err(malformed());
            };
            let host = match host {
                Reply::Bytes(host) => String::from_utf8_lossy(&host).into_owned(),
                _ => String::new(),
            };
            let port = u16::try_from(port.integer()?).map_err(|_| malformed())?;
            let address = address(&host, port, asked);
            let (first, last) = (first.integer()? as usize, last.integer()? as usize);
            let Some(range) = owners.get_mut(first..=last) else { return Err(malformed()) };
            range.fill(Some(address));
        }
        if owners.iter().all(Option::is_none) {
            let message = "the server is part of no cluster that has slots";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        Ok(Self { owners })
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&Address> {
        self.owners[usize::from(slot)].as_ref()
    }

    pub(super) fn assign(&mut self, slot: u16, owner: Address) {
        self.owners[usize::from(slot)] = Some(owner);
    }

    /// The lowest slot of each server, in ascending order.
    pub(super) fn first_slots(&self) -> Vec<u16> {
        let mut seen = HashSet::new();
        let owners = (0..).zip(&self.owners);
        owners.filter_map(|(slot, owner)| seen.insert(owner.as_ref()?).then_some(slot)).collect()
    }

    /// Every server that has slots.
    pub(super) fn servers(&self) -> Vec<Address> {
        let mut servers: Vec<Address> = Vec::new();
        for owner in self.owners.iter().flatten() {
            if !servers.contains(owner) {
                servers.push(owner.clone());
            }
        }
        servers
    }
}

/// An address as a server told it; an empty host is the host that was asked.
pub(super) fn address(host: &str, port: u16, asked: &Address) -> Address {
    match asked {
        Address::Tcp(own, _) if host.is_empty() || host == "?" => Address::Tcp(own.clone(), port),
        _ => Address::Tcp(host.into(), port),
    }
}

fn malformed() -> Error {
    Error::new(ErrorKind::Internal, "the server's CLUSTER SLOTS cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot(b"123456789"), 0x31c3);
        assert_eq!(slot(b"{user1000}.following"), slot(b"{user1000}.followers"));
        assert_eq!(
            slot(b"foo{}{bar}"),
            crc16::State::<crc16::XMODEM>::calculate(b"foo{}{bar}") % 16384
        );
        assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
    }

    #[test]
    fn keys_in_different_slots_are_refused_with_the_name() {
        let name = crate::ick::Name::new("a{b").unwrap();
        let error = common_slot(&[b"a{b".to_vec(), name.producer_key().to_vec()], "").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CrossSlot);
        assert!(error.message().contains("\"a{b\""), "{error}");
    }

    #[test]
    fn reads_cluster_slots() {
        let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        let range = |first, last, host: &str, port| {
            let master = Reply::Array(vec![bytes(host), Reply::Int(port), bytes("id")]);
            Reply::Array(vec![Reply::Int(first), Reply::Int(last), master])
        };
        let reply = Reply::Array(vec![range(0, 99, "a", 1), range(100, 16383, "", 2)]);
        let asked = Address::Tcp("b".into(), 9);
        let map = SlotMap::parse(reply, &asked).unwrap();
        assert_eq!(map.owner(99), Some(&Address::Tcp("a".into(), 1)));
        assert_eq!(map.owner(100), Some(&Address::Tcp("b".into(), 2)));
        assert_eq!(map.servers().len(), 2);
        assert!(SlotMap::parse(Reply::Array(vec![]), &asked).is_err());
    }

    #[test]
    fn reads_cluster_slots_of_servers_that_do_not_know_their_name() {
        let asked = Address::Tcp("b".into(), 9);
        for host in [Reply::Nil, Reply::Bytes(b"?".to_vec()), Reply::Bytes(Vec::new())] {
            let master = Reply::Array(vec![host, Reply::Int(2)]);
            let range = Reply::Array(vec![Reply::Int(0), Reply::Int(7), master]);
            let map = SlotMap::parse(Reply::Array(vec![range]), &asked).unwrap();
            assert_eq!(map.owner(7), Some(&Address::Tcp("b".into(), 2)));
        }
    }

    #[test]
    fn refuses_cluster_slots_that_cannot_be() {
        let asked = Address::Tcp("b".into(), 9);
        let master = |port| Reply::Array(vec![Reply::Nil, Reply::Int(port)]);
        for fields in [
            vec![Reply::Int(0), Reply::Int(16_384), master(1)],
            vec![Reply::Int(-1), Reply::Int(7), master(1)],
            vec![Reply::Int(9), Reply::Int(7), master(1)],
            vec![Reply::Int(0), Reply::Int(i64::MAX), master(1)],
            vec![Reply::Int(0), Reply::Int(7), master(65_536)],
            vec![Reply::Int(0), Reply::Int(7), master(-1)],
            vec![Reply::Int(0), Reply::Int(7), Reply::Array(vec![Reply::Nil])],
            vec![Reply::Int(0), Reply::Int(7)],
            vec![],
        ] {
            let shown = format!("{fields:?}");
            let reply = Reply::Array(vec![Reply::Array(fields)]);
            assert!(SlotMap::parse(reply, &asked).is_err(), "{shown}");
        }
    }
}
