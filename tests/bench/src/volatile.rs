//! Volatile hashes: what a step costs the server beyond the least script that does the same, what a field costs in
//! memory, and fields a second embedded.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use millpond::volatile::{Get, Reap, Set};
use millpond::{ManualClock, Options};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::embedded::resident;
use crate::measure::{in_turn, median, time};
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

const ROUNDS: usize = 15;
const HOUR: Duration = Duration::from_secs(3_600);

/// Fields that are there before.
const BEFORE: usize = 100_000;

const MAP: &str = "vhash-map:{k}";
const ZSET: &str = "vhash-zset:{k}";

/// The least scripts, with no checks, no clock and no removing.
const LEAST_SET: &str = "for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) \
     redis.call('ZADD', KEYS[2], ARGV[1], ARGV[i]) end";
const LEAST_GET: &str = "return {redis.call('HMGET', KEYS[1], unpack(ARGV)), redis.call('ZMSCORE', KEYS[2], unpack(ARGV))}";
const LEAST_REAP: &str = "local f = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2]) \
     redis.call('HDEL', KEYS[1], unpack(f)) redis.call('ZREM', KEYS[2], unpack(f)) return #f";

pub(crate) fn measure(report: &mut Report) -> Outcome {
    memory(report)?;
    server(report)?;
    embedded(report)
}

fn field(n: usize) -> String {
    format!("field-{n:08}")
}

const VALUE: &str = "twenty bytes of text";

fn pairs(from: usize, count: usize) -> impl Iterator<Item = (String, &'static str)> {
    (from..from + count).map(|n| (field(n), VALUE))
}

fn server(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let connection = RefCell::new(redis::Client::open(server.url())?.get_connection()?);
    let section = report.section(
        "Server time of a volatile hash",
        "Microseconds of redis-server's own time for one call (`INFO commandstats`), against the least script that \
         does the same with no checks and no clock: HSET and ZADD, HMGET and ZMSCORE, ZRANGEBYSCORE with HDEL and \
         ZREM. The hash holds 100 thousand fields before, with values of 20 bytes. A set also looks for two fields \
         that have expired.",
        &["step", "fields", "step, µs", "least script, µs", "ratio"],
    );
    for (step, count, aim) in [
        ("set", 1, 1.5),
        ("set", 100, 1.5),
        ("get", 1, 1.4),
        ("get", 100, 1.4),
        ("reap", 5, f64::NAN),
        ("reap", 100, 1.3),
    ] {
        let calls = (20_000 / count).clamp(50, 2_000);
        let pair = in_turn(
            ROUNDS,
            || ours(&server, &mut connection.borrow_mut(), step, count, calls),
            || least(&server, &mut connection.borrow_mut(), step, count, calls),
        )?;
        let name = format!("aim {aim}");
        let aim = (!aim.is_nan()).then_some((&*name, pair.ratio <= aim));
        section.row([
            step.into(),
            count.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, aim),
        ]);
    }
    Ok(())
}

/// Empties the server and fills the hash; for a reap with fields that have expired.
fn reset(
    server: &Redis,
    connection: &mut redis::Connection,
    step: &str,
    expired: usize,
) -> Outcome {
    server.cli(&["FLUSHALL"]);
    for start in (0..BEFORE).step_by(1_000) {
        send(connection, &Set::new("k", pairs(start, 1_000), HOUR)?)?;
    }
    if step == "reap" {
        for start in (0..expired).step_by(1_000) {
            let count = 1_000.min(expired - start);
            let fields = (start..start + count).map(|n| field(BEFORE + n));
            let fields: Vec<_> = fields.collect();
            let mut hset = redis::cmd("HSET");
            hset.arg(MAP);
            let mut zadd = redis::cmd("ZADD");
            zadd.arg(ZSET);
            for (n, field) in fields.iter().enumerate() {
                hset.arg(field).arg(VALUE);
                zadd.arg(format!("{}.{n:06}", 1_000_000 + start / 1_000)).arg(field);
            }
            hset.exec(connection)?;
            zadd.exec(connection)?;
        }
    }
    server.cli(&["CONFIG", "RESETSTAT"]);
    Ok(())
}

fn ours(
    server: &Redis,
    connection: &mut redis::Connection,
    step: &str,
    count: usize,
    calls: usize,
) -> Outcome<f64> {
    reset(server, connection, step, count * calls)?;
    for call in 0..calls {
        match step {
            "set" => send(connection, &Set::new("k", pairs(BEFORE + call * count, count), HOUR)?)?,
            "get" => {
                let fields = (0..count).map(|n| field((call * count + n) * 7 % BEFORE));
                send(connection, &Get::new("k", fields)?)?
            }
            _ => send(connection, &Reap::new("k", count)?)?,
        };
    }
    if step == "reap" {
        assert_eq!(server.cli(&["HLEN", MAP]).integer(), BEFORE as i64);
    }
    Ok(spent(server, &["evalsha"], calls))
}

fn least(
    server: &Redis,
    connection: &mut redis::Connection,
    step: &str,
    count: usize,
    calls: usize,
) -> Outcome<f64> {
    let source = match step {
        "set" => LEAST_SET,
        "get" => LEAST_GET,
        _ => LEAST_REAP,
    };
    let sha: String = redis::cmd("SCRIPT").arg("LOAD").arg(source).query(connection)?;
    reset(server, connection, step, count * calls)?;
    let expiry = "4102444800.123456";
    for call in 0..calls {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&sha).arg(2).arg(MAP).arg(ZSET);
        match step {
            "set" => {
                command.arg(expiry);
                for (field, value) in pairs(BEFORE + call * count, count) {
                    command.arg(field).arg(value);
                }
            }
            "get" => {
                for n in 0..count {
                    command.arg(field((call * count + n) * 7 % BEFORE));
                }
            }
            _ => {
                command.arg("1500000000").arg(count);
            }
        }
        command.exec(connection)?;
    }
    if step == "reap" {
        assert_eq!(server.cli(&["HLEN", MAP]).integer(), BEFORE as i64);
    }
    Ok(spent(server, &["evalsha"], calls))
}

/// What a field costs, in one large hash and in many of ten fields.
fn memory(report: &mut Report) -> Outcome {
    const FIELDS: usize = 1_000_000;
    let section = report.section(
        "What a volatile hash costs",
        "Bytes for each of 1 million fields of 14 bytes with values of 20. On Redis nothing but the two keys is stored.",
        &["where", "one hash", "hashes of 10 fields"],
    );
    let before = resident()?;
    let client = millpond::connect("memory:")?;
    for start in (0..FIELDS).step_by(1_000) {
        client.volatile_hash("k").set_many(pairs(start, 1_000), HOUR)?;
    }
    let one = resident()?.saturating_sub(before) / FIELDS;
    let before = resident()?;
    let hashes = client.volatile_hashes("many", 16);
    for start in (0..FIELDS).step_by(10) {
        hashes.hash(field(start)).set_many(pairs(start, 10), HOUR)?;
    }
    let many = resident()?.saturating_sub(before) / FIELDS;
    section.row(["memory:, resident".into(), one.to_string(), many.to_string()]);
    drop(client);

    let server = Redis::start();
    let client = millpond::connect(&server.url())?;
    let used = || server.info("memory", "used_memory").and_then(|used| used.parse::<usize>().ok());
    let used = || used().ok_or("the server says how much it uses");
    let before = used()?;
    for start in (0..FIELDS).step_by(1_000) {
        client.volatile_hash("k").set_many(pairs(start, 1_000), HOUR)?;
    }
    let one = (used()? - before) / FIELDS;
    let before = used()?;
    let hashes = client.volatile_hashes("many", 16);
    for start in (0..FIELDS).step_by(10) {
        hashes.hash(field(start)).set_many(pairs(start, 10), HOUR)?;
    }
    let many = (used()? - before) / FIELDS;
    section.row(["Redis, used_memory".into(), one.to_string(), many.to_string()]);
    Ok(())
}

fn embedded(report: &mut Report) -> Outcome {
    const OPERATIONS: usize = 200_000;
    let section = report.section(
        "A volatile hash embedded",
        "Millions of calls a second on one thread, on `memory:`, in a hash that holds 10 thousand or 5 million fields: \
         a set of a field that is there, a get, and what a reap of 1,000 removes. Aim: 2 million sets and gets, and \
         at most twice the cost in the large hash.",
        &["step", "10 thousand", "5 million", "cost"],
    );
    let mut found = Vec::new();
    for size in [10_000, 5_000_000] {
        let clock = Arc::new(ManualClock::new());
        let client = Options::parse("memory:")?.clock(clock.clone()).connect()?;
        let hash = client.volatile_hash("k");
        for start in (0..size).step_by(10_000) {
            hash.set_many(pairs(start, 10_000), HOUR)?;
        }
        let fields: Vec<_> = (0..OPERATIONS).map(|n| field(n * 7_919 % size)).collect();
        let mut rounds = [const { Vec::new() }; 3];
        for _ in 0..7 {
            let mut failure = None;
            let set = time(|| {
                for field in &fields {
                    failure = hash.set(field, VALUE, HOUR).err().or(failure.take());
                }
            });
            let get = time(|| {
                for field in &fields {
                    failure = hash.get(field).err().or(failure.take());
                }
            });
            for start in (0..OPERATIONS).step_by(10_000) {
                let short = (start..start + 10_000).map(|n| (format!("short-{n}"), VALUE));
                hash.set_many(short, Duration::from_secs(1))?;
            }
            clock.advance(Duration::from_secs(1));
            let mut reaped = 0;
            let reap = time(|| {
                while let Ok(some) = hash.reap(1_000) {
                    reaped += some.fields as usize;
                    if !some.more {
                        break;
                    }
                }
            });
            assert_eq!(reaped, OPERATIONS);
            failure.map_or(Ok(()), Err)?;
            for (found, spent) in rounds.iter_mut().zip([set, get, reap]) {
                found.push(OPERATIONS as f64 / spent.as_secs_f64());
            }
        }
        found.push(rounds.map(median));
    }
    for (index, step) in ["set", "get", "reap"].into_iter().enumerate() {
        let (small, large) = (found[0][index], found[1][index]);
        section.row([
            step.into(),
            number(small),
            number(large),
            ratio(small / large, Some(("aim 2", small / large <= 2.0))),
        ]);
    }
    Ok(())
}
