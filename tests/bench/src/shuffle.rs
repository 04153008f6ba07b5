//! The time that a message of a shuffle queue costs the server.

use std::cell::RefCell;

use millpond::shuffle;
use millpond_tests::servers::Redis;

use crate::Outcome;
use crate::embedded::resident;
use crate::measure::{in_turn, median, time};
use crate::report::{Report, number, ratio};
use crate::server_time::{send, spent};

const ROUNDS: usize = 5;
const SIZES: [usize; 3] = [1, 10, 100];
const STREAMS: [u32; 4] = [1, 16, 64, 256];

/// Messages that lie in the streams meanwhile, as many in each.
const WAITING: usize = 4;

/// Tenants whose messages a batch holds.
const TENANTS: usize = 40;

pub(crate) fn measure(report: &mut Report) -> Outcome {
    let server = Redis::start();
    let connection = RefCell::new(redis::Client::open(server.url())?.get_connection()?);
    let section = report.section(
        "Server time of a message in a shuffle queue",
        "Microseconds of redis-server's own time (`INFO commandstats`) for a message that is \
         written, read and acknowledged, in batches of this size, of 40 tenants with 4 streams \
         each where there are so many; against XADD for each message, XREADGROUP and XACK for \
         the batch, all on one plain stream. Some messages wait in each stream meanwhile, and \
         entries stay when they are done, as with the bare commands. `INFO commandstats` leaves \
         out what reading a command costs. Aim: batches of 100 within 2 times the bare commands.",
        &[
            "streams",
            "batch",
            "write, µs",
            "read, µs",
            "ack, µs",
            "together, µs",
            "bare, µs",
            "ratio",
        ],
    );
    for streams in STREAMS {
        for size in SIZES {
            let parts = RefCell::new([0.0; 3]);
            let pair = in_turn(
                ROUNDS,
                || {
                    let found = ours(&server, &mut connection.borrow_mut(), streams, size)?;
                    *parts.borrow_mut() = found;
                    Outcome::Ok(found.iter().sum())
                },
                || bare(&server, &mut connection.borrow_mut(), size),
            )?;
            let aim = (size >= 100).then_some(("aim 2", pair.ratio <= 2.0));
            let [write, read, ack] = parts.into_inner();
            section.row([
                streams.to_string(),
                size.to_string(),
                number(write),
                number(read),
                number(ack),
                number(pair.ours),
                number(pair.theirs),
                ratio(pair.ratio, aim),
            ]);
        }
    }
    embedded(report)
}

/// Messages a second on the embedded engine, and what one costs in memory.
fn embedded(report: &mut Report) -> Outcome {
    let section = report.section(
        "Shuffle queues on the embedded engine",
        "Thousands of messages a second on one thread: written, read, acknowledged and deleted, in \
         a queue of 64 streams that holds 100 thousand others. A message has 2 fields with 56 \
         bytes in all.",
        &["engine", "batch", "write", "read", "ack"],
    );
    let directory = tempfile::tempdir()?;
    for (name, url) in [
        ("memory:", "memory:".to_owned()),
        ("file:, sync=never", format!("file:{}?sync=never", directory.path().display())),
    ] {
        let client = millpond::connect(&url)?;
        let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
        let write = |from: usize, to: usize| {
            let messages = (from..to).map(|n| ((n * 7 % TENANTS).to_string(), fields(n)));
            queue.write_many(messages)
        };
        write(0, 100_000)?;
        for size in [1, 100] {
            let consumer = queue.consumer("g", "c");
            let (mut rates, mut taken) = ([const { Vec::new() }; 3], Vec::new());
            for round in 0..5 {
                let (mut failure, calls) = (None, 20_000 / size);
                let mut note = |result: Result<(), millpond::Error>| {
                    failure = result.err().or(failure.take());
                };
                let first = 1_000_000 + round * 20_000;
                let spent = [
                    time(|| {
                        (0..calls).for_each(|call| {
                            let from = first + call * size;
                            note(write(from, from + size).map(drop));
                        })
                    }),
                    time(|| {
                        (0..calls).for_each(|_| {
                            note(consumer.read_many(size).map(|batch| taken.push(batch)));
                        })
                    }),
                    time(|| {
                        taken.drain(..).for_each(|batch| {
                            note(consumer.ack_and_delete(&batch).map(drop));
                        })
                    }),
                ];
                failure.map_or(Ok(()), Err)?;
                for (rates, spent) in rates.iter_mut().zip(spent) {
                    rates.push(20.0 / spent.as_secs_f64());
                }
            }
            let [write, read, ack] = rates.map(median).map(number);
            section.row([name.into(), size.to_string(), write, read, ack]);
        }
    }
    let before = resident()?;
    let client = millpond::connect("memory:")?;
    let queue = client.shuffle_queue("q").streams(64).streams_per_shard(4);
    for start in (0..500_000).step_by(10_000) {
        let messages = (start..start + 10_000).map(|n| ((n % TENANTS).to_string(), fields(n)));
        queue.write_many(messages)?;
    }
    let bytes = resident()?.saturating_sub(before) / 500_000;
    let section = report.section(
        "What a message of a shuffle queue costs",
        "A queue of 64 streams and 500 thousand messages of 2 fields with 56 bytes in all.",
        &["what", "figure"],
    );
    section.row(["memory:, resident bytes a message".into(), bytes.to_string()]);
    Ok(())
}

fn batches(size: usize) -> usize {
    (2_000 / size).max(10)
}

fn fields(n: usize) -> [(&'static str, String); 2] {
    [("task", format!("resize-{n:08}")), ("image", "https://example.org/images/1.png".to_owned())]
}

fn writing(streams: u32, messages: impl Iterator<Item = usize>) -> Outcome<shuffle::Write> {
    let mut step = shuffle::Write::new("q", streams, streams.min(4), shuffle::TTL_DEFAULT)?;
    for n in messages {
        step.push((n * 7 % TENANTS).to_string(), fields(n))?;
    }
    Ok(step)
}

fn ours(
    server: &Redis,
    connection: &mut redis::Connection,
    streams: u32,
    size: usize,
) -> Outcome<[f64; 3]> {
    server.cli(&["FLUSHALL"]);
    let read = |max| shuffle::Read::new("q", "g", "c", max);
    // What waits, and a first read that joins the streams.
    send(connection, &writing(streams, 0..WAITING * streams as usize + 1)?)?;
    send(connection, &read(1)?)?;
    let (calls, all) = (batches(size), batches(size) * size);
    server.cli(&["CONFIG", "RESETSTAT"]);
    for batch in 0..calls {
        send(connection, &writing(streams, batch * size..(batch + 1) * size)?)?;
    }
    let write = spent(server, &["evalsha"], all);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let mut taken = Vec::new();
    for _ in 0..calls {
        let step = read(size)?;
        let replies: Vec<redis::Value> = redis::from_redis_value(send(connection, &step)?)?;
        let mut receipts = Vec::new();
        for pair in replies[1..].chunks(2) {
            let stream: u32 = redis::from_redis_value(pair[0].clone())?;
            let (id, _): (String, redis::Value) = redis::from_redis_value(pair[1].clone())?;
            let stream = shuffle::Stream::Number(stream);
            receipts.push(shuffle::Receipt { stream, id: id.parse()? });
        }
        taken.push(receipts);
    }
    let read = spent(server, &["evalsha"], all);
    server.cli(&["CONFIG", "RESETSTAT"]);
    for receipts in taken {
        send(connection, &shuffle::Ack::new("q", "g", &receipts)?)?;
    }
    Ok([write, read, spent(server, &["evalsha"], all)])
}

fn bare(server: &Redis, connection: &mut redis::Connection, size: usize) -> Outcome<f64> {
    server.cli(&["FLUSHALL"]);
    redis::cmd("XGROUP").arg(&["CREATE", "p", "g", "0", "MKSTREAM"]).exec(connection)?;
    server.cli(&["CONFIG", "RESETSTAT"]);
    for batch in 0..batches(size) {
        for n in batch * size..(batch + 1) * size {
            redis::cmd("XADD").arg("p").arg("*").arg(&fields(n)[..]).exec(connection)?;
        }
        type Entries = Vec<(String, redis::Value)>;
        let read: Vec<(String, Entries)> = redis::cmd("XREADGROUP")
            .arg(&["GROUP", "g", "c", "COUNT"])
            .arg(size)
            .arg(&["STREAMS", "p", ">"])
            .query(connection)?;
        let mut ack = redis::cmd("XACK");
        ack.arg("p").arg("g");
        for (id, _) in &read[0].1 {
            ack.arg(id);
        }
        ack.exec(connection)?;
    }
    Ok(spent(server, &["xadd", "xreadgroup", "xack"], batches(size) * size))
}
