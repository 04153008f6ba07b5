//! Where the queues of a run are, and how to read their raw state.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use millpond_tests::servers::{Cluster, Connection, Redis, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Result;
use crate::adapter::{Adapter, Response};
use crate::model::set_keys;
use crate::shuffle::Kind;
use crate::state::{Flag, Pair, Set, State, read_pairs};
use crate::value::{score, wire_bytes};
use crate::wire::{labelled, of_ick};

/// The names of all backends.
pub(crate) const BACKENDS: [&str; 4] = ["memory", "file", "redis", "cluster"];

/// Commands that change nothing that an embedded engine has.
const HARMLESS: [&[u8]; 2] = [b"DBSIZE", b"PERSIST"];

/// How long connections that are being closed are waited for; others stay.
const SETTLED: Duration = Duration::from_millis(500);

/// More members than any case has.
const ALL: u64 = 1_000_000_000;

pub(crate) enum Backend {
    Memory,
    /// A directory for each case, in this one; the number is the case's.
    File(TempDir, u64),
    Redis(Server),
    Cluster(Cluster, Vec<Server>, HashMap<Vec<u8>, Place>),
}

/// Where a cluster has the keys of an Ick.
pub(crate) struct Place {
    /// The slots of its three keys.
    slots: Vec<u16>,
    /// The index of the server that has the first.
    owner: usize,
}

/// A server and the connection that looks without the library.
pub(crate) struct Server {
    redis: Option<Redis>,
    connection: Connection,
}

impl Backend {
    /// Starts the backend of this name.
    pub(crate) fn start(name: &str) -> Result<Self> {
        let connect = |redis: &Redis| {
            redis.connect().map_err(|error| format!("cannot reach a test server: {error}"))
        };
        Ok(match name {
            "memory" => Self::Memory,
            "file" => {
                let directory = TempDir::with_prefix("millpond-conformance-");
                Self::File(directory.map_err(|error| format!("no directory: {error}"))?, 0)
            }
            "redis" => {
                let redis = Redis::start();
                let connection = connect(&redis)?;
                Self::Redis(Server { redis: Some(redis), connection })
            }
            "cluster" => {
                let cluster = Cluster::start();
                let servers = cluster
                    .nodes()
                    .iter()
                    .map(|node| Ok(Server { redis: None, connection: connect(node)? }));
                let servers = servers.collect::<Result<_>>()?;
                Self::Cluster(cluster, servers, HashMap::new())
            }
            unknown => return Err(format!("there is no backend {unknown}")),
        })
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        let [memory, file, redis, cluster] = BACKENDS;
        match self {
            Self::Memory => memory,
            Self::File(..) => file,
            Self::Redis(_) => redis,
            Self::Cluster(..) => cluster,
        }
    }

    /// What kind of backend it is to a shuffle queue.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Memory | Self::File(..) => Kind::Embedded,
            Self::Redis(_) => Kind::Server,
            Self::Cluster(..) => Kind::Cluster,
        }
    }

    /// The kit's own connections to all servers.
    pub(crate) fn connections(&mut self) -> impl Iterator<Item = &mut Connection> {
        let servers = match self {
            Self::Memory | Self::File(..) => &mut [],
            Self::Redis(server) => std::slice::from_mut(server),
            Self::Cluster(_, servers, _) => &mut servers[..],
        };
        servers.iter_mut().map(|server| &mut server.connection)
    }

    /// Whether there is no server.
    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self, Self::Memory | Self::File(..))
    }

    /// Opens a client on the backend, which is empty then: the client of the case before is closed first, since it may
    /// still report in the background.
    pub(crate) fn begin(&mut self, adapter: &mut Adapter) -> Result<()> {
        if let Self::File(_, number) = self {
            *number += 1;
        }
        adapter.open(&self.url())?;
        match self {
            Self::Memory | Self::File(..) => Ok(()),
            Self::Redis(server) => server.flush(),
            Self::Cluster(_, servers, _) => servers.iter_mut().try_for_each(Server::flush),
        }
    }

    /// Whether the engine is to be closed and opened again in the middle of this case too: opening
    /// costs far more than a step, so some cases do it for all.
    pub(crate) fn reopens_in_the_middle(&self) -> bool {
        matches!(self, Self::File(_, number) if number % 4 == 0)
    }

    /// Closes the client of a durable engine and opens it again; whether it is one.
    pub(crate) fn reopen(&mut self, adapter: &mut Adapter) -> Result<bool> {
        let is_durable = matches!(self, Self::File(..));
        if is_durable {
            adapter.open(&self.url())?;
        }
        Ok(is_durable)
    }

    /// The URL of this case.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Memory => "memory:".to_owned(),
            Self::File(directory, number) => {
                // What is asked here is whether all of it is written, not whether the disk has
                // it: a run would spend its time on thousands of flushes that no case can tell
                // from none. A few cases do it all the same.
                let sync = if number % 16 == 0 { "always" } else { "never" };
                format!("file:{}/{number}?sync={sync}", directory.path().display())
            }
            Self::Redis(server) => server.redis.as_ref().map(Redis::url).unwrap_or_default(),
            Self::Cluster(cluster, ..) => cluster.url(),
        }
    }

    /// Whether this raw command can be left out, because the state stays as it is.
    pub(crate) fn can_leave_out(&self, command: &[Vec<u8>]) -> bool {
        let word = command.first().map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        self.is_embedded() && HARMLESS.contains(&&word[..])
    }

    /// The slots of the three keys of an Ick, as the cluster computes them.
    pub(crate) fn slots(&mut self, name: &[u8]) -> Option<&[u16]> {
        let Self::Cluster(cluster, _, places) = self else { return None };
        Some(&place(cluster, places, name).slots)
    }

    /// Whether all keys of this Ick can be used together here.
    pub(crate) fn can_hold(&mut self, name: &[u8]) -> bool {
        self.slots(name).is_none_or(|slots| slots.iter().all(|slot| *slot == slots[0]))
    }

    /// The requests that read the states of these Icks; none where the server itself is read.
    pub(crate) fn observations(&self, names: &[Vec<u8>]) -> Vec<Value> {
        let requests = |name: &Vec<u8>| {
            let name = labelled(name);
            let peek = |set| of_ick(&name, "peek", json!({"set": set, "max": ALL}));
            [of_ick(&name, "stats", json!({})), peek("producer"), peek("consumer")]
        };
        match self.is_embedded() {
            true => names.iter().flat_map(requests).collect(),
            false => Vec::new(),
        }
    }

    /// The states of these Icks, from the responses to [`observations`](Self::observations).
    pub(crate) fn states(
        &mut self,
        names: &[Vec<u8>],
        responses: &[Response],
    ) -> Result<Vec<State>> {
        if self.is_embedded() {
            return responses.chunks(3).map(embedded_state).collect();
        }
        names.iter().map(|name| self.server(name)?.state(name)).collect()
    }

    /// Runs a raw command on the server that has this Ick.
    pub(crate) fn redis(&mut self, name: &[u8], command: &[Vec<u8>]) -> Result<Value> {
        let reply = self.server(name)?.call(command)?;
        Ok(json_of(&reply))
    }

    /// The server that has this key.
    pub(crate) fn server(&mut self, key: &[u8]) -> Result<&mut Server> {
        match self {
            Self::Redis(server) => Ok(server),
            Self::Cluster(cluster, servers, places) => {
                Ok(&mut servers[place(cluster, places, key).owner])
            }
            Self::Memory | Self::File(..) => Err("an embedded engine has no server".to_owned()),
        }
    }

    /// How many keys there are on all servers.
    pub(crate) fn key_count(&mut self) -> Result<i64> {
        let count = |server: &mut Server| Ok(server.call(&["DBSIZE"])?.integer());
        match self {
            Self::Memory | Self::File(..) => Ok(0),
            Self::Redis(server) => count(server),
            Self::Cluster(_, servers, _) => servers.iter_mut().map(count).sum(),
        }
    }
}

impl Server {
    /// Runs one command without the library.
    pub(crate) fn call<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Result<Reply> {
        self.connection.call(command).map_err(|error| format!("the server: {error}"))
    }

    fn flush(&mut self) -> Result<()> {
        // This connection, and that of the client that is open.
        let begin = Instant::now();
        while self.call(&["CLIENT", "LIST"])?.text().lines().count() > 2
            && begin.elapsed() < SETTLED
        {
            thread::sleep(Duration::from_millis(1));
        }
        match self.call(&["FLUSHALL"])? {
            reply if reply.is_ok() => Ok(()),
            reply => Err(format!("the server does not empty itself: {reply:?}")),
        }
    }

    fn state(&mut self, name: &[u8]) -> Result<State> {
        let flag = match self.call(&[b"GET", name])? {
            Reply::Nil => Flag::Absent,
            Reply::Error(_) => Flag::Other(self.kind(name)?),
            text => Flag::Text(text.bytes().to_vec()),
        };
        let [producer, consumer] = set_keys(name);
        Ok(State { flag, producer: self.set(&producer)?, consumer: self.set(&consumer)? })
    }

    fn set(&mut self, key: &[u8]) -> Result<Set> {
        let reply = self.call(&[b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"])?;
        let Reply::Array(flat) = &reply else {
            return Ok(Set::Other(self.kind(key)?));
        };
        let pair = |pair: &[Reply]| {
            let score = score(&Value::String(pair[1].text()))?;
            Ok::<Pair, String>((pair[0].bytes().to_vec(), score))
        };
        Ok(Set::Members(flat.chunks(2).map(pair).collect::<Result<_>>()?))
    }

    fn kind(&mut self, key: &[u8]) -> Result<String> {
        Ok(self.call(&[b"TYPE", key])?.text())
    }
}

fn place<'a>(cluster: &Cluster, places: &'a mut HashMap<Vec<u8>, Place>, name: &[u8]) -> &'a Place {
    places.entry(name.to_vec()).or_insert_with(|| {
        let [producer, consumer] = set_keys(name);
        let slots = [name, &producer, &consumer].map(|key| cluster.slot_of(key)).to_vec();
        Place { owner: cluster.owner(slots[0]), slots }
    })
}

/// The state that stats and both peeks show.
fn embedded_state(responses: &[Response]) -> Result<State> {
    let [Response::Result(stats), Response::Result(producer), Response::Result(consumer)] =
        responses
    else {
        return Err(format!("stats or peek returned no result: {responses:?}"));
    };
    let pairs = |pairs: &Value| {
        let pairs = pairs.as_array().ok_or_else(|| format!("peek returned no list: {pairs}"))?;
        read_pairs(pairs).map(Set::Members)
    };
    let flag = if stats.is_null() { Flag::Absent } else { Flag::Text(b"ick.v1".to_vec()) };
    Ok(State { flag, producer: pairs(producer)?, consumer: pairs(consumer)? })
}

/// A reply as a case file writes it.
fn json_of(reply: &Reply) -> Value {
    match reply {
        Reply::Nil => Value::Null,
        Reply::Integer(number) => json!(number),
        Reply::Status(text) => json!(text),
        Reply::Bulk(bytes) => wire_bytes(bytes),
        Reply::Array(replies) => replies.iter().map(json_of).collect(),
        Reply::Error(text) => json!({"error": "CommandError", "message": text}),
    }
}
