//! Volatile hashes on a server: families, and what the keys of a hash have to do with each other.

use std::time::Duration;

use millpond::volatile::{REAP_DEFAULT, SHARDS_DEFAULT};
use millpond_tests::servers::{Cluster, Redis};

const MINUTE: Duration = Duration::from_secs(60);
const MILLISECOND: Duration = Duration::from_millis(1);

fn wait_until_it_expires() {
    std::thread::sleep(MILLISECOND * 3);
}

/// V18: a reap runs one script for each shard and one for each hash that has something to remove.
#[test]
fn a_reap_of_a_family_looks_only_at_hashes_with_something_to_remove() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let hashes = client.volatile_hashes("users", SHARDS_DEFAULT);
    for number in 0..2_000 {
        let ttl = if number == 777 { MILLISECOND } else { MINUTE };
        hashes.hash(number.to_string()).set("a", "1", ttl).unwrap();
    }
    wait_until_it_expires();
    server.cli(&["CONFIG", "RESETSTAT"]);
    let reaped = hashes.reap(REAP_DEFAULT).unwrap();
    assert_eq!((reaped.fields, reaped.more), (1, false));
    assert!(reaped.next_in.is_some_and(|next_in| next_in <= MINUTE));
    let stats = server.cli(&["INFO", "commandstats"]).text();
    let hdel = stats.lines().find(|line| line.starts_with("cmdstat_hdel:")).unwrap();
    assert!(hdel.starts_with("cmdstat_hdel:calls=1,"), "{hdel}");
    let zrange = stats.lines().find(|line| line.starts_with("cmdstat_zrangebyscore:")).unwrap();
    // The fields and the locks of the one.
    assert!(zrange.starts_with("cmdstat_zrangebyscore:calls=2,"), "{zrange}");
    assert_eq!(hashes.hash("777").stats().unwrap().expired, 0);
    assert_eq!(hashes.hash("776").len().unwrap(), 1);
}

/// V19.
#[test]
fn an_entry_of_the_index_that_is_too_early_is_corrected() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let hashes = client.volatile_hashes("users", 1);
    let ann = hashes.hash("ann");
    ann.set("a", "1", MINUTE).unwrap();
    let expiry = server.cli(&["ZSCORE", "vhashes:{users/0000}:shard:zset:ann", "a"]);
    let due = || server.cli(&["ZSCORE", "vhashes:{users/0000}:shard:due", "ann"]);
    assert_eq!(due(), expiry);
    server.cli(&["ZADD", "vhashes:{users/0000}:shard:due", "1", "ann", "2", "gone"]);
    let reaped = hashes.reap(REAP_DEFAULT).unwrap();
    assert_eq!((reaped.fields, reaped.more), (0, false));
    // To the microsecond, as doubles have it.
    assert_eq!(due().text().parse::<f64>().unwrap(), expiry.text().parse::<f64>().unwrap());
    assert_eq!(server.cli(&["ZCARD", "vhashes:{users/0000}:shard:due"]).integer(), 1);

    // A lock that expires before the fields, and a field that expires before the lock.
    ann.acquire("a", "me", MINUTE / 2).unwrap();
    let until = server.cli(&["ZSCORE", "vhashes:{users/0000}:shard:lockz:ann", "a"]);
    assert_eq!(due(), until);
    ann.touch("a", MILLISECOND).unwrap();
    wait_until_it_expires();
    assert_eq!(hashes.reap(REAP_DEFAULT).unwrap().fields, 1);
    assert_eq!(due().text().parse::<f64>().unwrap(), until.text().parse::<f64>().unwrap());
    assert!(ann.release("a", "me").unwrap());
    assert!(ann.set_if_absent("b", "1", MILLISECOND).unwrap());
    wait_until_it_expires();
    assert_eq!(hashes.reap(REAP_DEFAULT).unwrap().fields, 1);
    assert_eq!(server.cli(&["EXISTS", "vhashes:{users/0000}:shard:due"]).integer(), 0);
}

#[test]
fn a_reap_of_a_family_removes_no_more_than_its_limit() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let hashes = client.volatile_hashes("users", 2);
    for number in 0..40 {
        let hash = hashes.hash(number.to_string());
        hash.set_many([("a", "1"), ("b", "2")], MILLISECOND).unwrap();
    }
    wait_until_it_expires();
    for left in (0..8_u64).rev() {
        let reaped = hashes.reap(10).unwrap();
        assert_eq!((reaped.fields, reaped.more), (10, left > 0));
    }
    assert_eq!(hashes.reap(10).unwrap().next_in, None);
    assert_eq!(server.cli(&["DBSIZE"]).integer(), 0);
}

#[test]
fn hashes_that_cannot_be_reaped_do_not_hold_up_others() {
    let server = Redis::start();
    let client = millpond::connect(&server.url()).unwrap();
    let hashes = client.volatile_hashes("users", 1);
    for number in 0..40 {
        hashes.hash(format!("bad-{number}")).set("a", "1", MILLISECOND).unwrap();
        let lock = format!("vhashes:{{users/0000}}:shard:lock:bad-{number}");
        server.cli(&["SET", &lock, "of another program"]);
    }
    wait_until_it_expires();
    hashes.hash("good").set("a", "1", MILLISECOND).unwrap();
    wait_until_it_expires();
    let error = hashes.reap(REAP_DEFAULT).unwrap_err();
    assert_eq!(error.kind(), millpond::ErrorKind::WrongType);
    assert_eq!(hashes.hash("good").get("a").unwrap(), None);
    assert_eq!(server.cli(&["EXISTS", "vhashes:{users/0000}:shard:map:good"]).integer(), 0);
    assert_eq!(server.cli(&["ZCARD", "vhashes:{users/0000}:shard:due"]).integer(), 40);
}

#[test]
fn a_family_lies_on_all_masters_of_a_cluster() {
    let cluster = Cluster::start();
    let client = millpond::connect(&cluster.url()).unwrap();
    let hashes = client.volatile_hashes("users", SHARDS_DEFAULT);
    for number in 0..100 {
        hashes.hash(number.to_string()).set("a", "1", MILLISECOND).unwrap();
        hashes.hash(number.to_string()).acquire("a", "me", MINUTE).unwrap();
    }
    wait_until_it_expires();
    assert_eq!(hashes.reap(1_000).unwrap().fields, 100);
    assert!(hashes.hash("1").release("a", "me").unwrap());
}
