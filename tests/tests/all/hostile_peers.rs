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

/// What is wrong takes twice this at least, as two waits of a call each have the whole of it. A call that is right takes
/// little more than this: it is so long that no machine holds it up for as long again.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A call that takes more times its timeout than this is late.
const LATE: f64 = 1.9;

/// Checks that a call ends with an error, in time.
fn assert_ends_in_time(what: &str, url: &str, call: impl Fn(Client) -> Result<()>) {
    let separator = if url.contains('?') { '&' } else { '?' };
    let timeout_s = TIMEOUT.as_secs();
    let client = millpond::connect(&format!("{url}{separator}timeout={timeout_s}s")).unwrap();
    let began = Instant::now();
    let error = call(client).expect_err(what);
    let took = began.elapsed();
    let kinds = [ErrorKind::Timeout, ErrorKind::ConnectionFailed, ErrorKind::Unavailable];
    assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
    assert!(took < TIMEOUT.mul_f64(LATE), "{what}: {took:?}");
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
    let url = format!("{}?timeout={}s", Hostile::start(Phase::Reply).url(), TIMEOUT.as_secs());
    let client = millpond::connect(&url).unwrap().to_async();
    let took = std::thread::scope(|scope| {
        // Each begins shortly before the one before it is to end, which would take nearly twice its time if it waited on.
        let calls = [0, 8, 8].map(|tenths| {
            std::thread::sleep(TIMEOUT * tenths / 10);
            let (began, call) = (Instant::now(), client.ick("k").stats());
            scope.spawn(move || {
                assert_eq!(block_on(call).unwrap_err().kind(), ErrorKind::Timeout);
                began.elapsed()
            })
        });
        calls.map(|call| call.join().unwrap())
    });
    assert!(took.iter().all(|took| *took < TIMEOUT * 8 / 5), "{took:?}");
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
