//! How a connection finds its server, and what it does with servers that say no: seeds, sentinels,
//! redirections, servers that load. Where no real server says such things at will, a [`StandIn`] does.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use millpond::{Error, ErrorKind, Result};
use millpond_tests::block_on;
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::{Cluster, Redis, Sentinel, wait_until};
use millpond_tests::stand_in::{Answer, StandIn};

use crate::connections::{WAYS, peer};

/// Whether these are the words of a step.
fn is_step(words: &[String]) -> bool {
    words[0].starts_with("EVAL")
}

/// A port where nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A member of a cluster whose slots are all its own.
fn whole_cluster(real: &Redis) -> StandIn {
    let own = Arc::new(AtomicU16::new(0));
    let known = own.clone();
    let server = StandIn::start(real.port(), move |words| match &*words[0] {
        "CLUSTER" => all_slots_at(known.load(Ordering::SeqCst)),
        "ASKING" => Answer::Say("+OK\r\n".to_owned()),
        _ => Answer::PassOn,
    });
    own.store(server.port(), Ordering::SeqCst);
    server
}

fn all_slots_at(port: u16) -> Answer {
    Answer::slots(&[(0, 16_383, "127.0.0.1", port)])
}

fn add_once(url: &str, way: usize) -> Result<u64> {
    let (_, add) = WAYS[way];
    add(&millpond::connect(url)?, 1)
}

/// The error of a call in each way, of one kind.
fn errors(url: &str, kind: ErrorKind) -> [Error; 2] {
    [0, 1].map(|way| {
        let error = add_once(url, way).unwrap_err();
        assert_eq!(error.kind(), kind, "{url}, {}: {error:?}", WAYS[way].0);
        error
    })
}

#[test]
fn a_seed_that_refuses_or_hangs_does_not_hide_the_next() {
    let real = Redis::start();
    let good = whole_cluster(&real);
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    for first in [closed_port(), deaf.local_addr().unwrap().port()] {
        for (way, add) in WAYS {
            let url = format!("redis+cluster://127.0.0.1:{first},127.0.0.1:{}", good.port());
            assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
        }
    }
}

#[test]
fn an_address_that_belongs_to_somebody_else_by_now_is_passed_over() {
    let real = Redis::start();
    for (way, add) in WAYS {
        // The server that has all slots becomes a web server; then the seed has them.
        let is_gone = Arc::new(AtomicBool::new(false));
        let gone = is_gone.clone();
        let old = StandIn::start(real.port(), move |_| match gone.load(Ordering::SeqCst) {
            true => Answer::End("HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()),
            false => Answer::PassOn,
        });
        let owner = Arc::new(AtomicU16::new(old.port()));
        let named = owner.clone();
        let seed = StandIn::start(real.port(), move |words| match &*words[0] {
            "CLUSTER" => all_slots_at(named.load(Ordering::SeqCst)),
            _ => Answer::PassOn,
        });
        let url = format!("redis+cluster://127.0.0.1:{}", seed.port());
        let client = millpond::connect(&url).unwrap();
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        owner.store(seed.port(), Ordering::SeqCst);
        is_gone.store(true, Ordering::SeqCst);
        // The connection that broke under a call says so; the calls after it go on.
        let error = add(&client, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{way}: {error:?}");
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
}

#[test]
fn a_server_that_cannot_now_is_looked_for_again() {
    let real = Redis::start();
    for refusal in [
        "LOADING Redis is loading the dataset in memory",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "READONLY You can't write against a read only replica.",
    ] {
        for (way, add) in WAYS {
            let good = whole_cluster(&real);
            let owner = Arc::new(AtomicU16::new(0));
            let (named, next) = (owner.clone(), good.port());
            let bad = StandIn::start(real.port(), move |words| match &*words[0] {
                "CLUSTER" => all_slots_at(named.load(Ordering::SeqCst)),
                _ if is_step(words) => {
                    named.store(next, Ordering::SeqCst);
                    Answer::error(refusal)
                }
                _ => Answer::PassOn,
            });
            owner.store(bad.port(), Ordering::SeqCst);
            let url = format!("redis+cluster://127.0.0.1:{}", bad.port());
            assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}: {refusal}");
            assert!(good.asked("EVALSHA") > 0, "{way}: {refusal}");
        }
    }
}

#[test]
fn a_server_that_loads_is_dialled_anew() {
    let real = Redis::start();
    for (way, add) in WAYS {
        let refusals = AtomicUsize::new(2);
        let server = StandIn::start(real.port(), move |words| {
            let less = |left: usize| left.checked_sub(1);
            let is_loading =
                refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
            // First to the handshake, then, over the second connection, to the step.
            match is_loading && (words[0] == "PING" || is_step(words)) {
                true => Answer::error("LOADING Redis is loading the dataset in memory"),
                false => Answer::PassOn,
            }
        });
        let url = format!("redis://127.0.0.1:{}", server.port());
        assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
        assert!(server.accepted() >= 2, "{way}");
    }
}

#[test]
fn a_replica_of_nothing_is_given_up_in_time() {
    let server = Redis::start();
    server.cli(&["REPLICAOF", "127.0.0.1", &closed_port().to_string()]);
    let url = format!("redis://127.0.0.1:{}?timeout=1s&retries=100", server.port());
    for error in errors(&url, ErrorKind::Unavailable) {
        assert!(error.message().contains("READONLY"), "{error:?}");
    }
}

#[test]
fn a_redirection_leads_to_a_server_that_nobody_named() {
    let real = Redis::start();
    for redirection in ["MOVED", "ASK"] {
        for (way, add) in WAYS {
            let other = whole_cluster(&real);
            let (own, next) = (Arc::new(AtomicU16::new(0)), other.port());
            let named = own.clone();
            let seed = StandIn::start(real.port(), move |words| match &*words[0] {
                "CLUSTER" => all_slots_at(named.load(Ordering::SeqCst)),
                _ if is_step(words) => {
                    Answer::error(&format!("{redirection} 7629 127.0.0.1:{next}"))
                }
                _ => Answer::PassOn,
            });
            own.store(seed.port(), Ordering::SeqCst);
            let url = format!("redis+cluster://127.0.0.1:{}", seed.port());
            assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
            assert_eq!(other.asked("ASKING") > 0, redirection == "ASK", "{way}");
        }
    }
}

#[test]
fn a_redirection_to_a_server_that_is_gone_is_asked_about() {
    let real = Redis::start();
    for redirection in ["MOVED", "ASK"] {
        for (way, add) in WAYS {
            let (own, gone) = (Arc::new(AtomicU16::new(0)), closed_port());
            let named = own.clone();
            let redirects = AtomicBool::new(true);
            let seed = StandIn::start(real.port(), move |words| match &*words[0] {
                "CLUSTER" => all_slots_at(named.load(Ordering::SeqCst)),
                _ if is_step(words) && redirects.swap(false, Ordering::SeqCst) => {
                    Answer::error(&format!("{redirection} 7629 127.0.0.1:{gone}"))
                }
                _ => Answer::PassOn,
            });
            own.store(seed.port(), Ordering::SeqCst);
            let url = format!("redis+cluster://127.0.0.1:{}", seed.port());
            assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
            assert!(seed.asked("CLUSTER") >= 2, "{way}, {redirection}");
        }
    }
}

#[test]
fn a_redirection_without_a_host_stays_at_its_server() {
    let real = Redis::start();
    for (way, add) in WAYS {
        let target = StandIn::start_at("127.0.0.2", real.port(), |_| Answer::PassOn);
        let next = target.port();
        let owner =
            StandIn::start_at("127.0.0.2", real.port(), move |words| match is_step(words) {
                true => Answer::error(&format!("MOVED 7629 :{next}")),
                false => Answer::PassOn,
            });
        let named = owner.port();
        let seed = StandIn::start(real.port(), move |words| match &*words[0] {
            "CLUSTER" => Answer::slots(&[(0, 16_383, "127.0.0.2", named)]),
            _ => Answer::PassOn,
        });
        let url = format!("redis+cluster://127.0.0.1:{}", seed.port());
        assert_eq!(add(&millpond::connect(&url).unwrap(), 1).unwrap(), 1, "{way}");
        assert!(target.asked("EVALSHA") > 0, "{way}");
    }
}

#[test]
fn what_is_said_against_asking_is_what_the_caller_hears() {
    let real = Redis::start();
    for way in [0, 1] {
        let (own, back) = (Arc::new(AtomicU16::new(0)), Arc::new(AtomicU16::new(0)));
        let (named, source) = (own.clone(), back.clone());
        let target = StandIn::start(real.port(), move |words| match &*words[0] {
            "ASKING" => Answer::error("NOPERM this user has no permissions to run 'asking'"),
            _ if is_step(words) => {
                Answer::error(&format!("MOVED 7629 127.0.0.1:{}", source.load(Ordering::SeqCst)))
            }
            _ => Answer::PassOn,
        });
        let next = target.port();
        let seed = StandIn::start(real.port(), move |words| match &*words[0] {
            "CLUSTER" => all_slots_at(named.load(Ordering::SeqCst)),
            _ if is_step(words) => Answer::error(&format!("ASK 7629 127.0.0.1:{next}")),
            _ => Answer::PassOn,
        });
        own.store(seed.port(), Ordering::SeqCst);
        back.store(seed.port(), Ordering::SeqCst);
        let error =
            add_once(&format!("redis+cluster://127.0.0.1:{}", seed.port()), way).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error:?}");
        assert!(error.message().contains("asking"), "{error:?}");
        assert_eq!(target.asked("ASKING"), 1);
    }
}

#[test]
fn a_server_of_a_cluster_is_no_server_alone_and_the_other_way_round() {
    let real = Redis::start();
    let member = StandIn::start(real.port(), |words| match is_step(words) {
        true => Answer::error("MOVED 7629 127.0.0.1:1"),
        false => Answer::PassOn,
    });
    for error in errors(&format!("redis://127.0.0.1:{}", member.port()), ErrorKind::Server) {
        assert!(error.message().contains("MOVED"), "{error:?}");
    }
    assert_eq!(member.asked("EVALSHA"), 2, "none is tried again");
    let alone = StandIn::start(real.port(), |_| Answer::PassOn);
    for error in errors(&format!("redis+cluster://127.0.0.1:{}", alone.port()), ErrorKind::Server) {
        assert!(error.message().contains("cluster support disabled"), "{error:?}");
    }
    assert_eq!(alone.asked("CLUSTER"), 2, "none is tried again");
}

#[test]
fn a_slot_without_a_server_is_unavailable_and_others_work() {
    let real = Redis::start();
    // The slot of "k" is 7629.
    for (first, last, has_it) in [(0, 7628, false), (7629, 16_383, true)] {
        for (way, add) in WAYS {
            let own = Arc::new(AtomicU16::new(0));
            let named = own.clone();
            let server = StandIn::start(real.port(), move |words| match &*words[0] {
                "CLUSTER" => {
                    Answer::slots(&[(first, last, "127.0.0.1", named.load(Ordering::SeqCst))])
                }
                _ => Answer::PassOn,
            });
            own.store(server.port(), Ordering::SeqCst);
            let url = format!("redis+cluster://127.0.0.1:{}?retries=1", server.port());
            match add(&millpond::connect(&url).unwrap(), 1) {
                Ok(new) => assert!(has_it && new == 1, "{way}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{way}: {error:?}");
                    assert!(!has_it && error.message().contains("slot 7629"), "{way}: {error:?}");
                }
            }
        }
    }
}

#[test]
fn many_first_calls_make_one_query_for_the_topology() {
    let real = Redis::start();
    let server = whole_cluster(&real);
    let url = format!("redis+cluster://127.0.0.1:{}", server.port());
    let client = millpond::connect(&url).unwrap();
    std::thread::scope(|scope| {
        for call in 0..100 {
            let client = &client;
            scope.spawn(move || assert_eq!(WAYS[call % 2].1(client, 1).unwrap(), 1));
        }
    });
    assert_eq!(server.asked("CLUSTER"), 1);
}

#[test]
fn a_client_goes_on_when_the_servers_of_a_cluster_change() {
    let cluster = Cluster::with_replicas();
    let client = millpond::connect(&format!("{}?timeout=60s&retries=1000", cluster.url())).unwrap();
    let slot = cluster.slot_of("k");
    for (way, add) in WAYS {
        let killed = cluster.owner(slot);
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        cluster.nodes()[killed].kill();
        // Nothing was under way, so nothing is lost: it waits until the replica has taken over.
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        assert_ne!(cluster.owner(slot), killed, "{way}");
        cluster.nodes()[killed].restart();
        cluster.wait_until_serving();
    }
}

#[test]
fn a_client_goes_on_when_all_servers_of_a_cluster_were_restarted() {
    let cluster = Cluster::start();
    let client = millpond::connect(&format!("{}?timeout=60s&retries=1000", cluster.url())).unwrap();
    for (way, add) in WAYS {
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        cluster.nodes().iter().for_each(Redis::kill);
        cluster.nodes().iter().for_each(Redis::restart);
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
}

#[test]
fn a_server_that_hangs_holds_no_call_to_the_others() {
    let cluster = Cluster::start();
    let client = millpond::connect(&format!("{}?timeout=60s", cluster.url())).unwrap();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let hung = cluster.owner(cluster.slot_of("a"));
    let others: Vec<_> =
        names.iter().filter(|name| cluster.owner(cluster.slot_of(name)) != hung).collect();
    assert!(!others.is_empty());
    for name in names {
        client.ick(name).add([(1.0, "first")]).unwrap();
    }
    let node = &cluster.nodes()[hung];
    std::thread::scope(|scope| {
        let under_way = node.stop_continue(|| {
            let blocking = scope.spawn(|| client.ick("a").add([(1.0, "second")]).unwrap().new);
            let asynchronous = client.to_async().ick("a").add([(1.0, "third")]);
            for name in &others {
                assert_eq!(client.ick(name).add([(1.0, "second")]).unwrap().new, 1);
                let third = client.to_async().ick(name).add([(1.0, "third")]);
                assert_eq!(block_on(third).unwrap().new, 1);
            }
            assert!(!blocking.is_finished());
            (blocking, asynchronous)
        });
        assert_eq!(under_way.0.join().unwrap(), 1);
        assert_eq!(block_on(under_way.1).unwrap().new, 1);
    });
}

#[test]
fn a_sentinel_that_refuses_or_is_none_does_not_hide_the_next() {
    let real = Redis::start();
    let plain = Redis::start();
    let master = real.port();
    let good = StandIn::start(master, move |words| match &*words[0] {
        "SENTINEL" => Answer::master(master),
        _ => Answer::PassOn,
    });
    for first in [closed_port(), plain.port()] {
        for (way, add) in WAYS {
            let sentinels = format!("127.0.0.1:{first},127.0.0.1:{}", good.port());
            let client = millpond::connect(&format!("redis+sentinel://{sentinels}/main")).unwrap();
            assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        }
    }
    let gone = format!("redis+sentinel://127.0.0.1:{}/main?retries=1", closed_port());
    for error in errors(&gone, ErrorKind::ConnectionFailed) {
        assert!(error.message().contains("127.0.0.1"), "{error:?}");
    }
}

#[test]
fn a_sentinel_that_names_a_replica_is_passed_over() {
    let (master, replica) = (Redis::start(), Redis::start());
    replica.cli(&["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
    let naming = |port: u16| {
        StandIn::start(master.port(), move |words| match &*words[0] {
            "SENTINEL" => Answer::master(port),
            _ => Answer::PassOn,
        })
    };
    let (late, good) = (naming(replica.port()), naming(master.port()));
    let alone = format!("redis+sentinel://127.0.0.1:{}/main", late.port());
    for error in errors(&format!("{alone}?retries=1"), ErrorKind::Unavailable) {
        assert!(error.message().contains("is not a master now"), "{error:?}");
    }
    for (way, add) in WAYS {
        let sentinels = format!("127.0.0.1:{},127.0.0.1:{}", late.port(), good.port());
        let client = millpond::connect(&format!("redis+sentinel://{sentinels}/main")).unwrap();
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
}

#[test]
fn sentinels_have_credentials_of_their_own() {
    let master = Redis::builder().user("app", "of the master", "+@all ~* &*").start();
    let port = master.port();
    let sentinel = Redis::builder().user("watcher", "of the sentinel", "+@all").start();
    let named = StandIn::start(sentinel.port(), move |words| match &*words[0] {
        "SENTINEL" => Answer::master(port),
        _ => Answer::PassOn,
    });
    let host = format!("127.0.0.1:{}/main", named.port());
    let url = |password: &str, options: &str| {
        format!("redis+sentinel://app:{password}@{host}?retries=0&{options}")
    };
    let own = "sentinel_user=watcher&sentinel_password=of%20the%20sentinel";
    for way in [0, 1] {
        assert_eq!(add_once(&url("of%20the%20master", own), way).unwrap(), 1);
    }
    for (password, options) in
        [("wrong", own), ("of%20the%20master", "sentinel_user=watcher&sentinel_password=wrong")]
    {
        for error in errors(&url(password, options), ErrorKind::AuthenticationFailed) {
            assert!(!error.message().contains("wrong"), "{error:?}");
        }
    }
    master.cli(&["ACL", "SETUSER", "app", "-role"]);
    for error in errors(&url("of%20the%20master", own), ErrorKind::PermissionDenied) {
        assert!(error.message().contains("role"), "{error:?}");
    }
}

#[test]
fn a_client_goes_on_after_a_failover_of_sentinels() {
    let sentinels = Sentinel::start();
    let client =
        millpond::connect(&format!("{}?timeout=60s&retries=1000", sentinels.url())).unwrap();
    for (way, add) in WAYS {
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
    let old = sentinels.kill_master();
    for (way, add) in WAYS {
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
    sentinels.wait_for_failover(old);
}

#[test]
fn a_refused_handshake_is_said_once_and_with_the_servers_words() {
    let real = Redis::start();
    let server = StandIn::start(real.port(), |_| Answer::PassOn);
    let host = format!("127.0.0.1:{}", server.port());
    for (url, kind, part) in [
        (
            format!("redis://:secret@{host}"),
            ErrorKind::AuthenticationFailed,
            "without any password",
        ),
        (format!("redis://{host}/9999"), ErrorKind::InvalidUrl, "DB index is out of range"),
        (format!("redis://{host}?client_name=a%20b"), ErrorKind::InvalidUrl, "Client names"),
    ] {
        let before = server.accepted();
        for error in errors(&url, kind) {
            assert!(error.message().contains(part), "{error:?}");
            assert!(!error.to_string().contains("secret"), "{error:?}");
        }
        assert_eq!(server.accepted() - before, 2, "{url}");
    }
    let denied = "-DENIED Redis is running in protected mode\r\n";
    let protected = StandIn::start(real.port(), move |_| Answer::End(denied.to_owned()));
    for user in ["", ":secret@"] {
        let url = format!("redis://{user}127.0.0.1:{}", protected.port());
        for error in errors(&url, ErrorKind::AuthenticationFailed) {
            assert!(error.message().contains("protected mode"), "{error:?}");
        }
    }
    assert_eq!(protected.accepted(), 4, "none is tried again");
}

#[test]
fn half_a_reply_is_no_reply_and_not_before_the_next() {
    let real = Redis::start();
    for (way, add) in WAYS {
        let is_cut = AtomicBool::new(false);
        let server = StandIn::start(real.port(), move |words| {
            match is_step(words) && !is_cut.swap(true, Ordering::SeqCst) {
                true => Answer::End("*2\r\n:1\r\n".to_owned()),
                false => Answer::PassOn,
            }
        });
        let client = millpond::connect(&format!("redis://127.0.0.1:{}", server.port())).unwrap();
        let error = add(&client, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{way}: {error:?}");
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
    }
}

#[test]
fn every_connection_is_set_up_anew_after_one_was_killed() {
    let server = Redis::builder().user("me", "secret", "+@all ~* &*").start();
    let url = format!("redis://me:secret@127.0.0.1:{}/3?client_name=mine", server.port());
    let client = millpond::connect(&url).unwrap();
    for _ in 0..2 {
        for (way, add) in WAYS {
            assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
            let list = server.cli(&["CLIENT", "LIST"]).text();
            let mine: Vec<_> = list.lines().filter(|line| line.contains("user=me ")).collect();
            assert!(!mine.is_empty(), "{list}");
            for line in mine {
                assert!(line.contains(" name=mine ") && line.contains(" db=3 "), "{line}");
            }
            server.cli(&["CLIENT", "KILL", "USER", "me"]);
            wait_until("the client has noticed", || add(&client, 1).is_ok());
        }
    }
}

#[test]
fn as_many_idle_connections_are_kept_as_the_pool_has() {
    let real = Redis::start();
    for pool in [4, 0] {
        let server = StandIn::start(real.port(), |_| Answer::PassOn);
        let client =
            millpond::connect(&format!("redis://127.0.0.1:{}?pool={pool}", server.port())).unwrap();
        let together = std::sync::Barrier::new(20);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    together.wait();
                    assert_eq!(WAYS[0].1(&client, 1).unwrap(), 1);
                });
            }
        });
        wait_until("the others are closed", || server.open() <= pool);
        // Whatever the calls had of each other, the last to end is kept if any is.
        assert_eq!(server.open() > 0, pool > 0);
    }
}

#[test]
fn a_call_under_way_ends_after_close_and_keeps_no_connection() {
    let real = Redis::start();
    for (way, add) in WAYS {
        let (began, said) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel();
        let (began, wait) = (std::sync::Mutex::new(began), std::sync::Mutex::new(wait));
        let server = StandIn::start(real.port(), move |words| {
            if is_step(words) {
                began.lock().unwrap().send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            }
            Answer::PassOn
        });
        let client = millpond::connect(&format!("redis://127.0.0.1:{}", server.port())).unwrap();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| add(&client, 1));
            said.recv().unwrap();
            client.close().unwrap();
            // The script may be unknown to the server: it is sent twice then.
            go.send(()).unwrap();
            go.send(()).unwrap();
            assert_eq!(call.join().unwrap().unwrap(), 1, "{way}");
        });
        assert_eq!(add(&client, 1).unwrap_err().kind(), ErrorKind::Closed, "{way}");
        wait_until("no connection is left", || server.open() == 0);
    }
}

#[test]
fn many_calls_on_a_connection_that_breaks_have_one_outcome_each() {
    let real = Redis::start();
    let steps = AtomicUsize::new(0);
    let server = StandIn::start(real.port(), move |words| {
        match is_step(words) && steps.fetch_add(1, Ordering::SeqCst) == 50 {
            true => Answer::End(String::new()),
            false => Answer::PassOn,
        }
    });
    let client = millpond::connect(&format!("redis://127.0.0.1:{}", server.port())).unwrap();
    let ick = client.to_async().ick("k");
    let calls: Vec<_> = (0..200).map(|call| ick.add([(1.0, format!("of {call}"))])).collect();
    let (mut done, mut lost) = (0, 0);
    for call in calls {
        match block_on(call) {
            Ok(added) => done += added.new,
            Err(error) if error.kind() == ErrorKind::ConnectionLost => lost += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(lost > 0 && done + lost == 200, "{done} done, {lost} lost");
    let there = real.cli(&["ZCARD", "k/ick/{k}/pset"]).integer() as u64;
    assert!((done..=200).contains(&there), "{there} there, {done} done");
    assert_eq!(WAYS[1].1(&client, 1).unwrap(), 1);
}

#[test]
fn a_waiter_notices_that_its_connection_is_half_open() {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = millpond::connect(&format!("{}?poll=never&timeout=1s", proxy.url())).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let store = client.tasks("s");
            loop {
                // Its other connection is half-open as well, and says so when it is used.
                match store.claims(["q"]).wait(Duration::from_secs(60)).next() {
                    Some(Ok(tasks)) => return tasks.len(),
                    Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}"),
                    None => panic!("nobody woke it"),
                }
            }
        });
        let channels = || server.cli(&["PUBSUB", "CHANNELS"]).array().len();
        wait_until("it listens", || channels() == 1);
        // It has looked once more since.
        let calls = || server.calls_of("evalsha");
        wait_until("it sleeps", || {
            let before = calls();
            std::thread::sleep(Duration::from_millis(500));
            calls() == before
        });
        proxy.strand_connections();
        millpond::connect(&server.url()).unwrap().tasks("s").insert("q", "1").unwrap();
        assert_eq!(waiter.join().unwrap(), 1);
    });
}

#[test]
fn a_path_without_a_server_is_named() {
    let path = std::env::temp_dir().join("millpond-nobody-listens.sock");
    let url = format!("redis+unix://{}?retries=0", path.display());
    for error in errors(&url, ErrorKind::ConnectionFailed) {
        assert!(error.message().contains("millpond-nobody-listens.sock"), "{error:?}");
    }
}

#[test]
fn a_peer_whose_queue_is_full_is_given_up_in_time() {
    // Nobody accepts, and when there is no room for more who wait, what comes is dropped without a word.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let wait = || TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok();
    let _waiting: Vec<_> = std::iter::from_fn(wait).collect();
    let url = format!("redis://127.0.0.1:{}?timeout=500ms&connect_timeout=300ms", address.port());
    for error in errors(&url, ErrorKind::ConnectionFailed) {
        assert!(error.message().contains("no reply in time"), "{error:?}");
    }
}

#[test]
fn calls_over_tls_share_a_connection() {
    let server = Redis::builder().tls().start();
    let ca = server.ca_file().unwrap().display();
    let url = format!("rediss://localhost:{}?tls_ca={ca}", server.port());
    let client = millpond::connect(&url).unwrap();
    let received = || server.info("stats", "total_connections_received").unwrap();
    for (way, add) in WAYS {
        assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        let before = received();
        (0..50).for_each(|_| assert_eq!(add(&client, 1).unwrap(), 1, "{way}"));
        // What asks the server has connections of its own.
        let made = received().parse::<u64>().unwrap() - before.parse::<u64>().unwrap();
        assert!(made <= 1, "{way}: {made}");
    }
}

#[test]
fn a_client_shows_its_certificate_where_it_is_asked_for() {
    let server = Redis::builder().tls().config("tls-auth-clients", &["yes"]).start();
    let ca = server.ca_file().unwrap().display();
    let url = format!("rediss://localhost:{}?tls_ca={ca}", server.port());
    // The server's own certificate is of the authority that it trusts.
    let of = |name: &str| server.directory().join(name).display().to_string();
    let shown = format!("{url}&tls_cert={}&tls_key={}", of("server.pem"), of("server.key"));
    for way in [0, 1] {
        assert_eq!(add_once(&shown, way).unwrap(), 1);
        let error = add_once(&format!("{url}&retries=0"), way).unwrap_err();
        assert!(error.message().contains("certificate"), "{error:?}");
    }
}

#[test]
fn a_server_on_ipv6() {
    let builder = || Redis::builder().config("bind", &["127.0.0.1", "::1"]);
    let (plain, secure) = (builder().start(), builder().tls().start());
    let ca = secure.ca_file().unwrap().display();
    let port = plain.port();
    let seed = StandIn::start(port, move |words| match &*words[0] {
        "CLUSTER" => Answer::slots(&[(0, 16_383, "::1", port)]),
        _ => Answer::PassOn,
    });
    for url in [
        format!("redis://[::1]:{port}"),
        format!("rediss://[::1]:{}?tls_ca={ca}", secure.port()),
        format!("redis+cluster://127.0.0.1:{}", seed.port()),
    ] {
        for way in [0, 1] {
            assert_eq!(add_once(&url, way).unwrap(), 1, "{url}");
        }
    }
}

#[test]
fn a_unix_socket_whose_queue_is_full_is_given_up_in_time() {
    let server = Redis::start();
    let path = server.directory().join("full.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let mut waiting = Vec::new();
    let probe = || {
        let socket = UnixStream::connect_addr(&SocketAddr::from_pathname(&path).unwrap());
        socket.ok()
    };
    // One more than fit would wait for ever.
    waiting.extend((0..128).filter_map(|_| probe()));
    let url =
        format!("redis+unix://{}?timeout=500ms&connect_timeout=300ms&retries=0", path.display());
    for error in errors(&url, ErrorKind::ConnectionFailed) {
        assert!(error.message().contains("full.sock"), "{error:?}");
    }
}

#[test]
fn a_peer_that_was_refused_its_version_of_tls_is_no_server_for_us() {
    // The alert "protocol_version".
    let (port, asked) = peer(|mut client| {
        use std::io::{Read, Write};
        let _ = client.read(&mut [0; 1024]);
        let _ = client.write_all(b"\x15\x03\x03\x00\x02\x02\x46");
    });
    for error in errors(&format!("rediss://127.0.0.1:{port}"), ErrorKind::InvalidUrl) {
        assert!(error.message().contains("TLS"), "{error:?}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
