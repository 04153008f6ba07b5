//! What an Ick promises, on the embedded engine; the conformance cases hold both engines to it.

use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;

use super::*;
use crate::{ErrorKind, ManualClock, Options};

fn memory() -> Client {
    crate::connect("memory:").unwrap()
}

fn members(batch: &[Entry]) -> Vec<&str> {
    batch.iter().map(|entry| std::str::from_utf8(&entry.member).unwrap()).collect()
}

#[test]
fn a_member_that_is_dirtied_while_reserved_stays_dirty() {
    let ick = memory().ick("k");
    assert_eq!(ick.add([(5.0, "a"), (6.0, "b")]).unwrap(), Added { new: 2, lowered: 0 });
    assert_eq!(members(&ick.reserve(2).unwrap()), ["a", "b"]);
    assert_eq!(ick.add([(7.0, "a")]).unwrap(), Added { new: 1, lowered: 0 });
    assert_eq!(ick.commit(["a", "b", "c"]).unwrap(), 2);
    assert_eq!(members(&ick.reserve(2).unwrap()), ["a"]);
}

#[test]
fn backwash_brings_the_lowest_of_both_sets() {
    let ick = memory().ick("k");
    ick.add([(5.0, "a"), (6.0, "b")]).unwrap();
    ick.reserve(2).unwrap();
    ick.add([(1.0, "c")]).unwrap();
    assert_eq!(members(&ick.reserve(2).unwrap()), ["a", "b"]);
    assert_eq!(members(&ick.reserve_backwash(2).unwrap()), ["c", "a"]);
    assert_eq!(members(&ick.exchange_backwash(1, ["c"]).unwrap()), ["a"]);
}

#[test]
fn batches_commit_when_the_next_is_asked_for() {
    let ick = memory().ick("k");
    ick.add((0..5).map(|i| (f64::from(i), format!("m{i}")))).unwrap();
    let mut batches = ick.batches(2);
    assert_eq!(batches.next().unwrap().unwrap().len(), 2);
    assert_eq!(ick.stats().unwrap().unwrap().consumer_size, 2);
    batches.next().unwrap().unwrap();
    drop(batches);
    assert_eq!(ick.stats().unwrap().unwrap().total_size(), 3);
    let mut batches = ick.batches(2);
    assert_eq!(members(&batches.next().unwrap().unwrap()), ["m2", "m3"]);
    assert_eq!(batches.commit().unwrap(), 2);
    assert_eq!(batches.by_ref().map(|batch| batch.unwrap().len()).sum::<usize>(), 1);
    assert_eq!(ick.stats().unwrap().unwrap().total_size(), 0);
}

#[test]
fn a_waiting_loop_wakes_for_new_members() {
    let client = memory();
    let ick = client.ick("k");
    let producer = std::thread::spawn({
        let ick = ick.clone();
        move || {
            for i in 0..100 {
                ick.add([(f64::from(i), i.to_string())]).unwrap();
            }
        }
    });
    let mut seen = 0;
    for batch in ick.batches(10).wait(Duration::from_secs(60)) {
        seen += batch.unwrap().len();
        if seen == 100 {
            break;
        }
    }
    producer.join().unwrap();
    assert_eq!(seen, 100);
}

/// In the order of the loop one of the two is asked first, and has nothing.
#[test]
fn a_wake_up_of_an_async_loop_is_for_each_of_its_icks() {
    for number in [0, 1] {
        let client = memory();
        let channel = client.to_async().ick_channel("files", 2).unwrap();
        let mut batches = channel.batches(0..2, 10).unwrap().wait(Duration::from_secs(3600));
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || Pin::new(&mut batches).poll_next(&mut context);
        // One that begins to listen may be woken once to ask again.
        assert!((0..3).all(|_| poll().is_pending()));
        client.ick(channel.ick_name(number)).add([(1.0, "a")]).unwrap();
        assert!(matches!(poll(), Poll::Ready(Some(Ok(_)))), "number {number}");
    }
}

#[test]
fn a_lost_lease_refuses_its_late_consumer() {
    let clock = std::sync::Arc::new(ManualClock::at(0));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let ick = client.ick("k");
    ick.add([(1.0, "a")]).unwrap();
    let first = ick.lease(Duration::from_secs(3600)).unwrap().unwrap();
    assert!(ick.lease(Duration::from_secs(3600)).unwrap().is_none());
    first.reserve(1).unwrap();
    clock.advance(Duration::from_secs(3601));
    let second = ick.lease(Duration::from_secs(3600)).unwrap().unwrap();
    for error in [
        first.commit(["a"]).unwrap_err(),
        first.reserve(1).unwrap_err(),
        first.exchange(1, ["a"]).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::LeaseLost);
    }
    assert_eq!(second.commit(["a"]).unwrap(), 1);
    assert!(!first.release().unwrap());
    assert!(second.release().unwrap());
}

#[test]
fn batches_of_nothing_are_refused() {
    let ick = memory().ick("k");
    ick.add([(1.0, "a")]).unwrap();
    let error = ick.batches(0).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "ick.exchange: a batch takes 1 or more members, not 0");
    let channel = memory().ick_channel("c", 3).unwrap();
    assert!(channel.batches(0..3, 0).unwrap().next().unwrap().is_err());
}

#[test]
fn a_lease_is_renewed_while_it_is_held_and_given_back_on_drop() {
    // A machine that stands still for two thirds of it loses it.
    const TERM: Duration = Duration::from_secs(4);
    let ick = memory().ick("k");
    let lease = ick.lease(TERM).unwrap().unwrap();
    std::thread::sleep(TERM * 3 / 2);
    assert!(!lease.is_lost());
    assert!(ick.lease(TERM).unwrap().is_none());
    drop(lease);
    assert!(ick.lease(TERM).unwrap().is_some());
}

#[test]
fn a_lease_that_another_has_taken_says_that_it_is_lost() {
    let clock = std::sync::Arc::new(ManualClock::at(1_000_000));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    let ick = client.ick("k");
    let lease = ick.lease(Duration::from_secs(3)).unwrap().unwrap();
    clock.advance(Duration::from_secs(60));
    let other = ick.lease(Duration::from_secs(60)).unwrap().unwrap();
    let (lost, is_lost) = mpsc::channel();
    lease.on_lost(move || lost.send(()).unwrap());
    assert_eq!(is_lost.recv_timeout(Duration::from_secs(30)), Ok(()));
    assert!(lease.is_lost());

    let (lost, is_lost) = mpsc::channel();
    other.on_lost(move || lost.send(()).unwrap());
    assert!(other.release().unwrap());
    assert_eq!(is_lost.try_recv(), Err(mpsc::TryRecvError::Disconnected));
}

#[test]
fn bad_arguments_are_refused_before_anything_is_done() {
    let ick = memory().ick("k");
    let refused = |result: Result<()>, message: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.to_string(), message);
    };
    refused(
        ick.add([(1.0, "a"), (f64::NAN, "b")]).map(drop),
        "ick.add: score 1 is NaN; a score can be any number but NaN",
    );
    refused(
        ick.add([(1.0, vec![0; 64 << 20])]).map(drop),
        "ick.add: member 0 has 67108864 bytes; a member may have at most 16777216",
    );
    refused(
        ick.reserve(SIZE_MAX).map(drop),
        "ick.reserve: the size 100000000000000000 is too large; it has to be below 10^17",
    );
    refused(
        ick.lease(Duration::ZERO).map(drop),
        "ick.acquire: the lease's term is 0ns; it has to be between a millisecond and a day",
    );
    refused(
        memory().ick([0; crate::NAME_BYTES_MAX + 1]).stats().map(drop),
        "ick.stats: the name has 65537 bytes; 65536 are allowed",
    );
    assert_eq!(ick.stats().unwrap(), None);
}

#[test]
fn an_iterator_without_an_end_is_refused_as_it_is_read() {
    use std::iter::repeat;
    let client = memory();
    let (ick, channel) = (client.ick("k"), client.ick_channel("c", 2).unwrap());
    let lease = ick.lease(Duration::from_secs(60)).unwrap().unwrap();
    for (result, limit) in [
        (ick.add(repeat((1.0, "a"))).map(drop), "1000000 members"),
        (channel.add(repeat((1.0, "a"))).map(drop), "1000000 members"),
        (ick.commit(repeat("a")).map(drop), "1000000 members"),
        (ick.exchange(1, repeat("a")).map(drop), "250000 members"),
        (lease.commit(repeat("a")).map(drop), "250000 members"),
        (lease.exchange(1, repeat("a")).map(drop), "250000 members"),
        (channel.batches(repeat(0), 1).map(drop), "65536 numbers"),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().ends_with(&format!("takes at most {limit}")), "{error}");
    }
    let long = vec![0; MEMBER_BYTES_MAX];
    let error = ick.add(repeat((1.0, &long))).unwrap_err();
    assert_eq!(error.message(), "the members have more than 1073741824 bytes");
    assert_eq!(ick.stats().unwrap(), None);
}

#[test]
fn a_closed_client_says_so() {
    let client = memory();
    client.close().unwrap();
    assert_eq!(client.ick("k").stats().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_channel_spreads_and_drains() {
    let client = memory();
    let wide = client.ick_channel("c", 4).unwrap();
    let pairs: Vec<_> = (0..100).map(|i| (f64::from(i), format!("m{i}"))).collect();
    assert_eq!(wide.add(pairs.iter().map(|(s, m)| (*s, m))).unwrap().new, 100);
    let narrow = client.ick_channel("c", 2).unwrap().draining(4);
    assert_eq!((narrow.shards(), narrow.readable()), (2, 4));
    narrow.add(pairs.iter().map(|(s, m)| (*s, m))).unwrap();
    let mut seen = std::collections::HashSet::new();
    for batch in narrow.batches(0..4, 7).unwrap() {
        seen.extend(batch.unwrap().into_iter().map(|entry| entry.member));
    }
    assert_eq!(seen.len(), 100);
    for number in 0..4 {
        let stats = narrow.ick(number).stats().unwrap().unwrap();
        assert_eq!(stats.total_size(), 0);
    }
    assert!(narrow.batches([4], 1).is_err());
    assert!(client.ick_channel("c", 0).is_err());
}

#[test]
fn clients_that_come_and_go_never_find_the_directory_locked() {
    let directory = tempfile::tempdir().unwrap();
    // Not there yet, and by a name that is not its shortest.
    let path = directory.path().join("x").join("..").join("fresh");
    std::fs::create_dir(directory.path().join("x")).unwrap();
    let first = Options::file(&path).sync(crate::SyncMode::Never).connect().unwrap();
    let second = Options::file(directory.path().join("fresh"));
    let error = second.connect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl, "{error}");
    second.sync(crate::SyncMode::Never).connect().unwrap();
    drop(first);

    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for i in 0..50 {
                    let options = Options::file(path).sync(crate::SyncMode::Never);
                    let client = options.connect().unwrap();
                    client.ick("k").add([(f64::from(i), format!("{thread}-{i}"))]).unwrap();
                }
            });
        }
    });
    let client = Options::file(&path).sync(crate::SyncMode::Never).connect().unwrap();
    assert_eq!(client.ick("k").stats().unwrap().unwrap().producer_size, 200);
}

#[test]
fn a_released_lease_keeps_no_engine_open() {
    let directory = tempfile::tempdir().unwrap();
    let client = Options::file(directory.path()).connect().unwrap();
    let lease = client.ick("k").lease(Duration::from_secs(3600)).unwrap().unwrap();
    lease.release().unwrap();
    drop(client);
    // Another process would meet the lock; this one opens the directory anew.
    Options::file(directory.path()).sync(crate::SyncMode::Never).connect().unwrap();
}
