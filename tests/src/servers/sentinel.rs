use super::builder::RedisBuilder;
use super::redis::Redis;
use super::resp::Reply;
use super::url::of_ports;
use super::wait::wait_until;

/// The name that the sentinels know the master by.
const SERVICE: &str = "mymaster";

/// How many of the three sentinels must agree that the master is down.
const QUORUM: usize = 2;

/// One master, one replica and three sentinels that fail over when the master is silent for a
/// second.
#[derive(Debug)]
pub struct Sentinel {
    // Before the servers: sentinels that watch them die would start a failover.
    sentinels: Vec<Redis>,
    servers: Vec<Redis>,
}

impl Sentinel {
    /// Starts all five and waits until every sentinel knows the replica and the other sentinels,
    /// because a failover before that cannot succeed.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&Redis::builder())
    }

    /// Starts with a master and a replica as `template` describes them.
    ///
    /// # Panics
    ///
    /// When `template` asks for TLS, a user or a password.
    #[must_use]
    pub fn start_with(template: &RedisBuilder) -> Self {
        template.assert_open();
        let master = template.start();
        let port = master.port().to_string();
        let replica = template.clone().config("replicaof", &["127.0.0.1", &port]).start();
        wait_until("the replica has the master's data", || is_linked(&replica));

        let watch = Redis::builder()
            .config("sentinel", &["monitor", SERVICE, "127.0.0.1", &port, &QUORUM.to_string()])
            .config("sentinel", &["down-after-milliseconds", SERVICE, "1000"])
            .config("sentinel", &["failover-timeout", SERVICE, "5000"])
            .config("sentinel", &["parallel-syncs", SERVICE, "1"])
            .sentinel();
        let sentinels = (0..3).map(|_| watch.start()).collect();
        let this = Self { sentinels, servers: vec![master, replica] };
        wait_until("the sentinels know each other and the replica", || {
            this.sentinels.iter().all(is_ready)
        });
        this
    }

    /// The address for clients: `redis+sentinel://HOST:PORT,HOST:PORT,HOST:PORT/mymaster`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/{SERVICE}", of_ports("redis+sentinel", self.sentinels.iter().map(Redis::port)))
    }

    /// The port of the master that two or more sentinels agree on; waits while they do not.
    #[must_use]
    pub fn master_port(&self) -> u16 {
        let mut agreed = None;
        wait_until("two sentinels name the same master", || {
            let named: Vec<_> = self.sentinels.iter().filter_map(master_named_by).collect();
            let votes = |port: &u16| named.iter().filter(|other| *other == port).count();
            agreed = named.iter().copied().find(|port| votes(port) >= QUORUM);
            agreed.is_some()
        });
        agreed.expect("the wait ends with an agreement")
    }

    /// The server that is the master now.
    #[must_use]
    pub fn master(&self) -> &Redis {
        let port = self.master_port();
        let known = self.servers.iter().find(|server| server.port() == port);
        known.expect("sentinels name only the two servers that they were shown")
    }

    /// Kills the master with SIGKILL and returns its port; the sentinels notice a second later.
    pub fn kill_master(&self) -> u16 {
        let master = self.master();
        master.kill();
        master.port()
    }

    /// Waits until all living sentinels name a master other than `old_port`, and it says so too.
    /// Returns its port.
    pub fn wait_for_failover(&self, old_port: u16) -> u16 {
        wait_until("the sentinels have made the replica the master", || {
            let mut named = self.sentinels.iter().filter_map(master_named_by).peekable();
            named.peek().is_some() && named.all(|port| port != old_port)
        });
        wait_until("the new master knows that it is one", || {
            self.master().info("replication", "role").as_deref() == Some("master")
        });
        self.master_port()
    }

    /// The two servers with data, the first master first. One that was killed can be restarted;
    /// the sentinels make it a replica some ten seconds later, and until then it believes that
    /// it is a master.
    #[must_use]
    pub fn servers(&self) -> &[Redis] {
        &self.servers
    }

    /// The three sentinels.
    #[must_use]
    pub fn sentinels(&self) -> &[Redis] {
        &self.sentinels
    }
}

/// Whether `replica` has got all data of its master and follows it.
pub(super) fn is_linked(replica: &Redis) -> bool {
    replica.info("replication", "master_link_status").as_deref() == Some("up")
}

fn master_named_by(sentinel: &Redis) -> Option<u16> {
    let reply = sentinel.try_cli(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE]).ok()?;
    match reply {
        Reply::Array(address) => address.last()?.text().parse().ok(),
        _ => None,
    }
}

fn is_ready(sentinel: &Redis) -> bool {
    let master = sentinel.cli(&["SENTINEL", "MASTER", SERVICE]);
    let replicas = sentinel.cli(&["SENTINEL", "REPLICAS", SERVICE]);
    let usable = sentinel.cli(&["SENTINEL", "CKQUORUM", SERVICE]);
    field(&master, "flags").as_deref() == Some("master")
        && field(&master, "num-other-sentinels").as_deref() == Some("2")
        && replicas.array().iter().any(|replica| {
            field(replica, "flags").as_deref() == Some("slave")
                && field(replica, "master-link-status").as_deref() == Some("ok")
        })
        && matches!(usable, Reply::Status(text) if text.starts_with("OK 3"))
}

/// The value after `name` in a flat list of names and values.
fn field(reply: &Reply, name: &str) -> Option<String> {
    let pairs = reply.array().chunks_exact(2);
    pairs.into_iter().find(|pair| pair[0].text() == name).map(|pair| pair[1].text())
}
