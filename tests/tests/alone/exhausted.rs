//! A process without descriptors or threads left: a call says so before anything is sent, and goes on
//! when there are some again.

// Clippy's leave for tests does not reach the functions that the tests share.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::time::Duration;

use millpond::{Client, ErrorKind};
use millpond_tests::block_on;
use millpond_tests::servers::Redis;

const LEASE: Duration = Duration::from_secs(60);

#[test]
fn without_descriptors_and_threads_nothing_is_sent_and_nothing_panics() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let memory = millpond::connect("memory:").unwrap();
    assert_eq!(client.ick("k").add([(1.0, "a")]).unwrap().new, 1);
    let add = |member: &str| block_on(client.to_async().ick("k").add([(1.0, member)]));

    let files: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).take(4).collect();
    let highest = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let highest = highest.filter_map(|fd| fd.file_name().to_str()?.parse().ok()).max().unwrap_or(0);
    let before = limit(libc::RLIMIT_NOFILE, highest);
    while_it_lasts(
        || File::open("/dev/null"),
        |_| {
            assert_eq!(add("b").unwrap_err().kind(), ErrorKind::ConnectionFailed);
            // A connection that is there is enough for who has one.
            assert_eq!(client.ick("k").add([(1.0, "c")]).unwrap().new, 1);
        },
    );
    limit(libc::RLIMIT_NOFILE, before);
    drop(files);

    let before = limit(libc::RLIMIT_AS, address_space_bytes() + (1 << 20));
    let spawn = || std::thread::Builder::new().spawn(std::thread::park);
    while_it_lasts(spawn, |threads| {
        assert_eq!(add("b").unwrap_err().kind(), ErrorKind::ConnectionFailed);
        for client in [&client, &memory] {
            let refused = client.ick("leased").lease(LEASE).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused:?}");
            let worker = client.tasks("t").worker(["q"]);
            for refused in [
                worker.drain(|_| ()).map(drop).unwrap_err(),
                worker.jobs().next().unwrap().map(drop).unwrap_err(),
            ] {
                assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused:?}");
            }
        }
        threads.iter().for_each(|thread| thread.thread().unpark());
    });
    limit(libc::RLIMIT_AS, before);

    assert_eq!(add("b").unwrap().new, 1);
    let is_free = |client: &Client| client.ick("leased").lease(LEASE).unwrap().is_some();
    assert!(is_free(&client) && is_free(&memory));
}

/// Takes things until there are no more, and does this then.
fn while_it_lasts<T>(take: impl Fn() -> std::io::Result<T>, then: impl FnOnce(&[T])) {
    let taken: Vec<T> = std::iter::from_fn(|| take().ok()).collect();
    then(&taken);
}

/// Sets a limit of this process; returns what it was.
fn limit(resource: libc::__rlimit_resource_t, value: u64) -> u64 {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a value of their type that lives until they return.
    let is_done = unsafe {
        libc::getrlimit(resource, &mut limits) == 0 && {
            let new = libc::rlimit { rlim_cur: value.min(limits.rlim_max), ..limits };
            libc::setrlimit(resource, &new) == 0
        }
    };
    assert!(is_done, "{}", std::io::Error::last_os_error());
    limits.rlim_cur
}

fn address_space_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}
