//! What a connection does with a peer that is not as it should be: one that refuses it, that is
//! no Redis, that was demoted, that sends more than it was asked for.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use millpond::{Client, Error, ErrorKind, Result};
use millpond_tests::block_on;
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::{Certified, Redis, Reply, wait_until};

pub(crate) type Call = fn(&Client, usize) -> Result<u64>;

/// A call of each of the ways that a client has to the server: on a connection of its own, and on the
/// one that asynchronous callers share.
pub(crate) const WAYS: [(&str, Call); 2] = [
    ("blocking", |client, count| Ok(client.ick("k").add(members(count))?.new)),
    ("asynchronous", |client, count| {
        Ok(block_on(client.to_async().ick("k").add(members(count)))?.new)
    }),
];

/// Members that were not there before.
fn members(count: usize) -> Vec<(f64, String)> {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let first = MADE.fetch_add(count, Ordering::Relaxed);
    (first..first + count).map(|number| (1.0, number.to_string())).collect()
}

/// A peer that does this with each connection; and how many it had.
pub(crate) fn peer(serve: impl Fn(TcpStream) + Send + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            serve(client);
        }
    });
    (port, accepted)
}

/// A peer that reads something, replies this and hangs up.
fn peer_that_says(reply: &'static [u8]) -> (u16, Arc<AtomicUsize>) {
    peer(move |mut client| {
        let _ = client.read(&mut [0; 1024]);
        let _ = client.write_all(reply);
    })
}

#[test]
fn a_server_that_was_demoted_is_left() {
    for (way, add) in WAYS {
        let (old, new) = (Redis::start(), Redis::start());
        let become_replica_of = |server: &Redis, master: &Redis| {
            server.cli(&["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
        };
        become_replica_of(&new, &old);
        wait_until("it replicates", || {
            new.info("replication", "master_link_status").as_deref() == Some("up")
        });
        let name = Proxy::start(old.port());
        let client = millpond::connect(&name.url()).unwrap();
        // Several idle connections, all of them to the one that is demoted.
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| assert_eq!(add(&client, 1).unwrap(), 1)));
            }
        });
        let replicated = || new.cli(&["ZCARD", "k/ick/{k}/pset"]).integer() == 200;
        wait_until("all is replicated", replicated);
        new.cli(&["REPLICAOF", "NO", "ONE"]);
        become_replica_of(&old, &new);
        name.lead_to(new.port());
        for _ in 0..8 {
            assert_eq!(add(&client, 1).unwrap(), 1, "{way}");
        }
        assert_eq!(new.cli(&["ZCARD", "k/ick/{k}/pset"]).integer(), 208, "{way}");
    }
}

#[test]
fn a_surplus_reply_is_no_reply_to_the_next_call() {
    let server = Redis::start();
    for (way, add) in WAYS {
        let name = Proxy::start(server.port());
        let client = millpond::connect(&name.url()).unwrap();
        assert_eq!(add(&client, 5).unwrap(), 5);
        name.double_next_reply();
        let mut replies = BTreeMap::new();
        for call in 0..200 {
            let count = call % 7 + 1;
            let kept = match add(&client, count) {
                Ok(new) if new == count as u64 => "right",
                Ok(_) => "of another call",
                Err(error) if error.kind() == ErrorKind::ConnectionLost => "lost",
                Err(error) => panic!("{way}: {error:?}"),
            };
            *replies.entry(kept).or_insert(0) += 1;
        }
        assert_eq!(replies, [("right", 200)].into(), "{way}");
    }
}

#[test]
fn a_missing_password_is_said_to_every_call() {
    let server = Redis::builder().requirepass("secret").start();
    let url = format!("redis://127.0.0.1:{}", server.port());
    for url in [url.clone(), format!("{url}?db=3"), format!("{url}?client_name=x")] {
        let client = millpond::connect(&url).unwrap();
        let (ick, tasks) = (client.ick("k"), client.tasks("t"));
        let (async_ick, async_tasks) = (client.to_async().ick("k"), client.to_async().tasks("t"));
        let large = "x".repeat(100_000);
        for _ in 0..3 {
            for error in [
                ick.add([(1.0, &large)]).map(drop).unwrap_err(),
                ick.reserve(10).map(drop).unwrap_err(),
                tasks.insert("q", "1").map(drop).unwrap_err(),
                tasks.claim(["q"], Duration::from_secs(9)).map(drop).unwrap_err(),
                block_on(async_ick.add([(1.0, &large)])).map(drop).unwrap_err(),
                block_on(async_tasks.insert("q", "1")).map(drop).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::AuthenticationFailed, "{url}: {error:?}");
            }
        }
    }
}

#[test]
fn a_server_with_too_many_clients_is_tried_again() {
    let server = Redis::builder().config("maxclients", &["12"]).start();
    let added: u64 = std::thread::scope(|scope| {
        let adding: Vec<_> = (0..60)
            .map(|_| {
                scope.spawn(|| {
                    let url = format!("{}?timeout=60s&retries=1000&pool=0", server.url());
                    let client = millpond::connect(&url).unwrap();
                    (0..20).map(|_| WAYS[0].1(&client, 1).unwrap()).sum::<u64>()
                })
            })
            .collect();
        adding.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(added, 1_200);
    assert_eq!(server.cli(&["ZCARD", "k/ick/{k}/pset"]).integer(), 1_200);
}

#[test]
fn what_is_no_redis_is_called_by_its_name() {
    let plain = Redis::start();
    let secure = Redis::builder().tls().start();
    let ca = secure.ca_file().unwrap().display().to_string();
    let (web, asked) = peer_that_says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    let (other, _) = peer_that_says(b"220 smtp\r\n");
    for (url, part) in [
        (format!("redis://127.0.0.1:{web}"), "is a web server"),
        (format!("redis://:password@127.0.0.1:{web}"), "is a web server"),
        (format!("rediss://127.0.0.1:{web}"), "does not speak TLS"),
        (format!("redis://127.0.0.1:{other}"), "it said \"220 smtp"),
        (format!("redis://127.0.0.1:{}", secure.port()), "the scheme for that is rediss:"),
        (format!("rediss://localhost:{}", plain.port()), "the scheme for that is redis:"),
        (format!("rediss://localhost:{}", secure.port()), "tls_ca names what is"),
        (format!("redis+sentinel://127.0.0.1:{web}/main"), "is a web server"),
        (format!("redis+cluster://127.0.0.1:{web}"), "is a web server"),
    ] {
        for (way, add) in WAYS {
            let error = add(&millpond::connect(&url).unwrap(), 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{url}, {way}: {error:?}");
            assert!(error.message().contains(part), "{url}, {way}: {error:?}");
        }
    }
    // None was tried again.
    assert_eq!(asked.load(Ordering::SeqCst), 10);
    let url = format!("rediss://localhost:{}?tls_ca={ca}", secure.port());
    assert_eq!(WAYS[0].1(&millpond::connect(&url).unwrap(), 1).unwrap(), 1);
}

#[test]
fn a_peer_that_hangs_up_at_once_has_done_nothing() {
    let (port, asked) = peer(drop);
    for (way, add) in WAYS {
        let client = millpond::connect(&format!("redis://127.0.0.1:{port}?retries=2")).unwrap();
        let error = add(&client, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionFailed, "{way}: {error:?}");
    }
    // Each of three attempts, and each time a look whether the peer speaks TLS.
    assert_eq!(asked.load(Ordering::SeqCst), 2 * 3 * 2);
}

/// What a client that trusts this server's own file says, in both ways.
fn with_its_own_file(certified: Certified, host: &str) -> [Result<u64>; 2] {
    let server = Redis::builder().certified(certified).start();
    let ca = server.ca_file().unwrap().display();
    let client =
        millpond::connect(&format!("rediss://{host}:{}?tls_ca={ca}", server.port())).unwrap();
    WAYS.map(|(_, add)| add(&client, 1))
}

#[test]
fn a_certificate_that_is_named_is_trusted_for_its_names_and_dates() {
    for host in ["localhost", "127.0.0.1"] {
        assert!(
            with_its_own_file(Certified::ByItself, host).into_iter().all(|new| new.unwrap() == 1)
        );
    }
    for (certified, part) in [
        (Certified::ByItselfForAnother, "without this name"),
        (Certified::WithoutNames, "Its names are those of subjectAltName; a common name is none"),
        (Certified::ByItselfAndOver, "expired"),
    ] {
        for refused in with_its_own_file(certified, "localhost") {
            let error: Error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{certified:?}: {error:?}");
            assert!(error.message().contains(part), "{certified:?}: {error:?}");
        }
    }
}

#[test]
fn a_password_with_a_user_of_the_old_form_is_taken() {
    let server = Redis::builder().requirepass("secret").start();
    let with_user = Redis::builder().user("h", "secret", "+@all ~* &*").start();
    for server in [&server, &with_user] {
        for (url, is_right) in
            [("redis://h:secret@127.0.0.1", true), ("redis://h:wrong@127.0.0.1", false)]
        {
            for (way, add) in WAYS {
                let client = millpond::connect(&format!("{url}:{}/1", server.port())).unwrap();
                match add(&client, 1) {
                    Ok(new) => assert!(is_right && new == 1, "{url}, {way}"),
                    Err(error) => {
                        assert!(!is_right, "{url}, {way}: {error:?}");
                        assert_eq!(error.kind(), ErrorKind::AuthenticationFailed, "{error:?}");
                    }
                }
            }
        }
    }
    // Logged in as that user, where there is one.
    assert_eq!(with_user.cli(&["ACL", "SETUSER", "h", "-@all"]), Reply::Status("OK".into()));
    let url = format!("redis://h:secret@127.0.0.1:{}", with_user.port());
    let error = WAYS[0].1(&millpond::connect(&url).unwrap(), 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error:?}");
}

#[test]
fn every_page_has_all_options_of_a_url() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = fs::read_to_string(root.join("core/src/options/mod.rs")).unwrap();
    let rows = source.lines().filter_map(|line| line.strip_prefix("/// "));
    let rows: Vec<_> = rows.skip_while(|row| *row != "| option | default | meaning |").collect();
    let table: Vec<_> = rows.into_iter().take_while(|row| row.starts_with('|')).collect();
    assert!(table.len() > 12, "{table:?}");
    for page in ["core/src", "python", "node", "ffi", "ffi/ruby", "ffi/php"] {
        let text = fs::read_to_string(root.join(page).join("README.md")).unwrap();
        assert!(text.contains(&table.join("\n")), "{page} has another table of options");
    }
}

/// A program that starts during an outage: what it does before its worker runs waits for the server. Once that has been
/// reached, calls fail after their timeout again.
#[test]
fn calls_wait_for_a_server_that_has_not_been_reached_yet() {
    let server = Redis::builder().appendonly_always().start();
    let url = |wait: &str| format!("{}?retries=0&timeout=200ms{wait}", server.url());
    let queue = |url: &str| millpond::connect(url).unwrap().events("orders");
    server.kill();
    assert_eq!(queue(&url("")).pause().unwrap_err().kind(), ErrorKind::ConnectionFailed);
    let queue = queue(&url("&wait=60s"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| queue.pause());
        // However long this takes, the call before it either waits or has failed.
        std::thread::sleep(Duration::from_millis(500));
        server.restart();
        first.join().unwrap().unwrap();
    });
    server.kill();
    assert_eq!(queue.resume().unwrap_err().kind(), ErrorKind::ConnectionFailed);
}
