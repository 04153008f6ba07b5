//! Servers for the test suites that are not written in Rust.
//!
//! ```text
//! millpond-test-servers redis|tls|cluster|sentinel [--appendonly]
//! millpond-test-servers hostile
//! ```
//!
//! It starts the server or servers, prints one line of JSON and lives until its standard input
//! closes, so that a test suite that crashes takes its servers down with it. The line holds
//! `kind`, `url`, `unix_url` and `ca_file` (both null where there is none), `pids`, and `servers`:
//! a list of `{"port", "pid", "unix_url"}`, sentinels not among them.
//!
//! `hostile` starts a peer that never ends its replies to steps, see `hostile.rs`; it obeys no command.
//!
//! Each line on standard input is a command; the response is the line `ok` when it is done or
//! one that begins with `error`. The optional `N` is an index into `servers`.
//!
//! | command | effect |
//! | --- | --- |
//! | `kill [N]` | SIGKILL to the server; without `N` to the first, or to the master of a sentinel |
//! | `restart [N]` | the same port and data again, once it replies; without `N` all that are down, or else the first |
//! | `stop [N]` | SIGSTOP, to the same one as `kill` |
//! | `cont [N]` | SIGCONT; without `N` to all that run, for the master may be another by now |
//! | `flushall` | empties all masters that run |

use std::io::{BufRead, stdin};
use std::process::ExitCode;

use millpond_tests::hostile::{Hostile, Phase};
use millpond_tests::servers::{Cluster, Redis, RedisBuilder, Sentinel};
use serde_json::{Value, json};

const USAGE: &str =
    "usage: millpond-test-servers redis|tls|cluster|sentinel [--appendonly], or hostile";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let started = match arguments[..] {
        [kind] => Servers::start(kind, &Redis::builder()),
        [kind, "--appendonly"] | ["--appendonly", kind] => {
            Servers::start(kind, &Redis::builder().appendonly_always())
        }
        _ => None,
    };
    let Some(servers) = started else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("{}", servers.description());
    for line in stdin().lock().lines().map_while(Result::ok) {
        match servers.run(&line) {
            Ok(()) => println!("ok"),
            Err(reason) => println!("error {reason}"),
        }
    }
    ExitCode::SUCCESS
}

enum Servers {
    Hostile(String),
    Redis(Redis),
    Cluster(Cluster),
    Sentinel(Sentinel),
}

impl Servers {
    fn start(kind: &str, template: &RedisBuilder) -> Option<Self> {
        Some(match kind {
            "hostile" => Self::Hostile(Hostile::start(Phase::Reply).url()),
            "redis" => Self::Redis(template.start()),
            "tls" => Self::Redis(template.clone().tls().start()),
            "cluster" => Self::Cluster(Cluster::start_with(template)),
            "sentinel" => Self::Sentinel(Sentinel::start_with(template)),
            _ => return None,
        })
    }

    fn description(&self) -> Value {
        let (kind, url, unix_url, ca_file) = match self {
            Self::Hostile(urls) => ("hostile", urls.clone(), None, None),
            Self::Redis(redis) => {
                let kind = if redis.ca_file().is_some() { "tls" } else { "redis" };
                (kind, redis.url(), Some(redis.unix_url()), redis.ca_file())
            }
            Self::Cluster(cluster) => ("cluster", cluster.url(), None, None),
            Self::Sentinel(sentinel) => ("sentinel", sentinel.url(), None, None),
        };
        let sentinels = match self {
            Self::Sentinel(sentinel) => sentinel.sentinels(),
            _ => &[],
        };
        let servers = self.servers().iter().map(|server| {
            json!({"port": server.port(), "pid": server.pid(), "unix_url": server.unix_url()})
        });
        json!({
            "kind": kind,
            "url": url,
            "unix_url": unix_url,
            "ca_file": ca_file,
            "pids": self.servers().iter().chain(sentinels).map(Redis::pid).collect::<Vec<_>>(),
            "servers": servers.collect::<Vec<_>>(),
        })
    }

    /// The servers with data.
    fn servers(&self) -> &[Redis] {
        match self {
            Self::Hostile(_) => &[],
            Self::Redis(redis) => std::slice::from_ref(redis),
            Self::Cluster(cluster) => cluster.nodes(),
            Self::Sentinel(sentinel) => sentinel.servers(),
        }
    }

    fn run(&self, line: &str) -> Result<(), String> {
        if let Self::Hostile(_) = self {
            return Err("a hostile peer obeys nobody".to_owned());
        }
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["kill"] => self.first().kill(),
            ["kill", index] => self.at(index)?.kill(),
            ["stop"] => running(self.first())?.stop(),
            ["stop", index] => running(self.at(index)?)?.stop(),
            ["cont"] => self.living().for_each(Redis::cont),
            ["cont", index] => running(self.at(index)?)?.cont(),
            ["restart"] => self.restart(&self.down()),
            ["restart", index] => self.restart(&[self.at(index)?]),
            ["flushall"] => return self.flush(),
            _ => return Err(format!("unknown command: {line}")),
        }
        Ok(())
    }

    /// The server that is meant when none is named.
    fn first(&self) -> &Redis {
        match self {
            Self::Sentinel(sentinel) => sentinel.master(),
            _ => &self.servers()[0],
        }
    }

    /// The servers that do not run, or the first if all do.
    fn down(&self) -> Vec<&Redis> {
        let mut down: Vec<_> = self.servers().iter().filter(|one| !one.is_running()).collect();
        if down.is_empty() {
            down.push(&self.servers()[0]);
        }
        down
    }

    fn living(&self) -> impl Iterator<Item = &Redis> {
        self.servers().iter().filter(|server| server.is_running())
    }

    fn at(&self, index: &str) -> Result<&Redis, String> {
        let server = index.parse().ok().and_then(|index: usize| self.servers().get(index));
        server.ok_or_else(|| format!("no server {index}"))
    }

    fn restart(&self, servers: &[&Redis]) {
        servers.iter().for_each(|server| server.restart());
        if let Self::Cluster(cluster) = self
            && cluster.nodes().iter().all(Redis::is_running)
        {
            cluster.wait_until_serving();
        }
    }

    fn flush(&self) -> Result<(), String> {
        for server in self.living() {
            let reply = server.cli(&["FLUSHALL"]);
            if let Some(error) = reply.error().filter(|error| !error.starts_with("READONLY")) {
                return Err(error.to_owned());
            }
        }
        Ok(())
    }
}

fn running(server: &Redis) -> Result<&Redis, String> {
    server.is_running().then_some(server).ok_or_else(|| "the server is down".to_owned())
}
