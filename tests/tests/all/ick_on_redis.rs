//! Every kind of connection to a Redis, and what a client does when it is bad.

use std::time::{Duration, Instant};

use millpond::ick::{Added, SIZE_MAX, Set};
use millpond::{Client, ErrorKind, Options};
use millpond_tests::block_on;
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::{Cluster, Redis, Sentinel, wait_until};

type Result = std::result::Result<(), millpond::Error>;

fn members(batch: &[millpond::ick::Entry]) -> Vec<String> {
    batch.iter().map(|entry| String::from_utf8_lossy(&entry.member).into_owned()).collect()
}

/// One walk through every step, to be taken on every kind of server.
fn walk(client: &Client, name: &str) -> Result {
    let ick = client.ick(name);
    assert_eq!(ick.stats()?, None);
    assert_eq!(ick.add([(2.0, "b"), (1.0, "a"), (3.0, "c")])?, Added { new: 3, lowered: 0 });
    assert_eq!(ick.add([(0.5, "c"), (9.0, "a")])?, Added { new: 0, lowered: 1 });
    assert_eq!(members(&ick.reserve(2)?), ["c", "a"]);
    assert_eq!(members(&ick.peek(Set::Producer, SIZE_MAX - 1)?), ["b"]);
    assert_eq!(members(&ick.peek(Set::Consumer, 1)?), ["c"]);
    ick.add([(7.0, "a")])?;
    assert_eq!(members(&ick.exchange(SIZE_MAX - 1, ["c", "a"])?), ["b", "a"]);
    assert_eq!(ick.add([(None, "now")])?.new, 1);
    let stats = ick.stats()?.expect("it was made");
    assert_eq!((stats.producer_size, stats.consumer_size), (1, 2));
    assert_eq!(stats.consumer_range, Some((2.0, 7.0)));
    assert!(stats.producer_range.is_some_and(|(low, _)| low > 1.7e9));
    assert_eq!(members(&ick.exchange_backwash(1, ["a"])?), ["b"]);
    assert_eq!(ick.commit(["b", "b", "x"])?, 1);
    let lease = ick.lease(Duration::from_secs(30))?.expect("nobody holds it");
    assert!(ick.lease(Duration::from_secs(30))?.is_none());
    assert_eq!(members(&lease.exchange(5, [] as [&str; 0])?), ["now"]);
    assert_eq!(lease.commit(["now"])?, 1);
    assert!(lease.release()?);
    assert_eq!(ick.unlink()?, 1);
    assert_eq!(ick.delete()?, 0);
    Ok(())
}

#[test]
fn one_server_by_tcp_and_by_unix_socket() -> Result {
    let server = Redis::start();
    walk(&millpond::connect(&server.url())?, "k")?;
    walk(&millpond::connect(&server.unix_url())?, "k")
}

#[test]
fn a_user_with_a_password_a_name_and_a_database() -> Result {
    let server = Redis::builder().user("me", "p@ss/word", "+@all ~* &*").start();
    let url = format!("{}/3?client_name=indexer", server.url());
    let client = millpond::connect(&url)?;
    walk(&client, "k")?;
    // The connections that wait stay for a while as well.
    let moment = Duration::from_millis(100);
    assert!(client.ick("k").batches(1).wait(moment).next().is_none());
    assert!(client.shuffle_queue("q").consumer("g", "c").messages(1).wait(moment).next().is_none());
    block_on(client.to_async().ick("k").stats())?;
    let clients = server.cli(&["CLIENT", "LIST"]);
    let clients = String::from_utf8_lossy(clients.bytes()).into_owned();
    let own: Vec<_> = clients.lines().filter(|client| client.contains("user=me")).collect();
    assert_eq!(own.len(), 4, "{clients}");
    let is_named = |client: &&str| client.contains("name=indexer") && client.contains("db=3");
    assert!(own.iter().all(is_named), "{clients}");

    for (user, password) in [(Some("me"), "wrong"), (None, "wrong"), (Some("nobody"), "x")] {
        let plain = format!("redis://127.0.0.1:{}", server.port());
        let options = Options::parse(&plain)?.credentials(user, password);
        let error = options.connect()?.ick("k").stats().expect_err("the password is wrong");
        assert_eq!(error.kind(), ErrorKind::AuthenticationFailed, "{error}");
        assert!(!format!("{error} {error:?}").contains("wrong"), "{error:?}");
    }
    let error = millpond::connect(&format!("redis://127.0.0.1:{}", server.port()))?
        .ick("k")
        .stats()
        .expect_err("a password is missing");
    assert_eq!(error.kind(), ErrorKind::AuthenticationFailed, "{error}");
    Ok(())
}

#[test]
fn tls_with_its_own_authority() -> Result {
    let server = Redis::builder().tls().start();
    let ca = server.ca_file().expect("a TLS server has one").display().to_string();
    let client = millpond::connect(&format!("{}?tls_ca={ca}", server.url()))?;
    walk(&client, "k")?;
    let pending = client.to_async().ick("k").add([(1.0, "a")]);
    assert_eq!(block_on(pending)?.new, 1);

    let error = millpond::connect(&server.url())?
        .ick("k")
        .stats()
        .expect_err("nobody vouches for this certificate");
    assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let error = millpond::connect("rediss://h?tls_ca=/nonexistent").expect_err("no such file");
    assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{error}");
    Ok(())
}

#[test]
fn a_cluster_of_three() -> Result {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url())?;
    for i in 0..32 {
        walk(&client, &format!("ick-{i}"))?;
        block_on(client.to_async().ick(format!("a-{i}")).add([(1.0, "a")]))?;
    }
    let channel = client.ick_channel("c", 8)?;
    let pairs: Vec<_> = (0..100).map(|i| (f64::from(i), format!("m{i}"))).collect();
    assert_eq!(channel.add(pairs)?.new, 100);

    for name in ["", "a{b", "{}abc", "}{"] {
        let error = client.ick(name).stats().expect_err("its keys lie in several slots");
        assert_eq!(error.kind(), ErrorKind::CrossSlot, "{name}: {error}");
        let pending = client.to_async().ick(name).stats();
        assert_eq!(block_on(pending).expect_err("as above").kind(), ErrorKind::CrossSlot);
    }
    Ok(())
}

#[test]
fn a_slot_that_moves_is_followed() -> Result {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url())?;
    let slot = cluster.slot_of("moving");
    let to = (cluster.owner(slot) + 1) % 3;
    let ick = client.ick("moving");
    ick.add([(1.0, "a"), (2.0, "b")])?;
    ick.reserve(1)?;

    // All three keys have gone, but the slot is still the old server's: it says to ask the new one.
    let migration = cluster.begin_migration(slot, to);
    while migration.move_keys(1) > 0 {}
    assert_eq!(ick.add([(3.0, "c")])?.new, 1);
    let pending = client.to_async().ick("moving").add([(4.0, "d")]);
    assert_eq!(block_on(pending)?.new, 1);
    migration.finish();
    assert_eq!(members(&ick.reserve(9)?), ["a", "b", "c", "d"]);
    assert_eq!(block_on(client.to_async().ick("moving").commit(["a"]))?, 1);

    // Keys on both sides: no server can run the step, so it waits until the slot has moved.
    let back = cluster.begin_migration(slot, (to + 1) % 3);
    assert_eq!(back.move_keys(1), 1);
    std::thread::scope(|scope| {
        let sync = scope.spawn(|| ick.add([(5.0, "e")]));
        let pending = client.to_async().ick("moving").add([(6.0, "f")]);
        std::thread::sleep(Duration::from_millis(300));
        while back.move_keys(1) > 0 {}
        back.finish();
        assert_eq!(sync.join().expect("no panic")?.new, 1);
        assert_eq!(block_on(pending)?.new, 1);
        Ok(())
    })
}

#[test]
fn sentinels_are_followed_to_the_new_master() -> Result {
    let sentinel = Sentinel::start();
    let client = millpond::connect(&format!("{}?timeout=20s&retries=60", sentinel.url()))?;
    walk(&client, "k")?;
    let ick = client.ick("k");
    ick.add([(1.0, "before")])?;
    let old = sentinel.kill_master();
    // The first call may find the connection broken; a call that finds no server waits for the new
    // master.
    let _ = ick.stats();
    ick.add([(2.0, "after")])?;
    assert_ne!(sentinel.wait_for_failover(old), old);
    assert!(members(&ick.reserve(9)?).contains(&"after".to_owned()));
    assert_eq!(block_on(client.to_async().ick("k").commit(["after"]))?, 1);
    let error = millpond::connect(&sentinel.url().replace("mymaster", "other"))?
        .ick("k")
        .stats()
        .expect_err("the sentinels know no such service");
    assert!(error.to_string().contains("knows no service other"), "{error}");
    Ok(())
}

#[test]
fn a_server_that_forgets_its_scripts_gets_them_again() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let flush = || assert!(server.cli(&["SCRIPT", "FLUSH"]).is_ok());
    let ick = client.ick("k");
    for i in 0..20 {
        flush();
        ick.add([(f64::from(i), i.to_string())])?;
        flush();
        ick.exchange(3, [i.to_string()])?;
    }
    // Also inside a pipeline: many at once, none known.
    flush();
    let pending: Vec<_> =
        (0..200).map(|i| client.to_async().ick("p").add([(f64::from(i), i.to_string())])).collect();
    for pending in pending {
        assert_eq!(block_on(pending)?.new, 1);
    }
    Ok(())
}

#[test]
fn a_server_that_restarted_meanwhile_is_not_noticed() -> Result {
    let server = Redis::builder().appendonly_always().start();
    let client = millpond::connect(&server.url())?;
    let ick = client.ick("k");
    ick.add([(1.0, "a")])?;
    block_on(client.to_async().ick("k").add([(2.0, "b")]))?;
    // A connection that was used within the last few milliseconds is taken to be alive.
    std::thread::sleep(Duration::from_millis(20));
    server.kill();
    server.restart();
    // The sync connection is known to be dead without a check; the async one is checked after a
    // second of silence.
    assert_eq!(members(&ick.reserve(9)?), ["a", "b"]);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(block_on(client.to_async().ick("k").commit(["a", "b"]))?, 2);
    Ok(())
}

#[test]
fn a_lost_reply_is_reported_and_no_step_runs_twice() -> Result {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = millpond::connect(&proxy.url())?;
    let ick = client.ick("k");
    ick.add([(1.0, "a")])?;
    // The server knows every script, so that the lost reply is the step's own.
    walk(&millpond::connect(&server.url())?, "warm")?;
    block_on(client.to_async().ick("k").stats())?;

    let lost = |run: &dyn Fn() -> ErrorKind| {
        // Both connections stand, so that the lost reply is not one to what a new connection says first.
        ick.stats().expect("the server is there");
        block_on(client.to_async().ick("k").stats()).expect("the server is there");
        let before = script_calls(&server);
        proxy.lose_next_reply();
        assert_eq!(run(), ErrorKind::ConnectionLost);
        assert_eq!(script_calls(&server) - before, 1, "the server did it once");
    };
    lost(&|| ick.add([(2.0, "b")]).expect_err("no reply came").kind());
    lost(&|| block_on(client.to_async().ick("k").add([(3.0, "c")])).expect_err("none").kind());
    lost(&|| ick.exchange(1, [""; 0]).expect_err("no reply came").kind());
    lost(&|| block_on(client.to_async().ick("k").reserve(1)).expect_err("none").kind());
    // A step that only reads is sent again.
    proxy.lose_next_reply();
    assert_eq!(ick.stats()?.expect("it is there").total_size(), 3);
    proxy.lose_next_reply();
    assert_eq!(block_on(client.to_async().ick("k").peek(Set::Producer, 9))?.len(), 2);
    assert_eq!(proxy.swallowed(), 6);
    Ok(())
}

#[test]
fn a_loop_whose_commit_got_no_reply_loses_nothing() -> Result {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = millpond::connect(&proxy.url())?;
    let ick = client.ick("k");
    ick.add([(1.0, "a")])?;
    let mut batches = ick.batches(10);
    assert_eq!(batches.next().expect("a batch")?.len(), 1);
    // The member is dirtied while it is worked on; the exchange commits it and reserves it again,
    // and its reply is lost.
    ick.add([(2.0, "a")])?;
    proxy.lose_next_reply();
    let error = batches.next().expect("a result").expect_err("it was lost");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    let batch = batches.next().expect("the member comes again")?;
    assert_eq!((&*batch[0].member, batch[0].score), (b"a".as_slice(), 2.0));
    assert!(batches.next().is_none());
    assert_eq!(ick.stats()?.expect("it is there").total_size(), 0);
    Ok(())
}

#[test]
fn a_half_open_connection_is_given_up() -> Result {
    let server = Redis::start();
    let proxy = Proxy::start(server.port());
    let client = millpond::connect(&format!("{}?timeout=2s", proxy.url()))?;
    let ick = client.to_async().ick("k");
    block_on(ick.add([(1.0, "a")]))?;
    client.ick("k").add([(2.0, "b")])?;
    proxy.strand_connections();
    for error in [
        block_on(ick.add([(3.0, "c")])).expect_err("nothing comes through"),
        client.ick("k").add([(4.0, "d")]).expect_err("nothing comes through"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert_eq!(block_on(ick.add([(5.0, "e")]))?.new, 1);
    assert_eq!(client.ick("k").add([(6.0, "f")])?.new, 1);
    Ok(())
}

#[test]
fn a_server_that_went_away_in_silence_was_not_sent_anything() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&format!("{}?retries=3", server.url()))?.to_async();
    block_on(client.ick("k").add([(1.0, "a")]))?;
    std::thread::sleep(Duration::from_millis(1_100));
    server.kill();
    let error = block_on(client.ick("k").add([(2.0, "b")])).expect_err("the server is gone");
    assert_eq!(error.kind(), ErrorKind::ConnectionFailed, "{error}");
    Ok(())
}

#[test]
fn a_loop_that_is_given_up_commits_nothing_twice() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?.to_async();
    let ick = client.ick("k");
    block_on(ick.add([(1.0, "a")]))?;
    let mut batches = ick.batches(10);
    assert_eq!(block_on(batches.next()).expect("a batch")?.len(), 1);
    block_on(ick.add([(2.0, "a")]))?;
    // Cancellation: the future is dropped after its exchange was sent.
    {
        let next = std::pin::pin!(batches.next());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(next.poll(&mut context).is_pending());
    }
    assert_eq!(block_on(batches.commit())?, 0);
    let stats = block_on(ick.stats())?.expect("it is there");
    assert_eq!(stats.total_size(), 1, "the member that was dirtied meanwhile is there");
    Ok(())
}

#[test]
fn a_forbidden_topic_does_not_disturb_others() -> Result {
    let server = Redis::builder().user("me", "pw", "+@all ~* resetchannels &ok/*").start();
    let client = millpond::connect(&server.url())?;
    let waiters: Vec<_> = ["ok", "forbidden"]
        .into_iter()
        .map(|name| {
            let ick = client.ick(name);
            std::thread::spawn(move || {
                ick.batches(1)
                    .wait(Duration::from_secs(20))
                    .next()
                    .is_some_and(|batch| batch.is_ok())
            })
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let connections = server.info("stats", "total_connections_received");
    let before = calls(&server);
    std::thread::sleep(Duration::from_secs(3));
    let sent = calls(&server) - before;
    assert!(sent <= 12, "{sent} commands in 3 seconds");
    // Each question of the harness is a connection as well.
    let opened = |count: Option<String>| count.and_then(|n| n.parse::<i64>().ok()).unwrap_or(0);
    let after = server.info("stats", "total_connections_received");
    assert!(opened(after) - opened(connections) <= 6);
    // The permitted one is woken at once, the other notices when it polls.
    let start = Instant::now();
    for name in ["ok", "forbidden"] {
        client.ick(name).add([(1.0, "a")])?;
    }
    for waiter in waiters {
        assert!(waiter.join().expect("the waiter does not panic"));
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    Ok(())
}

#[test]
fn many_async_waits_leave_no_timers_behind() -> Result {
    let server = Redis::start();
    let ick = millpond::connect(&server.url())?.to_async().ick("k");
    let mut batches = ick.batches(1).wait(Duration::from_secs(60));
    for i in 0..20 {
        let added = ick.add([(f64::from(i), i.to_string())]);
        assert_eq!(block_on(batches.next()).expect("a batch")?.len(), 1);
        block_on(added)?;
    }
    // Now it is idle: one poll in five seconds and not one for each wait that there was.
    let idle = std::thread::spawn(move || block_on(batches.next()));
    std::thread::sleep(Duration::from_millis(500));
    let (before, began) = (script_calls(&server), Instant::now());
    std::thread::sleep(Duration::from_secs(6));
    let (sent, waited) = (script_calls(&server) - before, began.elapsed());
    let most = 3 + waited.as_secs() / 5;
    assert!(sent <= most, "{sent} looks in {waited:?}");
    block_on(ick.add([(1.0, "end")]))?;
    assert!(idle.join().expect("the waiter does not panic").is_some());
    Ok(())
}

#[test]
fn an_async_loop_whose_wait_met_an_error_asks_again() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&format!("{}?retries=0", server.url()))?.to_async();
    let mut batches = client.ick("k").batches(1).wait(Duration::from_secs(1));
    let (say, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || while say.send(block_on(batches.next())).is_ok() {});
    let listens = || !server.cli(&["PUBSUB", "CHANNELS"]).array().is_empty();
    wait_until("it waits", listens);
    server.kill();
    for _ in 0..3 {
        let answer = heard.recv_timeout(Duration::from_secs(20)).expect("nothing wakes it");
        let error = answer.expect("an answer").expect_err("the server is gone");
        assert!([ErrorKind::ConnectionFailed, ErrorKind::ConnectionLost].contains(&error.kind()));
    }
    Ok(())
}

#[test]
fn closing_wakes_whoever_waits() -> Result {
    let server = Redis::start();
    for url in [server.url(), "memory:".to_owned()] {
        let client = millpond::connect(&url)?;
        let waiter = std::thread::spawn({
            let ick = client.ick("k");
            move || ick.batches(1).wait(Duration::from_secs(60)).next()
        });
        std::thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        client.close()?;
        let error = waiter.join().expect("no panic").expect("a result").expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed, "{url}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    Ok(())
}

#[test]
fn a_lease_reports_that_it_is_lost_when_no_server_replies() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&format!("{}?timeout=1s&retries=0", server.url()))?;
    let lease = client.ick("k").lease(Duration::from_secs(3))?.expect("nobody holds it");
    std::thread::sleep(Duration::from_secs(4));
    assert!(!lease.is_lost(), "it is renewed");
    server.stop();
    wait_until("it is lost", || lease.is_lost());
    server.cont();
    Ok(())
}

#[test]
fn an_absent_server_is_reported_soon_and_nothing_hangs() -> Result {
    let server = Redis::start();
    let url = format!("{}?timeout=2s&retries=3", server.url());
    let client = millpond::connect(&url)?;
    client.ick("k").add([(1.0, "a")])?;
    server.stop();
    for error in [
        client.ick("k").add([(1.0, "b")]).expect_err("the server is stopped"),
        block_on(client.to_async().ick("k").add([(1.0, "c")])).expect_err("as above"),
    ] {
        let expected = [ErrorKind::Timeout, ErrorKind::ConnectionFailed];
        assert!(expected.contains(&error.kind()), "{error:?}");
    }
    server.cont();
    assert_eq!(client.ick("k").stats()?.map(|stats| stats.producer_size > 0), Some(true));
    server.kill();
    let start = Instant::now();
    for error in [
        client.ick("k").stats().expect_err("the server is gone"),
        block_on(client.to_async().ick("k").stats()).expect_err("as above"),
    ] {
        assert_eq!(error.kind(), ErrorKind::ConnectionFailed, "{error:?}");
        assert!(error.to_string().contains("ick.stats: no connection to 127.0.0.1"), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(20));
    // A name that no query is sent for: a part of it is longer than 63 characters.
    let error = millpond::connect(&format!("redis://{}.invalid?retries=0", "a".repeat(64)))?
        .ick("k")
        .stats()
        .expect_err("the name means nothing");
    assert_eq!(error.kind(), ErrorKind::ConnectionFailed, "{error}");
    Ok(())
}

#[test]
fn wrong_keys_are_named_and_left_alone() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    for (set_up, kind, message) in [
        (
            vec!["SET", "k", "ick.v9"],
            ErrorKind::IncompatibleVersion,
            "unrecognized ick version ick.v9 in key k, expected ick.v1",
        ),
        (
            vec!["HSET", "k", "f", "v"],
            ErrorKind::WrongType,
            "key k holds a hash, expected a string, the version flag of an ick",
        ),
        (
            vec!["SET", "k/ick/{k}/pset", "v"],
            ErrorKind::WrongType,
            "key k/ick/{k}/pset holds a string, expected a sorted set, the producer set of an ick",
        ),
        (
            vec!["LPUSH", "k/ick/{k}/cset", "v"],
            ErrorKind::WrongType,
            "key k/ick/{k}/cset holds a list, expected a sorted set, the consumer set of an ick",
        ),
        (
            vec!["ZADD", "k/ick/{k}/pset", "1", "a"],
            ErrorKind::IncompatibleVersion,
            "key k/ick/{k}/pset holds a sorted set but key k holds no version flag, expected ick.v1",
        ),
    ] {
        server.cli(&["FLUSHALL"]);
        server.cli(&set_up);
        let ick = client.ick("k");
        for error in [
            ick.add([(1.0, "a")]).map(drop).expect_err("broken"),
            ick.add([(1.0, ""); 0]).map(drop).expect_err("broken"),
            ick.reserve(0).map(drop).expect_err("broken"),
            ick.reserve_backwash(5).map(drop).expect_err("broken"),
            ick.commit(["a"]).map(drop).expect_err("broken"),
            ick.exchange(1, ["a"]).map(drop).expect_err("broken"),
            ick.stats().map(drop).expect_err("broken"),
            ick.peek(Set::Producer, 1).map(drop).expect_err("broken"),
        ] {
            assert_eq!((error.kind(), error.message()), (kind, message));
        }
        assert_eq!(server.cli(&["DBSIZE"]).integer(), 1, "{message}");
        assert_eq!(ick.delete()?, 1);
        assert_eq!(ick.stats()?, None);
    }
    Ok(())
}

#[test]
fn a_user_without_rights_gets_an_error() -> Result {
    let server = Redis::builder().user("reader", "pw", "+@all -zadd ~* &*").start();
    let client = millpond::connect(&server.url())?;
    let error = client.ick("k").add([(1.0, "a")]).expect_err("zadd is forbidden");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error:?}");
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
    Ok(())
}

#[test]
fn a_full_server_refuses_and_keeps_what_it_has() -> Result {
    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    client.ick("k").add([(1.0, "a")])?;
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = client.ick("k").add([(2.0, "b")]).expect_err("there is no memory left");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(members(&client.ick("k").reserve(9)?), ["a"]);
    Ok(())
}

#[test]
fn large_batches_are_one_step_or_several() -> Result {
    let server = Redis::start();
    // How long steps of this size take on a busy machine is not what this is about.
    let client = millpond::connect(&format!("{}?timeout=60s", server.url()))?;
    let ick = client.ick("k");
    let member = |i: u32| format!("m{i:07}");
    let pairs = (0..300_000).map(|i| (f64::from(i), member(i)));
    assert_eq!(ick.add(pairs)?, Added { new: 300_000, lowered: 0 });
    let batch = ick.reserve(100_000)?;
    assert_eq!(batch.len(), 100_000);
    assert_eq!(ick.reserve_backwash(100_000)?, batch);
    let next = ick.exchange(100_000, batch.iter().map(|entry| &entry.member))?;
    assert_eq!(next[0].member, member(100_000).into_bytes());
    assert_eq!(ick.reserve(300_000)?.len(), 200_000);
    assert_eq!(ick.commit((0..300_000).map(member))?, 200_000);
    Ok(())
}

#[test]
fn waiting_wakes_at_once_and_costs_nothing() -> Result {
    let server = Redis::start();
    // It waits for longer than the test takes, and does not poll: only what tells of a member wakes it.
    let woken = millpond::connect(&format!("{}?poll=never", server.url()))?;
    let (send, received) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn({
        let ick = woken.ick("k");
        move || -> std::result::Result<(), millpond::Error> {
            let mut batches = ick.batches(10).wait(Duration::from_secs(3_600));
            for _ in 0..20 {
                let batch = batches.next().expect("nobody waits for so long")?;
                send.send(batch.len()).expect("somebody listens");
            }
            Ok(())
        }
    });
    let producer = millpond::connect(&server.url())?.ick("k");
    for i in 0..20 {
        std::thread::sleep(Duration::from_millis(30));
        producer.add([(now().as_secs_f64(), i.to_string())])?;
        let count = received.recv_timeout(Duration::from_secs(180));
        assert_eq!(count.ok(), Some(1), "member {i}");
    }
    waiter.join().expect("the waiter does not panic")?;

    // Idle for a while: all connect and ask when they begin, with about 60 commands, and look once in five seconds.
    let client = millpond::connect(&server.url())?;
    let (before, began) = (calls(&server), Instant::now());
    let waiters: Vec<_> = (0..4)
        .map(|i| {
            let ick = client.ick(format!("idle-{i}"));
            std::thread::spawn(move || ick.batches(1).wait(Duration::from_secs(3_600)).next())
        })
        .collect();
    std::thread::sleep(Duration::from_secs(3));
    let (sent, took) = (calls(&server) - before, began.elapsed());
    let most = 100 + 12 * (1 + took.as_secs() / 5);
    assert!(sent <= most, "idle waiters sent {sent} commands in {took:?}");
    client.close()?;
    for waiter in waiters {
        let error = waiter.join().expect("no panic").expect("an answer").expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
    Ok(())
}

#[test]
fn a_waiter_survives_a_restart_of_the_server() -> Result {
    let server = Redis::builder().appendonly_always().start();
    let client = millpond::connect(&server.url())?;
    let waiter = std::thread::spawn({
        let ick = client.ick("k");
        move || ick.batches(1).wait(Duration::from_secs(30)).find_map(std::result::Result::ok)
    });
    std::thread::sleep(Duration::from_millis(200));
    server.kill();
    server.restart();
    std::thread::sleep(Duration::from_millis(800));
    let start = Instant::now();
    client.ick("k").add([(1.0, "a")])?;
    let batch = waiter.join().expect("the waiter does not panic").expect("the member came");
    assert_eq!(batch[0].member, b"a");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    Ok(())
}

/// Commands that the server has done except for this query, those in scripts included.
fn calls(server: &Redis) -> u64 {
    let field = server.info("stats", "total_commands_processed").expect("every server counts");
    field.parse::<u64>().expect("a count") - server.calls_of("info").unwrap_or(0)
}

fn now() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("the clock is past 1970")
}

/// Script calls that the server has done.
fn script_calls(server: &Redis) -> u64 {
    ["evalsha", "eval"].iter().filter_map(|name| server.calls_of(name)).sum()
}

/// The script of the release is unknown to the server, so it is sent twice, and nothing holds the
/// client any more.
#[test]
fn a_lease_that_is_dropped_with_its_client_is_released() -> Result {
    let server = Redis::start();
    for _ in 0..5 {
        server.cli(&["SCRIPT", "FLUSH"]);
        let client = millpond::connect(&server.url())?;
        let lease = client.ick("k").lease(Duration::from_secs(600))?;
        drop(client);
        drop(lease.expect("nobody has it"));
        let start = Instant::now();
        while server.cli(&["EXISTS", "k/ick/{k}/lease"]).integer() == 1 {
            assert!(start.elapsed() < Duration::from_secs(20), "it is still held");
            std::thread::yield_now();
        }
    }
    Ok(())
}
