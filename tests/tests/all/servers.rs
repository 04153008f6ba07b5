//! The test servers themselves: the other tests build on them.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use millpond_tests::servers::{
    Claim, Cluster, Connection, Redis, Reply, Sentinel, find_redis_server, wait_until,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

#[test]
fn a_server_replies_on_port_and_socket() {
    let redis = Redis::start();
    assert_ne!(redis.port(), 6379);
    assert_eq!(redis.url(), format!("redis://127.0.0.1:{}", redis.port()));
    assert!(redis.unix_url().starts_with("redis+unix:///"));
    let mut tcp = over_tcp(redis.port());
    assert_eq!(tcp.call(&["SET", "k", "v"]).unwrap(), Reply::Status("OK".into()));
    assert_eq!(redis.cli(&["GET", "k"]), Reply::Bulk(b"v".to_vec()));
    assert_eq!(redis.cli(&["CONFIG", "GET", "save"]).array()[1].text(), "");
}

#[test]
fn replies_of_every_shape_are_read() {
    let redis = Redis::start();
    let binary = b"\0\r\n\xff".to_vec();
    assert!(redis.cli(&[b"SET".as_slice(), b"k", &binary]).is_ok());
    assert_eq!(redis.cli(&["GET", "k"]).bytes(), binary);
    assert_eq!(redis.cli(&["STRLEN", "k"]).integer(), 4);
    assert_eq!(redis.cli(&["GET", "none"]), Reply::Nil);
    assert_eq!(redis.cli(&["MGET", "none"]).array(), [Reply::Nil]);
    assert_eq!(redis.cli(&["SMEMBERS", "none"]).array(), []);
    assert!(redis.cli(&["LPUSH", "k", "v"]).error().unwrap().starts_with("WRONGTYPE"));
}

#[test]
fn an_acknowledged_write_survives_kill_and_restart() {
    let redis = Redis::builder().appendonly_always().start();
    assert!(redis.cli(&["SET", "k", "v"]).is_ok());
    let (pid, url) = (redis.pid(), redis.url());
    redis.kill();
    assert!(!redis.is_running() && is_gone(pid));
    assert!(redis.try_cli(&["PING"]).is_err());
    redis.restart();
    assert_ne!(redis.pid(), pid);
    assert_eq!(redis.url(), url);
    assert_eq!(redis.cli(&["GET", "k"]).text(), "v");
}

#[test]
fn a_restart_waits_until_a_stranger_leaves_the_port() {
    let redis = Redis::start();
    redis.kill();
    let stranger = TcpListener::bind(("127.0.0.1", redis.port())).unwrap();
    std::thread::scope(|scope| {
        let restart = scope.spawn(|| redis.restart());
        std::thread::sleep(Duration::from_millis(200));
        assert!(!restart.is_finished());
        drop(stranger);
    });
    assert_eq!(over_tcp(redis.port()).call(&["PING"]).unwrap(), Reply::Status("PONG".into()));
}

#[test]
fn a_living_server_restarts_too_and_forgets_without_aof() {
    let redis = Redis::start();
    assert!(redis.cli(&["SET", "k", "v"]).is_ok());
    redis.restart();
    assert_eq!(redis.cli(&["GET", "k"]), Reply::Nil);
}

#[test]
fn a_stopped_server_is_silent_until_continued() {
    let redis = Redis::start();
    let mut tcp = over_tcp(redis.port());
    tcp.call(&["PING"]).unwrap();
    redis.stop_continue(|| {
        let mut silent = TcpStream::connect(("127.0.0.1", redis.port())).unwrap();
        silent.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        silent.write_all(b"PING\r\n").unwrap();
        assert!(silent.read(&mut [0; 16]).is_err());
        assert!(redis.is_running());
    });
    assert_eq!(tcp.call(&["PING"]).unwrap(), Reply::Status("PONG".into()));
}

#[test]
fn passwords_are_asked_for_and_are_in_the_urls() {
    let redis = Redis::builder().requirepass("p@ss \"word").start();
    let refused = over_tcp(redis.port()).call(&["PING"]).unwrap();
    assert!(refused.error().unwrap().starts_with("NOAUTH"));
    assert!(redis.url().starts_with("redis://:p%40ss%20%22word@127.0.0.1:"), "{}", redis.url());
    assert!(
        redis.unix_url().starts_with("redis+unix://:p%40ss%20%22word@/"),
        "{}",
        redis.unix_url()
    );
    assert!(over_tcp(redis.port()).call(&["AUTH", "p@ss \"word"]).unwrap().is_ok());
}

#[test]
fn acl_users_have_their_rights_and_no_more() {
    let redis = Redis::builder().user("ann", "secret", "+@all -flushall ~mill:* &*").start();
    assert!(redis.url().starts_with("redis://ann:secret@"));
    assert!(redis.unix_url().starts_with("redis+unix://ann:secret@/"));
    let mut ann = over_tcp(redis.port());
    assert!(ann.call(&["PING"]).unwrap().error().unwrap().starts_with("NOAUTH"));
    assert!(ann.call(&["AUTH", "ann", "secret"]).unwrap().is_ok());
    assert!(ann.call(&["SET", "mill:k", "v"]).unwrap().is_ok());
    assert!(ann.call(&["SET", "k", "v"]).unwrap().error().unwrap().starts_with("NOPERM"));
    assert!(ann.call(&["FLUSHALL"]).unwrap().error().unwrap().starts_with("NOPERM"));
    assert!(redis.cli(&["FLUSHALL"]).is_ok());
}

#[test]
fn further_options_reach_the_server() {
    let redis = Redis::builder().config("maxmemory-policy", &["allkeys-lru"]).start();
    assert_eq!(redis.info("memory", "maxmemory_policy").as_deref(), Some("allkeys-lru"));
}

#[test]
fn tls_is_trusted_with_the_right_authority_only() {
    let redis = Redis::builder().tls().start();
    let other = Redis::builder().tls().start();
    assert_eq!(redis.url(), format!("rediss://localhost:{}", redis.port()));
    let mut trusted = over_tls(redis.port(), redis.ca_file().unwrap());
    assert_eq!(trusted.call(&["PING"]).unwrap(), Reply::Status("PONG".into()));

    let error = over_tls(redis.port(), other.ca_file().unwrap()).call(&["PING"]).unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    assert!(over_tcp(redis.port()).call(&["PING"]).is_err(), "plain text got a reply");

    redis.kill();
    redis.restart();
    let mut trusted = over_tls(redis.port(), redis.ca_file().unwrap());
    assert_eq!(trusted.call(&["PING"]).unwrap(), Reply::Status("PONG".into()));
}

#[test]
fn a_cluster_covers_all_slots_and_asks_half_way_through_a_migration() {
    let cluster = Cluster::start();
    for node in cluster.nodes() {
        let info = node.cli(&["CLUSTER", "INFO"]).text();
        assert!(info.contains("cluster_state:ok") && info.contains("cluster_slots_assigned:16384"));
    }
    assert_eq!([0, 5460, 5461, 10922, 16383].map(|slot| cluster.owner(slot)), [0, 0, 1, 2, 2]);
    let ports: Vec<_> =
        cluster.nodes().iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
    assert_eq!(cluster.url(), format!("redis+cluster://{}", ports.join(",")));

    let slot = cluster.slot_of("{tag}a");
    let from = cluster.owner(slot);
    let to = (from + 1) % 3;
    let (source, target) = (&cluster.nodes()[from], &cluster.nodes()[to]);
    for key in ["{tag}a", "{tag}b"] {
        assert!(source.cli(&["SET", key, key]).is_ok());
    }
    let moved = Reply::Error(format!("MOVED {slot} 127.0.0.1:{}", source.port()));
    assert_eq!(target.cli(&["GET", "{tag}a"]), moved);

    let migration = cluster.begin_migration(slot, to);
    assert_eq!(migration.move_keys(1), 1);
    let ask = Reply::Error(format!("ASK {slot} 127.0.0.1:{}", target.port()));
    let replies = ["{tag}a", "{tag}b"].map(|key| source.cli(&["GET", key]));
    assert_eq!(replies.iter().filter(|reply| **reply == ask).count(), 1, "{replies:?}");
    let mut asking = target.connect().unwrap();
    assert!(asking.call(&["ASKING"]).unwrap().is_ok());
    assert_eq!(asking.call(&["GET", "{tag}none"]).unwrap(), Reply::Nil);
    assert!(asking.call(&["ASKING"]).unwrap().is_ok());
    let both = asking.call(&["MGET", "{tag}a", "{tag}b"]).unwrap();
    assert!(both.error().unwrap().starts_with("TRYAGAIN"), "{both:?}");

    migration.finish();
    assert_eq!(cluster.owner(slot), to);
    assert_eq!(target.cli(&["MGET", "{tag}a", "{tag}b"]).array().len(), 2);
    let moved = Reply::Error(format!("MOVED {slot} 127.0.0.1:{}", target.port()));
    assert_eq!(source.cli(&["GET", "{tag}a"]), moved);
    cluster.migrate_slot(slot, from);
    assert_eq!(source.cli(&["GET", "{tag}b"]).text(), "{tag}b");
}

#[test]
fn a_restarted_cluster_node_serves_its_slots_again() {
    let cluster = Cluster::start_with(&Redis::builder().appendonly_always());
    let owner = &cluster.nodes()[cluster.owner(cluster.slot_of("k"))];
    assert!(owner.cli(&["SET", "k", "v"]).is_ok());
    owner.kill();
    owner.restart();
    cluster.wait_until_serving();
    assert_eq!(owner.cli(&["GET", "k"]).text(), "v");
}

#[test]
fn a_replica_takes_over_from_a_killed_cluster_master() {
    let cluster = Cluster::with_replicas();
    let slot = cluster.slot_of("k");
    let killed = cluster.owner(slot);
    let mut client = cluster.nodes()[killed].connect().unwrap();
    assert!(client.call(&["SET", "k", "v"]).unwrap().is_ok());
    assert_eq!(client.call(&["WAIT", "1", "10000"]).unwrap().integer(), 1);
    cluster.nodes()[killed].kill();
    cluster.wait_for_failover(killed);
    let owner = cluster.owner(slot);
    assert_eq!(owner, killed + 3);
    assert_eq!(cluster.nodes()[owner].cli(&["GET", "k"]).text(), "v");
}

#[test]
fn sentinels_fail_over_to_the_replica() {
    let sentinel = Sentinel::start();
    assert!(sentinel.url().starts_with("redis+sentinel://127.0.0.1:"), "{}", sentinel.url());
    assert!(sentinel.url().ends_with("/mymaster") && sentinel.url().matches(',').count() == 2);
    assert_eq!(sentinel.master_port(), sentinel.servers()[0].port());
    let mut client = sentinel.master().connect().unwrap();
    assert!(client.call(&["SET", "k", "v"]).unwrap().is_ok());
    assert_eq!(client.call(&["WAIT", "1", "10000"]).unwrap().integer(), 1);

    let old = sentinel.kill_master();
    let new = sentinel.wait_for_failover(old);
    assert_eq!(new, sentinel.servers()[1].port());
    assert_eq!(sentinel.master().cli(&["GET", "k"]).text(), "v");
    assert!(sentinel.master().cli(&["SET", "k", "w"]).is_ok());

    sentinel.servers()[0].restart();
    wait_until("the old master is a replica of the new one", || {
        sentinel.servers()[0].cli(&["GET", "k"]) == Reply::Bulk(b"w".to_vec())
    });
}

#[test]
fn nothing_is_left_behind_by_a_drop() {
    let cluster = Cluster::start();
    let pids: Vec<_> = cluster.nodes().iter().map(Redis::pid).collect();
    let directories: Vec<_> =
        cluster.nodes().iter().map(|node| node.directory().to_owned()).collect();
    assert!(directories.iter().all(|directory| directory.exists()));
    drop(cluster);
    assert!(pids.into_iter().all(is_gone));
    assert!(!directories.iter().any(|directory| directory.exists()));
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let redis = std::thread::spawn(Redis::start).join().unwrap();
    let redis = std::thread::spawn(move || {
        redis.restart();
        redis
    });
    assert_eq!(redis.join().unwrap().cli(&["PING"]), Reply::Status("PONG".into()));
}

#[test]
fn claims_of_many_threads_are_all_different() {
    let claims: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(|| (0..25).map(|_| Claim::new()).collect::<Vec<_>>()))
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    let mut ports: Vec<_> = claims.iter().map(Claim::port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 200);
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let start = || Redis::builder().config("no-such-option", &["1"]).start();
    let panic = std::panic::catch_unwind(start).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("no-such-option"), "{message}");
}

#[test]
fn a_missing_server_panics_with_a_hint() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_millpond-test-servers"));
    let missing = program.arg("redis").env_remove("MILLPOND_REDIS_SERVER").env("PATH", "");
    let output = missing.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(message.contains("apt-get install redis-server"), "{message}");
    assert!(find_redis_server().is_file());
}

#[test]
fn the_program_obeys_and_ends_with_its_input() {
    let mut program = Program::start(&["redis", "--appendonly"]);
    let port = u16::try_from(program.description["servers"][0]["port"].as_u64().unwrap()).unwrap();
    assert_eq!(program.description["url"], format!("redis://127.0.0.1:{port}"));
    assert!(over_tcp(port).call(&["SET", "k", "v"]).unwrap().is_ok());
    assert_eq!(program.say("stop"), "ok");
    assert_eq!(program.say("cont"), "ok");
    assert_eq!(program.say("kill"), "ok");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(program.say("stop"), "error the server is down");
    assert_eq!(program.say("restart"), "ok");
    assert_eq!(over_tcp(port).call(&["GET", "k"]).unwrap().text(), "v");
    assert_eq!(program.say("flushall"), "ok");
    assert_eq!(over_tcp(port).call(&["GET", "k"]).unwrap(), Reply::Nil);
    assert_eq!(program.say("dance"), "error unknown command: dance");

    let Program { mut child, input, .. } = program;
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn the_program_starts_redis() {
    assert_description("redis", "redis://127.0.0.1:", 1, 1);
}

#[test]
fn the_program_starts_tls() {
    assert_description("tls", "rediss://localhost:", 1, 1);
}

#[test]
fn the_program_starts_a_cluster() {
    assert_description("cluster", "redis+cluster://127.0.0.1:", 3, 3);
}

#[test]
fn the_program_starts_sentinels() {
    assert_description("sentinel", "redis+sentinel://127.0.0.1:", 5, 2);
}

fn assert_description(kind: &str, url: &str, pids: usize, servers: usize) {
    let mut program = Program::start(&[kind]);
    let description = &program.description;
    assert_eq!(description["kind"], kind);
    assert!(description["url"].as_str().unwrap().starts_with(url), "{description}");
    assert_eq!(description["pids"].as_array().unwrap().len(), pids);
    assert_eq!(description["servers"].as_array().unwrap().len(), servers);
    assert_eq!(description["ca_file"].is_string(), kind == "tls");
    assert_eq!(description["unix_url"].is_string(), ["redis", "tls"].contains(&kind));
    assert_eq!(program.say("flushall"), "ok");
    assert_eq!(program.say("kill"), "ok");
    assert_eq!(program.say("restart"), "ok");
}

#[test]
fn servers_die_with_a_parent_that_is_killed_and_the_next_one_cleans_up() {
    let mut program = Program::start(&["cluster"]);
    let pids = program.description["pids"].as_array().unwrap().clone();
    let pids: Vec<_> = pids.iter().map(|pid| pid.as_u64().unwrap() as u32).collect();
    let servers = program.description["servers"].as_array().unwrap().clone();
    let socket = |server: &Value| server["unix_url"].as_str().unwrap()[13..].to_owned();
    let directories: Vec<_> = servers
        .iter()
        .map(|server| Path::new(&socket(server)).parent().unwrap().to_owned())
        .collect();
    assert!(!pids.iter().any(|pid| is_gone(*pid)));
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    wait_until("the servers of a killed parent are gone", || pids.iter().all(|pid| is_gone(*pid)));

    // A directory that another test process has claimed since is not the one that was left.
    let next = Program::start(&["redis"]);
    let left = |directory: &Path| directory.join("nodes.conf").exists();
    assert!(!directories.iter().any(|directory| left(directory)), "{}", next.description);
}

/// The program under test; dropping it closes its input, which ends it.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    description: Value,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_millpond-test-servers"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        Self { child, input, output, description: serde_json::from_str(&line).unwrap() }
    }

    fn say(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
        reply.trim_end().to_owned()
    }
}

fn over_tcp(port: u16) -> Connection<TcpStream> {
    Connection::new(TcpStream::connect(("127.0.0.1", port)).unwrap())
}

fn over_tls(port: u16, ca_file: &Path) -> Connection<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", port)).unwrap();
    Connection::new(StreamOwned::new(client, tcp))
}

/// Whether a process has ended. In a container an orphan may not be collected, so that it
/// stays listed as a zombie, which holds neither port nor memory.
fn is_gone(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}
