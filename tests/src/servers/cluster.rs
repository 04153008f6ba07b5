use std::ops::RangeInclusive;

use super::builder::RedisBuilder;
use super::migration::Migration;
use super::redis::{Redis, field_of};
use super::resp::Reply;
use super::sentinel::is_linked;
use super::url::of_ports;
use super::wait::wait_until;

/// The number of slots of a Redis Cluster.
const SLOTS: u16 = 16_384;

/// The smallest number of masters that can outvote one of them.
const MASTERS: usize = 3;

/// A Redis Cluster of three masters on loopback, each with a third of the slots.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Redis>,
}

impl Cluster {
    /// Starts three masters without replicas and waits until all of them serve.
    ///
    /// Two of the seconds that this takes are a pause that Redis makes before a new master writes.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&Redis::builder())
    }

    /// Starts three masters as `template` describes them.
    ///
    /// # Panics
    ///
    /// When `template` asks for TLS, a user or a password.
    #[must_use]
    pub fn start_with(template: &RedisBuilder) -> Self {
        // A busy machine must not look like a dead node when there is no replica to take over.
        Self::form(template, "15000", 0)
    }

    /// Starts three masters with a replica each, which takes over four to five seconds after
    /// its master was killed.
    #[must_use]
    pub fn with_replicas() -> Self {
        // CLUSTER SLOTS hides a replica until its master has sent it something, and an idle master
        // sends its first ping after ten seconds.
        let template = Redis::builder().config("repl-ping-replica-period", &["1"]);
        let cluster = Self::form(&template, "2000", MASTERS);
        let (masters, replicas) = cluster.nodes.split_at(MASTERS);
        for (master, replica) in masters.iter().zip(replicas) {
            let id = master.cli(&["CLUSTER", "MYID"]).text();
            assert_ok(&replica.cli(&["CLUSTER", "REPLICATE", &id]));
        }
        wait_until("the replicas have their masters' data", || replicas.iter().all(is_linked));
        // Each range is [first, last, master, replica]: clients learn of the replicas from it.
        wait_until("every node knows every replica", || {
            let ranges = |node: &Redis| node.cli(&["CLUSTER", "SLOTS"]).array().to_vec();
            cluster.nodes.iter().flat_map(ranges).all(|range| range.array().len() == 4)
        });
        cluster
    }

    /// The address for clients, with the masters at the start as seeds:
    /// `redis+cluster://HOST:PORT,HOST:PORT,HOST:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        of_ports("redis+cluster", self.nodes[..MASTERS].iter().map(Redis::port))
    }

    /// The nodes: the three masters in the order of their slots, then their replicas, if any.
    /// After a kill and a restart call [`wait_until_serving`](Self::wait_until_serving).
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The slot of `key`, as a node computes it.
    #[must_use]
    pub fn slot_of(&self, key: impl AsRef<[u8]>) -> u16 {
        let reply = self.living().cli(&[b"CLUSTER".as_slice(), b"KEYSLOT", key.as_ref()]);
        u16::try_from(reply.integer()).expect("there are 16384 slots")
    }

    /// The index in [`nodes`](Self::nodes) of the master of `slot`, as the first living node sees
    /// it.
    ///
    /// # Panics
    ///
    /// When the slot has no master.
    #[must_use]
    pub fn owner(&self, slot: u16) -> usize {
        let port = owner_seen_by(self.living(), slot);
        let index = self.nodes.iter().position(|node| Some(node.port()) == port);
        index.unwrap_or_else(|| panic!("slot {slot} has no owner"))
    }

    /// Moves `slot` with its keys to the node with index `to`, for real and completely.
    pub fn migrate_slot(&self, slot: u16, to: usize) {
        self.begin_migration(slot, to).finish();
    }

    /// Begins to move `slot` to the node with index `to` and moves no key yet.
    ///
    /// Until [`Migration::finish`] the old owner replies ASK for the keys that it no longer has,
    /// or never had. For commands whose keys are on both sides the new owner replies TRYAGAIN, and
    /// the old one TRYAGAIN since Redis 7 but ASK before.
    #[must_use = "a migration that is not finished stays half-way"]
    pub fn begin_migration(&self, slot: u16, to: usize) -> Migration<'_> {
        Migration::begin(self, slot, to)
    }

    /// Waits until all living nodes serve all slots, and those that are replicas have their masters' data: without it none
    /// takes over. After a restart that takes two seconds.
    pub fn wait_until_serving(&self) {
        let is_master =
            |node: &Redis| node.info("replication", "role").as_deref() == Some("master");
        wait_until("every node of the cluster serves", || {
            let mut living = self.nodes.iter().filter(|node| node.is_running());
            living.all(|node| is_serving(node) && (is_master(node) || is_linked(node)))
        });
    }

    /// Waits until a replica has taken over from the master with index `killed`, in the eyes of
    /// all living nodes.
    pub fn wait_for_failover(&self, killed: usize) {
        let port = self.nodes[killed].port();
        wait_until("no node names the killed master", || {
            let living = self.nodes.iter().filter(|node| node.is_running());
            living.flat_map(masters_seen_by).all(|(_, master)| master != port)
        });
        self.wait_until_serving();
    }

    fn form(template: &RedisBuilder, node_timeout_ms: &str, replicas: usize) -> Self {
        template.assert_open();
        let node = template
            .clone()
            .config("cluster-enabled", &["yes"])
            .config("cluster-node-timeout", &[node_timeout_ms]);
        let nodes: Vec<_> = (0..MASTERS + replicas).map(|_| node.start()).collect();
        for (index, node) in nodes.iter().enumerate() {
            // Nodes that meet with equal epochs settle that first, which takes seconds.
            assert_ok(&node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]));
        }
        for (node, slots) in nodes.iter().zip(thirds()) {
            // ADDSLOTSRANGE would be shorter, but Redis 6.2 has only this.
            let words = ["CLUSTER", "ADDSLOTS"].map(String::from).into_iter();
            let command: Vec<_> = words.chain(slots.map(|slot| slot.to_string())).collect();
            assert_ok(&node.cli(&command));
        }
        for peer in &nodes[1..] {
            assert_ok(&nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &peer.port().to_string()]));
        }
        let cluster = Self { nodes };
        wait_until("every node has met every other", || {
            let known = cluster.nodes.len().to_string();
            let met = |node| cluster_info(node, "cluster_known_nodes").as_ref() == Some(&known);
            cluster.nodes.iter().all(met)
        });
        cluster.wait_until_serving();
        cluster
    }

    fn living(&self) -> &Redis {
        let living = self.nodes.iter().find(|node| node.is_running());
        living.expect("a cluster is asked something only while one of its nodes lives")
    }
}

/// The port of the master of `slot`, as `node` sees it.
pub(super) fn owner_seen_by(node: &Redis, slot: u16) -> Option<u16> {
    let mut masters = masters_seen_by(node).into_iter();
    masters.find_map(|(slots, port)| slots.contains(&slot).then_some(port))
}

/// Asserts that a node obeyed.
#[track_caller]
pub(super) fn assert_ok(reply: &Reply) {
    assert!(reply.is_ok(), "the node refused: {reply:?}");
}

fn masters_seen_by(node: &Redis) -> Vec<(RangeInclusive<u16>, u16)> {
    let number = |reply: &Reply| u16::try_from(reply.integer()).expect("slots and ports are u16");
    let master = |range: &Reply| {
        let [first, last, master, ..] = range.array() else {
            panic!("CLUSTER SLOTS has another form than it had since Redis 3: {range:?}");
        };
        (number(first)..=number(last), number(&master.array()[1]))
    };
    node.cli(&["CLUSTER", "SLOTS"]).array().iter().map(master).collect()
}

fn is_serving(node: &Redis) -> bool {
    cluster_info(node, "cluster_state").as_deref() == Some("ok")
        && cluster_info(node, "cluster_slots_ok") == Some(SLOTS.to_string())
}

fn cluster_info(node: &Redis, field: &str) -> Option<String> {
    field_of(&node.cli(&["CLUSTER", "INFO"]).text(), field)
}

fn thirds() -> [std::ops::Range<u16>; MASTERS] {
    let (first, second) = (SLOTS / 3, SLOTS / 3 * 2);
    [0..first, first..second, second..SLOTS]
}
