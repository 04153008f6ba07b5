//! What a volatile hash promises, on the embedded engine with a clock that is set by hand. The names in the comments
//! are those of the rules in its specification. Rules about keys that a server evicts or that others write (V11 to
//! V13, V16) are about Redis alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{ErrorKind, ManualClock, Options, SyncMode};

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const START: u64 = 1_700_000_000_000_000;

/// A hash, and the clock that decides what is live in it.
fn hash() -> (VolatileHash, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(START));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    (client.volatile_hash("k"), clock)
}

fn fence(acquired: Acquired) -> u64 {
    assert_eq!(acquired.remaining, None);
    acquired.fence.expect("no other token holds the lock")
}

fn names(page: &FieldPage) -> Vec<&str> {
    page.fields.iter().map(|field| std::str::from_utf8(&field.field).unwrap()).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T>, message: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.to_string(), message);
}

/// V1, S13.
#[test]
fn a_field_is_live_to_the_microsecond_before_its_expiry() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND).unwrap();
    hash.set("b", "2", SECOND * 2).unwrap();
    clock.advance(SECOND - US);
    assert_eq!(hash.get("a").unwrap(), Some(b"1".to_vec()));
    assert_eq!(hash.ttl("a").unwrap(), Some(US));
    clock.advance(US);
    assert_eq!(hash.get("a").unwrap(), None);
    assert_eq!(hash.ttl("a").unwrap(), None);
    assert_eq!(hash.get_many(["a", "b", "c"]).unwrap(), [None, Some(b"2".to_vec()), None]);
    // It was not read before it was removed: it is still there.
    assert_eq!(hash.stats().unwrap(), HashStats { fields: 1, expired: 1, locks: 0 });
}

/// V2.
#[test]
fn a_set_replaces_the_value_and_the_expiry() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND * 2).unwrap();
    hash.set("a", "2", SECOND).unwrap();
    assert_eq!(hash.ttl("a").unwrap(), Some(SECOND));
    assert_eq!(hash.get("a").unwrap(), Some(b"2".to_vec()));
    clock.advance(SECOND);
    assert_eq!(hash.get("a").unwrap(), None);
    assert_eq!(hash.reap(9).unwrap().fields, 1);
    assert_eq!(hash.reap(9).unwrap().next_in, None);
}

/// V3.
#[test]
fn a_set_if_absent_replaces_what_has_expired_and_nothing_else() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND).unwrap();
    hash.set("b", "1", SECOND * 2).unwrap();
    clock.advance(SECOND);
    assert!(!hash.set_if_absent("b", "3", SECOND).unwrap());
    let set = Set::new("k", [("a", "2"), ("b", "2"), ("c", "2"), ("c", "3")], SECOND);
    let set = hash.client.run(set.map(|set| set.condition(Condition::Absent)));
    assert_eq!(set.unwrap(), [true, false, true, false]);
    let values = hash.get_many(["a", "b", "c"]).unwrap();
    assert_eq!(values, [b"2", b"1", b"2"].map(|value| Some(value.to_vec())));
}

/// V4.
#[test]
fn a_set_if_present_replaces_what_is_live_and_nothing_else() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND).unwrap();
    hash.set("b", "1", SECOND * 2).unwrap();
    clock.advance(SECOND);
    assert!(!hash.set_if_present("a", "3", SECOND).unwrap());
    let set = Set::new("k", [("a", "2"), ("b", "2"), ("c", "2")], SECOND * 5);
    let set = hash.client.run(set.map(|set| set.condition(Condition::Present)));
    assert_eq!(set.unwrap(), [false, true, false]);
    assert_eq!(hash.get_many(["a", "b", "c"]).unwrap(), [None, Some(b"2".to_vec()), None]);
    assert_eq!(hash.ttl("b").unwrap(), Some(SECOND * 5));
}

/// V5.
#[test]
fn a_touch_never_revives_a_field() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND).unwrap();
    assert!(hash.touch("a", SECOND * 3).unwrap());
    assert_eq!(hash.ttl("a").unwrap(), Some(SECOND * 3));
    assert!(hash.touch("a", SECOND).unwrap());
    clock.advance(SECOND);
    assert!(!hash.touch("a", SECOND).unwrap());
    assert!(!hash.touch("b", SECOND).unwrap());
    assert_eq!(hash.get("a").unwrap(), None);
}

/// V6.
#[test]
fn only_live_fields_are_counted_and_listed() {
    let (hash, clock) = hash();
    for (field, secs) in [("c", 1), ("b", 3), ("a", 2), ("d", 3)] {
        hash.set(field, field, SECOND * secs).unwrap();
    }
    clock.advance(SECOND);
    assert_eq!(hash.len().unwrap(), 3);
    let first = hash.fields(FieldQuery::new().limit(2)).unwrap();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.fields[0].value.as_deref(), Some(b"a".as_slice()));
    assert_eq!(first.fields[0].expires_us, START + 2_000_000);
    let next = FieldQuery::new().after(first.next.unwrap()).limit(1).omit_values();
    let last = hash.fields(next).unwrap();
    assert_eq!((names(&last), &last.next), (vec!["d"], &None));
    assert_eq!(last.fields[0].value, None);
    assert_eq!(hash.delete(["a", "a", "c", "z"]).unwrap(), 1);
    assert_eq!(hash.clear().unwrap(), 2);
    assert_eq!(hash.stats().unwrap(), HashStats::default());
    assert_eq!(hash.fields(FieldQuery::new()).unwrap(), FieldPage::default());
}

/// V20 in part: fields that are removed, touched or set between two pages do not hide those that stay.
#[test]
fn pages_skip_nothing_that_stays() {
    let (hash, clock) = hash();
    for number in 0..20 {
        hash.set(format!("{number:02}"), "", SECOND * (1 + number % 4)).unwrap();
    }
    let (mut seen, mut query) = (Vec::new(), FieldQuery::new().limit(3));
    loop {
        let page = hash.fields(query).unwrap();
        seen.extend(page.fields.iter().map(|field| field.field.clone()));
        let Some(next) = page.next else { break };
        hash.delete([&next.field]).unwrap();
        hash.touch("03", SECOND * 60).unwrap();
        clock.advance(MS);
        query = FieldQuery::new().after(next).limit(3);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

/// V7, S14.
#[test]
fn a_reap_removes_exactly_its_limit_those_first_that_expired_first() {
    let (hash, clock) = hash();
    for (field, secs) in [("c", 3), ("a", 1), ("b", 2), ("d", 9)] {
        hash.set(field, "", SECOND * secs).unwrap();
    }
    hash.acquire("lock", "me", MS * 1_500).unwrap();
    clock.advance(SECOND * 4);
    let first =
        Reaped { fields: 1, locks: 1, orphans: 0, more: true, next_in: Some(Duration::ZERO) };
    assert_eq!(hash.reap(2).unwrap(), first);
    assert_eq!(hash.stats().unwrap(), HashStats { fields: 1, expired: 2, locks: 0 });
    let rest = Reaped { fields: 2, locks: 0, orphans: 0, more: false, next_in: Some(SECOND * 5) };
    assert_eq!(hash.reap(2).unwrap(), rest);
    assert_eq!(hash.reap(2).unwrap(), Reaped { fields: 0, ..rest });
    for limit in [0, REAP_MAX + 1] {
        let message = format!("a step removes 1 to 1000 fields and locks, not {limit}");
        refused(hash.reap(limit), &format!("volatile.reap: {message}"));
    }
}

/// V8.
#[test]
fn a_field_that_is_set_again_between_two_reaps_stays() {
    let (hash, clock) = hash();
    for field in ["a", "b"] {
        hash.set(field, "1", SECOND).unwrap();
    }
    clock.advance(SECOND);
    assert!(hash.reap(1).unwrap().more);
    hash.set("b", "2", SECOND).unwrap();
    assert_eq!(hash.reap(9).unwrap().fields, 0);
    assert_eq!(hash.get("b").unwrap(), Some(b"2".to_vec()));
}

/// V9, S17.
#[test]
fn a_time_to_live_has_a_range() {
    let (hash, clock) = hash();
    let range = "it has to be between a millisecond and 100 years";
    for (ttl, printed) in [
        (Duration::ZERO, "0ns"),
        (MS - Duration::from_nanos(1), "999.999µs"),
        (TTL_MAX + US, "3155760000.000001s"),
    ] {
        let message = format!("the time to live is {printed}; {range}");
        refused(hash.set("a", "", ttl), &format!("volatile.set: {message}"));
        refused(hash.touch("a", ttl), &format!("volatile.touch: {message}"));
        refused(hash.acquire("a", "me", ttl), &format!("volatile.acquire: {message}"));
        refused(hash.renew("a", "me", ttl), &format!("volatile.renew: {message}"));
        let step = "volatile.get_or_acquire";
        refused(hash.get_or_acquire("a", "me", ttl), &format!("{step}: {message}"));
    }
    hash.set("a", "", MS).unwrap();
    hash.set("b", "", TTL_MAX).unwrap();
    clock.advance(TTL_MAX - US);
    assert_eq!(hash.ttl("b").unwrap(), Some(US));
}

/// V10.
#[test]
fn a_call_takes_ten_thousand_fields_of_any_bytes() {
    let (hash, _) = hash();
    let odd: [&[u8]; 5] = [b"", b"\0", b"\xff\xfe", b"a\0b", b"\r\n"];
    let plain = (0..FIELDS_MAX - odd.len()).map(|number| number.to_string().into_bytes());
    let fields: Vec<_> = odd.iter().map(|field| field.to_vec()).chain(plain).collect();
    let pairs = || fields.iter().map(|field| (field, field));
    hash.set_many(pairs(), SECOND).unwrap();
    let values = hash.get_many(&fields).unwrap();
    assert!(values.iter().zip(&fields).all(|(value, field)| value.as_ref() == Some(field)));
    assert_eq!(hash.len().unwrap(), FIELDS_MAX as u64);
    assert_eq!(hash.delete(&fields).unwrap(), FIELDS_MAX as u64);

    let many = || std::iter::repeat("a");
    let message = "a call takes at most 10000 fields";
    let pairs = many().map(|field| (field, ""));
    refused(hash.set_many(pairs, SECOND), &format!("volatile.set: {message}"));
    refused(hash.get_many(many()), &format!("volatile.get: {message}"));
    refused(hash.delete(many()), &format!("volatile.delete: {message}"));
    refused(hash.get_many([""; 0]), "volatile.get: the call names no field");
}

#[test]
fn fields_values_and_tokens_have_limits() {
    let (hash, _) = hash();
    let long = vec![0; FIELD_BYTES_MAX + 1];
    refused(hash.get(&long), "volatile.get: the field has 65537 bytes; 65536 are allowed");
    let message = "volatile.release: the field has 65537 bytes; 65536 are allowed";
    refused(hash.release(&long, "me"), message);
    let value = vec![0; VALUE_BYTES_MAX + 1];
    let message = "volatile.set: the value has 16777217 bytes; 16777216 are allowed";
    refused(hash.set("a", value, SECOND), message);
    refused(hash.acquire("a", "", SECOND), "volatile.acquire: the token is empty");
    let message = "volatile.renew: the token has 65 bytes; 64 are allowed";
    refused(hash.renew("a", [0; TOKEN_BYTES_MAX + 1], SECOND), message);
    let message = "volatile.set: the token is empty";
    refused(hash.set_locked("a", "", "1", SECOND), message);
    refused(hash.set_and_release("a", "", "1", SECOND), message);
    let message = "volatile.fields: a page has 1 to 1000 fields, not 0";
    refused(hash.fields(FieldQuery::new().limit(0)), message);
    hash.set(vec![0; FIELD_BYTES_MAX], vec![0; VALUE_BYTES_MAX], SECOND).unwrap();
    assert!(hash.acquire("a", [0; TOKEN_BYTES_MAX], SECOND).is_ok());
    let unnamed = crate::connect("memory:").unwrap().volatile_hash("");
    refused(unnamed.len(), "volatile.stats: the name is empty");
}

/// V14.
#[test]
fn no_script_gives_a_key_a_time_to_live() {
    for (name, script) in scripts() {
        for command in ["EXPIRE", "'SET'", "SETEX", "GETEX"] {
            assert!(!script.source().contains(command), "{name}");
        }
    }
}

/// V15.
#[test]
fn a_set_removes_two_fields_that_have_expired() {
    let (hash, clock) = hash();
    for field in ["a", "b", "c"] {
        hash.set(field, "", SECOND).unwrap();
    }
    clock.advance(SECOND);
    hash.set("d", "", SECOND).unwrap();
    assert_eq!(hash.stats().unwrap(), HashStats { fields: 1, expired: 1, locks: 0 });
}

/// K1.
#[test]
fn a_lock_has_one_holder() {
    let (hash, clock) = hash();
    fence(hash.acquire("a", "me", SECOND).unwrap());
    clock.advance(SECOND / 4);
    let busy = Acquired::busy(SECOND * 3 / 4);
    assert_eq!(hash.acquire("a", "you", SECOND).unwrap(), busy);
    assert_eq!(hash.stats().unwrap().locks, 1);
    fence(hash.acquire("b", "you", SECOND).unwrap());
    assert!(hash.release("a", "me").unwrap());
    fence(hash.acquire("a", "you", SECOND).unwrap());
}

/// K2.
#[test]
fn the_same_token_gets_the_same_fence_and_a_full_term() {
    let (hash, clock) = hash();
    let first = fence(hash.acquire("a", "me", SECOND).unwrap());
    clock.advance(SECOND - US);
    assert_eq!(fence(hash.acquire("a", "me", SECOND).unwrap()), first);
    clock.advance(SECOND - US);
    assert!(hash.renew("a", "me", SECOND).unwrap());
    clock.advance(SECOND);
    // The lock has expired and is taken anew.
    assert!(fence(hash.acquire("a", "me", SECOND).unwrap()) > first);
}

/// K3.
#[test]
fn another_token_neither_renews_nor_releases_a_lock() {
    let (hash, clock) = hash();
    hash.acquire("a", "me", SECOND).unwrap();
    assert!(!hash.renew("a", "you", SECOND * 9).unwrap());
    assert!(!hash.release("a", "you").unwrap());
    clock.advance(SECOND - US);
    assert_eq!(hash.acquire("a", "you", SECOND).unwrap(), Acquired::busy(US));
    clock.advance(US);
    assert!(!hash.renew("a", "me", SECOND).unwrap());
    assert!(!hash.release("a", "me").unwrap());
}

/// K4.
#[test]
fn a_lock_that_has_expired_is_free_and_the_next_fence_is_higher() {
    let (hash, clock) = hash();
    let mut last = 0;
    for round in 0..5 {
        // Nothing is removed in some rounds, and the clock stands still in others.
        let next = fence(hash.acquire("a", format!("worker-{round}"), SECOND).unwrap());
        assert!(next > last, "{next} after {last}");
        last = next;
        match round {
            0 => clock.advance(SECOND),
            1 => assert!(hash.release("a", "worker-1").unwrap()),
            2 => {
                clock.advance(SECOND);
                assert_eq!(hash.reap(9).unwrap().locks, 1);
            }
            _ => assert!(hash.release("a", format!("worker-{round}")).unwrap()),
        }
    }
    for number in 0..1_000 {
        let next = fence(hash.acquire(number.to_string(), "me", SECOND).unwrap());
        assert!(next > last);
        last = next;
    }
}

/// K5.
#[test]
fn a_set_under_a_lock_that_is_lost_changes_nothing() {
    let (hash, clock) = hash();
    hash.set("a", "1", SECOND * 9).unwrap();
    hash.acquire("a", "me", SECOND).unwrap();
    hash.set_locked("a", "me", "2", SECOND * 9).unwrap();
    clock.advance(SECOND);
    for (field, is_released) in [("a", false), ("a", true), ("b", false)] {
        let set = Set::new("k", [("a", "3"), ("b", "3")], SECOND);
        let set = set.and_then(|set| set.under_lock(field, "me", is_released));
        let error = hash.client.run(set).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LeaseLost);
        assert_eq!(error.operation(), "volatile.set");
    }
    assert_eq!(hash.get_many(["a", "b"]).unwrap(), [Some(b"2".to_vec()), None]);
    fence(hash.acquire("a", "you", SECOND).unwrap());
    assert!(hash.set_locked("a", "me", "3", SECOND).is_err());
    let holder = hash.holder("a").unwrap().unwrap();
    assert_eq!((&*holder.token, holder.remaining), (b"you".as_slice(), SECOND));

    hash.set_and_release("a", "you", "4", SECOND).unwrap();
    assert_eq!(hash.get("a").unwrap(), Some(b"4".to_vec()));
    assert_eq!(hash.holder("a").unwrap(), None);
    assert_eq!(hash.stats().unwrap().locks, 0);
}

/// K6.
#[test]
fn a_lock_and_the_value_of_its_field_are_independent() {
    let (hash, clock) = hash();
    hash.acquire("a", "me", SECOND * 9).unwrap();
    hash.set("a", "1", SECOND).unwrap();
    assert_eq!(hash.get("a").unwrap(), Some(b"1".to_vec()));
    assert_eq!(hash.delete(["a"]).unwrap(), 1);
    assert_eq!(hash.clear().unwrap(), 0);
    assert!(hash.renew("a", "me", SECOND).unwrap());
    hash.set("a", "1", SECOND * 2).unwrap();
    clock.advance(SECOND);
    assert!(!hash.renew("a", "me", SECOND).unwrap());
    assert_eq!(hash.reap(9).unwrap().locks, 1);
    assert_eq!(hash.get("a").unwrap(), Some(b"1".to_vec()));
}

/// K7.
#[test]
fn one_of_fifty_callers_computes_a_value() {
    let (hash, _) = hash();
    let (locked, busy) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for caller in 0..50 {
            let (hash, locked, busy) = (&hash, &locked, &busy);
            scope.spawn(move || {
                let found = hash.get_or_acquire("a", format!("{caller}"), SECOND).unwrap();
                let count = match (found.value, found.fence, found.remaining) {
                    (None, Some(_), None) => locked,
                    (None, None, Some(SECOND)) => busy,
                    other => panic!("{other:?}"),
                };
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((locked.into_inner(), busy.into_inner()), (1, 49));
    hash.set("a", "1", SECOND).unwrap();
    let found = hash.get_or_acquire("a", "late", SECOND).unwrap();
    assert_eq!(found, ValueOrLock { value: Some(b"1".to_vec()), fence: None, remaining: None });
    assert_eq!(hash.stats().unwrap().locks, 1);
}

/// K8: with the clock running, so that there are no more locks than microseconds.
#[test]
fn a_fence_grows_after_it_was_forgotten_and_after_a_restart_from_older_data() {
    let (hash, clock) = hash();
    let first = fence(hash.acquire("a", "me", SECOND).unwrap());
    clock.advance(MS * 2);
    assert!(hash.release("a", "me").unwrap());
    assert!(fence(hash.acquire("a", "me", SECOND).unwrap()) > first);

    let (newer, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = |directory: &tempfile::TempDir| {
        let options = Options::file(directory.path()).sync(SyncMode::Never).clock(clock.clone());
        options.connect().unwrap()
    };
    let client = open(&newer);
    let hash = client.volatile_hash("k");
    fence(hash.acquire("a", "me", SECOND).unwrap());
    client.close().unwrap();
    for file in std::fs::read_dir(newer.path()).unwrap().map(|file| file.unwrap().path()) {
        std::fs::copy(&file, older.path().join(file.file_name().unwrap())).unwrap();
    }
    clock.advance(US);
    let hash = open(&newer).volatile_hash("k");
    let last = fence(hash.acquire("b", "me", SECOND).unwrap());
    clock.advance(US);
    let restarted = open(&older).volatile_hash("k");
    assert!(fence(restarted.acquire("b", "me", SECOND).unwrap()) > last);
}

#[test]
fn fields_and_locks_survive_a_restart() {
    let clock = Arc::new(ManualClock::at(START));
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options::file(directory.path()).sync(SyncMode::Never).clock(clock.clone());
        options.connect().unwrap()
    };
    let client = open();
    let hash = client.volatile_hash("k");
    hash.set_many([("a", "1"), ("b", "2"), ("c", "3")], SECOND).unwrap();
    hash.touch("b", SECOND * 5).unwrap();
    hash.delete(["c"]).unwrap();
    let first = fence(hash.acquire("x", "me", SECOND * 5).unwrap());
    hash.acquire("y", "me", SECOND).unwrap();
    hash.release("y", "me").unwrap();
    client.close().unwrap();
    clock.advance(SECOND);

    let client = open();
    let hash = client.volatile_hash("k");
    assert_eq!(hash.stats().unwrap(), HashStats { fields: 1, expired: 1, locks: 1 });
    assert_eq!(hash.ttl("b").unwrap(), Some(SECOND * 4));
    assert_eq!(fence(hash.acquire("x", "me", SECOND).unwrap()), first);
    assert!(hash.release("x", "me").unwrap());
    hash.clear().unwrap();
    client.close().unwrap();
    assert_eq!(open().volatile_hash("k").stats().unwrap(), HashStats::default());
}

/// K5, of a holder that is renewed.
#[test]
fn a_lost_lock_refuses_its_late_holder() {
    let (hash, clock) = hash();
    let first = hash.lock("a", SECOND * 3_600).unwrap().unwrap();
    assert!(hash.lock("a", SECOND).unwrap().is_none());
    first.set("1", SECOND * 9_000).unwrap();
    clock.advance(SECOND * 3_601);
    let second = hash.lock("a", SECOND * 3_600).unwrap().unwrap();
    assert!(second.fence() > first.fence());
    assert_eq!(first.set("2", SECOND).unwrap_err().kind(), ErrorKind::LeaseLost);
    assert!(!first.release().unwrap());
    assert_eq!(hash.get("a").unwrap(), Some(b"1".to_vec()));
    assert!(second.release().unwrap());
    assert_eq!(hash.stats().unwrap().locks, 0);
    let message = "volatile.acquire: the time to live is 0ns; it has to be between a millisecond and 100 years";
    refused(hash.lock("a", Duration::ZERO), message);
    refused(hash.client.volatile_hash("").lock("a", SECOND), "volatile.acquire: the name is empty");
}

/// K9 in part: a holder that does nothing keeps the lock.
#[test]
fn a_lock_is_renewed_while_it_is_held_and_released_on_drop() {
    // A machine that stalls for two thirds of the term loses the lock.
    const TTL: Duration = Duration::from_secs(4);
    let hash = crate::connect("memory:").unwrap().volatile_hash("k");
    let lock = hash.lock("a", TTL).unwrap().unwrap();
    std::thread::sleep(TTL * 3 / 2);
    assert!(!lock.is_lost());
    assert_eq!(hash.holder("a").unwrap().unwrap().fence, lock.fence());
    drop(lock);
    assert_eq!(hash.holder("a").unwrap(), None);
}

#[test]
fn a_lock_that_another_has_taken_says_that_it_is_lost() {
    let (hash, clock) = hash();
    let lock = hash.lock("a", SECOND * 3).unwrap().unwrap();
    clock.advance(SECOND * 60);
    let other = hash.lock("a", SECOND * 60).unwrap().unwrap();
    let (lost, is_lost) = std::sync::mpsc::channel();
    lock.on_lost(move || lost.send(()).unwrap());
    assert_eq!(is_lost.recv_timeout(SECOND * 30), Ok(()));
    assert!(lock.is_lost());
    assert!(other.release().unwrap());
}

/// V18.
#[test]
fn a_family_finds_the_only_hash_with_something_to_remove() {
    let (_, clock, client) = family();
    let hashes = client.volatile_hashes("users", SHARDS_DEFAULT);
    for number in 0..100_000 {
        let hash = hashes.hash(number.to_string());
        hash.set("a", "1", if number == 77_777 { SECOND } else { SECOND * 60 }).unwrap();
    }
    assert_eq!(hashes.reap(REAP_DEFAULT).unwrap().next_in, Some(SECOND));
    clock.advance(SECOND);
    let reaped = hashes.reap(REAP_DEFAULT).unwrap();
    assert_eq!((reaped.fields, reaped.more, reaped.next_in), (1, false, Some(SECOND * 59)));
    assert_eq!(hashes.hash("77777").stats().unwrap(), HashStats::default());
    assert_eq!(hashes.hash("77776").len().unwrap(), 1);
}

#[test]
fn hashes_of_a_family_are_independent_of_each_other_and_of_others() {
    let (directory, clock, _) = family();
    let open = || {
        let options = Options::file(directory.path()).sync(SyncMode::Never).clock(clock.clone());
        options.connect().unwrap()
    };
    let client = open();
    // One shard, which is also the name of a hash.
    let (hashes, alone) = (client.volatile_hashes("users", 1), client.volatile_hash("users/0"));
    alone.set("a", "alone", SECOND).unwrap();
    hashes.hash("ann").set("a", "1", SECOND).unwrap();
    hashes.hash("bob").set("a", "2", SECOND * 2).unwrap();
    hashes.hash("bob").acquire("a", "me", SECOND * 3).unwrap();
    hashes.hash("eve").set("a", "3", SECOND).unwrap();
    hashes.hash("eve").clear().unwrap();
    client.close().unwrap();

    let client = open();
    let (hashes, alone) = (client.volatile_hashes("users", 1), client.volatile_hash("users/0"));
    clock.advance(SECOND);
    let reaped = hashes.reap(REAP_DEFAULT).unwrap();
    assert_eq!((reaped.fields, reaped.next_in), (1, Some(SECOND)));
    assert_eq!(hashes.hash("bob").get("a").unwrap(), Some(b"2".to_vec()));
    assert_eq!(alone.stats().unwrap(), HashStats { fields: 0, expired: 1, locks: 0 });
    clock.advance(SECOND * 2);
    let reaped = hashes.reap(1).unwrap();
    assert_eq!((reaped.fields, reaped.locks, reaped.more), (1, 0, true));
    let reaped = hashes.reap(1).unwrap();
    assert_eq!((reaped.fields, reaped.locks, reaped.next_in), (0, 1, None));
    assert_eq!(alone.reap(REAP_DEFAULT).unwrap().fields, 1);
}

#[test]
fn a_family_has_limits() {
    let (_, _, client) = family();
    for shards in [0, SHARDS_MAX + 1] {
        let hashes = client.volatile_hashes("users", shards);
        let message = format!("a family has 1 to 1024 shards, not {shards}");
        refused(hashes.hash("ann").len(), &format!("volatile.stats: {message}"));
        refused(hashes.reap(1), &format!("volatile.reap: {message}"));
    }
    let hashes = client.volatile_hashes("users", 16);
    refused(hashes.hash("").len(), "volatile.stats: the base is empty");
    assert!(hashes.reap(0).is_err());
    assert!(client.volatile_hashes("", 1).reap(1).is_err());
    assert_eq!(client.volatile_hashes("users", SHARDS_MAX).hash("ann").len().unwrap(), 0);
}

fn family() -> (tempfile::TempDir, Arc<ManualClock>, crate::Client) {
    let clock = Arc::new(ManualClock::at(START));
    let client = Options::parse("memory:").unwrap().clock(clock.clone()).connect().unwrap();
    (tempfile::tempdir().unwrap(), clock, client)
}

#[test]
fn an_async_client_has_the_same_hash() {
    let client = crate::connect("memory:").unwrap();
    client.volatile_hash("k").set("a", "1", SECOND).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let value = runtime.block_on(client.to_async().volatile_hash("k").get("a")).unwrap();
    assert_eq!(value, Some(b"1".to_vec()));
}
