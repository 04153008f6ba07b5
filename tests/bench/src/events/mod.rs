//! Events: the time that they cost the server, the memory that they take, how late they come, and what partitions add.

mod lateness;
mod loads;
mod partitions;
mod peer;

use std::cell::RefCell;
use std::time::Duration;

use millpond::events::{
    Config, End, Event, EventId, NewEvent, Op, Open, Partition, Publish, Receipt, Receive, Settle,
    Settlement,
};
use millpond::step::{Operation, Reply};
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::measure::{in_turn, median};
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

pub(crate) use lateness::{lateness, minute};
pub(crate) use loads::{embedded, together, waiting};
pub(crate) use partitions::{power, resharding};
pub(crate) use peer::peer;

const ROUNDS: usize = 9;
const SIZES: [usize; 3] = [1, 10, 100];
const PAYLOAD: [u8; 100] = [b'x'; 100];
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn server_time(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let connection = RefCell::new(redis::Client::open(server.url())?.get_connection()?);
    let section = report.section(
        "Server time of an event",
        "Microseconds of redis-server's own time for one event that is published, received and acknowledged \
         (`INFO commandstats`), by the number of events a step, against the bare commands that keep the same: HSET and ZADD; \
         ZRANGE, HMGET, ZREM, ZADD and HSET; ZREM and two HDEL. The payload has 100 bytes, and 100 thousand more events \
         wait for their time. Aim: by 100 a step within 1.8 times the bare commands, and by 1 within 5 times.",
        &["events a step", "steps, µs", "bare commands, µs", "ratio"],
    );
    for size in SIZES {
        let steps = (20_000 / size).clamp(100, 2_000);
        let pair = in_turn(
            ROUNDS,
            || lives(&server, &mut connection.borrow_mut(), size, steps),
            || bare_lives(&server, &mut connection.borrow_mut(), size, steps),
        )?;
        let aim = match size {
            1 => Some(("aim 5", pair.ratio <= 5.0)),
            100 => Some(("aim 1.8", pair.ratio <= 1.8)),
            _ => None,
        };
        section.row([
            size.to_string(),
            number(pair.ours),
            number(pair.theirs),
            ratio(pair.ratio, aim),
        ]);
    }
    Ok(())
}

fn partition() -> millpond::Result<Partition> {
    Partition::new("bench", 0, 7)
}

/// The next step of a client with one call at a time.
fn op(number: &mut u64) -> Op {
    *number += 1;
    Op { slot: *b"measured\0\x01", number: *number }
}

/// Makes a queue on an empty server, with this many thousands of events that wait for their time.
fn fill(
    server: &Redis,
    connection: &mut redis::Connection,
    calls: &mut u64,
    thousands: usize,
) -> Outcome {
    server.cli(&["FLUSHALL"]);
    send(connection, &Open::create(partition()?, 1, Config::default())?)?;
    for _ in 0..thousands {
        let events = vec![NewEvent::new(PAYLOAD).delay(DAY); 1_000];
        send(connection, &Publish::new(partition()?, op(calls), events, 0)?)?;
    }
    server.cli(&["CONFIG", "RESETSTAT"]);
    Ok(())
}

fn lives(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    steps: usize,
) -> Outcome<f64> {
    let mut calls = 0;
    fill(server, connection, &mut calls, 100)?;
    for _ in 0..steps {
        let events = vec![NewEvent::new(PAYLOAD); size];
        send(connection, &Publish::new(partition()?, op(&mut calls), events, 0)?)?;
        let token = calls.to_be_bytes();
        let receive = Receive::new(partition()?, op(&mut calls), size, None, token, 1)?;
        let received = receive.decode(reply(send(connection, &receive)?))?;
        assert_eq!(received.events.len(), size);
        let done = |event: &Event| Settlement { receipt: Receipt::from(event), end: End::Done };
        let ends = received.events.iter().map(done).collect();
        send(connection, &Settle::new(partition()?, ends, 1)?)?;
    }
    Ok(spent(server, &["evalsha"], steps * size))
}

fn reply(value: redis::Value) -> Reply {
    match value {
        redis::Value::Int(number) => Reply::Int(number),
        redis::Value::BulkString(bytes) => Reply::Bytes(bytes),
        redis::Value::Array(items) => Reply::Array(items.into_iter().map(reply).collect()),
        _ => Reply::Nil,
    }
}

/// A head of an event with its body, as long as ours.
fn head(id: &EventId) -> Vec<u8> {
    let mut head = id.to_string().into_bytes();
    head.resize(41, 0);
    head.extend(PAYLOAD);
    head
}

fn bare_lives(
    server: &Redis,
    connection: &mut redis::Connection,
    size: usize,
    steps: usize,
) -> Outcome<f64> {
    let mut calls = 0;
    fill(server, connection, &mut calls, 100)?;
    let state = [b's'; 16];
    for step in 0..steps {
        let ids: Vec<String> = (0..size).map(|n| format!("{:012}", step * size + n)).collect();
        let (mut hset, mut zadd) = (redis::cmd("HSET"), redis::cmd("ZADD"));
        hset.arg("e");
        zadd.arg("r");
        for id in &ids {
            hset.arg(id).arg(head(&EventId::MIN));
            zadd.arg(step).arg(id);
        }
        hset.exec(connection)?;
        zadd.exec(connection)?;

        let ready: Vec<String> =
            redis::cmd("ZRANGE").arg("r").arg(0).arg(size - 1).query(connection)?;
        let heads: Vec<Vec<u8>> = redis::cmd("HMGET").arg("e").arg(&ready).query(connection)?;
        assert_eq!(heads.len(), size);
        redis::cmd("ZREM").arg("r").arg(&ready).exec(connection)?;
        let (mut zadd, mut hset) = (redis::cmd("ZADD"), redis::cmd("HSET"));
        zadd.arg("l");
        hset.arg("s");
        for id in &ready {
            zadd.arg(step + 30).arg(id);
            hset.arg(id).arg(&state);
        }
        zadd.exec(connection)?;
        hset.exec(connection)?;

        redis::cmd("ZREM").arg("l").arg(&ready).exec(connection)?;
        redis::cmd("HDEL").arg("e").arg(&ready).exec(connection)?;
        redis::cmd("HDEL").arg("s").arg(&ready).exec(connection)?;
    }
    let commands = ["hset", "zadd", "zrange", "hmget", "zrem", "hdel"];
    Ok(spent(server, &commands, steps * size))
}

/// What a receive costs the server where events are large.
pub(crate) fn bodies(report: &mut Report) -> Outcome {
    const EVENTS: usize = 10;
    const STEPS: usize = 50;
    let server = Redis::start();
    let mut connection = redis::Client::open(server.url())?.get_connection()?;
    let section = report.section(
        "Large events",
        "Microseconds of redis-server's own time for one receive of 10 events (`INFO commandstats`), by the bytes of a \
         payload: of events that are ready, and after it has made ready 200 that have become due. Payloads above 254 \
         bytes lie apart, so that only what is received is read.",
        &["bytes of a payload", "receive, µs", "after 200 have become due, µs", "ratio to 100 bytes"],
    );
    let mut small = None;
    for bytes in [100, 16 << 10, 256 << 10] {
        let mut spent = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            for (delay, spent) in
                [Duration::ZERO, Duration::from_millis(1)].into_iter().zip(&mut spent)
            {
                let mut calls = 0;
                fill(&server, &mut connection, &mut calls, 100)?;
                let (steps, receives) = if delay.is_zero() { (STEPS, STEPS) } else { (20, 1) };
                for _ in 0..steps {
                    let events = vec![NewEvent::new(vec![b'x'; bytes]).delay(delay); EVENTS];
                    send(&mut connection, &Publish::new(partition()?, op(&mut calls), events, 0)?)?;
                }
                std::thread::sleep(2 * delay);
                server.cli(&["CONFIG", "RESETSTAT"]);
                for _ in 0..receives {
                    let token = calls.to_be_bytes();
                    let receive =
                        Receive::new(partition()?, op(&mut calls), EVENTS, None, token, 1)?;
                    let received = receive.decode(reply(send(&mut connection, &receive)?))?;
                    assert_eq!(received.events.len(), EVENTS);
                }
                spent.push(self::spent(&server, &["evalsha"], receives));
            }
        }
        let [ready, due] = spent.map(median);
        let first = *small.get_or_insert(ready);
        section.row([bytes.to_string(), number(ready), number(due), ratio(ready / first, None)]);
    }
    Ok(())
}
