use super::cluster::{Cluster, assert_ok, owner_seen_by};
use super::redis::Redis;
use super::resp::Reply;
use super::wait::wait_until;

/// A slot on its way from one master to another, in the steps that `redis-cli` takes.
///
/// Dropping it leaves the slot where it is, half-way, which is what a test of ASK redirects is
/// after.
#[derive(Debug)]
pub struct Migration<'a> {
    cluster: &'a Cluster,
    slot: String,
    from: usize,
    to: usize,
}

impl<'a> Migration<'a> {
    pub(super) fn begin(cluster: &'a Cluster, slot: u16, to: usize) -> Self {
        let from = cluster.owner(slot);
        assert_ne!(from, to, "slot {slot} is on node {to} already");
        let this = Self { cluster, slot: slot.to_string(), from, to };
        // The target first: a client that is sent there must not be sent back.
        this.set(this.target(), &["IMPORTING", &id(this.source())]);
        this.set(this.source(), &["MIGRATING", &id(this.target())]);
        this
    }

    /// Moves up to `keys_max` keys of the slot and returns how many it moved.
    pub fn move_keys(&self, keys_max: usize) -> usize {
        let keys_max = keys_max.to_string();
        let keys = self.source().cli(&["CLUSTER", "GETKEYSINSLOT", &self.slot, &keys_max]);
        let keys: Vec<_> = keys.array().iter().map(Reply::bytes).collect();
        if keys.is_empty() {
            return 0;
        }
        let port = self.target().port().to_string();
        let words = ["MIGRATE", "127.0.0.1", &port, "", "0", "10000", "KEYS"];
        let command: Vec<_> = words.map(str::as_bytes).into_iter().chain(keys).collect();
        assert_ok(&self.source().cli(&command));
        command.len() - words.len()
    }

    /// Moves the remaining keys, makes the target the owner, and waits until every living node
    /// says so.
    pub fn finish(self) {
        while self.move_keys(100) > 0 {}
        let owner = id(self.target());
        // The target first, again: should the source die now, no other node owns the slot.
        self.set(self.target(), &["NODE", &owner]);
        self.set(self.source(), &["NODE", &owner]);
        let slot = self.slot.parse().expect("the slot was a number before it was a text");
        wait_until("every node knows the new owner of the slot", || {
            let mut living = self.cluster.nodes().iter().filter(|node| node.is_running());
            living.all(|node| owner_seen_by(node, slot) == Some(self.target().port()))
        });
    }

    /// The node that owns the slot until the end.
    #[must_use]
    pub fn source(&self) -> &'a Redis {
        &self.cluster.nodes()[self.from]
    }

    /// The node that the slot goes to.
    #[must_use]
    pub fn target(&self) -> &'a Redis {
        &self.cluster.nodes()[self.to]
    }

    fn set(&self, node: &Redis, state: &[&str]) {
        let command = ["CLUSTER", "SETSLOT", &self.slot].into_iter().chain(state.iter().copied());
        assert_ok(&node.cli(&command.collect::<Vec<_>>()));
    }
}

fn id(node: &Redis) -> String {
    node.cli(&["CLUSTER", "MYID"]).text()
}
