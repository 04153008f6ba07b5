//! A call ends at its deadline whatever the peer does: one that trickles never lets a read time
//! out, and one that never reads never lets a write end.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use millpond::{Client, Error, ErrorKind, Result};
use millpond_tests::block_on;
use millpond_tests::hostile::{Hostile, Phase, start_sentinel_of};
use millpond_tests::proxy::Proxy;
use millpond_tests::servers::Redis;

/// A call that takes more times its timeout than this is late.
const LATE: f64 = 1.9;

/// A machine that is busy may be late itself. A call that is late is made again with twice the time,
/// so that only what takes longer than it may on a machine of any speed is late each time.
const TIMEOUTS_MS: [u64; 6] = [400, 800, 1_600, 3_200, 6_400, 12_800];

/// Checks that a call ends with an error, in time. Each attempt has a client of its own.
fn assert_ends_in_time(what: &str, url: &str, call: impl Fn(Client) -> Result<()>) {
    let mut took = Vec::new();
    for timeout_ms in TIMEOUTS_MS {
        let separator = if url.contains('?') { '&' } else { '?' };
        let client = millpond::connect(&format!("{url}{separator}timeout={timeout_ms}ms")).unwrap();
        let began = Instant::now();
        let error = call(client).expect_err(what);
        took.push(began.elapsed());
        let kinds = [ErrorKind::Timeout, ErrorKind::ConnectionFailed, ErrorKind::Unavailable];
        assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
        if began.elapsed() < Duration::from_millis(timeout_ms).mul_f64(LATE) {
            return;
        }
    }
    panic!("{what}: {took:?}");
}

/// A member that a peer in this phase does not take: one that never reads takes what the buffers of
/// two sockets hold.
fn member(phase: Phase) -> Arc<[u8]> {
    let length = if phase == Phase::Deaf { 8 << 20 } else { 1 };
    vec![b'x'; length].into()
}

#[test]
fn a_hostile_peer_holds_no_call_beyond_its_timeout() {
    std::thread::scope(|scope| {
        for phase in Phase::ALL {
            for is_async in [false, true] {
                scope.spawn(move || {
                    let what = format!("{}, {is_async}", phase.name());
                    let member = member(phase);
                    assert_ends_in_time(&what, &Hostile::start(phase).url(), |client| {
                        let pair = [(1.0, &member)];
                        match is_async {
                            true => block_on(client.to_async().ick("k").add(pair)).map(drop),
                            false => client.ick("k").add(pair).map(drop),
                        }
                    });
                });
            }
        }
    });
}

#[test]
fn a_trickling_peer_behind_tls_holds_no_call_beyond_its_timeout() {
    let server = Redis::builder().tls().start();
    let ca = server.ca_file().unwrap().display().to_string();
    std::thread::scope(|scope| {
        for is_async in [false, true] {
            let proxy = Proxy::start(server.port());
            let url = format!("rediss://localhost:{}?tls_ca={ca}", proxy.port());
            let stats = move |client: &Client| match is_async {
                true => block_on(client.to_async().ick("k").stats()).map(drop),
                false => client.ick("k").stats().map(drop),
            };
            scope.spawn(move || {
                // The connection is established, so it is the reply to the step that comes byte by
                // byte.
                let client = millpond::connect(&format!("{url}&timeout=400ms")).unwrap();
                let quick = millpond::connect(&url).unwrap();
                stats(&quick).unwrap();
                while stats(&client).is_err() {}
                proxy.trickle_replies();
                let began = Instant::now();
                assert_eq!(stats(&client).unwrap_err().kind(), ErrorKind::Timeout);
                assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
                assert_ends_in_time("the handshake of TLS", &url, |client| stats(&client));
            });
        }
    });
}

/// On a busy connection calls do not extend each other's time: each has its own deadline.
#[test]
fn async_calls_on_one_connection_each_end_at_their_own_deadline() {
    let peer = Hostile::start(Phase::Reply).url();
    let is_in_time = |timeout_ms: u64| {
        let client =
            millpond::connect(&format!("{peer}?timeout={timeout_ms}ms")).unwrap().to_async();
        let pause = Duration::from_millis(timeout_ms * 3 / 10);
        let calls = [0, 1, 1, 1].map(|pauses| {
            std::thread::sleep(pause * pauses);
            (Instant::now(), client.ick("k").stats())
        });
        calls.map(|(began, call)| {
            assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Timeout);
            began.elapsed() < Duration::from_millis(timeout_ms * 5 / 4)
        })
    };
    assert!(TIMEOUTS_MS.into_iter().any(|timeout_ms| is_in_time(timeout_ms) == [true; 4]));
}

#[test]
fn a_sentinel_that_hangs_does_not_hide_the_next() -> std::result::Result<(), Error> {
    let master = Redis::start();
    let hanging = Hostile::start(Phase::Sentinel).port();
    let quick = start_sentinel_of(master.port());
    let url = format!("redis+sentinel://127.0.0.1:{hanging},127.0.0.1:{quick}/mymaster");
    let url = format!("{url}?timeout=2s&connect_timeout=5s");
    assert_eq!(millpond::connect(&url)?.ick("k").add([(1.0, "a")])?.new, 1);
    assert_eq!(block_on(millpond::connect(&url)?.to_async().ick("k").add([(1.0, "b")]))?.new, 1);
    Ok(())
}
